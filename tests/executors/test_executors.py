"""Executors: the same results everywhere, nothing left running, and workers that may be lost."""

import os
import random
import signal
import subprocess
from contextlib import suppress
from functools import partial
from itertools import count

import executor_work
import pytest
from executor_work import (
    always_die,
    die_once,
    die_while_answering,
    square,
    third_fails,
    third_fails_badly,
    wait_long,
    workers_in,
)
from processes import HANGS, alive, children, until

from workbench.core.errors import WorkbenchError
from workbench.executors.executor import ExecutorError, cores, make_executor, pulse


@pytest.mark.parametrize("name", ["threads", "local"])
@pytest.mark.parametrize("workers", [1, 3])
def test_every_item_gives_its_result_once_wherever_it_is_computed(name, workers):
    with make_executor(name, workers=workers) as e:
        assert sorted(e.run(square, range(50))) == [(i, i * i) for i in range(50)]
        assert list(e.run(square, [])) == []
        assert dict(e.run(square, iter([7]))) == {0: 49}


@pytest.mark.parametrize("name", ["threads", "local"])
def test_items_are_taken_only_when_there_is_room_for_them(name):
    taken = []

    def items():
        for i in count():
            taken.append(i)
            yield i

    with make_executor(name, workers=2) as e:
        for finished, (place, result) in enumerate(e.run(square, items())):
            assert result == place**2
            assert len(taken) <= finished + 4  # two for each worker
            if finished == 30:
                break


@pytest.mark.parametrize("name", ["threads", "local"])
def test_an_error_ends_the_run_and_the_executor_can_be_used_again(name):
    with make_executor(name, workers=1) as e:
        results = e.run(third_fails, range(100))
        assert [next(results) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]
        with pytest.raises(WorkbenchError, match="three is too many"):
            next(results)
        assert dict(e.run(third_fails, [1])) == {0: 1}


def test_an_error_that_cannot_be_sent_is_told_in_words():
    with (
        make_executor("local", workers=1) as e,
        pytest.raises(ExecutorError, match="Unsendable: three is too many"),
    ):
        list(e.run(third_fails_badly, range(5)))


def test_a_killed_worker_costs_only_what_it_was_computing(tmp_path):
    with make_executor("local", workers=2) as e:
        assert sorted(e.run(partial(die_once, tmp_path), range(20))) == [
            (i, i * i) for i in range(20)
        ]
    times = {int(path.name): path.stat().st_size for path in tmp_path.iterdir()}
    assert times == {i: 2 if i == 3 else 1 for i in range(20)}


def test_a_worker_killed_in_the_middle_of_a_large_answer_holds_up_nobody(tmp_path):
    """The pools of concurrent.futures and loky wait for ever for the rest of the answer."""
    with make_executor("local", workers=2) as e:
        found = {
            x: answer[:1] for x, answer in e.run(partial(die_while_answering, tmp_path), range(6))
        }
    assert found == {x: bytes([x]) for x in range(6)}


def test_workers_may_be_killed_at_any_moment():
    """While they start, wait, compute or answer: the others go on, and nothing is lost."""
    generator, killed = random.Random(0), []

    def workers():
        return {worker for server in children(os.getpid()) for worker in children(server)}

    others = workers()
    with make_executor("local", workers=2) as e:
        results = {}
        for place, result in e.run(square, range(100)):
            results[place] = result
            victims = sorted(workers() - others) if len(killed) < 12 else []
            if victims:
                killed.append(generator.choice(victims))
                with suppress(ProcessLookupError):
                    os.kill(killed[-1], signal.SIGKILL)
    assert results == {i: i * i for i in range(100)}
    assert len(killed) == 12
    until(lambda: not any(alive(pid) for pid in killed))


def test_an_item_that_kills_every_worker_is_given_up():
    with (
        make_executor("local", workers=1) as e,
        pytest.raises(ExecutorError, match="lost 6 times while this was in flight: 17"),
    ):
        list(e.run(always_die, [17]))


def test_leaving_early_stops_threads_at_their_next_pulse(tmp_path):
    def tick():
        if list(tmp_path.iterdir()):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), make_executor("threads", workers=1) as e:
        list(e.run(partial(wait_long, tmp_path), range(3), tick))
    assert (tmp_path / "0-stopped").exists()
    assert not list(tmp_path.glob("2-*"))


def test_what_threads_have_done_so_far_is_known(tmp_path):
    seen = []

    def tick():
        seen.append(e.within)
        if seen[-1] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), make_executor("threads", workers=2) as e:
        list(e.run(partial(wait_long, tmp_path), range(2), tick))
    assert e.within == 0


def test_a_pulse_outside_of_an_executor_does_nothing():
    pulse(3)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_driver(tmp_path, processes, how):
    driver = processes.python(executor_work.__file__, tmp_path, stderr=subprocess.PIPE, text=True)
    until(lambda: len(workers_in(tmp_path)) == 2, driver)
    driver.send_signal(how)
    _, errors = driver.communicate(timeout=HANGS)
    until(lambda: not any(alive(pid) for pid in workers_in(tmp_path)))
    if how == signal.SIGINT:
        assert driver.returncode == -signal.SIGINT
        reports = errors.count("Traceback") - errors.count("During handling of the above")
        assert reports == 1, errors  # the driver's own, whatever it was at, and none of the workers


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "treads"}, "unknown executor 'treads': choose one of threads, local, dask"),
        ({"name": "local", "workers": 0}, "workers must be at least 1, not 0"),
        (
            {"name": "local", "scheduler": "tcp://here:1"},
            "belongs to the executor dask, not to local",
        ),
        ({"name": "dask", "scheduler": "tcp://here:1", "workers": 2}, "has its own workers"),
    ],
)
def test_wrong_executors_are_refused(arguments, message):
    with pytest.raises(ExecutorError, match=message):
        make_executor(**arguments)


def test_the_default_is_every_core():
    with make_executor("threads") as e:
        assert e.workers == cores() >= 1
