"""The census as a page: what each task is worth to whom, from the table that `workbench census`
stored.

Columns come in pairs, `history` and `history_bound`: a policy reaches the first, and none exceeds
the second. A row says whether the task needs memory, and leads to the explorer with that task where
the explorer has it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.site.filter_bar import SCRIPT, filter_bar
from workbench.site.material import Material
from workbench.sufficiency.census import COLUMNS
from workbench.sufficiency.needs_memory import verdict
from workbench.text import UNDEFINED, between, escape_html

if TYPE_CHECKING:
    import pandas as pd

STORED = Path("docs", "census.parquet")
"""Where the table lies in the project."""

_CLOSE = 1e-6


def read_census(path: Path) -> pd.DataFrame:
    """The table of a census. Another file is refused by name."""
    import pandas as pd

    needed = ["task", "source", "states", "observations", "actions", "gamma", "needs_memory"]
    needed += [name for column in COLUMNS for name in (column, f"{column}_bound")]
    try:
        found = pd.read_parquet(path)
        if missing := [name for name in needed if name not in found.columns]:
            raise ValueError(f"it has no column {missing[0]}")
    except (OSError, ValueError) as error:
        raise WorkbenchError(f"{path} is no table of a census: {error}") from None
    return found


def write_census_page(material: Material, source: Path) -> None:
    """Write the census page and its table to download, in place of the page in `docs`. Does nothing
    if no census is stored."""
    path = material.root / STORED
    if not path.exists():
        return
    table = read_census(path)
    (source / "docs" / "census.md").write_text(_page(table, material), encoding="utf-8")
    folder = source / "_static" / "census"
    folder.mkdir(parents=True)
    table.to_parquet(folder / "census.parquet")
    table.to_csv(folder / "census.csv", index=False)


def _page(table: pd.DataFrame, material: Material) -> str:
    rows = [{str(name): x for name, x in row.items()} for row in table.to_dict("records")]
    answers = [_verdict(row["needs_memory"]) for row in rows]
    counts = ", ".join(
        f"{answers.count(word)} {said}"
        for word, said in (
            ("yes", "need memory"),
            ("no", "do not"),
            ("not decided", "are not decided"),
        )
        if word in answers
    )
    heads = "".join(
        f"<th scope='col'><button type='button'>{head}</button></th>"
        for head in ("task", "size", *(c.replace("_", " ") for c in COLUMNS), "memory?")
    )
    body = "".join(_row(row, material) for row in rows)
    notes = "".join(
        f"<li>{escape_html(row['task'])}: {escape_html(row['note'])}</li>"
        for row in rows
        if row.get("note")
    )
    bar = filter_bar("census", {"memory": list(dict.fromkeys(answers))})
    return f"""# A census of tasks

What each of {len(rows)} tasks is worth to whom: to an agent that sees the state (*informed*), to
one that remembers everything (*history*), to a *deterministic* and a *stochastic* policy without
memory, and to a deterministic one with *one bit*. Two numbers are bounds: a policy reaches the
first, and none exceeds the second. {counts}. The size is that of states, observations and actions;
a name that is a link opens the task in the explorer, and the head of a column puts the table into
its order.

{bar}
<div class="scroll" tabindex="0"><table id="census" class="sortable"><thead><tr>{heads}</tr></thead>
<tbody>{body}</tbody></table></div>
{SCRIPT}

{f"<ul class='quiet'>{notes}</ul>" if notes else ""}

The table as data: <a href="../_static/census/census.csv" download>census.csv</a>,
<a href="../_static/census/census.parquet" download>census.parquet</a>. `workbench census` takes it
again, and of any `.POMDP` file or environment.
"""


def _row(row: dict[str, Any], material: Material) -> str:
    answer = _verdict(row["needs_memory"])
    name = escape_html(row["task"])
    if row["source"] in material.offered:
        name = f"<a href='../explorer.html#task={escape_html(row['source'])}'>{name}</a>"
    size = f"{row['states']} states, {row['observations']} observations, {row['actions']} actions"
    cells = "".join(_value(row[column], row[f"{column}_bound"]) for column in COLUMNS)
    return (
        f"<tr data-memory='{answer}'><th scope='row'>{name}</th>"
        f"<td data-order='{row['states']}' title='{size}, gamma {row['gamma']:g}'>"
        f"{row['states']}, {row['observations']}, {row['actions']}</td>{cells}"
        f"<td>{answer}</td></tr>"
    )


def _value(value: float | None, bound: float | None) -> str:
    if value is None or bound is None or math.isnan(value) or math.isnan(bound):
        return f"<td data-order=''>{UNDEFINED}</td>"
    shown = between(value, bound, _CLOSE * max(1.0, abs(value)))
    return f"<td data-order='{float(value)!r}'>{shown}</td>"


def _verdict(needs_memory: Any) -> str:
    # A column with gaps comes back from the file as objects, or as floats with NaN for None.
    unknown = needs_memory is None or needs_memory != needs_memory
    return verdict(None if unknown else bool(needs_memory))
