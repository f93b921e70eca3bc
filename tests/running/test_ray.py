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
from mobench.running.environment import environment
from mobench.running.events import Event, Split
from mobench.running.executor import execute
from mobench.running.executors.base import Setup, Share
from mobench.running.executors.ray import Ray
from mobench.running.job import Job, Result
from mobench.store.folder import Store
from tests.running import cluster_runs, trainers
from tests.running.cluster_runs import PATIENCE, STUCK, numbers, patience, wait_until

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

    # Ray's workers give way to all others by default, and would wait for the tests beside these.
    priority = {"worker_niceness": 0}
    head = {"num_cpus": 0, "object_store_memory": OBJECTS, "include_dashboard": False, "_system_config": priority}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=OBJECTS)
    yield cluster
    cluster.shutdown()


def agents() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("mobench-agent-*"))


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

    on_ray = ["executor=ray", f"ray.address={cluster.address}", f"results={store.root}", "jobs=1"]
    driver = start(*on_ray)
    wait_until(lambda: bool(checkpoints()) or driver.poll() is not None)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL
    before = checkpoints()
    assert before

    driver = start(*on_ray)
    wait_until(lambda: bool(checkpoints() - before) or driver.poll() is not None)
    driver.send_signal(signal.SIGTERM)
    said, _ = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 130 and "To go on: mobench run" in said, said
    assert checkpoints() - before

    gate.touch()
    driver = start(*on_ray)
    said, _ = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, said
    assert list((store.root / "checkpoints").iterdir()) == []
    local = start(f"results={tmp_path / 'local'}")
    said, _ = local.communicate(timeout=PATIENCE)
    assert local.returncode == 0, said
    assert len(numbers(store)) == 4 and numbers(store) == numbers(Store(tmp_path / "local"))
    for record in store.records():  # foreign code came by content, into a process of its own
        foreign = record.spec.method.startswith("patient")
        assert record.shared is not None
        assert record.shared.sources == ((file_digest(plugin),) if foreign else ())
        assert record.shared.before == () or not foreign


def test_a_node_that_dies_costs_nothing(cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, left = tmp_path / "stuck", agents()
    monkeypatch.setenv(STUCK, str(stuck))
    ray, local = Store(tmp_path / "ray"), Store(tmp_path / "local")
    networks, group = cluster_runs.networks(3), cluster_runs.lockstep(4)
    events: list[Event] = []

    def kill_the_node() -> None:
        wait_until(lambda: ray.checkpoint(networks[0].id).exists() and stuck.exists())
        above = set(cluster_runs.place(stuck)[1])
        for node in [node for node in cluster.list_all_nodes() if node is not cluster.head_node]:
            if above & {process.process.pid for process in node.all_processes["raylet"]}:
                cluster.remove_node(node, allow_graceful=False)

    killer = threading.Thread(target=kill_the_node)
    killer.start()
    groups = [*([network] for network in networks), group]
    with patience():
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
    wait_until(lambda: len(agents() - left) <= 1)  # that of the node that died; the next agent there removes it


def test_jobs_that_wait_for_a_place_get_that_of_an_idle_agent(cluster, store: Store) -> None:
    groups = [[trainers.spec(seed)] for seed in range(3)]
    ray = Ray(address=cluster.address)  # which has room for one or two
    with patience():
        tally = execute(groups, store, executor=ray, share=Share(jobs=3), train=cluster_runs.train)
    assert (tally.done, tally.failed) == (3, 0)


def test_agents_that_die_without_a_job_cost_nothing_and_those_idle_for_long_leave(
    cluster, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    store.root.mkdir()
    executor = Ray(address=cluster.address)
    executor.open(Setup(share=Share(jobs=1)))
    try:
        killer = threading.Thread(target=_kill_agent, args=(cluster,))
        killer.start()
        assert isinstance(_done(executor, store, 0), list)  # not lost with the agent that was killed at its start
        killer.join()
        _kill_agent(cluster)
        assert isinstance(_done(executor, store, 1), list)  # nor with that which was idle
        room = ray.cluster_resources()["CPU"]
        assert ray.available_resources().get("CPU", 0.0) < room
        monkeypatch.setattr("mobench.running.executors.ray.IDLE_SECONDS", 0.0)
        assert executor.poll(0.0) == []
        wait_until(lambda: ray.available_resources().get("CPU", 0.0) == room)
    finally:
        executor.close()


def _done(executor: Ray, store: Store, seed: int) -> Result:
    """Return what comes of a job."""
    job = Job(((trainers.spec(seed),),), store.root, trainers.train, environment())
    executor.submit(job)
    found: list[tuple[Job, Result]] = []
    wait_until(lambda: bool(found.extend(executor.poll(0.1)) or found))
    assert found[0][0] is job
    return found[0][1]


def _kill_agent(cluster) -> None:
    """Kill the only agent as soon as it is there."""
    found: list[psutil.Process] = []
    wait_until(lambda: bool(found.extend(each for each in psutil.process_iter() if _serves(each, cluster)) or found))
    (agent,) = found
    agent.kill()
    agent.wait()


def _serves(process: psutil.Process, cluster) -> bool:
    """Say whether a process is an agent on a node of the cluster."""
    raylets = {each.process.pid for node in cluster.list_all_nodes() for each in node.all_processes["raylet"]}
    try:
        return "RayAgent" in " ".join(process.cmdline()) and process.ppid() in raylets
    except psutil.Error:
        return False


def test_what_crashes_or_hangs_fails_alone(cluster, store: Store) -> None:
    runs = [trainers.spec(0, "exit", code=3), trainers.spec(1, "sleep", seconds=1000), trainers.spec(2)]
    ray = Ray(address=cluster.address)
    tally = execute([runs], store, executor=ray, share=Share(), time_limit=2.0, train=cluster_runs.train)
    assert (tally.done, tally.failed) == (1, 2)
    reasons = {record.spec.seed: record.outcome.reason for record in store.records()}
    assert "exit code 3" in reasons[0] and "time limit of 2 s" in reasons[1]
