"""Sweeps whose drivers and workers are killed: what is there in the end is what an undisturbed run
gives, cell for cell.

Processes are killed with `-m slow`. Each of these tests has a twin in this process: runs that are
left anywhere and go on, two runs at once, interruptions (here), workers that are lost
(tests/executors), disks that are full (test_store.py).
"""

import contextlib
import os
import random
import resource
import signal
from itertools import islice
from threading import Thread

import pytest
from processes import HANGS, alive, children, descendants, ended, until

from workbench.cli.task_name import find_task
from workbench.executors.executor import make_executor
from workbench.reproduction.paper_figures import FIGURES
from workbench.sweeps.cell import cells_of, fingerprint, key_of
from workbench.sweeps.run_cells import finish_cells, run_cells
from workbench.sweeps.spec import parse_spec
from workbench.sweeps.store import Store, cells_in

SPEC = """
[grid]
task = "recall"
memory = ["B1", "OA1"]
learner = "sarsa"
lam = [0.0, 0.5, 1.0]
epsilon = [0.01, 0.1]
seeds = 10
steps = 100_000
measure = "final"
"""


@pytest.fixture(scope="module")
def undisturbed():
    """The columns of every cell, by its key."""
    cells = parse_spec(SPEC, find_task).cells
    computed, _ = run_cells(cells, find_task)
    tables = fingerprint(find_task("recall"))
    return {key_of(cell.content(tables)): found.columns() for cell, found in computed.items()}


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def check(folder, undisturbed):
    """All cells are there, each once, whole, and to the last bit those of the undisturbed run."""
    found = {
        path.stem: columns
        for path, content, columns in cells_in(folder / "cells")
        if content is not None
    }
    assert found.keys() == undisturbed.keys()
    for key, columns in found.items():
        assert list(columns) == list(undisturbed[key])
        for name, column in columns.items():
            assert column.dtype == undisturbed[key][name].dtype
            assert column.tobytes() == undisturbed[key][name].tobytes()
    assert not (folder / "cells" / "set-aside").exists()


def finished(folder):
    return len(list((folder / "cells").glob("*.parquet")))


def complete(folder):
    """Do what is left, in this process; returns how many cells were computed and found."""
    cells = parse_spec(SPEC, find_task).cells
    computed, found = run_cells(cells, find_task, Store(folder / "cells"))
    return len(computed) - len(found), len(found)


# ---------------------------------------------------------------------- in this process


@pytest.mark.parametrize("kept", [0, 1, 7, 23, 24])
def test_a_run_that_is_left_anywhere_goes_on_where_it_was(tmp_path, undisturbed, kept):
    folder = tmp_path / "out"
    cells = parse_spec(SPEC, find_task).cells
    with make_executor("threads", workers=1) as one:
        left = finish_cells(cells, find_task, Store(folder / "cells"), one)
        assert len(list(islice(left, kept))) == kept
        left.close()
    assert kept <= finished(folder)
    before = finished(folder)
    assert complete(folder) == (len(undisturbed) - before, before)
    check(folder, undisturbed)


