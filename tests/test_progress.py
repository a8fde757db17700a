"""The progress bar: silent at first, gone in the end."""

from __future__ import annotations

import threading

import pytest

import workbench.progress as waiting_module
from workbench.progress import Waiting


@pytest.fixture
def at_once(monkeypatch):
    """A display that appears with the first report, as on a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(waiting_module, "PATIENCE", 0.0)
    monkeypatch.setattr(waiting_module, "_BETWEEN", 0.0)


def test_nothing_is_shown_in_the_first_two_seconds(capsys):
    with Waiting("counting") as waiting:
        waiting.report(0.5, "half")
        assert waiting._bar is None
    assert capsys.readouterr() == ("", "")


def test_nothing_is_written_to_a_file(monkeypatch, capsys):
    monkeypatch.setattr(waiting_module, "PATIENCE", 0.0)
    with Waiting("counting") as waiting:
        waiting.report(0.5, "half")
    assert waiting._bar is not None
    assert capsys.readouterr() == ("", "")


def test_a_long_computation_shows_a_bar_and_takes_it_away(at_once):
    with Waiting("counting") as waiting:
        waiting.report(0.25, "1 of 4")
        waiting.report(7.0, "beyond")
        bar = waiting._bar
        assert bar is not None
        assert bar.tasks[0].completed == 1.0
        assert bar.tasks[0].fields["text"] == "beyond"
        assert bar.live.is_started
    assert not bar.live.is_started
    assert waiting.seconds >= 0


def test_an_interruption_takes_the_bar_away_as_well(at_once):
    waiting = Waiting("counting")

    def interrupted() -> None:
        with waiting:
            waiting.report(0.25, "1 of 4")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert waiting._bar is not None
    assert not waiting._bar.live.is_started


def test_a_long_run_writes_a_line_to_a_log_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(waiting_module, "PATIENCE", 0.0)
    monkeypatch.setattr(waiting_module, "_BETWEEN", 0.0)
    with Waiting("cells") as waiting:
        waiting.report(0.5, "1 of 2 [done]")
        assert capsys.readouterr().err == ""  # nothing is due yet
        monkeypatch.setattr(waiting_module, "_BETWEEN_LINES", 0.0)
        waiting.report(0.5, "1 of 2 [done]")
    assert capsys.readouterr().err == "cells: 1 of 2 [done]\n"


def test_the_time_left_is_told_where_work_is_steady(at_once):
    for steady in (True, False):
        with Waiting("steps", steady=steady) as waiting:
            waiting.began -= 30.0
            waiting.report(0.25, "")
            assert waiting._bar is not None
            assert waiting._bar.tasks[0].fields["left"] == ("1.5 min left" if steady else "")


def test_an_unknown_share_and_an_unwanted_display(at_once):
    with Waiting("exploring") as waiting:
        waiting.report(None, "12 states found")
        assert waiting._bar is not None
        assert waiting._bar.tasks[0].total is None
    with Waiting("exploring", wanted=False) as waiting:
        waiting.report(None, "12 states found")
        assert waiting._bar is None


def test_no_thread_draws_the_bar(at_once):
    """One that draws may use the global random generator, which the import of environments
    watches."""
    before = threading.active_count()
    with Waiting("exploring") as waiting:
        waiting.report(0.5, "half")
        assert threading.active_count() == before
