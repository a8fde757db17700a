"""`workbench reproduce`: the figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.executor_options import ExecutorName, Scheduler, Workers, chosen_executor
from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from workbench.executors.executor import Executor
    from workbench.reproduction.neural_cells import NeuralCell
    from workbench.reproduction.neural_figures import NeuralFigure
    from workbench.reproduction.report import Section
    from workbench.sweeps.results import Results
    from workbench.tables.sheet import Sheet


def reproduce_command(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            help="fig2, fig3, fig4, fig5, fig7, fig11; with the extra deep also fig6-cookie, "
            "fig6-keys, fig6-doors, fig6-memory, fig12-cookie, fig12-doors, fig12-keys, "
            "fig12-memory; with deep-peers, best on a GPU, fig6-pong, fig6-seaquest, fig12-pong.",
            metavar="FIGURE",
            show_default="all tabular ones",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds and steps: two minutes.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where figures, numbers and report.html go.")] = Path(
        "reproduction"
    ),
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Write the package's record of these runs anew; of networks: add each cell to it "
            "as it finishes.",
        ),
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Networks: how many seeds to complete. 0 only shows what is stored.",
            show_default="30",
        ),
    ] = None,
    settings: Annotated[
        str, typer.Option(help="Of networks: found (by our search) or paper.")
    ] = "found",
    search: Annotated[
        bool,
        typer.Option("--search", help="Of networks: first search for settings; needs --record."),
    ] = False,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--memory", help="Of networks: run these memories only.", show_default="all"
        ),
    ] = None,
    executor: ExecutorName = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Draw the figures of the paper and judge its sentences.

    Finished cells are kept in OUT/cells: an interrupted run continues where it stopped, and what
    is changed afterwards, a setting or the code, is computed again, and nothing else. `workbench
    results OUT` shows them.

    Example: workbench reproduce fig2 fig11 --out figures
    """
    import time

    from workbench.cli.task_name import find_task
    from workbench.console import plain_console, print_sheet
    from workbench.output import check_folder
    from workbench.reproduction import paper_figures as records
    from workbench.reproduction.atari_figures import ATARI_FIGURES
    from workbench.reproduction.full_runs import run_judged, write_record
    from workbench.reproduction.report import write_report
    from workbench.sweeps.cell import cells_of
    from workbench.sweeps.display import progress_display
    from workbench.sweeps.results import Results
    from workbench.sweeps.run_cells import run_cells
    from workbench.sweeps.store import Store

    console = plain_console()
    games = [name for name in figure or () if name in ATARI_FIGURES]
    if games:
        _reproduce_atari(games, quick, out, seeds, memory)
        figure = [name for name in figure or () if name not in games]
        if not figure:
            return
    if figure and any("-" in name for name in figure):
        with chosen_executor(executor, workers, scheduler) as used:
            _reproduce_networks(figure, quick, out, used, record, seeds, settings, search, memory)
        return
    chosen = records.figures_by_name(figure or ())
    if record and (quick or figure):
        raise WorkbenchError("--record needs every figure, in full")
    if quick:
        chosen = tuple(records.quick(experiment) for experiment in chosen)
    check_folder(out)
    store = Store(out / "cells")
    cells = dict.fromkeys(cell for experiment in chosen for cell in cells_of(experiment))
    began = time.monotonic()
    with chosen_executor(executor, workers, scheduler) as used, progress_display() as report:
        try:
            computed, reused = run_cells(cells, find_task, store, used, report)
        except KeyboardInterrupt:
            console.print(
                f"What was finished is in {store.folder}; the same command continues.",
                soft_wrap=True,
            )
            raise
    seconds = time.monotonic() - began
    steps = sum(cell.work for cell in computed if cell not in reused)
    notes = [
        f"{len(cells)} cells, {len(reused)} of them computed before; {steps / 1e6:,.0f} million "
        f"steps in {seconds:.0f} s.",
        *(f"Set aside and computed again: {line}" for line in store.set_aside),
    ]
    results = [Results.of(experiment, computed) for experiment in chosen]
    if record:
        write_record(results, judged=run_judged(find_task))
    notes += _compare(results)
    sections = write_report(out, results, quick, notes)
    print_sheet(_sheet(sections, quick))
    for note in notes:
        console.print(note, soft_wrap=True)
    console.print(f"Report: {out / 'report.html'}", soft_wrap=True)


def _compare(all_results: list[Results]) -> list[str]:
    """Whether runs of full length are those of the record, which `workbench verify` judges by."""
    from workbench.reproduction.full_runs import differing_runs, is_full

    full = [results for results in all_results if is_full(results)]
    differ = [name for results in full for name in differing_runs(results)]
    if differ:
        return [f"Not as recorded: {name}" for name in differ]
    runs = sum(len(results.outcomes) for results in full)
    return [f"{runs} learners with 30 seeds each: bit for bit as recorded."] if runs else []


