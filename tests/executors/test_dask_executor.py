"""The executor `dask` on a cluster that is named by its address.

Each test runs on a scheduler and workers in the threads of this process and, with `-m slow`, on
processes on the loopback interface, started as on a cluster. Only processes can be killed.
"""

import os
import random
import signal
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from executor_work import die_once, square, third_fails, third_fails_badly, wait_long
from processes import Processes, children, until, whole_json

from workbench.cli.task_name import find_task
from workbench.core.errors import WorkbenchError
from workbench.executors import dask_executor
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


@contextmanager
def threads_of_this_process():
    """A scheduler and two workers without processes of their own; the scheduler's address."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # None still takes port 8787, which may be taken
        silence_logs=50,
    ) as cluster:
        yield cluster.scheduler_address


@contextmanager
def processes_of_a_cluster(folder):
    """The address of a scheduler, and the two processes that look after its workers."""
    from distributed import Client

    place = folder / "scheduler.json"
    local = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
    with (folder / "log").open("w") as log, Processes() as started:

        def dask(*arguments):
            said = {"stdout": log, "stderr": log, "cwd": folder}
            return started.python("-m", "dask", *arguments, *local, **said)

        scheduler = dask("scheduler", "--port", "0", "--scheduler-file", place)
        until(lambda: whole_json(place) is not None, scheduler)
        address = whole_json(place)["address"]
        nannies = [dask("worker", address, "--nthreads", "1") for _ in range(2)]
        with Client(address, set_as_default=False) as client:
            until(lambda: len(client.nthreads()) == 2, scheduler, *nannies)
        yield address, nannies


@pytest.fixture(scope="module")
def real_cluster(tmp_path_factory):
    with processes_of_a_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(
    scope="module", params=["threads", pytest.param("processes", marks=pytest.mark.slow)]
)
def address(request):
    """The address of a scheduler with two workers."""
    if request.param == "processes":
        yield request.getfixturevalue("real_cluster")[0]
    else:
        with threads_of_this_process() as found:
            yield found


def workers_of(nannies):
    """The worker processes: the nannies' children, but for those that only track resources."""
    found = []
    for nanny in nannies:
        for child in children(nanny.pid):
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(child)
    return found


def bits(outcome):
    """An outcome to the last bit."""
    return {name: column.tobytes() for name, column in outcome.columns().items()}


def test_a_cluster_gives_every_result_once(address):
    with make_executor("dask", scheduler=address) as e:
        assert sorted(e.run(square, range(30))) == [(i, i * i) for i in range(30)]


@pytest.mark.slow
def test_a_cluster_survives_the_loss_of_a_worker(real_cluster, tmp_path):
    with make_executor("dask", scheduler=real_cluster[0]) as e:
        assert sorted(e.run(partial(die_once, tmp_path), range(20))) == [
            (i, i * i) for i in range(20)
        ]
    assert (tmp_path / "3").stat().st_size == 2


FEW_CELLS = """
[[grid]]
task = "recall"
memory = "B1"
learner = "qlearning"
seeds = 3
steps = 2_000
every = 500
measure = "values"

[[grid]]
task = "recall4"
memory = "B1"
learner = "oracle"
"""


@pytest.mark.parametrize("spec", [FEW_CELLS, pytest.param(CELLS, marks=pytest.mark.slow)])
def test_cells_are_the_same_to_the_last_bit_on_every_executor_and_any_number_of_workers(
    address, spec
):
    cells = parse_spec(spec, find_task).cells
    with make_executor("threads", workers=1) as one:
        expected, _ = run_cells(cells, find_task, executor=one)
    others = [("threads", {"workers": 3}), ("dask", {"scheduler": address})]
    if spec is CELLS:  # processes take seconds to start
        others.append(("local", {"workers": 2}))
    for kind, how in others:
        with make_executor(kind, **how) as other:
            found, _ = run_cells(cells, find_task, executor=other)
        assert found.keys() == expected.keys()
        for cell, outcome in found.items():
            assert bits(outcome) == bits(expected[cell])


