"""`workbench list`: every line is that of the thing itself."""

import inspect
import re
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from pomdps import TASKS
from workbench.cli import catalogue
from workbench.cli.list_command import list_command as listing
from workbench.core.errors import UnknownLabel

APP = typer.Typer()
APP.command()(listing)


def listed(*arguments: str, columns: int = 80) -> list[str]:
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(
        APP, list(arguments), catch_exceptions=False
    )
    assert result.exit_code == 0
    return result.output.splitlines()


def first_paragraph(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def test_tasks_are_the_records():
    lines = catalogue.tasks()
    assert [(line.name, line.text) for line in lines] == [
        (name, record.title) for name, record in TASKS.items()
    ]
    assert {line.name for line in lines if line.word == "extra gym"} == {
        "memory_s7",
        "red_blue_doors",
    }
    assert {line.word for line in lines} == {"", "extra gym"}


def test_memories_are_the_families():
    from workbench.memories import parse_memory

    names = [
        re.sub(r"\((lam|[knL])\)", lambda x: "1/2" if x[1] == "lam" else "1", line.name)
        for line in catalogue.memories()
    ]
    assert [parse_memory(name).name for name in names] == names
    assert names[:5] == ["none", "B1", "O1", "K1", "OA1"]
    assert names[5:] == ["F1", "window1", "clock1", "counter1", "trace1/2", "belief"]
    assert any(line.text.endswith("push appends (o, a)") for line in catalogue.memories())


def test_learners_are_those_of_the_command_line_with_their_own_words():
    from workbench.core.learners import LEARNERS
    from workbench.deep.settings import NEURAL_LEARNERS

    found = {line.name: line.text for line in catalogue.learners()}
    assert found == {
        name: first_paragraph(kind) for name, kind in (LEARNERS | NEURAL_LEARNERS).items()
    }


def test_figures_are_the_records():
    from workbench.reproduction.atari_figures import ATARI_FIGURES
    from workbench.reproduction.neural_figures import NEURAL_FIGURES
    from workbench.reproduction.paper_figures import FIGURES

    all_figures = FIGURES | NEURAL_FIGURES | ATARI_FIGURES
    found = {line.name: (line.word, line.text) for line in catalogue.figures()}
    assert found == {figure.id: (figure.place, figure.title) for figure in all_figures.values()}
    assert list(found) == list(all_figures)


def test_claims_are_those_of_the_ledger_in_its_order():
    from proofs.ledger import load

    claims = load()
    found = catalogue.claims()
    assert [line.name for line in found] == list(claims)
    assert all(
        (line.word, line.text) == (claims[line.name].documented, claims[line.name].statement)
        for line in found
    )


def test_nothing_is_cut_and_everything_fits_into_the_terminal():
    lines = listed(*catalogue.SECTIONS, columns=80)
    assert max(map(len, lines)) <= 80
    titles = [lines[i - 2] for i, line in enumerate(lines) if line.startswith("──")]
    assert titles == [
        f"{name.capitalize()} ({len(lines_of())})" for name, lines_of in catalogue.SECTIONS.items()
    ]
    everything = " ".join(" ".join(lines).split())
    for section in catalogue.SECTIONS.values():
        for line in section():
            assert line.text.split()[-1] in everything
    assert "…" not in everything
    claim = " ".join(" ".join(listed("claims", columns=60)).split())
    for line in catalogue.claims():
        assert line.text.split()[-1] in claim


def test_without_an_argument_all_names_fit_on_a_screen():
    lines = listed(columns=80)
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 23  # the prompt takes the 24th
    told = " ".join(" ".join(lines).split())
    for name in ("tasks", "memories", "learners", "figures"):
        assert all(line.name in told for line in catalogue.SECTIONS[name]())
    assert f"Claims ({len(catalogue.claims())})" in told


def test_one_section_can_be_asked_for():
    lines = listed("memories", columns=200)
    assert lines[0] == "Memories (11)"
    assert not any("Tasks" in line for line in lines)
    assert " ".join(lines[3].split()) == "none M = {-}, W = {-}: nothing to remember"


def test_an_unknown_section_is_named_with_those_that_exist():
    with pytest.raises(UnknownLabel, match=r"no 'takss' to list .did you mean tasks"):
        CliRunner().invoke(APP, ["takss"], catch_exceptions=False)


def test_listing_tasks_memories_learners_and_figures_loads_nothing_heavy():
    code = (
        "import sys; from workbench.cli.catalogue import SECTIONS; "
        "[section() for name, section in SECTIONS.items() if name not in ('claims', 'papers')]; "
        "print(sorted({'numba', 'scipy', 'pandas', 'matplotlib', 'proofs'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_a_new_process_knows_every_learner_by_its_name():
    code = "from workbench.cli.catalogue import learners; print(*(x.name for x in learners()))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"qlearning", "actor-critic", "monte-carlo", "soft-sarsa"} <= {*shown.stdout.split()}


def test_papers_are_listed_with_how_their_numbers_are_known():
    lines = {line.name: line for line in catalogue.papers()}
    assert lines["littman1994"].word == "quoted"
    assert lines["allen2024"].text.startswith("Allen, Kirtland, Tao et al. 2024: Mitigating")
    years = [line.text.split(":")[0][-4:] for line in catalogue.papers()]
    assert years == sorted(years)
