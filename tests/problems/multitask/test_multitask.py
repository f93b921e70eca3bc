"""Shared trunks: disjoint data, gradients of the trunk alone, single-task training as the baseline of Δm."""

import gzip
import hashlib
import json
import struct

import numpy as np
import pytest
import torch

from mobench.conformance import check_problem, conforms
from mobench.core.registry import find_method, find_problem
from mobench.core.resources import VARIABLE
from mobench.core.spec import RunSpec
from mobench.core.streams import Streams
from mobench.errors import UserError
from mobench.problems.fairness import patients
from mobench.problems.multitask.celeba import ATTRIBUTES, faces
from mobench.problems.multitask.regression import ROWS, TARGETS, table
from mobench.problems.multitask.task import Rows, Shuffled
from mobench.problems.multitask.two_digits import _images, overlaid, overlay
from mobench.training.loop import train
from mobench.training.optimizer import Training


def test_the_brighter_pixel_counts_where_images_overlap():
    first, second = torch.tensor([[[1, 2], [3, 9]]]), torch.tensor([[[5, 6], [7, 8]]])
    assert overlay(first, second, 1).tolist() == [[[1, 2, 0], [3, 9, 6], [0, 7, 8]]]


def test_pairs_are_the_overlaid_images_with_both_labels():
    images, labels, parts = _images("digits", "", False)
    data = overlaid("digits", "", False)
    assert [len(part) for part in parts] == [1077, 360, 360]
    assert len(set(torch.cat(parts).tolist())) == 1797, "no image is in two parts"
    generator = Streams(0).torch("pairs")
    chosen = parts[0][torch.randint(1077, (2, 4000), generator=generator)]
    assert torch.equal(data.train.targets, labels[chosen].T)
    pixels = overlay(images[chosen[0, :3]], images[chosen[1, :3]], 4).float()
    shown = data.train.inputs[:3, 0]
    assert torch.allclose(shown - shown.min(), (pixels - pixels.min()) / images[parts[0]].float().std(), atol=1e-5)
    assert data.train.inputs.shape == (4000, 1, 12, 12)


def idx(values: np.ndarray) -> bytes:
    """The file format of MNIST."""
    return struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape) + values.astype(np.uint8).tobytes()


def test_mnist_is_read_from_the_data_folder_and_asked_for_where_it_is_missing(tmp_path):
    with pytest.raises(UserError, match=r"two-digits.dataset=mnist: .*MNIST/raw does not hold it .*data.download=true"):
        overlaid("mnist", str(tmp_path), False)
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, count in (("train", 60), ("t10k", 12)):
        for kind, values in (
            ("images-idx3-ubyte", rng.integers(1, 256, (count, 28, 28))),
            ("labels-idx1-ubyte", rng.integers(0, 10, count)),
        ):
            (raw / f"{name}-{kind}").write_bytes(idx(values))
            (raw / f"{name}-{kind}.gz").write_bytes(gzip.compress(idx(values)))
    data = overlaid("mnist", str(tmp_path), False)
    assert data.test.inputs.shape == (10_000, 1, 36, 36) and len(data.train) == 50_000
    images, _, parts = _images("mnist", str(tmp_path), False)
    assert [len(part) for part in parts] == [50, 10, 12] and len(images) == 72


