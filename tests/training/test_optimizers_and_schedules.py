"""Torch's optimizers and schedulers by name: what is accepted, what is refused, and that they really arrive."""

import pytest
import torch

from mobench.core.registry import find_method, find_problem
from mobench.core.spec import RunSpec
from mobench.errors import UserError
from mobench.planning.plan import make_groups, make_plan
from mobench.planning.suite import load_suite
from mobench.training.loop import train
from mobench.training.optimizer import ELEMENT_BY_ELEMENT, Training
from mobench.training.torch_names import learning_rates, optimizers, schedulers


@pytest.mark.parametrize("name", sorted({*ELEMENT_BY_ELEMENT, "adafactor"} & {*optimizers()}))
def test_every_optimizer_steps_as_torch_does(name):
    ours, theirs = torch.ones(3, 2, requires_grad=True), torch.ones(3, 2, requires_grad=True)
    kind = optimizers()[name]
    decay = {} if name == "rprop" else {"weight_decay": 0.0}
    reference = kind([theirs], lr=0.1, **decay)
    built = Training(optimizer=name, lr=0.1).build([ours])
    for optimizer, tensor in ((reference, theirs), (built, ours)):
        for _ in range(3):
            tensor.grad = torch.arange(6.0).view(3, 2) - 2.0
            optimizer.step()
    assert type(built) is kind
    assert torch.equal(ours, theirs)


def test_arguments_reach_the_optimizer_and_the_id():
    plain, decayed = Training(optimizer="nadam"), Training(optimizer="NAdam", **{"optimizer.momentum_decay": 0.5})
    assert decayed.build([torch.zeros(1, requires_grad=True)]).defaults["momentum_decay"] == 0.5
    assert decayed.configuration() == {**plain.configuration(), "optimizer.momentum_decay": 0.5}
    assert Training(**decayed.configuration()).configuration() == decayed.configuration()


def test_adamw_keeps_no_weight_decay_of_its_own():
    assert Training(optimizer="adamw").build([torch.zeros(1, requires_grad=True)]).defaults["weight_decay"] == 0.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"optimizer": "nadm"}, ["nadm", "Did you mean 'nadam'?"]),
        ({"optimizer": "lbfgs"}, ["training.optimizer", "'lbfgs'"]),
        ({"optimizer": "nadam", "optimizer.momentum_deca": 1}, ["'momentum_deca'", "'momentum_decay'"]),
        ({"optimizer.amsgrad": 3}, ["training.optimizer.amsgrad=3", "true or false"]),
        ({"optimizer": "adamw", "optimizer.betas": [2, 3]}, ["betas=[2,3]", "torch says"]),
        ({"optimizer": "nadam", "momentum": 0.9}, ["training.momentum=0.9", "nadam does not use it"]),
        ({"momentum": 0.9}, ["training.momentum=0.9", "adam does not use it"]),
        ({"optimizer": "rprop", "weight_decay": 0.1}, ["rprop", "no weight decay"]),
        ({"schedule": "steplr"}, ["needs training.schedule.step_size"]),
        ({"schedule": "stepr", "schedule.step_size": 3}, ["'stepr'", "'steplr'"]),
        ({"schedule": "onecyclelr", "schedule.pct_start": 3}, ["pct_start=3", "torch says"]),
        ({"schedule": "reducelronplateau"}, ["training.schedule", "reducelronplateau"]),
        ({"schedule.gamma": 0.1}, ["training.schedule.gamma", "constant takes no arguments"]),
    ],
)
def test_mistakes_are_refused_before_anything_runs(given, words):
    with pytest.raises(UserError) as error:
        Training(**given)
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("steplr", {"step_size": 3, "gamma": 0.5}),
        ("multisteplr", {"milestones": (2, 5)}),
        ("exponentiallr", {"gamma": 0.9}),
        ("cosineannealingwarmrestarts", {"T_0": 4}),
    ],
)
def test_schedules_are_torchs(name, arguments):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.2)
    scheduler = schedulers()[name](optimizer, **arguments)
    training = Training(lr=0.2, schedule=name, steps=10, **{f"schedule.{key}": v for key, v in arguments.items()})
    for iteration in range(10):
        assert training.lr_at(iteration, 1) == optimizer.param_groups[0]["lr"]
        optimizer.step()
        scheduler.step()


def test_the_run_says_its_length_and_peak_where_they_are_not_given():
    rates = learning_rates("onecyclelr", 0.1, 20, ())
    assert max(rates) == pytest.approx(0.1)
    assert rates[-1] < 1e-4
    cosine = Training(lr=0.1, schedule="cosineannealinglr", steps=12)
    ours = Training(lr=0.1, schedule="cosine", steps=12)
    assert [cosine.lr_at(i, 1) for i in range(12)] == pytest.approx([ours.lr_at(i, 1) for i in range(12)], abs=1e-12)


def specs_of(*lines):
    overrides = {
        "problems": ["two-wells"],
        "seeds": 1,
        "training.steps": 5,
        **dict(line.split("=", 1) for line in lines),
    }
    return make_plan(load_suite("plane"), {**overrides, "methods": ["mgda", "ws"]}).specs


def test_a_learning_rate_swept_for_one_method_is_a_configuration_of_that_method():
    specs = specs_of("methods.mgda.training.lr=[0.1,0.2]")
    mgda = [spec for spec in specs if spec.method.startswith("mgda")]
    rest = [spec for spec in specs if spec.method.startswith("ws")]
    assert {spec.method_settings["training.lr"] for spec in mgda} == {0.1, 0.2}
    assert {spec.run_training["lr"] for spec in mgda} == {0.1, 0.2}
    assert {str(spec.training) for spec in mgda} == {str(spec.training) for spec in rest}
    assert all(len({spec.run_training["lr"] for spec in group}) == 1 for group in make_groups(specs))
    slow, fast = (train([spec])[0].metrics["loss/wells"] for spec in mgda[:2])
    assert slow != fast
    assert RunSpec.from_json(vars(mgda[0])).id == mgda[0].id
    assert mgda[0].build_method().name == "mgda"


def test_a_problem_brings_its_own_training():
    specs = specs_of("problems.two-wells.training.steps=3", "problems.two-wells.training.optimizer=sgd")
    assert {(spec.training["steps"], spec.training["optimizer"]) for spec in specs} == {(3, "sgd")}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("methods.mgda.training.lrr=0.1", ["'lrr'", "Did you mean 'lr'?"]),
        ("methods.mgda.training.lr=[-1]", ["training.lr=-1"]),
        ("methods.mgda.training.lr=[]", ["training.lr", "empty sweep"]),
        ("training.optimizer=adafactor", ["adafactor", "share one tensor"]),
    ],
)
def test_mistakes_in_a_methods_own_training(line, words):
    with pytest.raises(UserError) as error:
        specs_of(line)
    assert all(word in str(error.value) for word in words), error.value


def test_runs_in_lockstep_take_nadam_as_they_would_alone():
    problem, method = find_problem("two-wells")(), find_method("mgda")()
    training = Training(optimizer="nadam", lr=0.05, steps=20).configuration()
    specs = [RunSpec.of(problem, method, training, seed) for seed in range(3)]
    alone = [train([spec])[0].metrics for spec in specs]
    assert [outcome.metrics for outcome in train(specs)] == alone
