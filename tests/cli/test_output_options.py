"""What cannot be written is refused before the work begins, by every command that writes."""

import typing
from pathlib import Path

import pytest

from workbench.cli.main import app, main

READ = {"load", "recheck", "ledger", "spec", "files", "resume"}
"""Options with a path that is read."""


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        main([*arguments])
    assert end.value.code == 1
    told = capsys.readouterr()
    assert not told.out
    return told.err


@pytest.mark.parametrize(
    "words",
    [
        "verify --json FILE",
        "verify --html FILE",
        "equilibria recall4 --certificate FILE",
        "critical-points recall4 --certificate FILE",
        "learn recall4 --plot FILE.png",
        "results . --csv FILE",
        "results . --parquet FILE",
        "results . --plot FILE.png",
        "gallery --html FILE",
        "explore -o FILE",
        "show recall4 --diagram FILE.png",
        "frontier recall4 --diagram FILE.png",
        "controller recall4 --diagram FILE.png",
        "controller recall4 --save FILE",
    ],
)
def test_a_file_that_cannot_be_written_is_refused_first(words, tmp_path, capsys, monkeypatch):
    def work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("workbench.cli.task_name.find_task", work)
    monkeypatch.setattr("workbench.cli.explore_command.entries", work)
    monkeypatch.setattr("workbench.cli.verify_command.judge_claims", work)
    monkeypatch.setattr("workbench.sweeps.results.list_folder", work)
    path = str(tmp_path / "nowhere" / "file")
    assert "no folder" in refused(capsys, *words.replace("FILE", path).split())


@pytest.mark.parametrize(
    "words",
    [
        "census recall4 --out FILE",
        "exercises -o FILE",
        "site -o FILE",
        "reproduce fig2 --out FILE",
        "learn recall4 --learner ppo --save FILE",
        "search oracle-stuck --folder FILE",
        "sweep SPEC -o FILE",
    ],
)
def test_a_folder_that_cannot_be_made_is_refused_first(words, tmp_path, capsys, monkeypatch):
    def work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("workbench.cli.site_command.gather_material", work)
    monkeypatch.setattr("workbench.lab.search.judge_piece", work)
    (tmp_path / "spec.toml").write_text(
        '[[grid]]\ntask = "recall4"\nmemory = "none"\nlearner = "qlearning"\n'
        "steps = 10\nseeds = 1\nevery = 5\n"
    )
    words = words.replace("SPEC", str(tmp_path / "spec.toml"))
    (tmp_path / "file").write_text("")
    path = str(tmp_path / "file" / "below")
    assert "cannot write to" in refused(capsys, *words.replace("FILE", path).split())


def test_every_option_that_writes_a_file_is_checked():
    """An option with a path checks it, or is known to be read, or to be a folder."""
    folders = {"out", "folder", "save"}
    for command in app.registered_commands:
        hints = typing.get_type_hints(command.callback, include_extras=True)
        del hints["return"]
        for key, hint in hints.items():
            kind, option = typing.get_args(hint)
            if Path not in (kind, *typing.get_args(kind)):
                continue
            checked = getattr(option, "callback", None) is not None
            assert checked or key in READ | folders, (command.name, key)
