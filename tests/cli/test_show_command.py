"""`workbench show`: what it prints of a task, of a memory, and of the two together."""

from itertools import pairwise

import matplotlib
import pytest
import typer
from typer.testing import CliRunner

from pomdps import TASKS, gravity, recall
from workbench import augment
from workbench.cli.show_command import show_command as show
from workbench.core.errors import UnknownLabel, WorkbenchError

APP = typer.Typer()
APP.command()(show)


def shown(*arguments: str) -> str:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    return result.output


def cells(text: str) -> list[list[str]]:
    """The rows of the sheet, cut where its headings start."""
    lines = text.splitlines()
    if not (rule := [i for i, line in enumerate(lines) if line.startswith("──")]):
        return []
    heading, body = lines[rule[0] - 1], lines[rule[0] + 1 :]
    right = [heading.index(name) for name in (" o ", " a ", " s'")]
    left = [0, *(i + 1 for i in right)]
    rows = []
    for line in body[: body.index("")]:
        words = [line[i:j].strip() for i, j in pairwise(left)]
        rows.append([*words, *line[left[-1] :].rsplit(maxsplit=2)])
    return rows


def test_a_small_task_is_written_out_with_actions_that_do_the_same_together():
    rows = cells(shown("recall"))
    assert rows[0] == ["0 right", "o", "1", "1 right", "0", "1"]
    assert rows[1] == ["", "", "2, 3", "1 wrong", "0", "1"]
    assert rows[4] == ["1 wrong", "o", "any", "2 wrong", "0", "1"]
    assert rows[-1][:4] == ["end", "o", "", "terminal"]


def test_emissions_that_are_not_certain_show_their_probabilities():
    assert "MRV: 7/10," in shown("shuttle")


def test_a_grid_is_drawn_and_a_large_table_left_out():
    text = shown("gravity")
    assert "| A               B |" in text
    assert cells(text) == []


def test_title_text_source_and_drawing_are_those_of_the_record():
    for task in ("t_maze", "hallway_cookie", "cheese_maze"):
        record = TASKS[task]
        words = " ".join(shown(task).split())
        assert f"{record.title}. {record.text} [{record.source}]" in words
        assert str(record.drawing) in "\n".join(x.rstrip() for x in shown(task).splitlines())


@pytest.mark.parametrize(
    ("P", "memory"), [(recall(), "OA1"), (recall(), "B2"), (gravity(), "O1"), (gravity(), "none")]
)
def test_sizes_of_the_product_are_those_of_augment(P, memory):
    E = augment(P, memory)
    text = shown(P.name, "-m", memory)
    after = text[text.index(f"{P.name}×{memory}") :]
    assert f" {len(E.S):,} states" in after
    assert f" {len(E.O):,} observations" in after
    assert f" {len(E.A):,} actions" in after
    assert f" {len(E.p.s_next):,} outcomes" in after


def test_the_memory_says_what_its_writes_do():
    text = shown("recall", "-m", "OA1")
    assert "Memory OA1 (Definition A.4)" in text
    assert "push appends (o, a)" in text
    assert "keep leads to ∅" in text
    assert "push leads to o 1" in text


def test_a_product_that_is_too_large_is_not_built():
    assert "too many to build here" in shown("hallway_keys", "-m", "OA2")


def test_a_word_that_only_one_task_has_in_its_name_is_enough():
    assert shown("heaven") == shown("heaven_hell")
    with pytest.raises(UnknownLabel, match="unknown task 'hallway'"):  # there are two
        shown("hallway")


def test_unknown_tasks_and_memories_are_named():
    with pytest.raises(UnknownLabel, match="unknown task 'recal' \\(did you mean recall"):
        shown("recal")
    with pytest.raises(WorkbenchError, match="unknown memory 'Q1'"):
        shown("recall", "-m", "Q1")


# ---------------------------------------------------------------------- pictures


@pytest.mark.parametrize(
    ("task", "memory", "suffix", "begins"),
    [
        ("recall", "OA1", "png", b"\x89PNG"),
        ("recall4", "B1", "svg", b"<?xml"),
        ("gravity", "B1", "pdf", b"%PDF"),
    ],
)
def test_a_picture_is_saved_in_the_format_of_its_name(tmp_path, task, memory, suffix, begins):
    path = tmp_path / f"picture.{suffix}"
    result = CliRunner(env={"COLUMNS": "80"}).invoke(
        APP, [task, "-m", memory, "--diagram", str(path)], catch_exceptions=False
    )
    assert path.read_bytes().startswith(begins)
    assert "the policy drawn is a best deterministic one" in result.output


@pytest.mark.parametrize(("task", "panels"), [("gravity", 1), ("load_unload", 1), ("t_maze", 1)])
def test_a_task_alone_has_a_picture_too(tmp_path, task, panels):
    path = tmp_path / "alone.svg"
    CliRunner().invoke(APP, [task, "--diagram", str(path)], catch_exceptions=False)
    assert path.read_text().count('id="axes_') == panels


def test_the_picture_of_recall_with_oa1_shows_the_shortcut_of_figure_3(tmp_path):
    path = tmp_path / "recall.svg"
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        CliRunner().invoke(
            APP, ["recall", "-m", "OA1", "--diagram", str(path)], catch_exceptions=False
        )
    text = path.read_text()
    assert "strict shortcut" in text
    assert text.count(">2T<") >= 2


def test_a_picture_that_cannot_be_saved_is_named(tmp_path):
    with pytest.raises(WorkbenchError, match=r"ends in .png, .svg, .pdf, not in '.gif'"):
        shown("recall", "--diagram", str(tmp_path / "x.gif"))
    with pytest.raises(WorkbenchError, match=r"cannot write .*missing.*: there is no folder"):
        shown("recall", "--diagram", str(tmp_path / "missing" / "x.png"))


def test_the_bit_of_gravity_is_written_once_when_the_button_is_pressed():
    from workbench import evaluate
    from workbench.cli.diagram_file import _policy

    E = augment(gravity(), "B1")
    pi, words = _policy(E)
    found = evaluate(E, pi)
    assert float(found.value) == pytest.approx(0.95**11)
    writes = [
        (m, o)
        for (m, o), reached in zip(E.O, found.reached.raw, strict=True)
        if reached and m != next(iter(pi.row((m, o))))[1]
    ]
    assert writes == [("0", (4, 0))]
    assert "with the fewest writes" in words


def test_a_task_without_memory_is_drawn_whole(tmp_path):
    from workbench import best_memoryless, figures
    from workbench.evaluation.transition_diagram import transition_diagram

    E = augment(recall(), "none")
    axes = figures.memory_diagram(transition_diagram(E, best_memoryless(E).policy))
    axes.get_figure().canvas.draw()
    frame = axes.get_window_extent()
    for text in axes.texts:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1


def test_the_diagram_explains_its_letters():
    from workbench import best_memoryless, figures, shortcuts
    from workbench.evaluation.transition_diagram import transition_diagram

    E = augment(recall(), "OA1")
    pi = best_memoryless(E).policy
    axes = figures.memory_diagram(transition_diagram(E, pi, shortcuts(E, pi)))
    (title,) = (text.get_text() for text in axes.texts if text.get_gid() == "key")
    for words in ("memory (stored pair, ∅ empty)", "T: push, F: keep", "o/w: all other actions"):
        assert words in title