@pytest.fixture
def faces_folder(tmp_path, monkeypatch):
    """CelebA's files in its own formats, of 30 random images; torchvision's class gets their checksums."""
    from PIL import Image
    from torchvision.datasets import CelebA

    folder = tmp_path / "celeba"
    (folder / "img_align_celeba").mkdir(parents=True)
    rng, names = np.random.default_rng(0), [f"{number:06d}.jpg" for number in range(1, 31)]
    signs = rng.choice([-1, 1], (30, 40))
    for name, sign in zip(names, signs, strict=True):
        shade = np.full((218, 178, 3), 200 if sign[0] > 0 else 50, dtype=np.uint8)
        Image.fromarray(shade).save(folder / "img_align_celeba" / name)

    def lines(rows):
        return "".join(f"{name} {' '.join(map(str, row))}\n" for name, row in zip(names, rows, strict=True))

    parts = [[0]] * 18 + [[1]] * 6 + [[2]] * 6
    texts = {
        "list_attr_celeba.txt": f"30\n{' '.join(ATTRIBUTES)}\n{lines(signs)}",
        "identity_CelebA.txt": lines([[1]] * 30),
        "list_bbox_celeba.txt": f"30\nimage_id x_1 y_1 width height\n{lines([[0, 0, 1, 1]] * 30)}",
        "list_landmarks_align_celeba.txt": f"30\nlefteye_x\n{lines([[0] * 10] * 30)}",
        "list_eval_partition.txt": lines(parts),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    sums = [("", hashlib.md5(text.encode()).hexdigest(), name) for name, text in texts.items()]
    monkeypatch.setattr(CelebA, "file_list", sums)
    monkeypatch.setenv(VARIABLE, json.dumps({"data_root": str(tmp_path), "data_download": "false"}))
    return folder, (signs + 1) // 2


def test_celeba_is_read_in_its_own_parts_and_kept_decoded(faces_folder):
    folder, attributes = faces_folder
    train, validation, test = faces(str(folder.parent), False)
    assert [len(part) for part in (train, validation, test)] == [18, 6, 6]
    assert train.inputs.shape == (18, 3, 64, 64) and train.inputs.dtype == torch.uint8
    assert np.array_equal(train.targets.numpy(), attributes[:18]) and np.array_equal(test.targets, attributes[24:])
    bright = train.inputs.float().mean((1, 2, 3)) > 125
    assert torch.equal(bright.long(), train.targets[:, 0]), "images and attributes belong together"
    for image in (folder / "img_align_celeba").iterdir():
        image.unlink()
    faces.cache_clear()
    assert torch.equal(faces(str(folder.parent), False)[0].inputs, train.inputs), "decoded once"


def test_an_attribute_of_celeba_is_learned_and_the_battery_passes(faces_folder):
    faces.cache_clear()
    problem = find_problem("celeba")(tasks=2, batch_size=6)
    assert problem.objectives() == ATTRIBUTES[:2]
    found = trained(problem, "ws", 40)
    assert found[f"accuracy/{ATTRIBUTES[0]}"] == 100.0
    findings = check_problem(find_problem("celeba"), {"tasks": 2, "batch_size": 3})
    assert conforms(findings), [finding.sentence for finding in findings]


def test_missing_faces_are_asked_for_before_anything_runs(tmp_path, monkeypatch):
    faces.cache_clear()
    monkeypatch.setenv(VARIABLE, json.dumps({"data_root": str(tmp_path), "data_download": "false"}))
    with pytest.raises(UserError, match=r"celeba: .*celeba does not hold it .*data.root=DIR .*data.download=true"):
        find_problem("celeba")().prepare()


def test_batches_cover_each_epoch_and_resume_in_the_middle_of_one():
    rows = Rows(torch.arange(10.0)[:, None], torch.zeros(10, 1))
    stream = Shuffled(rows, 3, Streams(0).torch("data"))
    seen = torch.cat([stream.next_batch().inputs for _ in range(3)])
    assert stream.per_epoch == 3 and len(set(seen[:, 0].tolist())) == 9
    stream.next_batch()
    state = stream.state_dict()
    ahead = [stream.next_batch().inputs for _ in range(5)]
    again = Shuffled(rows, 3, Streams(1).torch("data"))
    again.load_state_dict(state)
    assert all(torch.equal(a, again.next_batch().inputs) for a in ahead)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("two-digits", {"batch_size": 16}),
        ("multi-output", {}),
        ("multi-output", {"dataset": "linnerud"}),
        ("fairness", {}),
        ("fairness", {"criterion": "opportunity", "group": "age"}),
        ("fairness@1", {}),
    ],
)
def test_the_battery(name, settings):
    findings = check_problem(find_problem(name), settings)
    assert conforms(findings), [finding.sentence for finding in findings]


def test_tables_are_split_and_scaled_by_the_rows_that_are_trained_on():
    for name, sizes in (("breast-cancer", (341, 114, 114)), ("linnerud", (12, 4, 4))):
        data = table(name)
        assert (len(data.train), len(data.validation), len(data.test)) == sizes
        assert sum(sizes) == ROWS[name], "as a plan counts them without reading the table"
        assert data.train.targets.shape[1] == len(TARGETS[name])
        for columns in (data.train.inputs, data.train.targets):
            assert torch.allclose(columns.mean(0), torch.zeros(columns.shape[1]), atol=1e-5)
            assert torch.allclose(columns.std(0), torch.ones(columns.shape[1]), atol=1e-5)
    assert table("breast-cancer").train.inputs.shape[1] == 20, "no worst value is an input"


