"""`workbench diagnose`: its table fits into 80 columns and holds the numbers."""

import typer
from typer.testing import CliRunner

from workbench.cli.diagnose_command import diagnose_command

APP = typer.Typer()
APP.command()(diagnose_command)


def test_two_memories_of_the_t_maze():
    arguments = ["t_maze", "-m", "K1", "-m", "O1"]
    result = CliRunner(env={"COLUMNS": "80"}).invoke(APP, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    text = " ".join(result.output.split())
    assert "What K1 keeps on t-maze 5" in text
    assert "loses 1.06288 of the 2.12576 that the history allows" in text
    assert "Nothing is lost: some policy of (m, o) is as good as any of the history." in text
    assert "says nothing" in text
