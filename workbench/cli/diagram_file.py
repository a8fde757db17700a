"""Save a picture of a task with a memory. It shows the policy on its grid, or the transition
diagram of Figure 3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.output import write_figure

if TYPE_CHECKING:
    from pomdps.drawing import Drawing
    from workbench.core.policy import Policy
    from workbench.core.pomdp import POMDP
    from workbench.memories import Memory

_SECONDS = 10
"""After so long the search for the best policy takes the best one so far."""


def save_diagram(task: str, P: POMDP, memory: Memory | None, path: Path) -> str:
    """Draw a task with its memory, and save the picture. Returns a sentence on which policy it
    shows."""
    words = ""

    def figure() -> Any:
        from pomdps import TASKS
        from workbench.core.augment import augment
        from workbench.memories import none

        nonlocal words
        E = augment(P, none if memory is None else memory)
        pi, words = _policy(E)
        drawing = TASKS[task].drawing if task in TASKS else None
        return _transitions(E, pi) if drawing is None else _on_grid(E, pi, drawing)

    save_figure(path, figure)
    return words


def save_figure(path: Path, draw: Callable[[], Any]) -> None:
    """Draw a figure without a screen, and save it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = draw()
    try:
        write_figure(path, figure, dpi=160, bbox_inches="tight")
    finally:
        pyplot.close(figure)


def _policy(E: POMDP) -> tuple[Policy, str]:
    from workbench.optima.best_memoryless import best_memoryless
    from workbench.optima.reduce_writes import reduce_writes
    from workbench.text import shown

    best = best_memoryless(E, max_seconds=_SECONDS)
    kind = (
        "a best deterministic one"
        if best.certified
        else f"the best that was found in {_SECONDS} seconds"
    )
    calm = reduce_writes(E, best.policy, max_seconds=_SECONDS)
    words = "" if calm is None else " with the fewest writes"
    return calm or best.policy, f"the policy drawn is {kind}{words}, worth {shown(best.value)}"


def _on_grid(E: POMDP, pi: Policy, drawing: Drawing) -> Any:
    from workbench.core.evaluate import evaluate
    from workbench.figures import grid_policy

    return grid_policy(evaluate(E, pi, weights=_weights(E)), drawing).ravel()[0].get_figure()


def _weights(E: POMDP) -> str:
    """A task that never ends has no visits per episode."""
    return "visits" if len(E.terminal) else "discounted"


def _transitions(E: POMDP, pi: Policy) -> Any:
    from workbench.core.shortcuts import shortcuts
    from workbench.evaluation.transition_diagram import transition_diagram
    from workbench.figures import memory_diagram

    found = shortcuts(E, pi, weights=_weights(E))
    return memory_diagram(transition_diagram(E, pi, found)).get_figure()
