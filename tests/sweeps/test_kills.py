"""Sweeps whose drivers and workers are killed: what is there in the end is what an undisturbed run
gives, cell for cell."""

import contextlib
import os
import random
import resource
import signal
import time

import pytest
from processes import alive, children, ended, start_sweep, until

from workbench.cli.task_name import find_task
from workbench.reproduction.paper_figures import FIGURES
from workbench.sweeps.cell import cells_of, fingerprint, key_of
from workbench.sweeps.run_cells import run_cells
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
    return {key_of(cell.content(tables)): columns for cell, columns in computed.items()}


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


def kill_drivers(spec, folder, engine, kills, generator):
    """Start a driver again and again and kill each at a random moment after it has begun to
    work."""
    for _ in range(kills):
        before = finished(folder)
        driver = start_sweep(spec, folder, "--engine", engine, "--workers", "2")
        until(lambda: (folder / "cells" / ".claims").exists())
        until(
            lambda before=before, driver=driver: (
                finished(folder) > before or driver.poll() is not None
            )
        )
        time.sleep(generator.uniform(0, 0.25))
        started = [child for one in children(driver.pid) for child in (one, *children(one))]
        driver.kill()
        driver.communicate()
        assert finished(folder) >= before  # nothing that was finished is lost
        until(lambda started=started: not any(alive(pid) for pid in started))


@pytest.mark.parametrize("engine", ["threads", "local"])
def test_killed_drivers_lose_only_what_was_in_flight(spec, tmp_path, undisturbed, engine):
    folder = tmp_path / "out"
    kill_drivers(spec, folder, engine, 1 + (engine == "threads"), random.Random(7))
    before = finished(folder)
    assert complete(folder) == (len(undisturbed) - before, before)
    check(folder, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["threads", "local"])
def test_drivers_killed_many_times(spec, tmp_path, undisturbed, engine):
    generator = random.Random(11)
    for attempt in range(4):
        folder = tmp_path / f"out{attempt}"
        kill_drivers(spec, folder, engine, 4, generator)
        before = finished(folder)
        assert ended(start_sweep(spec, folder, "--engine", engine)) == (
            len(undisturbed) - before,
            before,
        )
        check(folder, undisturbed)


def kill_workers(driver, kills, generator):
    """Kill workers of a driver, one after the other, at random moments; returns how many were
    killed."""
    killed = 0
    while killed < kills and driver.poll() is None:
        workers = [worker for server in children(driver.pid) for worker in children(server)]
        if workers:
            victim = generator.choice(workers)
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            killed += 1
            until(lambda victim=victim: not alive(victim))
        time.sleep(generator.uniform(0, 0.3))
    return killed


def test_killed_workers_are_replaced_and_the_run_goes_on(spec, tmp_path, undisturbed):
    folder = tmp_path / "out"
    driver = start_sweep(spec, folder, "--engine", "local", "--workers", "2")
    assert kill_workers(driver, 3, random.Random(5)) == 3
    computed, found = ended(driver)
    assert (computed, found) == (len(undisturbed), 0)
    check(folder, undisturbed)


@pytest.mark.slow
def test_workers_killed_many_times(spec, tmp_path, undisturbed):
    generator = random.Random(13)
    for attempt in range(6):
        folder = tmp_path / f"out{attempt}"
        driver = start_sweep(spec, folder, "--engine", "local", "--workers", "2")
        kill_workers(driver, 5, generator)
        ended(driver)
        check(folder, undisturbed)


def test_two_drivers_share_the_work_and_compute_nothing_twice(spec, tmp_path, undisturbed):
    folder = tmp_path / "out"
    one, other = (start_sweep(spec, folder, "--workers", "1") for _ in range(2))
    results = ended(one), ended(other)
    assert sum(computed for computed, _ in results) == len(undisturbed)
    assert all(computed + found == len(undisturbed) for computed, found in results)
    check(folder, undisturbed)


@pytest.mark.slow
def test_a_driver_takes_over_the_cells_of_one_that_is_killed(spec, tmp_path, undisturbed):
    generator = random.Random(3)
    for attempt in range(4):
        folder = tmp_path / f"out{attempt}"
        one, other = (start_sweep(spec, folder, "--workers", "1") for _ in range(2))
        until(lambda folder=folder: finished(folder) >= 1)
        time.sleep(generator.uniform(0, 0.2))
        one.kill()
        one.communicate()
        ended(other)
        check(folder, undisturbed)


def test_a_damaged_cell_is_found_by_its_checksum_and_computed_again(tmp_path, undisturbed):
    folder = tmp_path / "out"
    complete(folder)
    victims = sorted((folder / "cells").glob("*.parquet"))[:2]
    victims[0].write_bytes(victims[0].read_bytes()[:-100])
    changed = bytearray(victims[1].read_bytes())
    changed[200] ^= 4
    victims[1].write_bytes(bytes(changed))
    assert complete(folder) == (2, len(undisturbed) - 2)
    assert {path.name for path in (folder / "cells" / "set-aside").rglob("*.parquet")} == {
        path.name for path in victims
    }
    (folder / "cells" / "set-aside").rename(tmp_path / "aside")
    check(folder, undisturbed)


def test_a_disk_that_fills_up_ends_the_run_in_words_and_the_next_one_continues(
    spec, tmp_path, undisturbed
):
    """A limit on the size of files stands for the disk; it holds for everyone, also for root."""

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))

    folder = tmp_path / "out"
    driver = start_sweep(spec, folder, preexec_fn=limited)
    out, errors = driver.communicate(timeout=60)
    assert driver.returncode == 1, out
    assert "Error: cannot write" in errors
    assert "File too large" in errors
    assert [path.name for path in (folder / "cells").iterdir()] == [".claims"]
    complete(folder)
    check(folder, undisturbed)


def test_ctrl_c_keeps_what_is_finished_and_says_so(spec, tmp_path, undisturbed):
    folder = tmp_path / "out"
    driver = start_sweep(
        spec, folder, "--engine", "local", "--workers", "2", start_new_session=True
    )
    until(lambda: (folder / "cells").exists() and finished(folder) >= 1)
    started = [child for one in children(driver.pid) for child in (one, *children(one))]
    driver.send_signal(signal.SIGINT)
    out, errors = driver.communicate(timeout=30)
    if driver.returncode == 0:
        pytest.skip("it was faster")
    assert driver.returncode == 130, errors
    assert "the same command continues" in " ".join(out.split())
    assert "Traceback" not in errors
    until(lambda: not any(alive(pid) for pid in started))
    complete(folder)
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
