"""The filter controls above a table. There is a choice for each property of the rows, and a field
for words. `filters.js` does what they ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.text import escape_html


def filter_bar(table: str, choices: Mapping[str, Sequence[str]]) -> str:
    """The controls for the table of an id, as HTML.

    Parameters
    ----------
    choices : what can be chosen, by the name of the rows' attribute: `verdict` goes with
        `data-verdict`.

    >>> "<option value='no'>no</option>" in filter_bar("t", {"memory": ["yes", "no"]})
    True
    """
    controls = "".join(
        f"<label>{escape_html(name)} <select id='by-{escape_html(name)}'>"
        f"<option value=''>all</option>{_options(values)}</select></label>"
        for name, values in choices.items()
    )
    return (
        f"<div class='filters' role='search' data-table='{escape_html(table)}'>{controls}"
        "<label>words <input id='by-words' type='search' size='14'></label>\n"
        f"<output id='{escape_html(table)}-shown' aria-live='polite'></output></div>"
    )


def _options(values: Sequence[str]) -> str:
    return "".join(
        f"<option value='{escape_html(value)}'>{escape_html(value)}</option>" for value in values
    )


SCRIPT = "<script src='../_static/filters.js'></script>"
"""For pages in a folder of their own."""
