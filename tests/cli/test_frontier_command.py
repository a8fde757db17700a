"""`workbench frontier`: its table and its picture."""

import typer
from typer.testing import CliRunner

from workbench.cli.frontier_command import frontier_command

APP = typer.Typer()
APP.command()(frontier_command)


def test_the_frontier_of_recall(tmp_path):
    picture = tmp_path / "f.svg"
    arguments = ["recall", "--up-to", "3", "-f", "OA", "--diagram", str(picture)]
    result = CliRunner(env={"COLUMNS": "80"}).invoke(APP, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert max(len(x) for x in result.output.splitlines() if "Drawn" not in x) <= 80
    text = " ".join(result.output.split())
    assert "OA1 4 3 361/400 361/400" in text
    assert "whole history is worth 361/400; 3 nodes of memory reach it." in text
    assert picture.read_text().startswith("<?xml")
