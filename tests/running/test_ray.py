"""A Ray cluster of a head and two nodes, as real processes: nodes and drivers die, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mobench.core.registry import file_digest
from mobench.running.events import Event, Split
from mobench.running.executor import execute
from mobench.running.executors.base import Share
from mobench.running.executors.ray import Ray
from mobench.store.folder import Store
from tests.running import cluster_runs, trainers
from tests.running.cluster_runs import STUCK, numbers, wait_until

pytest.importorskip("ray", reason="the package ray is not installed: pip install 'mobench[ray]'")

OBJECTS = 100 * 2**20
METHOD = """
    import time
    from pathlib import Path
    from mobench import Method, register, text

    @register
    class Patient(Method):
        '''Equal weights, slowly until a file is there.'''
        gate: str = text("", meaning="a file")

        def weights(self, step):
            if not Path(self.gate).exists():
                time.sleep(0.02)
            return [1.0] * step.k
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "object_store_memory": OBJECTS, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=OBJECTS)
    yield cluster
    cluster.shutdown()


def agents() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("mobench-agent-*"))


@pytest.mark.faults
def test_a_driver_that_is_killed_or_stopped_goes_on_where_its_runs_were(cluster, tmp_path: Path) -> None:
    plugin, gate, store = tmp_path / "patient.py", tmp_path / "gate", Store(tmp_path / "ray")
    plugin.write_text(textwrap.dedent(METHOD))
    line = ["run", "problem=double-well", "methods=patient,mgda", "seeds=2", f"plugins={plugin}", "training.steps=1000"]
    line += ["problems.double-well.k=3", f"methods.patient.gate={gate}", "checkpoint_seconds=0.1", "--quiet"]

    def start(*more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "mobench", *line, *more]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tmp_path)

    def checkpoints() -> set[tuple[str, int]]:
        return {(file.name, file.stat().st_mtime_ns) for file in (store.root / "checkpoints").glob("*.pt")}

    on_ray = ["executor=ray", f"ray.address={cluster.address}", f"results={store.root}"]
    driver = start(*on_ray)
    wait_until(lambda: bool(checkpoints()) or driver.poll() is not None)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL
    before = checkpoints()
    assert before

    driver = start(*on_ray)
    wait_until(lambda: bool(checkpoints() - before) or driver.poll() is not None)
    driver.send_signal(signal.SIGTERM)
    said, _ = driver.communicate(timeout=120)
    assert driver.returncode == 130 and "To go on: mobench run" in said, said
    assert checkpoints() - before

    gate.touch()
    driver = start(*on_ray)
    said, _ = driver.communicate(timeout=240)
    assert driver.returncode == 0, said
    assert list((store.root / "checkpoints").iterdir()) == []
    local = start(f"results={tmp_path / 'local'}")
    said, _ = local.communicate(timeout=240)
    assert local.returncode == 0, said
    assert len(numbers(store)) == 4 and numbers(store) == numbers(Store(tmp_path / "local"))
    for record in store.records():  # foreign code came by content, into a process of its own
        foreign = record.spec.method.startswith("patient")
        assert record.shared is not None
        assert record.shared.sources == ((file_digest(plugin),) if foreign else ())
        assert record.shared.before == () or not foreign


@pytest.mark.faults
def test_a_node_that_dies_costs_nothing(cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, left = tmp_path / "stuck", agents()
    monkeypatch.setenv(STUCK, str(stuck))
    ray, local = Store(tmp_path / "ray"), Store(tmp_path / "local")
    networks, group = cluster_runs.networks(3), cluster_runs.lockstep(4)
    events: list[Event] = []

    def kill_the_node() -> None:
        wait_until(lambda: ray.checkpoint(networks[0].id).exists())
        above = set(cluster_runs.place(stuck)[1])
        for node in [node for node in cluster.list_all_nodes() if node is not cluster.head_node]:
            if above & {process.process.pid for process in node.all_processes["raylet"]}:
                cluster.remove_node(node, allow_graceful=False)

    killer = threading.Thread(target=kill_the_node)
    killer.start()
    groups = [*([network] for network in networks), group]
    tally = execute(
        groups,
        ray,
        executor=Ray(address=cluster.address),
        share=Share(),
        train=cluster_runs.train,
        on_event=events.append,
        weights=[4.0, 3.0, 2.0, 1.0],
    )
    killer.join()
    assert (tally.done, tally.failed) == (7, 0)
    assert any(isinstance(event, Split) and event.again and "is gone" in event.reason for event in events)
    assert not psutil.pid_exists(cluster_runs.place(stuck)[1][0])

    monkeypatch.delenv(STUCK)
    execute(groups, local, train=cluster_runs.train)
    assert numbers(ray) == numbers(local)
    shared = [record.shared for record in ray.records() if record.spec.problem == "double-well@1"]
    assert len(shared) == 4 and all(each is not None and each.beside == ("mgda@1",) for each in shared)
    assert list((ray.root / "checkpoints").iterdir()) == []
    assert len(agents() - left) <= 1  # that of the node that died; the next agent there removes it


def test_what_crashes_or_hangs_fails_alone(cluster, store: Store) -> None:
    runs = [trainers.spec(0, "exit", code=3), trainers.spec(1, "sleep", seconds=1000), trainers.spec(2)]
    ray = Ray(address=cluster.address)
    tally = execute([runs], store, executor=ray, share=Share(), time_limit=2.0, train=cluster_runs.train)
    assert (tally.done, tally.failed) == (1, 2)
    reasons = {record.spec.seed: record.outcome.reason for record in store.records()}
    assert "exit code 3" in reasons[0] and "time limit of 2 s" in reasons[1]
