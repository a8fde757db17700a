"""Ctrl-C ends every command with what is there, and exit status 130."""

import os
import signal
from subprocess import PIPE

import pytest
from processes import HANGS

from workbench.cli.main import main
from workbench.progress import Waiting, note_ctrl_c, until_ctrl_c


def press():
    os.kill(os.getpid(), signal.SIGINT)


class Press:
    """Calls a function, with Ctrl-C pressed during the call of that number."""

    def __init__(self, function, at=1):
        self.function, self.left = function, at

    def __call__(self, *arguments, **options):
        self.left -= 1
        if not self.left:
            press()
        return self.function(*arguments, **options)


def test_work_that_begins_after_ctrl_c_is_stopped_as_well():
    before = signal.getsignal(signal.SIGINT)  # a job in the background may ignore it
    with note_ctrl_c() as stopped:
        with pytest.raises(KeyboardInterrupt), Waiting("a search that keeps what it has"):
            press()
        assert stopped.is_set()
        with pytest.raises(KeyboardInterrupt), Waiting("the next one"):
            raise AssertionError("it began")
    assert signal.getsignal(signal.SIGINT) is before
    with Waiting("another command"):
        pass


def test_what_was_found_is_kept_and_nothing_is_not_shown():
    with until_ctrl_c(["a row"]):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), until_ctrl_c([]):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("words", "part", "at", "shown"),
    [
        ("compare recall4 -m none -m B1", "workbench.sufficiency.comparison._best", 2, "none"),
        (
            "best recall4 -m none -m B1",
            "workbench.optima.best_memoryless.best_memoryless",
            2,
            "0.5",
        ),
        ("improve recall4 -m none -m B1", "workbench.core.improve.improve", 2, "none"),
        (
            "shortcuts recall4 -m none -m B1",
            "workbench.optima.shortcut_count.count_shortcuts",
            2,
            "Shortcuts on recall4",
        ),
        (
            "census recall4 recall --seconds 1 --out OUT",
            "workbench.sufficiency.census.count_task",
            2,
            "recall4",
        ),
        (
            "learn recall4 -m none -m B1 --steps 100 --seeds 1",
            "workbench.sweeps.run_cells.run_cells",
            2,
            "none",
        ),
        ("equilibria recall4", "workbench.equilibrium.equilibria.equilibria", 1, ""),
        (
            "critical-points recall4",
            "workbench.research.critical_points._look_at",
            14,
            "There may be more",
        ),
        (
            "needs-memory recall4 --up-to 1",
            "workbench.sufficiency.needs_memory._without",
            1,
            "Interrupted",
        ),
        (
            "diagnose recall4 -m none -m B1",
            "workbench.research.diagnose.diagnose",
            2,
            "What none keeps",
        ),
        (
            "frontier recall4 --up-to 2",
            "workbench.sufficiency.frontier.best_memoryless",
            2,
            "stopped by Ctrl-C",
        ),
        ("controller recall4", "workbench.optima.best_memoryless.best_memoryless", 1, ""),
        ("search oracle-stuck -m B1 --no-save", "workbench.lab.search._job", 1, ""),
        ("verify C5 -j 1", "workbench.cli.verify_command._judge", 1, ""),
        (
            "reproduce fig2 --out OUT",
            "workbench.sweeps.run_cells.run_cells",
            1,
            "the same command continues",
        ),
        ("explore -o OUT/page.html", "workbench.cli.explore_command.entries", 1, ""),
        ("gallery", "workbench.lab.gallery.Gallery", 1, ""),
        ("exercises -o OUT", "workbench.site.assignments.write_assignments", 1, ""),
        ("list tasks", "workbench.cli.catalogue.tasks", 1, ""),
        ("show recall4", "workbench.cli.task_name.find_task", 1, ""),
    ],
)
def test_every_command_ends(words, part, at, shown, tmp_path, capsys, monkeypatch):
    module, name = part.rsplit(".", 1)
    found = getattr(__import__(module, fromlist=[name]), name)
    monkeypatch.setattr(part, Press(found, at))
    if name == "tasks":
        monkeypatch.setitem(__import__(module, fromlist=[name]).SECTIONS, "tasks", Press(found))
    with pytest.raises(SystemExit) as end:
        main([w.replace("OUT", str(tmp_path)) for w in words.split()])
    assert end.value.code == 130
    told = capsys.readouterr()
    assert shown in told.out
    assert "Stopped." in told.err


HANGING = """
import time
from workbench.cli.main import app, main
from workbench.executors.executor import make_executor

@app.command("hang")
def hang():
    with make_executor("threads", 1) as executor:
        for _ in executor.run(time.sleep, [10_000], tick=lambda: print("begun", flush=True)):
            pass

main(["hang"])
"""


def test_a_command_that_is_stopped_waits_for_no_thread(processes):
    child = processes.python("-c", HANGING, stdout=PIPE, stderr=PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=HANGS)[1] == "Stopped.\n"
    assert child.returncode == 130
