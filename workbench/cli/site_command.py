"""`workbench site`: everything as static pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.explorer.export import ExplorerEntry
    from workbench.reproduction.report import Section
    from workbench.site.material import TaskNote


def site_command(
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="Where the site goes.")
    ] = Path("site"),
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The ledger as `workbench verify --json` wrote it; else claims are judged now.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes to judge with.")] = 2,
    solutions: Annotated[
        bool, typer.Option("--solutions", help="Add the sheet for instructors, with solutions.")
    ] = False,
    repository: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The address of the project's git repository: notebooks get links that open them "
            "on Binder, and on Colab if it is on GitHub.",
        ),
    ] = "",
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write the web site: lessons, explorer, ledger, pages.

    Needs the extra `site`. Notebooks are shown with their stored outputs; nothing is executed.

    Example: workbench site -o site --open
    """
    import time
    from dataclasses import replace

    from workbench.console import plain_console
    from workbench.site.build_site import build_site, check_packages, check_target
    from workbench.site.hosted_notebook import checked_address

    began = time.monotonic()
    console = plain_console()
    check_target(out)
    check_packages()
    address = checked_address(repository)
    built = build_site(
        replace(gather_material(ledger, jobs, console, solutions), repository=address),
        out,
        lambda text: console.print(text),
    )
    for line in built.warnings:
        console.print(line, style="yellow")
    console.print(
        f"{out / 'index.html'}: {built.pages} pages, {built.size / 1e6:.1f} MB, in "
        f"{time.monotonic() - began:.0f} s.",
        soft_wrap=True,
    )
    if open_:
        typer.launch(str((out / "index.html").resolve()))


def gather_material(
    ledger: Path | None, jobs: int, console: Console, solutions: bool = False
) -> Any:
    """Everything that the pages are made of."""
    from pomdps.recalls import RECALL4_REWARDS
    from proofs.inline_math import inline_math
    from proofs.ledger import SECTIONS, VERDICTS
    from proofs.papers import PAPERS
    from workbench.cli.explore_command import entries
    from workbench.explorer.html_page import explorer_page
    from workbench.lab.exhibits import EXHIBITS, exhibit
    from workbench.site.material import Material

    root = find_root()
    shown = entries()
    claims = judged_claims(jobs, console) if ledger is None else read_claims(ledger)
    console.print("judging the counterexamples, drawing the figures")
    return Material(
        root=root,
        claims=claims,
        sections=dict(SECTIONS),
        papers={key: f"{p.authors} {p.year}" for key, p in PAPERS.items()},
        verdicts=VERDICTS,
        gallery=[exhibit(name) for name, *_ in EXHIBITS],
        figures=figure_sections(),
        explorer=explorer_page(shown, RECALL4_REWARDS),
        offered=frozenset(entry.id for entry in shown if _is_of_the_collection(entry)),
        tasks=task_notes(),
        commands=command_helps(),
        sentence=inline_math,
        solutions=read_solutions(root) if solutions else {},
        judge=answer_judge(root) if solutions else None,
    )


def _is_of_the_collection(entry: ExplorerEntry) -> bool:
    """Whether the explorer's task is the one that every command knows by that name: some are
    shorter there, or end."""
    from workbench.cli.task_name import find_task
    from workbench.sufficiency.census import model_digest

    return model_digest(entry.P, 0) == model_digest(find_task(entry.id), 0)


def read_solutions(root: Path, number: str = "*") -> dict[str, Any]:
    """Right and wrong answers to the exercises, by the number of the notebook. Some are computed,
    which takes a while, so one notebook can be asked for."""
    import runpy

    from workbench.progress import Waiting
    from workbench.site.teaching_pages import Solutions

    found: dict[str, Solutions] = {}
    paths = sorted((root / "tests" / "notebooks").glob(f"solutions_{number}.py"))
    with Waiting("computing solutions") as waiting:
        for path in paths:
            notebook = path.stem.removeprefix("solutions_")
            waiting.report(len(found) / len(paths), f"notebook {notebook}")
            names = runpy.run_path(str(path))
            found[notebook] = Solutions(
                names["RIGHT"], names["WRONG"], path.read_text(encoding="utf-8")
            )
    return found


