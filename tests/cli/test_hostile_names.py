"""Names and labels come from files: whatever they hold is printed as it is."""

import json
import re
from pathlib import Path

import pytest
from toy_tasks import small_task

from workbench import QLearning, equilibria, save_pomdp
from workbench.cli.main import app, main
from workbench.console import plain_console, print_sheet

NAME = "a [/red] task :smile:"


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> str:
    P = small_task(
        NAME,
        lambda s, a: {("[/end]", 1 if a == s else 0): 1},
        "[/x]",
        A=["[/x]", "[bold]"],
        omega=lambda s: {"[/o]": 1},
        terminal={"[/end]"},
    )
    path = tmp_path_factory.mktemp("hostile") / "[red].POMDP"
    save_pomdp(P, path)
    return str(path)


COMMANDS = [
    "show TASK -m OA1",
    "compare TASK -m none",
    "improve TASK",
    "best TASK --history",
    "critical-points TASK",
    "shortcuts TASK",
    "learn TASK --steps 100 --seeds 1",
    "equilibria TASK",
    "equilibria TASK --symbolic",
    "needs-memory TASK --up-to 1",
    "diagnose TASK",
    "frontier TASK --up-to 1",
    "frontier TASK --up-to 1 --diagram OUT/f.png",
    "show TASK --diagram OUT/s.svg",
    "controller TASK --diagram OUT/c.png",
    "controller TASK --save OUT/c.json",
    "learn TASK --steps 100 --seeds 1 --plot OUT/l.png",
    "equilibria TASK --softmax 1/2",
    "equilibria TASK --certificate OUT/e.json",
    "critical-points TASK --certificate OUT/p.json",
    "controller TASK",
    "census TASK --seconds 1 --out OUT",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_name_with_markup_is_printed_as_it_is(task, words, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main([task if w == "TASK" else w.replace("OUT", str(tmp_path)) for w in words.split()])
    assert end.value.code in (0, None)
    assert re.search(r"\[/red\]\s+task|\[red\]|\[/?[xo]", capsys.readouterr().out)


def test_a_sweep_of_a_name_with_markup_is_run_listed_and_drawn(task, tmp_path, capsys):
    spec = tmp_path / "[blue].toml"
    spec.write_text(
        f"[[grid]]\ntask = {json.dumps(task)}\nmemory = 'none'\nlearner = 'sarsa'\n"
        "steps = 10\nseeds = 1\nevery = 5\n"
    )
    out = str(tmp_path / "[red]")
    for words in (
        ["sweep", str(spec), "-o", out],
        ["results", out, "--plot", str(tmp_path / "[r].png"), "--csv", str(tmp_path / "[r].csv")],
    ):
        with pytest.raises(SystemExit) as end:
            main(words)
        assert end.value.code in (0, None)
    assert "[red].POMDP" in capsys.readouterr().out.replace("\n", "")


def test_control_characters_are_printed_as_escapes(tmp_path, capsys):
    """A terminal obeys them."""
    spec = tmp_path / "sweep.toml"
    spec.write_text('"a\\u0000\\u001b[31mb" = 1\n')
    with pytest.raises(SystemExit):
        main(["sweep", str(spec)])
    assert r"a\x00\x1b[31mb = 1: unknown key" in capsys.readouterr().err
    P = small_task(
        "a\x1b[31m task", lambda s, a: {("end", 0): 1}, "s", A=["\x07"], omega=lambda s: {"\x1b": 1}
    )
    print_sheet(equilibria(P, QLearning()).sheet())
    plain_console().print(f"{P.name}: {P.A[0]}")
    told = capsys.readouterr().out
    assert told.endswith("a\\x1b[31m task: \\x07\n")
    assert not {"\x1b", "\x07"} & set(told)


def test_every_command_that_takes_a_task_is_tried():
    """A command that is added to `main` is added here."""
    tried = {words.split()[0] for words in COMMANDS} | {"sweep", "results"}
    without_a_task = {
        *("list", "explore", "verify", "reproduce", "self-test", "search", "gallery"),
        *("site", "exercises"),
    }
    assert {command.name for command in app.registered_commands} == tried | without_a_task


def test_commands_print_by_one_console_only():
    """A console of rich's own reads labels as markup."""
    root = Path(__file__).parents[2]
    found = [
        str(path.relative_to(root))
        for room in ("workbench", "proofs")
        for path in (root / room).rglob("*.py")
        if re.search(r"\bConsole\(", path.read_text()) and path.name != "console.py"
    ]
    assert not found