def _sheet(sections: list[Section], quick: bool) -> Sheet:
    """The statements about the figures, each with its verdict."""
    from workbench.tables.sheet import Column, Sheet
    from workbench.text import counted

    rows = []
    for section in sections:
        for judgement in section.judgements:
            for i, sentence in enumerate(judgement.sentences):
                id = "" if i else judgement.id
                rows.append((id, sentence, judgement.verdict_of(sentence)))
            if len(judgement.sentences) > 1:
                rows.append(("", "all together", judgement.verdict))
    columns = (
        Column("statement", "its name in the ledger; `workbench verify NAME` tells more"),
        Column("sentence", "what the paper says"),
        Column("verdict", "what these runs say"),
    )
    title = "Statements about the tabular figures" + (", quick version" if quick else "")
    judged = [one for section in sections for one in section.judgements]
    held = sum(one.verdict.startswith("supported") for one in judged)
    said = f"These runs support {held} of {counted(len(judged), 'statement')}."
    return Sheet(title, columns, tuple(rows), said)


def _reproduce_networks(
    names: list[str],
    quick: bool,
    out: Path,
    executor: Executor,
    record: bool,
    seeds: int | None,
    settings: str,
    search: bool,
    memories: list[str] | None,
) -> None:
    """Figures 6 and 12: run the search and the cells that are missing, then show curves, exact
    values and verdicts."""
    from functools import partial

    from workbench.cli.task_name import find_task
    from workbench.console import plain_console
    from workbench.extras import need
    from workbench.output import check_folder
    from workbench.progress import Waiting
    from workbench.reproduction.neural_cells import (
        RECORD,
        append_cell,
        cells_by_memory,
        missing_cells,
        read_cells,
        run_item,
    )
    from workbench.reproduction.neural_figures import neural_figure, quick_figure

    if record and quick:
        raise WorkbenchError("--record keeps whole figures: not with --quick")
    if search and not record:
        raise WorkbenchError("--search adds to the package's log: give --record too")
    figures = [neural_figure(name, settings) for name in names]
    for name in memories or ():
        for figure in figures:
            if name not in figure.learners:
                known = ", ".join(figure.learners)
                raise WorkbenchError(f"{figure.id} has {known}, and no memory {name!r}")
    if search:
        for name in names:
            _search_settings(neural_figure(name), memories, executor)
        figures = [neural_figure(name, settings) for name in names]
    if quick:
        figures = [quick_figure(figure) for figure in figures]
    console = plain_console()
    check_folder(out)
    path = RECORD if record else out / "neural_cells.jsonl"
    for figure in figures:
        wanted = len(figure.seeds) if seeds is None else min(seeds, len(figure.seeds))
        cells = read_cells(RECORD) + ([] if record else read_cells(path))
        if wanted:
            need("jax", "deep")
            need("optax", "deep")
        items = [
            item
            for item in missing_cells(figure, cells, wanted)
            if memories is None or item[0] in memories
        ]
        if items:
            work = partial(run_item, figure, find_task(figure.task))
            with Waiting(figure.title) as waiting:
                for done, (place, cell) in enumerate(executor.run(work, items), 1):
                    append_cell(figure, items[place][0], cell, path)
                    cells.append(cell)
                    told = (
                        f"{done} of {len(items)}: {items[place][0]} seed {cell.seed} {cell.final}"
                    )
                    waiting.report(done / len(items), told)
        _show_figure(console, figure, cells_by_memory(figure, cells), out)


def _reproduce_atari(
    names: list[str], quick: bool, out: Path, seeds: int | None, memories: list[str] | None
) -> None:
    """The Atari games: run what is missing, one seed of one memory after the other, then judge."""
    import json

    import numpy as np

    from workbench.console import plain_console, print_sheet
    from workbench.interop.gym.atari import STEPS, train_game
    from workbench.output import check_folder
    from workbench.reproduction.atari_figures import ATARI_FIGURES, judge_atari
    from workbench.tables.sheet import Column, Sheet

    console = plain_console()
    check_folder(out)
    steps, most = (2_048, 3) if quick else (STEPS, 30)
    for name in names:
        figure = ATARI_FIGURES[name]
        home = out / "quick" if quick else out
        for seed in range(100, 100 + min(most, most if seeds is None else seeds)):
            for memory in memories or figure.memories:
                folder = figure.folder(home, memory, seed)
                if not (folder / "result.json").exists():
                    console.print(f"{figure.game}, {figure.learner}, {memory}, seed {seed}")
                    train_game(
                        figure.game, memory, seed, folder, learner=figure.learner, steps=steps
                    )
        columns = (
            Column("memory"),
            Column("seeds"),
            Column("reward", "per episode over the last tenth, mean and standard deviation", True),
        )
        rows = []
        finals: dict[str, list[float]] = {}
        for memory in figure.memories:
            kept = sorted((home / "atari" / name).glob(f"{memory}-*/result.json"))
            found = [float(json.loads(path.read_text())["final"]) for path in kept]
            own = finals[memory] = [x for x in found if x == x]
            told = f"{np.mean(own):.2f} ± {np.std(own):.2f}" if own else "-"
            rows.append((memory, len(own), told))
        said = f"{judge_atari(figure, finals)}: {figure.sentence}"
        many = f"Each seed took {steps:,} steps."
        title = f"{figure.game}, {figure.learner}"
        print_sheet(Sheet(title, columns, tuple(rows), said, (many,)))