def answer_judge(root: Path) -> Any:
    """What the notebooks' `check` says about an answer: whether it is right, and the reason."""
    import importlib
    import sys

    sys.path.insert(0, str(root / "notebooks"))
    check = importlib.import_module("exercises").check

    def judge(exercise: str, answer: Any) -> tuple[bool | None, str]:
        found = check(exercise, answer)
        return found.right, found.reason

    return judge


def find_root() -> Path:
    """The folder that holds the notebooks and docs: a checkout, or what was installed."""
    import sys

    import proofs
    from workbench.core.errors import WorkbenchError

    roots = (Path(proofs.__path__[0]).parent, Path(sys.prefix, "share", "memory-workbench"))
    for root in roots:
        if (root / "notebooks").is_dir() and (root / "docs").is_dir():
            return root
    raise WorkbenchError(f"there are no folders notebooks and docs in {roots[0]} or {roots[1]}")


def read_claims(path: Path) -> list[dict[str, Any]]:
    """The ledger from a file that `workbench verify --json` wrote."""
    import json

    from workbench.core.errors import WorkbenchError

    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, list) or any(NEEDED - set(claim) for claim in found):
            raise ValueError("it is no ledger")
        if any(FORMAL - set(claim.get("formal") or FORMAL) for claim in found):
            raise ValueError("it is from an older version")
    except (OSError, ValueError, TypeError) as error:
        raise WorkbenchError(
            f"{path} cannot be read as `workbench verify --json` writes it: {error}"
        ) from None
    return found


NEEDED = frozenset(
    (
        "id",
        "place",
        "section",
        "statement",
        "verdict",
        "evidence",
        "argument",
        "counterexample",
        "corrected_by",
        "certificates",
        "steps",
        "twins",
        "module",
    )
)
"""What the pages show of a claim."""

FORMAL = frozenset(("statements", "definitions"))
"""And of the theorems of a formal one."""


def judged_claims(jobs: int, console: Console) -> list[dict[str, Any]]:
    """Judge every claim, as `workbench verify` does."""
    import json

    from proofs.ledger import load
    from workbench.cli.verify_command import judge_claims
    from workbench.core.errors import WorkbenchError

    console.print("judging every claim of the ledger (--ledger FILE reads it)")
    names = [name for name, one in load().items() if not one.deep]
    found = judge_claims(names, jobs, console)
    if missing := [one for one in found if isinstance(one, str)]:
        raise WorkbenchError(missing[0])
    read: list[dict[str, Any]] = json.loads(
        json.dumps([entry.as_json() for entry in found], default=str)
    )
    return read


def figure_sections() -> list[Section]:
    """The paper's figures: learners' from the record, the oracle loop's computed, all judged."""
    from workbench.cli.task_name import find_task
    from workbench.reproduction.full_runs import recorded_results
    from workbench.reproduction.paper_figures import FIGURES
    from workbench.reproduction.report import Section
    from workbench.sweeps.cell import cells_of
    from workbench.sweeps.results import Results
    from workbench.sweeps.run_cells import run_cells

    sections = []
    for id, experiment in FIGURES.items():
        if experiment.length is not None:
            sections.append(Section.of(recorded_results(id)))
            continue
        computed, _ = run_cells(dict.fromkeys(cells_of(experiment)), find_task)
        sections.append(Section.of(Results.of(experiment, computed)))
    return sections


def task_notes() -> list[TaskNote]:
    """Describe the tasks of the collection."""
    from pomdps import TASKS
    from workbench.site.material import TaskNote

    def size(known: Any) -> str:
        named = ("states", "observations", "actions")
        return ", ".join(f"{known[key]} {key}" for key in named if isinstance(known.get(key), int))

    return [
        TaskNote(one.name, one.title, one.text, one.source, size(one.known) or "any size")
        for one in TASKS.values()
    ]


def command_helps() -> dict[str, str]:
    """The help of each command, 80 columns wide."""
    from typer.testing import CliRunner

    from workbench.cli.main import GROUPS, app

    runner = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    return {
        f"workbench {name}": runner.invoke(app, [name, "--help"]).output.replace(
            "Usage: root", "Usage: workbench"
        )
        for names in GROUPS.values()
        for name in names
    }
