"""`workbench equilibria`: at which greedy policies a learner can settle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.count_option import whole
from workbench.cli.output_options import output_file
from workbench.cli.task_name import MemoryNames, TaskName, find_task

if TYPE_CHECKING:
    from workbench.core.learners import Learner
    from workbench.core.pomdp import POMDP
    from workbench.equilibrium.equilibria import Equilibria
    from workbench.research.subdivision import Subdivision

_MOST_ROWS_TOLD = 6


def equilibria_command(
    task: TaskName,
    memory: MemoryNames = None,
    learner: Annotated[
        str,
        typer.Option(help="One that acts epsilon-greedily, such as qlearning or expected-sarsa."),
    ] = "qlearning",
    lam: Annotated[str | None, typer.Option(help="lambda of sarsa, such as 0 or 1/2.")] = None,
    epsilon: Annotated[str, typer.Option(help="The exploration, a fraction in [0, 1].")] = "1/10",
    gamma: Annotated[
        str | None, typer.Option(help="The discount, a fraction; the task's own by default.")
    ] = None,
    symbolic: Annotated[
        bool, typer.Option("--symbolic", help="Answer for every epsilon and gamma in (0, 1).")
    ] = False,
    softmax: Annotated[
        str | None,
        typer.Option(help="Act by a softmax of this temperature instead of epsilon-greedily."),
    ] = None,
    most: Annotated[
        int, typer.Option(parser=whole, help="The most greedy policies to check one by one.")
    ] = 1_000_000,
    nodes: Annotated[
        int,
        typer.Option(parser=whole, help="Where there are more: the most sets of them to bound."),
    ] = 2_000,
    seconds: Annotated[
        float | None, typer.Option(min=0.01, help="The time limit in all.", show_default="none")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            callback=output_file,
            help="Write a certificate for `python -m workbench.checker` to this file.",
        ),
    ] = None,
) -> None:
    """List the greedy policies at which a learner can settle.

    A learner can settle at a policy that is greedy on the q-values that following it leads to.

    Exact wherever the task is. The step size is taken as small: where there is no fixed point, a
    learner goes back and forth or round, whatever its step size.

    Example: workbench equilibria recall -m OA1 --epsilon 1/10
    """
    from workbench.console import plain_console, print_sheet
    from workbench.core.augment import augment
    from workbench.core.errors import WorkbenchError
    from workbench.plain_numbers import deadline, share_of
    from workbench.research.soft_equilibria import soft_equilibria

    if certificate is not None and len(memory or ["none"]) > 1:
        raise WorkbenchError("a certificate is about one memory; give one")
    settings: dict[str, Any] = {"epsilon": _fraction("--epsilon", epsilon)}
    if lam is not None:
        settings["lam"] = _fraction("--lam", lam)
    record = one_step_learner(learner, **settings)
    P = find_task(task)
    if gamma is not None:
        P = P.with_gamma(_fraction("--gamma", gamma))
    console = plain_console()
    until = deadline(seconds)
    names = memory or ["none"]
    for i, name in enumerate(names):
        E = augment(P, name)
        limit = share_of(until, len(names) - i)
        if softmax is not None:
            heat = _fraction("--softmax", softmax)
            print_sheet(soft_equilibria(E, record, heat, most=nodes, max_seconds=limit).sheet())
        elif symbolic:
            whole = _subdivided(console, E, record, certificate is None, limit)
            if certificate is not None:
                _certify_regions(P, name, whole, certificate)
        else:
            found = _listed(E, record, most, nodes, certificate is None, limit)
            if certificate is not None:
                _certify(P, name, found, certificate, nodes)


def one_step_learner(name: str, **settings: Any) -> Learner:
    """A learner by its name, with lambda 0 where it has one that is not given.

    >>> one_step_learner("sarsa").described
    'Sarsa(0)'
    """
    from workbench.learning import LEARNERS, learner_by_name

    has_lam = name in LEARNERS and hasattr(LEARNERS[name], "lam")
    return learner_by_name(name, **({"lam": 0} if has_lam else {}) | settings)


def _fraction(option: str, shown: str) -> Any:
    from fractions import Fraction

    from workbench.core.errors import WorkbenchError

    try:
        return Fraction(shown)
    except (ValueError, ZeroDivisionError):
        raise WorkbenchError(f"{option} is a number such as 1/10 or 0.1, not {shown!r}") from None


def _listed(
    E: POMDP, record: Any, most: int, nodes: int, symmetry: bool, seconds: float | None
) -> Equilibria:
    from workbench.console import print_sheet
    from workbench.equilibrium.equilibria import equilibria

    found = equilibria(
        E,
        record,
        exact=E.is_exact,
        most=most,
        symmetry=symmetry,
        nodes=nodes,
        max_seconds=seconds,
    )
    print_sheet(found.sheet())
    return found


def _subdivided(
    console: Any, E: POMDP, record: Any, symmetry: bool, seconds: float | None
) -> Subdivision:
    import sympy

    from workbench.equilibrium.learned_values import deciding_rows
    from workbench.research.subdivision import subdivide

    epsilon, gamma = sympy.symbols("epsilon gamma")
    found = subdivide(
        E, record, epsilon=epsilon, gamma=gamma, symmetry=symmetry, max_seconds=seconds
    )
    console.print(
        f"{record.kind} on {E.name}, epsilon and gamma in (0, 1): {found.refuted:,} of "
        f"{found.looked_at:,} greedy policies are fixed points nowhere.",
    )
    rows = deciding_rows(E)
    for i, (pi, value) in enumerate(zip(found.policies, found.values, strict=True)):
        acts = "; ".join(
            f"{E.O.text(E.O[int(o)])} → {E.A.text(E.A[int(pi.actions[o])])}"
            for o in rows[:_MOST_ROWS_TOLD]
        )
        console.print(f"  policy {i}, worth {value}: {acts}")
    for curve in found.curves:
        shown = str(curve).replace("**", "^").replace("*", " ")
        console.print(f"  border: {shown} = 0")
    for settled, cells in found.regions.items():
        who = ", ".join(f"policy {i}" for i in settled) or "no fixed point"
        at = ", ".join(f"{s} = {x}" for s, x in cells[0].sample.items())
        parts = "1 cell" if len(cells) == 1 else f"{len(cells)} cells, one of them"
        console.print(f"  {who}: {parts} around {at}")
    if found.left:
        console.print(f"  {found.left:,} policies were not decided before the time was over.")
    return found


def _certify_regions(P: POMDP, memory: str, found: Subdivision, path: Path) -> None:
    import json

    from workbench.certificates.fixed_regions import fixed_regions_certificate
    from workbench.output import write_whole

    write_whole(path, json.dumps(fixed_regions_certificate(P, memory, found)) + "\n")


def _certify(P: POMDP, memory: str, found: Equilibria, path: Path, sets: int) -> None:
    import json

    from workbench.certificates.fixed_points import MOST_LISTED, fixed_points_certificate
    from workbench.certificates.set_bounds import set_bounds_certificate
    from workbench.output import write_whole

    if found.cells <= MOST_LISTED:
        certificate = fixed_points_certificate(P, memory, found)
    else:
        certificate = set_bounds_certificate(P, memory, found.learner, sets=sets)
    write_whole(path, json.dumps(certificate) + "\n")
