"""The notebooks as they are committed: run from top to bottom, short cells, no warning and no path
in any output.

`pytest -m slow tests/notebooks` runs all of them, the daily tests run the shortest;
`python tests/support/build_notebooks.py` runs them and writes the outputs.
"""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="the extra `notebooks` is not installed")
pytest.importorskip("nbclient", reason="the extra `notebooks` is not installed")

from build_notebooks import FOLDER, WIDGET, cleaned, complaints, repository  # noqa: E402
from nbclient import NotebookClient  # noqa: E402
from nbclient.exceptions import CellExecutionError  # noqa: E402

from workbench.site.hosted_notebook import extras_of, install_cell, without_install_cell  # noqa: E402

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks():
    assert {"90-recipes.ipynb", "91-which-tasks-need-memory.ipynb"} <= {
        path.name for path in NOTEBOOKS
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_what_is_committed_was_run_whole_and_shows_no_warning_and_no_path(path: Path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert complaints(notebook) == []
    assert notebook.cells[1] == install_cell(repository(), extras_of(notebook))
    cells = without_install_cell(notebook)["cells"]
    assert ("deep" in extras_of(notebook)) == (NEEDS.get(path.name[:2]) == "jax")
    counts = [cell.execution_count for cell in cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))


SHORT = ("90",)
"""The notebooks that the daily tests run: recipes, which call most of the library."""


NEEDS = {"15": "jax"}
"""Packages beyond the extra `notebooks`, by the numbers of the notebooks that need them."""


def execute(path: Path) -> None:
    """Run a notebook in a fresh kernel; the first cell that fails raises."""
    NotebookClient(
        nbformat.read(path, as_version=4),
        timeout=None,
        kernel_name="python3",
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()


@pytest.mark.parametrize("number", SHORT)
def test_a_short_notebook_runs_from_top_to_bottom(number):
    (path,) = FOLDER.glob(f"{number}-*.ipynb")
    execute(path)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_notebook_runs_from_top_to_bottom(path: Path):
    if path.name[:2] in NEEDS:
        pytest.importorskip(NEEDS[path.name[:2]])
    execute(path)


def test_a_notebook_that_fails_is_noticed(tmp_path):
    cell = nbformat.v4.new_code_cell("assert 1 + 1 == 3, 'no'")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "wrong.ipynb")
    with pytest.raises(CellExecutionError, match=r"AssertionError.*no"):
        execute(tmp_path / "wrong.ipynb")


def test_a_widget_is_stored_as_what_it_shows():
    """Without its kernel a widget shows nothing: the HTML beside it stays, progress bars go."""
    new = nbformat.v4
    cell = new.new_code_cell("show()", execution_count=1)
    both = {WIDGET: {"model_id": "0"}, "text/html": "<p>still</p>", "text/plain": "Explorer()"}
    bar = {WIDGET: {"model_id": "1"}, "text/plain": "Output()"}
    cell.outputs = [new.new_output("display_data", data=data) for data in (both, bar)]
    cleaned(new.new_notebook(cells=[cell]))
    assert [list(output.data) for output in cell.outputs] == [["text/html", "text/plain"]]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("02", "step 3 of 3"),
        ("03", "in each cell TD(0) above"),
        ("04", "the best deterministic memoryless policy is worth"),
        ("05", "the best deterministic memoryless policy is worth"),
        ("06", "step 12 of 12"),
    ],
)
def test_who_reads_without_running_sees_what_the_widget_shows(number, words):
    (path,) = FOLDER.glob(f"{number}-*.ipynb")
    stored = [
        output.data["text/html"]
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "Run the cell to change what is shown" in output.get("data", {}).get("text/html", "")
    ]
    assert len(stored) == 1
    assert words in stored[0]
    assert number == "02" or "data:image/png;base64," in stored[0]


def test_complaints_name_the_cell():
    new = nbformat.v4
    stale, loud = new.new_code_cell("1"), new.new_code_cell("2", execution_count=1)
    loud.outputs = [new.new_output("stream", name="stderr", text="UserWarning: beware")]
    pathy = new.new_code_cell(
        "\n" * 13, execution_count=2, outputs=[new.new_output("stream", text="/home/me")]
    )
    hard = new.new_code_cell("3", execution_count=3)
    hard.outputs = [new.new_output("stream", text="(((o, 1),), o) is worth gamma**2")]
    bare, fine = new.new_markdown_cell("worth γ<sup>2</sup>"), new.new_markdown_cell(r"$\gamma^2$")
    cells = [stale, loud, pathy, hard, bare, fine]
    metadata = {"widgets": {"application/vnd.jupyter.widget-state+json": {}}}
    assert complaints(new.new_notebook(cells=cells, metadata=metadata)) == [
        "it keeps widgets, for which a page asks the network",
        "cell 0 was not run",
        "cell 1 shows an error or a warning: UserWarning: beware",
        "cell 1 shows 'Warning'",
        "cell 2 has 13 lines, more than 12",
        "cell 2 shows '/home/'",
        "cell 3 shows '((o, '",
        "cell 4 writes 'γ' outside $...$",
    ]
