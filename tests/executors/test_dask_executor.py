"""Engines on a Dask cluster: a scheduler and two worker processes on the loopback interface,
started like on a cluster."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from engine_work import die_once, square, third_fails, third_fails_badly, wait_long, workers_in
from processes import ENVIRONMENT, children, until

from workbench.cli.task_name import find_task
from workbench.errors import WorkbenchError
from workbench.executors import dask_executor as dask_engine
from workbench.executors.executor import ExecutorError, make_executor
from workbench.lab import search as searching
from workbench.lab.search import search
from workbench.lab.sequences import SequenceTasks
from workbench.sweeps import worker as working
from workbench.sweeps.run_cells import run_cells
from workbench.sweeps.spec import parse_spec
from workbench.sweeps.store import Store

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

CELLS = """
[[grid]]
task = "recall"
memory = ["B1", "OA1"]
learner = "qlearning"
seeds = 7
steps = 20_000
every = 2_000
measure = "values"

[[grid]]
task = ["gravity", "t_maze"]
memory = "O1"
learner = "actor-critic"
seeds = 6
steps = 5_000
max_episode_steps = 1000
measure = "final"

[[grid]]
task = "recall4"
memory = ["B1", "OA1"]
learner = "oracle"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of the scheduler, and the processes that look after the workers."""
    folder = tmp_path_factory.mktemp("cluster")
    log = (folder / "log").open("w")
    started = []

    def start(*arguments):
        command = [sys.executable, "-m", "dask", *arguments]
        started.append(
            subprocess.Popen(command, env=ENVIRONMENT, cwd=folder, stdout=log, stderr=log)
        )

    place = folder / "scheduler.json"
    start(
        "scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(place),
    )
    until(place.exists)
    address = json.loads(place.read_text())["address"]
    for _ in range(2):
        start("worker", address, "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
    yield address, started[1:]
    for process in reversed(started):
        process.kill()
        process.wait()
    log.close()


def workers_of(nannies):
    """The worker processes: the nannies' children, but for those that only track resources."""
    found = []
    for nanny in nannies:
        for child in children(nanny.pid):
            with open(f"/proc/{child}/cmdline") as line:
                if "resource_tracker" not in line.read():
                    found.append(child)
    return found


def test_a_cluster_gives_the_same_results_and_survives_the_loss_of_a_worker(cluster, tmp_path):
    with make_executor("dask", scheduler=cluster[0]) as e:
        assert sorted(e.run(square, range(30))) == [(i, i * i) for i in range(30)]
        assert sorted(e.run(partial(die_once, tmp_path), range(20))) == [
            (i, i * i) for i in range(20)
        ]
    assert (tmp_path / "3").stat().st_size == 2


def test_cells_are_the_same_to_the_last_bit_on_every_engine_and_any_number_of_workers(cluster):
    cells = parse_spec(CELLS, find_task).cells
    with make_executor("threads", workers=1) as one:
        expected, _ = run_cells(cells, find_task, engine=one)
    for other in (
        make_executor("threads", workers=3),
        make_executor("local", workers=2),
        make_executor("dask", scheduler=cluster[0]),
    ):
        with other:
            found, _ = run_cells(cells, find_task, engine=other)
        assert found.keys() == expected.keys()
        for cell, columns in found.items():
            assert {name: column.tobytes() for name, column in columns.items()} == {
                name: column.tobytes() for name, column in expected[cell].items()
            }


def test_a_search_finds_the_same_on_a_cluster_that_is_named_by_its_address_alone(
    cluster, monkeypatch
):
    question = {
        "over": SequenceTasks(2, 3),
        "memory": "B1",
        "but_not": ["OA1"],
        "method": "random",
        "keep": 2,
    }
    used = []
    monkeypatch.setattr(
        searching, "make_executor", lambda *given: used.append(given) or make_executor(*given)
    )
    here, there = (
        search("oracle-stuck", **question, scheduler=address) for address in (None, cluster[0])
    )
    assert used == [("dask", None, cluster[0])]
    assert len(here.finds) == 2
    assert [find.provenance for find in there] == [find.provenance for find in here]
    assert [find.verdict for find in there] == [find.verdict for find in here]


