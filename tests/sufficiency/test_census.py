"""The census: its columns against the searches, its journal, its page and Parquet file."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
import typer
from toy_tasks import small_task
from typer.testing import CliRunner

from pomdps import recall4, shuttle, t_maze
from workbench import best_history, best_memoryless
from workbench.cli.census_command import census_command, page
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.interop.gym.named import explore_id
from workbench.sufficiency.census import (
    COLUMNS,
    CensusRow,
    count_task,
    model_digest,
    read_journal,
    take_census,
    to_frame,
)
from workbench.sufficiency.needs_memory import Limits, needs_memory

F = Fraction
DATA = Path(__file__).parents[1] / "data"
APP = typer.Typer()
APP.command()(census_command)


def test_columns_are_what_the_searches_find():
    P = t_maze(2)
    row = count_task(P, seconds=20)
    assert row.value["history"] == row.bound["history"] == float(best_history(P).value)
    assert row.value["deterministic"] == pytest.approx(float(best_memoryless(P).value))
    assert row.value["one_bit"] == pytest.approx(row.value["informed"])
    assert row.needs_memory is True
    for column in COLUMNS:
        assert row.value[column] <= row.bound[column] + 1e-9
    assert (row.states, row.observations, row.actions, row.note) == (9, 5, 4, "")


def test_columns_bound_each_other():
    """Ten minutes would close the gaps; a moment leaves bounds that must still agree."""
    row = count_task(shuttle(), seconds=0.3)
    value, bound = row.value, row.bound
    assert value["deterministic"] < value["one_bit"] <= value["history"] <= value["informed"]
    assert value["stochastic"] <= value["history"]
    assert bound["deterministic"] <= bound["stochastic"] <= bound["history"] <= bound["informed"]
    assert bound["one_bit"] <= bound["history"]
    assert row.needs_memory is True


def test_the_unit_of_reward_makes_no_difference():
    P = t_maze(1)
    row = count_task(P, seconds=20)
    for unit in (2.0**-40, 2.0**40):
        other = count_task(P.scale_rewards(unit), seconds=20)
        assert other.needs_memory is True
        for column in COLUMNS:
            assert other.value[column] == pytest.approx(unit * row.value[column], rel=1e-9)


def test_a_task_that_is_seen_needs_no_memory():
    P = small_task("seen", lambda s, a: {("end", int(a == s)): 1}, 0, omega=lambda s: {s: 1})
    assert count_task(P, seconds=1).needs_memory is False


def test_what_has_no_value_is_left_out_and_named():
    P = small_task("for ever", lambda s, a: {(s, 1): 1}, 0, A=["go"])
    row = count_task(P, seconds=1)
    assert row.value == dict.fromkeys(COLUMNS)
    assert row.needs_memory is None
    assert row.note.startswith("informed: gamma is 1 and no policy of for ever ends")


def test_rows_are_not_done_twice_unless_the_task_or_the_time_changes(tmp_path):
    journal = tmp_path / "journal.jsonl"
    asked = [("recall4", recall4)]
    assert [known for _, known in take_census(asked, journal, 1)] == [False]
    ((row, known),) = take_census(asked, journal, 1)
    assert known
    assert row.value["one_bit"] == 1.0
    assert [known for _, known in take_census(asked, journal, 2)] == [False]
    other = [("recall4", lambda: recall4(2))]
    assert [known for _, known in take_census(other, journal, 1)] == [False]
    assert model_digest(recall4(), 1) != model_digest(recall4(2), 1)


def test_a_line_that_was_cut_off_is_done_again_and_damage_is_named(tmp_path):
    journal = tmp_path / "journal.jsonl"
    list(take_census([("recall4", recall4)], journal, 1))
    whole = journal.read_text()
    journal.write_text(whole + whole[:40])
    assert len(read_journal(journal)) == 1
    list(take_census([("t", lambda: t_maze(1))], journal, 1))
    assert [row.task for row in read_journal(journal)] == ["recall4", "t-maze 1"]
    journal.write_text("nonsense\n" + whole)
    with pytest.raises(WorkbenchError, match="line 1 is no row of a census"):
        read_journal(journal)
    old = {key: x for key, x in json.loads(whole).items() if key != "check"}
    journal.write_text(json.dumps(old) + "\n")
    with pytest.raises(WorkbenchError, match="from an older version"):
        read_journal(journal)
    journal.write_text(whole.replace('"one_bit": 1.0', '"one_bit": 2.0', 1))
    with pytest.raises(WorkbenchError, match=r"line 1 .* was changed after it was written"):
        read_journal(journal)


def test_the_frame_has_a_column_for_each_value_and_bound(tmp_path):
    journal = tmp_path / "journal.jsonl"
    rows = [row for row, _ in take_census([("recall4", recall4)], journal, 1)]
    frame = to_frame(rows)
    assert frame["history"].tolist() == [1.0]
    assert frame["deterministic_bound"].tolist() == [rows[0].bound["deterministic"]]
    assert isinstance(rows[0], CensusRow)
    assert json.loads(journal.read_text())["task"] == "recall4"


def test_the_command_writes_a_page_and_a_parquet_file(tmp_path):
    arguments = ["recall4", "t_maze", "--seconds", "1", "-o", str(tmp_path)]
    result = CliRunner(env={"COLUMNS": "100"}).invoke(APP, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    page = (tmp_path / "census.md").read_text()
    assert "| t-maze 5 | 2.12576 | 2.12576 | 1.06288 |" in page
    assert pd.read_parquet(tmp_path / "census.parquet")["needs_memory"].tolist() == [True, True]
    assert "known" not in result.output
    again = CliRunner(env={"COLUMNS": "100"}).invoke(APP, arguments, catch_exceptions=False)
    assert "recall4: known" in again.output


def test_memories_of_each_family_are_counted_where_asked():
    row = count_task(recall4(), seconds=5, up_to=2)
    asked = needs_memory(recall4(), up_to=2).families
    assert row.memories == {family.kind: str(family) for family in asked}
    assert row.memories["B"] == "1"
    assert count_task(recall4(), seconds=1).memories == {}
    open_ = replace(row, bound={**row.bound, "stochastic": 1.0})
    assert open_.needs_memory is True  # no memory is refuted where a family's smallest is known
    assert replace(open_, memories={"K": "<= 2", "B": "?"}).needs_memory is None
    assert replace(open_, memories={"K": "? (> 0)"}).needs_memory is True


def test_what_is_too_large_has_a_row_that_says_so(tmp_path):
    def make():
        raise TooLarge("more than 5 states")

    journal = tmp_path / "census.jsonl"
    asked = [("large-v0", make), ("recall4", recall4)]
    found = [(row.task, row.note, known) for row, known in take_census(asked, journal, 1)]
    assert found == [("large-v0", "more than 5 states", False), ("recall4", "", False)]
    assert [known for _, known in take_census(asked, journal, 1)] == [True, True]
    text = page(read_journal(journal), 1)
    assert "## Not counted\n\n- large-v0: more than 5 states" in text


@pytest.mark.slow
def test_memory_s13_is_closed_by_what_was_seen_or_two_bits():
    pytest.importorskip("minigrid", reason="not installed: pip install 'memory-workbench[gym]'")
    found = needs_memory(explore_id("MiniGrid-MemoryS13-v0"), limits=Limits(seconds=15))
    assert float(found.history.value) == pytest.approx(0.898079, abs=1e-6)
    assert float(found.best_without) == pytest.approx(0.468576, abs=1e-6)
    assert found.needed is True
    closed = {family.kind: str(family) for family in found.families}
    assert closed == {"K": "> 3", "B": "2", "O": "1", "OA": "1"}


@pytest.mark.slow
def test_published_files_are_counted_beside_tasks(tmp_path):
    published = tmp_path / "published"
    published.mkdir()
    shutil.copy(DATA / "tiger.aaai.POMDP", published)
    (published / "notes.txt").write_text("no task")
    arguments = ["recall4", "--files", str(published), "--seconds", "0.2", "-o", str(tmp_path)]
    result = CliRunner(env={"COLUMNS": "100"}).invoke(APP, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    frame = pd.read_parquet(tmp_path / "census.parquet")
    assert frame["source"].tolist() == ["recall4", "tiger.aaai.POMDP"]
    assert frame["deterministic"].tolist()[1] < frame["history"].tolist()[1]
