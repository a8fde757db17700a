"""The stored census of MiniGrid and POPGym: its page, its tables, rows that are counted anew."""

import io
from pathlib import Path

import pandas as pd
import pytest

from workbench.cli.census_command import page
from workbench.interop.gym.named import explore_id
from workbench.sufficiency.census import COLUMNS, count_task, model_digest, read_journal, to_frame

DOCS = Path(__file__).parents[2] / "docs"
SECONDS, UP_TO = 5.0, 3
ROWS = {row.source: row for row in read_journal(DOCS / "environments.jsonl")}


def test_page_and_tables_are_what_the_rows_say():
    rows = list(ROWS.values())
    assert (DOCS / "environments.md").read_text(encoding="utf-8") == page(rows, SECONDS)
    table = to_frame(rows)
    text = (DOCS / "environments.csv").read_text(encoding="utf-8")
    assert text == table.to_csv(index=False)
    stored = pd.read_parquet(DOCS / "environments.parquet")
    pd.testing.assert_frame_equal(stored, pd.read_parquet(io.BytesIO(table.to_parquet())))


def test_every_family_of_tasks_is_there():
    counted = [name.partition("?")[0] for name, row in ROWS.items() if row.states]
    assert len({name for name in counted if name.startswith("popgym-")}) >= 10
    assert len({name for name in counted if name.startswith("MiniGrid-")}) >= 20
    for row in ROWS.values():
        assert row.states or row.note  # what is not counted says why
        for column in COLUMNS:
            value, bound = row.value[column], row.bound[column]
            assert value is None or value <= bound


def test_memory_s13_is_what_its_maintainers_asked_about():
    row = ROWS["MiniGrid-MemoryS13-v0"]
    assert row.value["history"] == row.bound["history"] == pytest.approx(0.898079, abs=1e-6)
    assert row.value["deterministic"] == pytest.approx(0.468576, abs=1e-6)
    assert row.memories == {"K": "> 3", "B": "2", "O": "1", "OA": "1"}


@pytest.mark.parametrize("name", ["MiniGrid-Empty-5x5-v0", "popgym-CountRecallEasy-v0?ranks=1"])
def test_small_rows_are_found_again(name):
    for package in ("minigrid", "popgym"):
        pytest.importorskip(package, reason="not installed: pip install 'memory-workbench[gym]'")
    P, stored = explore_id(name), ROWS[name]
    assert model_digest(P, SECONDS, UP_TO) == stored.digest
    row = count_task(P, name, SECONDS, UP_TO)
    for column in ("informed", "history", "deterministic"):
        assert row.value[column] == pytest.approx(stored.value[column], abs=1e-9)
        assert row.bound[column] == pytest.approx(stored.bound[column], abs=1e-6)
    assert row.memories == stored.memories
    assert row.needs_memory is stored.needs_memory