def kill_workers_while_running(cells, cluster, folder, kills, generator):
    """Run cells on the cluster, and kill its workers at random moments."""
    address, nannies = cluster
    times = sorted(generator.uniform(0, 0.6) for _ in range(kills))
    began, killed = time.monotonic(), []

    def kill(progress):
        if times and time.monotonic() - began > times[0] and (workers := workers_of(nannies)):
            times.pop(0)
            victim = generator.choice(workers)
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    with make_executor("dask", scheduler=address) as e:
        found, _ = run_cells(cells, find_task, Store(folder), e, kill)
    return found, killed


def test_workers_of_a_cluster_are_killed_and_nothing_changes(cluster, tmp_path):
    cells = parse_spec(CELLS.replace("seeds = 7", "seeds = 300"), find_task).cells
    expected, _ = run_cells(cells, find_task)
    found, killed = kill_workers_while_running(cells, cluster, tmp_path, 2, random.Random(2))
    assert killed
    assert all(
        found[cell][name].tobytes() == expected[cell][name].tobytes()
        for cell in cells
        for name in expected[cell]
    )


def test_a_worker_with_other_code_is_refused(cluster, monkeypatch):
    cells = parse_spec(CELLS, find_task).cells[:1]
    monkeypatch.setattr(
        "workbench.sweeps.run_cells.code_version", lambda method, measure: "another"
    )
    for other in (make_executor("threads"), make_executor("dask", scheduler=cluster[0])):
        with (
            pytest.raises(
                working.OtherCode, match="a worker runs another version of the workbench"
            ),
            other,
        ):
            run_cells(cells, find_task, engine=other)


def test_errors_on_a_cluster_come_back(cluster):
    with make_executor("dask", scheduler=cluster[0]) as e:
        with pytest.raises(WorkbenchError, match="three is too many"):
            list(e.run(third_fails, range(10)))
        with pytest.raises(ExecutorError, match="Unsendable: three is too many"):
            list(e.run(third_fails_badly, range(5)))


def test_leaving_early_stops_the_tasks_of_a_cluster(cluster, tmp_path):
    def tick():
        if len(workers_in(tmp_path)) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), make_executor("dask", scheduler=cluster[0]) as e:
        list(e.run(partial(wait_long, tmp_path), range(6), tick))
    until(lambda: len(list(tmp_path.glob("*-stopped"))) == 2)
    assert len(list(tmp_path.glob("*-[0-9]*"))) == 2


def test_an_address_where_nobody_answers_is_refused(monkeypatch):
    monkeypatch.setattr(dask_engine, "_ANSWER", 1)
    nobody = make_executor("dask", scheduler="tcp://127.0.0.1:9")
    with (
        pytest.raises(ExecutorError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"),
        nobody,
    ):
        pass


@pytest.mark.slow
def test_a_cluster_of_its_own(tmp_path):
    with make_executor("dask", workers=2) as e:
        assert sorted(e.run(square, range(50))) == [(i, i * i) for i in range(50)]
        assert sorted(e.run(partial(die_once, tmp_path), range(20))) == [
            (i, i * i) for i in range(20)
        ]


@pytest.mark.slow
def test_workers_of_a_cluster_are_killed_many_times(cluster, tmp_path):
    generator = random.Random(4)
    cells = parse_spec(CELLS.replace("seeds = 7", "seeds = 500"), find_task).cells
    expected, _ = run_cells(cells, find_task)
    for attempt in range(5):
        found, _ = kill_workers_while_running(cells, cluster, tmp_path / f"{attempt}", 3, generator)
        assert all(
            found[cell][name].tobytes() == expected[cell][name].tobytes()
            for cell in cells
            for name in expected[cell]
        )