def _search_settings(figure: NeuralFigure, memories: list[str] | None, executor: Executor) -> None:
    """Run what is missing of the search for the settings of a figure."""
    from functools import partial

    from workbench.cli.task_name import find_task
    from workbench.extras import need
    from workbench.progress import Waiting
    from workbench.reproduction.neural_search import append_search, missing_search, run_search

    need("jax", "deep")
    need("optax", "deep")
    items = [item for item in missing_search(figure) if memories is None or item[0] in memories]
    with Waiting(f"settings of {figure.title}") as waiting:
        work = partial(run_search, figure, find_task(figure.task))
        for done, (_, line) in enumerate(executor.run(work, items), 1):
            append_search(line)
            waiting.report(done / len(items), f"{done} of {len(items)}: {line['memory']}")


def _show_figure(
    console: Console, figure: NeuralFigure, cells: dict[str, list[NeuralCell]], out: Path
) -> None:
    """A figure of networks as a table, verdicts and a picture."""
    from workbench.console import print_sheet
    from workbench.deep.closed_loop import MOST_REACHED
    from workbench.figures.run_plot import save_plot
    from workbench.reproduction.neural_cells import runs_of
    from workbench.reproduction.neural_figures import AT_RANDOM, BEST_VALUES, best_between
    from workbench.reproduction.neural_judge import judge_neural, table_rows, writing_lines
    from workbench.tables.sheet import Column, Sheet

    lines = BEST_VALUES[figure.task]
    reach = {name: best_between(figure.task, name) for name in figure.learners}
    unit = "episode" if figure.by_episode else "100 steps"
    last = "success" if figure.by_episode else "pace"
    columns = (
        Column("memory"),
        Column("seeds", "", True),
        Column("reward", f"per {unit} over the last tenth of the run, mean over seeds", True),
        Column("solved", "share of the seeds, with its 95% interval"),
        Column("values", "exact, of the final greedy policies: least, median and most"),
        Column("best", "value of the best policy with this memory, or bounds of it"),
        Column(last, "of the final greedy policies: least, median and most"),
    )
    rows = tuple(
        (name, seeds, got, solved, values, _interval_text(reach[name]), ends)
        for name, seeds, got, solved, values, ends in table_rows(figure, cells)
    )
    notes: tuple[str, ...] = (
        f"Up to {len(figure.seeds)} seeds of {figure.steps:,} time steps. The best reward per "
        f"{unit} is {figure.optimum:.3f}; at random it is {AT_RANDOM[figure.task]:.3f}"
        f"{_lines_text(lines)}.",
    )
    if any("-" in row[4:] or " of " in row[4] + row[6] for row in rows):
        notes += (
            f"-: not known. An LSTM needs the whole history, some policies get to more than "
            f"{MOST_REACHED:,} places, and some are stuck for more than 1e16 steps. n of m: known "
            "for n of the m seeds.",
        )
    print_sheet(Sheet(f"{figure.place}: {figure.title}", columns, rows, "", notes))
    for line in writing_lines(cells):
        console.print(line)
    if figure.unfinished:
        console.print(
            f"The search for settings is not finished for {', '.join(figure.unfinished)}: "
            f"workbench reproduce {figure.id} --search --record."
        )
    for verdict in judge_neural(figure, cells):
        console.print(f"{verdict.verdict}: {verdict.sentence.text} ({verdict.budget})")
    runs = runs_of(figure, cells)
    if not runs:
        console.print(f"{figure.id}: nothing is stored yet.")
        return
    path = out / f"{figure.id}.png"
    counts = sorted({len(one) for one in cells.values()})
    some = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    far = f"{some} of {len(figure.seeds)} seeds"
    save_plot(path, runs, f"{figure.title}, {far}", figure.optimum, lines, reach, figure.by_episode)
    console.print(f"Learning curves: {path}", soft_wrap=True)


def _lines_text(lines: Mapping[str, float]) -> str:
    """Name the values to compare final values with."""
    return "".join(f"; {name} {value:.6f}" for name, value in lines.items())


def _interval_text(ends: tuple[float, float]) -> str:
    """A value that is known, or between which two it lies.

    >>> _interval_text((0.5, 0.5)), _interval_text((0.25, 1))
    ('0.500', '0.250 to 1.000')
    """
    least, most = ends
    return f"{least:.3f}" if least == most else f"{least:.3f} to {most:.3f}"