def test_a_search_finds_the_same_on_a_cluster_that_is_named_by_its_address_alone(
    address, monkeypatch
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
    here, there = (search("oracle-stuck", **question, scheduler=where) for where in (None, address))
    assert used == [("dask", None, address)]
    assert len(here.finds) == 2
    assert [find.provenance for find in there] == [find.provenance for find in here]
    assert [find.verdict for find in there] == [find.verdict for find in here]


def run_while_workers_are_killed(cells, cluster, folder, kills, generator):
    """Run cells on the cluster, and kill a worker whenever some number of cells is done."""
    address, nannies = cluster
    moments = sorted(generator.sample(range(1, len(cells) // 2), kills))
    killed = []

    def kill(progress):
        if moments and progress.cells_done >= moments[0] and (workers := workers_of(nannies)):
            moments.pop(0)
            killed.append(generator.choice(workers))
            with suppress(ProcessLookupError):
                os.kill(killed[-1], signal.SIGKILL)

    with make_executor("dask", scheduler=address) as e:
        found, _ = run_cells(cells, find_task, Store(folder), e, kill)
    assert killed
    return found


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(4))
def test_workers_of_a_cluster_are_killed_and_nothing_changes(real_cluster, tmp_path, attempt):
    cells = parse_spec(CELLS.replace("seeds = 7", "seeds = 300"), find_task).cells
    expected, _ = run_cells(cells, find_task)
    generator = random.Random(attempt)
    found = run_while_workers_are_killed(cells, real_cluster, tmp_path, 1 + attempt % 3, generator)
    assert all(bits(found[cell]) == bits(expected[cell]) for cell in cells)


def test_a_worker_with_other_code_is_refused(address, monkeypatch):
    cells = parse_spec(CELLS, find_task).cells[:1]
    monkeypatch.setattr("workbench.sweeps.run_cells.code_version", lambda method: "another")
    for other in (make_executor("threads"), make_executor("dask", scheduler=address)):
        with (
            pytest.raises(
                working.OtherCode, match="a worker runs another version of the workbench"
            ),
            other,
        ):
            run_cells(cells, find_task, executor=other)


def test_errors_on_a_cluster_come_back(address):
    with (
        make_executor("dask", scheduler=address) as e,
        pytest.raises(WorkbenchError, match="three is too many"),
    ):
        list(e.run(third_fails, range(10)))


@pytest.mark.slow
def test_errors_that_cannot_be_sent_come_back_in_words(real_cluster):
    with (
        make_executor("dask", scheduler=real_cluster[0]) as e,
        pytest.raises(ExecutorError, match="Unsendable: three is too many"),
    ):
        list(e.run(third_fails_badly, range(5)))


def test_leaving_early_stops_the_tasks_of_a_cluster(address, tmp_path):
    def tick():
        if len(list(tmp_path.glob("*-[0-9]*"))) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), make_executor("dask", scheduler=address) as e:
        list(e.run(partial(wait_long, tmp_path), range(6), tick))
    until(lambda: len(list(tmp_path.glob("*-stopped"))) == 2)
    assert len(list(tmp_path.glob("*-[0-9]*"))) == 2


def test_an_address_where_nobody_answers_is_refused(monkeypatch):
    monkeypatch.setattr(dask_executor, "_ANSWER", 1)
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


def test_results_of_a_worker_that_is_lost_while_they_are_fetched_come_once():
    """Dask calls such a result pending again, although it has been fetched."""
    done = [SimpleNamespace(status="finished", result=lambda: "again") for _ in range(3)]

    def gather(futures):
        for future in futures:
            future.status = "pending"
        return list(range(len(futures)))

    executor = dask_executor.DaskExecutor(1, None)
    executor.client = SimpleNamespace(gather=gather)
    assert list(executor._results(list(enumerate(done)))) == [(0, 0), (1, 1), (2, 2)]


def test_a_cluster_whose_workers_are_lost_while_they_start_is_started_again(monkeypatch):
    import distributed

    class Lost(distributed.LocalCluster):
        left = 1

        def __init__(self, **settings):
            if Lost.left:
                Lost.left -= 1
                raise RuntimeError("Nanny failed to start.")
            super().__init__(**settings, processes=False, protocol="tcp")

    monkeypatch.setattr(distributed, "LocalCluster", Lost)
    with make_executor("dask", workers=1) as e:
        assert dict(e.run(square, [3])) == {0: 9}
    Lost.left = 3
    with pytest.raises(ExecutorError, match=r"did not start: Nanny failed to start"):
        make_executor("dask", workers=1).__enter__()