def trained(problem, method, steps, seed=0, **settings):
    training = Training(optimizer="adam", lr=5e-3, schedule="cosine", steps=steps).configuration()
    outcome = train([RunSpec.of(problem, find_method(method)(**settings), training, seed)])[0]
    assert outcome.status == "done", outcome.error
    return outcome.metrics


def test_one_task_alone_is_what_the_network_of_that_task_learns():
    """The trunk follows one target; a network that has only that target ends at the same error."""
    problem = find_problem("multi-output")(batch_size=341)
    alone = trained(problem, "plain", 60, objective=3)
    data, target = table("breast-cancer"), TARGETS["breast-cancer"].index("smoothness")
    task = problem.start(Streams(0))
    parameters = [*task.shared_parameters, *task.heads[target].parameters()]
    optimizer = torch.optim.Adam(parameters, lr=5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)
    for _ in range(60):
        optimizer.zero_grad()
        found = task.heads[target](task.trunk(data.train.inputs))[:, 0]
        torch.nn.functional.mse_loss(found, data.train.targets[:, target]).backward()
        optimizer.step()
        schedule.step()
    error = (task.heads[target](task.trunk(data.test.inputs))[:, 0] - data.test.targets[:, target]).square().mean()
    assert alone["loss/smoothness"] == pytest.approx(error.item(), rel=1e-3)


def test_the_objective_that_is_trained_alone_must_exist():
    with pytest.raises(UserError, match=r"plain.objective=5 is not accepted; the problem has 4 objectives"):
        find_method("plain")(objective=5).reset(4, np.random.default_rng(0))


def test_a_penalty_on_disparity_closes_the_gap_of_the_patients_that_are_trained_on():
    training = Training(optimizer="adam", lr=5e-3, schedule="cosine", steps=150).configuration()
    methods = [find_method("ws")(form="penalty", weight=weight) for weight in (0.0, 100.0)]
    problem = find_problem("fairness")(group="age")
    free, bound = (train([RunSpec.of(problem, method, training, 0)])[0] for method in methods)
    assert free.history["losses"][-1][1] > 0.01, "left alone, predictions differ by more than 10 points"
    assert bound.history["losses"][-1][1] < 0.1 * free.history["losses"][-1][1]


def test_gaps_are_those_of_the_two_groups():
    for criterion in ("parity", "opportunity"):
        task = find_problem("fairness")(criterion=criterion).start(Streams(2))
        rows = task.test
        chance = torch.sigmoid(task.network(rows.inputs)[:, 0]).detach().numpy()
        counted = np.ones(len(chance), bool) if criterion == "parity" else rows.fast.numpy() > 0
        group = rows.group.numpy() > 0
        expected = abs(chance[counted & group].mean() - chance[counted & ~group].mean())
        assert task.metrics()["gap"] == pytest.approx(expected, rel=1e-4)
        assert task.metrics()["loss/disparity"] == pytest.approx(expected**2, rel=1e-4)


def test_patients_are_split_by_the_seed_and_groups_are_those_of_the_table():
    from sklearn.datasets import load_diabetes

    raw = load_diabetes(scaled=False).data
    for group, members in (("age", raw[:, 0] > np.median(raw[:, 0])), ("sex", raw[:, 1] == 2)):
        parts = [find_problem("fairness")(group=group).start(Streams(seed)) for seed in (0, 1)]
        for task in parts:
            groups = torch.cat([rows.group for rows in (task.train, task.validation, task.test)])
            assert int(groups.sum()) == int(members.sum()) and len(groups) == 442
        assert not torch.equal(parts[0].train.inputs, parts[1].train.inputs)


def test_groups_by_age_are_cut_by_the_patients_that_are_trained_on():
    from sklearn.datasets import load_diabetes

    raw = load_diabetes(scaled=False)
    age = raw.data[:, list(raw.feature_names).index("age")]
    order = torch.randperm(len(age), generator=Streams(2).torch("problem")).numpy()
    cut = np.sort(age[order[:222]])[110]
    assert cut != np.median(age), "at this seed the two cuts differ"
    for part, rows in zip(patients(2, "age", cut_of_training=True), np.split(order, [222, 332]), strict=True):
        assert np.array_equal(part.group.numpy() > 0, age[rows] > cut)
