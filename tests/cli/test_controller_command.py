"""`workbench controller`: its table, its files, its picture."""

import pytest
import typer
from typer.testing import CliRunner

from workbench.cli.controller_command import controller_command
from workbench.core.errors import WorkbenchError

APP = typer.Typer()
APP.command()(controller_command)


def shown(*arguments: str) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return " ".join(result.output.split())


def test_a_best_policy_is_shown_written_drawn_and_read_again(tmp_path):
    file, picture = tmp_path / "c.json", tmp_path / "c.png"
    files = ("--save", str(file), "--form", "paynt", "--diagram", str(picture))
    text = shown("t_maze", "-m", "O1", *files)
    assert "No deterministic policy with O1 is worth more." in text
    assert "goal up junction up ends" in text
    assert "is worth 2.12576" in text
    assert picture.stat().st_size > 1_000
    assert "is worth 2.12576" in shown("t_maze", "--load", str(file))


@pytest.mark.slow
def test_nodes_that_were_merged_are_counted():
    assert "8 nodes merged to 5" in shown("tiger", "-m", "K2")


def test_a_picture_needs_a_known_ending(tmp_path):
    with pytest.raises(WorkbenchError, match="a picture ends in"):
        shown("recall4", "--diagram", str(tmp_path / "c.gif"))


def test_a_controller_of_another_task_is_refused_by_the_label(tmp_path):
    file = tmp_path / "c.json"
    shown("t_maze", "-m", "O1", "--save", str(file))
    with pytest.raises(WorkbenchError, match="does not fit recall4: goal up is no observation"):
        shown("recall4", "--load", str(file))


def test_a_product_of_memories_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("workbench.core.augment.most_outcomes", lambda: 100_000)
    with pytest.raises(
        WorkbenchError, match=r"OA3\*OA3\*B5 has more than .* take a smaller memory$"
    ):
        shown("t_maze", "-m", "OA3*OA3*B5")
