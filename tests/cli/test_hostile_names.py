"""Names and labels come from files: whatever they hold is printed as it is."""

import re
from pathlib import Path

import pytest

from workbench import save_pomdp
from workbench.cli.main import main
from workbench.core.pomdp import POMDP

NAME = "a [/red] task :smile:"


@pytest.fixture(scope="module")
def task(tmp_path_factory) -> str:
    P = POMDP.from_functions(
        name=NAME,
        A=["[/x]", "[bold]"],
        p=lambda s, a: {("[/end]", 1 if a == s else 0): 1},
        omega=lambda s: {"[/o]": 1},
        mu={"[/x]": 1},
        gamma=1,
        terminal={"[/end]"},
    )
    path = tmp_path_factory.mktemp("hostile") / "[red].POMDP"
    save_pomdp(P, path)
    return str(path)


@pytest.mark.parametrize(
    "words",
    [
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
        "controller TASK",
        "census TASK --seconds 1 --out OUT",
    ],
)
def test_a_name_with_markup_is_printed_as_it_is(task, words, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        main([task if w == "TASK" else w.replace("OUT", str(tmp_path)) for w in words.split()])
    assert end.value.code in (0, None)
    assert re.search(r"\[/red\]\s+task|\[red\]|\[/?[xo]", capsys.readouterr().out)


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
