"""`workbench learn`: one's own runs of learners, tabular and neural."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.count_option import whole
from workbench.cli.executor_options import ExecutorName, Scheduler, Workers, chosen_executor
from workbench.cli.output_options import output_file
from workbench.cli.task_name import MemoryNames, TaskName, find_task

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP
    from workbench.deep.neural_run import NeuralRun
    from workbench.deep.settings import Neural
    from workbench.learning.run import Run

_MOST_STATES_EVALUATED = 20_000
"""Beyond so many states the exact values of the final greedy policies are computed only when asked
for."""


def learn_command(
    task: TaskName,
    memory: MemoryNames = None,
    learner: Annotated[
        str,
        typer.Option(
            "-l",
            "--learner",
            help="qlearning, expected-sarsa, sarsa, actor-critic, monte-carlo, r-learning, "
            "n-step-sarsa, soft-q, soft-sarsa, and with the extra deep: ppo, lstm-ppo, "
            "ddqn. `workbench list learners` says what each is.",
        ),
    ] = "qlearning",
    steps: Annotated[int, typer.Option(parser=whole, help="Time steps of each seed.")] = 1_000_000,
    seeds: Annotated[
        int, typer.Option(parser=whole, help="How many runs, with seeds 0, 1, 2, ...")
    ] = 30,
    every: Annotated[
        int | None,
        typer.Option(
            parser=whole,
            help="Time steps in a block of the learning curve.",
            show_default="steps/100",
        ),
    ] = None,
    lam: Annotated[
        float | None,
        typer.Option(help="The lambda of sarsa and of PPO.", show_default="0.5, 0.95"),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--n",
            help="The n of actor-critic, n-step-sarsa and PPO.",
            show_default="5, 4, 128",
        ),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The probability of a random action.", show_default="0.01")
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(help="The temperature of soft-q and soft-sarsa.", show_default="1"),
    ] = None,
    step: Annotated[
        float | None, typer.Option(help="The step size of q.", show_default="0.1")
    ] = None,
    gamma: Annotated[
        float | None, typer.Option(help="The discount.", show_default="the task's")
    ] = None,
    max_episode_steps: Annotated[
        int | None,
        typer.Option(
            parser=whole,
            help="End episodes after so many time steps.",
            show_default="never; networks: the paper's limit of the task",
        ),
    ] = None,
    settings: Annotated[
        str | None,
        typer.Option(
            help="The settings of networks: paper (for this task), tuned (short runs on two "
            "cores), hallway or doors.",
            show_default="paper",
        ),
    ] = None,
    hidden: Annotated[
        str | None, typer.Option(help="Widths of a network's layers.", show_default="128,...")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="The learning rate of a network.", show_default="1e-5")
    ] = None,
    environments: Annotated[
        int | None,
        typer.Option(
            help="How many copies of the task a network learns on at once.",
            show_default="16, DDQN 1",
        ),
    ] = None,
    entropy: Annotated[
        float | None, typer.Option(help="The weight of the entropy in PPO.", show_default="0")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="The epochs of an update of PPO.", show_default="4")
    ] = None,
    minibatches: Annotated[
        int | None, typer.Option(help="The minibatches of an update of PPO.", show_default="8")
    ] = None,
    clip: Annotated[
        float | None,
        typer.Option(help="The clipping of PPO's probability ratio.", show_default="0.2"),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Keep networks and curves in this folder, a file for each memory.",
            show_default="after Ctrl-C only: networks",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help="Go on from the networks in this folder, and keep them there."),
    ] = None,
    executor: ExecutorName = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    values: Annotated[
        bool | None,
        typer.Option(
            help="Compute the exact values of the final greedy policies.",
            show_default="up to 20,000 states",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            callback=output_file, help="Write the learning curves to this file (.pdf, .png, ...)."
        ),
    ] = None,
) -> None:
    """Learn with a tabular method or a network, many seeds.

    Example: workbench learn gravity -m O1 -m B1 --learner sarsa --lam 0.5 --plot curves.pdf
    """
    from workbench.console import plain_console, print_sheet
    from workbench.core.learners import Learner, OptionError, check_count
    from workbench.core.pomdp import POMDP
    from workbench.deep.settings import (
        NEURAL_LEARNERS,
        Neural,
        neural_by_name,
        parse_widths,
    )
    from workbench.extras import need
    from workbench.figures.run_plot import check_plot_file, save_plot
    from workbench.learning import learner_by_name
    from workbench.learning.run import Run
    from workbench.optima.yardstick import best_cell
    from workbench.output import check_folder
    from workbench.progress import until_ctrl_c
    from workbench.sweeps.cell import Cell, batches, fingerprint
    from workbench.sweeps.display import progress_display
    from workbench.sweeps.experiment import FINAL, PER_100
    from workbench.sweeps.run_cells import run_cells
    from workbench.sweeps.worker import product_of
    from workbench.tables.sheet import Column, Sheet, WrittenNumber
    from workbench.text import UNDEFINED

    given = {
        "lam": lam,
        "n": n,
        "epsilon": epsilon,
        "temperature": temperature,
        "step": step,
        "gamma": gamma,
        "max_episode_steps": max_episode_steps,
        "hidden": None if hidden is None else parse_widths(hidden),
        "learning_rate": learning_rate,
        "environments": environments,
        "entropy": entropy,
        "epochs": epochs,
        "minibatches": minibatches,
        "clip": clip,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    for folder in (save, resume):
        if folder is not None:
            check_folder(folder)
    P = find_task(task)
    if learner in NEURAL_LEARNERS:
        need("jax", "deep")
        need("optax", "deep")
        record: Learner = neural_by_name(learner, settings or "paper", P.name, **chosen)
    else:
        for option, value in (("settings", settings), ("save", save), ("resume", resume)):
            if value is not None:
                raise OptionError(f"--{option} is for networks; {learner} has none")
        record = learner_by_name(learner, **chosen)
    if plot is not None:
        check_plot_file(plot)
    check_count("steps", steps)
    check_count("seeds", seeds)
    block = max(1, steps // 100) if every is None else every
    check_count("every", block)
    if block > steps:
        raise OptionError(
            f"every must be at most steps: a block of {block} does not fit into {steps} steps"
        )
    names = list(dict.fromkeys(memory or ["none"]))
    title = f"{record.described} on {P.name}"
    rows: dict[str, Sheet] = {}
    runs: dict[str, Run] = {}
    tables = fingerprint(P)
    with (
        until_ctrl_c(runs),
        chosen_executor(executor, workers, scheduler) as used,
        progress_display() as report,
    ):
        for name in names:
            E = product_of(P, tables, name, record)
            if isinstance(record, Neural):
                kept = None if resume is None else resume / f"{name}.npz"
                run, stopped = _trained(E, record, steps, seeds, block, kept)
                runs[name] = run
                best = best_cell(E) if isinstance(E, POMDP) else WrittenNumber(None, UNDEFINED)
                rows[name] = run.sheet(best, values=values is not False)
                folder = save or resume or (Path("networks") if stopped else None)
                if folder is not None:
                    told = run.save(folder / f"{name}.npz")
                    note = f"; --resume {folder} goes on" if stopped else ""
                    plain_console(stderr=True).print(f"Networks: {told}{note}", soft_wrap=True)
                if stopped:
                    break
                continue
            wanted = len(E.S) <= _MOST_STATES_EVALUATED if values is None else values
            cells = [
                Cell(task, name, record, FINAL if wanted else PER_100, part, steps, block)
                for part in batches(seeds, -(-seeds // used.workers))
            ]
            computed, _ = run_cells(cells, lambda _: P, None, used, report)
            parts = [computed[cell] for cell in cells]
            runs[name] = Run.join([part for part in parts if isinstance(part, Run)])
            assert isinstance(E, POMDP)
            rows[name] = runs[name].sheet(best_cell(E), E)
    print_sheet(Sheet.join(title, Column("memory"), rows))
    if plot is not None:
        products_made = [product_of(P, tables, name, record) for name in runs]
        best = _best_reward([E for E in products_made if isinstance(E, POMDP)])
        save_plot(plot, runs, title, best)
        plain_console().print(f"Learning curves: {plot}", soft_wrap=True)


def _trained(
    E: Any, learner: Neural, steps: int, seeds: int, every: int, kept: Path | None
) -> tuple[NeuralRun, bool]:
    """The run of a network, and whether it was stopped: what was there then is kept.

    Parameters
    ----------
    kept : the file of a run to go on from, if there is one.
    """
    from workbench.console import plain_console
    from workbench.deep.neural_run import load_run
    from workbench.deep.train import Diverged, Stopped, train

    before = None
    if kept is not None and kept.exists():
        before = load_run(kept, E)
        every = before.every
    stopped = False
    try:
        run = train(
            E,
            learner,
            steps=steps,
            seeds=seeds,
            every=every,
            policies=False,
            progress=True,
            resume=before,
        )
    except Stopped as stop:
        run, stopped = stop.run, True
        plain_console(stderr=True).print(f"Stopped after {run.steps:,} steps of each seed.")
    except Diverged as error:
        if error.run is None:
            raise
        run = error.run
        plain_console(stderr=True).print(f"Stopped: {error}", soft_wrap=True)
    return run, stopped


_SECONDS_FOR_OPTIMUM = 5


def _best_reward(tasks: list[POMDP]) -> float | None:
    """The highest reward per 100 time steps of the best deterministic policies, over the memories.
    None where it is not known.

    For each memory it is that of a policy with the best value; rewards per step of tasks that end
    are averaged over episodes.
    """
    from workbench.core.errors import WorkbenchError
    from workbench.core.evaluate import evaluate
    from workbench.optima.best_memoryless import best_memoryless

    found = []
    for E in tasks:
        try:
            best = best_memoryless(E, max_seconds=_SECONDS_FOR_OPTIMUM)
            weights = "visits" if len(E.terminal) else "stationary"
            found.append(100 * float(evaluate(E, best.policy, weights=weights).average_reward))
        except (WorkbenchError, KeyboardInterrupt):
            continue  # too large, or a policy that never ends
    return max((x for x in found if x == x), default=None)
