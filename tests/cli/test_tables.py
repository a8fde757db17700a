"""Tables of the command line: 80 characters, a legend, and a sentence that concludes."""

import pytest
from typer.testing import CliRunner

from workbench.cli.main import app

WIDTH = 80

SPEC = """
[[grid]]
task = "recall4"
memory = ["none", "B1"]
learner = "oracle"

[[grid]]
task = "recall4"
memory = "B1"
learner = "sarsa"
seeds = 2
steps = 1000
measure = "final"
"""


@pytest.fixture(autouse=True)
def _narrow(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.chdir(tmp_path)


def printed(*words):
    found = CliRunner().invoke(app, list(words))
    assert found.exit_code == 0, found.output
    assert max(map(len, found.output.splitlines())) <= WIDTH
    return found.output


def test_the_census_explains_its_columns_and_concludes():
    text = printed("census", "recall4", "t_maze", "--seconds", "1")
    assert "Memory helps on 2 of 2 tasks." in text
    assert "stochastic: value of the best policy without memory." in text


def test_results_of_a_sweep_stand_beside_the_best_value(tmp_path):
    (tmp_path / "s.toml").write_text(SPEC)
    printed("sweep", "s.toml", "-o", "out")
    text = printed("results", "out")
    (row,) = [line for line in text.splitlines() if "B1" in line and "Oracle" in line]
    assert row.split()[-2:] == ["0.7500", "1"]
    assert "best: value of the best deterministic memoryless policy." in text


def test_the_gallery_lists_finds_below_their_statement():
    printed("search", "oracle-stuck", "-m", "B1", "--actions", "3", "--keep", "1")
    text = printed("gallery")
    assert text.startswith("From the uniform policy the oracle loop with B1 ends below the best")
    assert "gallery holds 1 find." in text


def test_statements_to_search_for_fit_the_screen():
    assert "oracle-stuck" in printed("search", "--list")


def test_a_census_says_once_that_no_policy_ends(tmp_path):
    path = tmp_path / "ring.POMDP"
    path.write_text(
        "discount: 1.0\nvalues: reward\nstates: 2\nactions: a b\nobservations: 1\n"
        "start: 1.0 0.0\nT: * identity\nO: * uniform\nR: * : * : * : * 1\n"
    )
    arguments = ["census", str(path), "--seconds", "1", "--out", str(tmp_path / "census")]
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, arguments, catch_exceptions=False)
    text = " ".join(shown.output.split())
    assert text.count("gamma 1") == 1
    assert "no value (informed, history, deterministic, stochastic, one bit)" in text
