"""`workbench critical-points`: the list and the certificate."""

import json

import pytest
import typer
from typer.testing import CliRunner

from workbench.checker.recheck import recheck
from workbench.cli.critical_points_command import critical_points_command
from workbench.core.errors import TooLarge

APP = typer.Typer()
APP.command()(critical_points_command)


def shown(*arguments: str) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    return " ".join(result.output.split())


def test_points_are_listed_with_their_kinds():
    text = shown("recall_variant")
    assert (
        "The return has 2 local maxima, worth -10 to 0: gradient ascent can stop at each of them."
        in text
    )
    assert "0 strict maximum 0 " in text
    assert "-10 strict maximum 0 " in text
    assert "minimum 1 " in text
    assert "All isolated critical points are listed." in text


def test_a_certificate_is_written_and_holds(tmp_path):
    path = tmp_path / "points.json"
    shown("recall4", "--certificate", str(path))
    assert "1 strict maximum" in recheck(json.loads(path.read_text()))


def test_too_many_faces_are_refused_by_name():
    with pytest.raises(TooLarge, match="more than 3 faces"):
        shown("recall4", "-m", "B1", "--faces", "3")
