"""The command as a new user meets it: versions, misspelt names, missing extras."""

import subprocess
import sys
from pathlib import Path

import pytest

import workbench
from workbench.cli.main import GROUPS, main

ROOT = Path(__file__).parents[2]


def told(capsys, *arguments: str) -> str:
    """The error message of a command that fails."""
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    assert end.value.code == 1
    return capsys.readouterr().err


def test_the_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"workbench {workbench.__version__}\n"


def test_the_help_names_every_command_once_in_a_group_and_cuts_no_summary(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert "..." not in told.replace("[ARGS]...", "")
    lines = [line.split()[0] for line in told.splitlines() if line.strip()]
    for group, names in GROUPS.items():
        first = lines.index(f"{group}:") + 1
        assert lines[first : first + len(names)] == list(names)  # a line each
    modules = {path.stem for path in (ROOT / "workbench/cli").glob("*_command.py")}
    in_groups = [f"{name.replace('-', '_')}_command" for names in GROUPS.values() for name in names]
    assert sorted(modules) == sorted(in_groups)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("show", "recall", "-m", "b1"), "B1"),
        (("show", "recall", "-m", "OA 1"), "OA1"),
        (("show", "recall", "-m", "oa(2)"), "OA2"),
        (("show", "recall", "-m", "Nnoe"), "none"),
        (("show", "t maze"), "t_maze"),
        (("learn", "recall", "-l", "q-learning"), "qlearning"),
        (("verify", "c5"), "C5"),
        (("verify", "S4.gravty-bit"), "S4.gravity-bit"),
        (("search", "oracle-stuk"), "oracle-stuck"),
        (("improve", "recall4", "--ties", "lst"), "last"),
        (("best", "recall4", "--criterion", "avrage"), "average"),
        (("reproduce", "fig22"), "fig2"),
        (("frontier", "recall4", "-f", "cloc"), "clock"),
        (("gallery", "lst"), "list"),
        (("list", "taks"), "tasks"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(capsys, arguments, meant):
    assert f"(did you mean {meant}?)" in told(capsys, *arguments)


def test_without_z3_claims_that_need_none_are_judged_and_the_others_named():
    code = (
        "import sys; sys.modules['z3'] = None\n"
        "from workbench.cli.main import main; main(['verify', 'A4.ok', 'A2.belief', '-j', '1'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    said = " ".join(done.stdout.split())
    assert "as documented" in said
    assert (
        "A4.ok is not judged: z3 is not installed: pip install 'memory-workbench[proofs]'" in said
    )


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ("best short_corridor", "ask for --stochastic, or take a memory with -m"),
        ("controller short_corridor", "probability one; take a memory with -m"),
        ("critical-points recall -m OA1", "or a larger --faces"),
    ],
)
def test_an_error_advises_options_of_the_command(capsys, arguments, advice):
    assert advice in told(capsys, *arguments.split())