def test_two_runs_at_once_share_the_work_and_compute_nothing_twice(tmp_path, undisturbed):
    folder, results = tmp_path / "out", []
    runs = [Thread(target=lambda: results.append(complete(folder))) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert sum(computed for computed, _ in results) == len(undisturbed)
    assert all(computed + found == len(undisturbed) for computed, found in results)
    check(folder, undisturbed)


def test_cells_of_figures_and_of_sweeps_are_the_same_cells(tmp_path):
    """A sweep with the settings of a figure finds what `workbench reproduce` has computed."""
    figure = FIGURES["fig11"].with_length(5, 1000, 100).with_memories(["B1"])
    store = Store(tmp_path)
    run_cells(cells_of(figure), find_task, store)
    text = """[grid]
    task = "gravity"
    memory = "B1"
    learner = "sarsa"
    lam = [0, 0.5, 1]
    seeds = 5
    steps = 1000
    every = 100
    """
    _, reused = run_cells(parse_spec(text, find_task).cells, find_task, store)
    assert len(reused) == 3


# ---------------------------------------------------------------------- processes


def kill_drivers(processes, spec, folder, executor, kills, generator):
    """Start a driver again and again and kill each when it has finished a few cells more."""
    for _ in range(kills):
        before = finished(folder)
        driver = processes.sweep(spec, folder, "--executor", executor, "--workers", "2")
        more = generator.randrange(1, 4)
        until(
            lambda before=before, more=more, driver=driver: (
                finished(folder) >= before + more or driver.poll() is not None
            )
        )
        started = descendants(driver.pid)
        driver.kill()
        driver.communicate()
        assert finished(folder) >= before  # nothing that was finished is lost
        until(lambda started=started: not any(alive(pid) for pid in started))


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.parametrize("executor", ["threads", "local"])
def test_killed_drivers_lose_only_what_was_in_flight(
    processes, spec, tmp_path, undisturbed, executor, attempt
):
    folder = tmp_path / "out"
    kill_drivers(processes, spec, folder, executor, 3, random.Random(attempt))
    before = finished(folder)
    assert ended(processes.sweep(spec, folder, "--executor", executor)) == (
        len(undisturbed) - before,
        before,
    )
    check(folder, undisturbed)


def kill_workers(driver, folder, kills, generator):
    """Kill workers of a driver, one after the other, each when a few cells more are finished."""
    killed = 0
    while killed < kills and driver.poll() is None:
        workers = [worker for server in children(driver.pid) for worker in children(server)]
        if workers:
            victim = generator.choice(workers)
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            killed += 1
            until(lambda victim=victim: not alive(victim))
            wanted = finished(folder) + generator.randrange(2)
            until(lambda wanted=wanted: finished(folder) >= wanted or driver.poll() is not None)
    return killed


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_killed_workers_are_replaced_and_the_run_goes_on(
    processes, spec, tmp_path, undisturbed, attempt
):
    folder = tmp_path / "out"
    driver = processes.sweep(spec, folder, "--executor", "local", "--workers", "2")
    assert kill_workers(driver, folder, 3, random.Random(attempt)) > 0
    assert ended(driver) == (len(undisturbed), 0)
    check(folder, undisturbed)


@pytest.mark.slow
def test_two_drivers_share_the_work_and_compute_nothing_twice(
    processes, spec, tmp_path, undisturbed
):
    folder = tmp_path / "out"
    one, other = (processes.sweep(spec, folder, "--workers", "1") for _ in range(2))
    results = ended(one), ended(other)
    assert sum(computed for computed, _ in results) == len(undisturbed)
    assert all(computed + found == len(undisturbed) for computed, found in results)
    check(folder, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(3))
def test_a_driver_takes_over_the_cells_of_one_that_is_killed(
    processes, spec, tmp_path, undisturbed, attempt
):
    folder = tmp_path / "out"
    one, other = (processes.sweep(spec, folder, "--workers", "1") for _ in range(2))
    until(lambda: finished(folder) > attempt)
    one.kill()
    one.communicate()
    ended(other)
    check(folder, undisturbed)


@pytest.mark.slow
def test_a_disk_that_fills_up_ends_the_run_in_words_and_the_next_one_continues(
    processes, spec, tmp_path, undisturbed
):
    """A limit on the size of files stands for the disk; it holds for everyone, also for root."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))

    folder = tmp_path / "out"
    driver = processes.sweep(spec, folder, preexec_fn=limited)
    out, errors = driver.communicate(timeout=HANGS)
    assert driver.returncode == 1, out
    assert "Error: cannot write" in errors
    assert "File too large" in errors
    assert [path.name for path in (folder / "cells").iterdir()] == [".claims"]
    complete(folder)
    check(folder, undisturbed)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_says_so(processes, tmp_path):
    """The last cell takes longer than anyone waits, so that the interruption is never too late."""
    spec, folder = tmp_path / "spec.toml", tmp_path / "out"
    grid = SPEC.replace("steps = 100_000", "steps = [100_000, 1_000_000_000_000]")
    spec.write_text(grid)
    driver = processes.sweep(spec, folder, "--executor", "local", "--workers", "2")
    until(lambda: finished(folder) >= 1, driver)
    started = descendants(driver.pid)
    before = finished(folder)
    driver.send_signal(signal.SIGINT)
    out, errors = driver.communicate(timeout=HANGS)
    assert driver.returncode == 130, errors
    assert "the same command continues" in " ".join(out.split())
    assert "Traceback" not in errors
    until(lambda: not any(alive(pid) for pid in started))
    assert all(content is not None for _, content, _ in cells_in(folder / "cells"))
    assert finished(folder) >= before
