"""Interactive controls for Jupyter: the oracle loop, TD beside Monte Carlo, and single episodes.

Each function returns an object that Jupyter shows. Its parts can be used without a browser:
`controls` holds the sliders and buttons by name, `picture` the PNG that is on show, `text` and
`message` what is said. A choice that cannot be computed, such as a memory that is too large, is
answered by `message`; no choice raises an error. Tasks on a grid are drawn on it if their `drawing`
is given. Who reads a stored notebook without running it finds the settings, the text and the
picture as HTML. Needs the extra `notebooks`.

>>> from pomdps import recall4
>>> from workbench.widgets import td_explorer
>>> sorted(td_explorer(recall4(), "OA", 1).controls)
['family', 'gamma', 'k', 'lam']

See also: `figures`, `improve`, `simulate`.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from workbench.agents.simulate import Step, discounted_return, pair, simulate
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, TooLarge, WorkbenchError
from workbench.core.evaluate import evaluate
from workbench.core.improve import Improvement, improve, iterates
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.shortcuts import Shortcut, kind_of, words_of
from workbench.core.space import Label
from workbench.core.td import TDValues, td_values
from workbench.evaluation.transition_diagram import transition_diagram
from workbench.extras import need
from workbench.memories import Family, Memory, attach, list_sized
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.optimum import MemorylessOptimum
from workbench.text import escape_html, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbench.figures.grid_policy import TaskDrawing

MOST_STATES, MOST_PAIRS = 400, 25_000
"""Of states, and of states with actions: larger tasks do not answer at once, and are refused."""

_BUDGET = 1_000
"""Iterates of the oracle loop."""


class Explorer:
    """Controls above a text and a picture that follow them.

    Attributes
    ----------
    controls : the sliders and buttons by name.
    text, message, image : the widgets below them; a message says why there is nothing to see.
    figure : the matplotlib figure on show, or None.
    still, still_picture : a text (HTML) and a PNG for readers who cannot move anything, where these
        are not `text` and `picture`.
    box : all of it as one widget.
    """

    def __init__(self, controls: dict[str, Any], redraw: Callable[[Explorer], None]):
        self.still, self.still_picture = "", b""
        self._busy = False
        widgets = need("ipywidgets", "notebooks")
        self.controls = controls
        self.text, self.message = widgets.HTML(), widgets.HTML()
        self.image = widgets.Image(format="png")
        self.figure: Figure | None = None
        row = widgets.HBox(list(controls.values()), layout=widgets.Layout(flex_flow="row wrap"))
        self.box = widgets.VBox([row, self.message, self.text, self.image])
        self._redraw = redraw
        for control in controls.values():
            if hasattr(control, "value"):
                control.observe(lambda change: self.redraw(), names="value")
        self.redraw()

    def redraw(self) -> None:
        """Show what the controls say, or why that cannot be shown."""
        if self._busy:  # a slider whose length changes while it is redrawn reports its new place
            return
        self._busy = True
        try:
            self._redraw(self)
        except WorkbenchError as error:
            self.message.value = f"<b>{escape_html(str(error))}</b>"
            self.text.value, self.figure = "", None
            self.image.layout.display = "none"
        else:
            self.message.value = ""
        finally:
            self._busy = False

    def announce(self, words: str) -> None:
        """Say in the first line what is being computed. The rest stays until that is done."""
        _, end, rest = self.text.value.partition("</p>")
        if end:
            self.text.value = f"<p>{escape_html(words)} …</p>{rest}"

    def show(self, text: str, figure: Figure | None = None) -> None:
        """Put a text (HTML) and a picture on show."""
        self.text.value, self.figure = text, figure
        self.image.layout.display = "none" if figure is None else None
        if figure is not None:
            self.image.value = _png(figure)

    @property
    def picture(self) -> bytes:
        """The PNG on show, empty if there is none."""
        return bytes(self.image.value) if self.figure is not None else b""

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and what is on show as HTML for readers of a notebook that is not running."""
        image = base64.b64encode(self.still_picture or self.picture).decode()
        picture = (
            f'<img alt="what the text says" src="data:image/png;base64,{image}">' if image else ""
        )
        still = f"{self._settings()}{self.message.value}{self.still or self.text.value}{picture}"
        return {**self.box._repr_mimebundle_(**options), "text/html": still}

    def _settings(self) -> str:
        """The values of the controls, in words."""
        named = [
            f"{escape_html(control.description)} {escape_html(_control_text(control.value))}"
            for control in self.controls.values()
            if hasattr(control, "value")
        ]
        return f"<p>{', '.join(named)}. Run the cell to change what is shown.</p>"


def _png(figure: Figure) -> bytes:
    stored = io.BytesIO()
    figure.savefig(stored, format="png", dpi=100)
    return stored.getvalue()


def _control_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _legend(P: POMDP) -> str:
    """What the labels of rows and columns are made of, for the caption of a table."""
    rows, columns = P.O.legend or "observation", P.A.legend or "action"
    return escape_html(f"rows: {rows}; columns: {columns}")


def _memory_controls(widgets: Any, family: str, k: int) -> dict[str, Any]:
    return {
        "family": widgets.Dropdown(
            options=["none", *list_sized()], value=family, description="memory"
        ),
        "k": widgets.IntSlider(value=k, min=1, max=6, description="size k"),
    }


def _augmented(P: POMDP, controls: dict[str, Any]) -> POMDP:
    kind = controls["family"].value
    memory = attach(kind if kind == "none" else f"{kind}{controls['k'].value}", P)
    words = f"{memory.name} on {P.name} has {{}}, too many to answer at once: take a smaller k"
    if len(memory.M) > 10 * MOST_PAIRS:
        raise TooLarge(words.format(f"{len(memory.M):,} memory states"))
    E = augment(P, memory)
    if len(E.S) > MOST_STATES or len(E.S) * len(E.A) > MOST_PAIRS:
        raise TooLarge(words.format(f"{len(E.S):,} states and {len(E.A):,} actions"))
    return E


# ---------------------------------------------------------------------- the oracle loop


def oracle_explorer(
    P: POMDP, family: str = "B", k: int = 1, drawing: TaskDrawing | None = None
) -> Explorer:
    """The oracle loop of Section 5.2 from the uniform policy. It shows the values, the best
    deterministic one, and the policy at any iterate.

    Controls: `family` and `k` of the memory, `step` (the paper's epsilon), `iterate`, as long as
    the run; at its end it stays at the end when the run changes.

    Parameters
    ----------
    P : a task without memory.
    family, k : the memory to begin with.
    drawing : of a task on a grid, such as `TASKS["gravity"].drawing`: the policy is drawn there
        instead of written as a table.
    """
    widgets = need("ipywidgets", "notebooks")
    controls = _memory_controls(widgets, family, k) | {
        "step": widgets.FloatSlider(value=0.05, min=0.01, max=0.5, step=0.01, description="step ε"),
        "iterate": widgets.IntSlider(value=_BUDGET, min=0, max=_BUDGET, description="iterate"),
    }
    tasks: dict[Hashable, tuple[POMDP, MemorylessOptimum | None]] = {}
    runs: dict[Hashable, tuple[Improvement, _Path]] = {}

    def redraw(explorer: Explorer) -> None:
        *memory, step = (controls[name].value for name in ("family", "k", "step"))
        if tuple(memory) not in tasks:
            E = _augmented(P, controls)
            tasks[tuple(memory)] = E, _best_deterministic(E)
        E, best = tasks[tuple(memory)]
        if (E, step) not in runs:
            explorer.announce(f"step {step:g}: the loop runs from the uniform policy")
            run = improve(E, uniform(E), step=step, budget=_BUDGET)
            runs[E, step] = run, _Path(it.pi for it in iterates(E, uniform(E), step=step))
        run, path = runs[E, step]
        n = _on_slider(controls["iterate"], run.iterates - 1)
        text = (
            f"<p>{escape_html(repr(run))}</p><p>value at iterate {n}: "
            f"<b>{shown(run.values[n])}</b>{_best_words(best)}</p>"
        )
        pi = path.at(n)
        if drawing is None:
            text += _policy_html(E, pi)
        explorer.show(text, _loop_figure(E, run, n, best, pi, drawing))

    return Explorer(controls, redraw)


class _Path:
    """The policies of a loop, each made once, when it is first asked for."""

    def __init__(self, stream: Iterator[Policy]):
        self.stream, self.made = stream, list[Policy]()

    def at(self, n: int) -> Policy:
        self.made.extend(islice(self.stream, max(0, n + 1 - len(self.made))))
        return self.made[n]


def _on_slider(slider: Any, last: int) -> int:
    """Fit a slider to its range, and return its position. A slider at its end stays at the end."""
    place = last if slider.value >= slider.max else min(int(slider.value), last)
    slider.max = max(last, slider.min)
    slider.value = place
    return place


def _best_deterministic(E: POMDP) -> MemorylessOptimum | None:
    """None where gamma is 1 and no deterministic policy ends."""
    try:
        return best_memoryless(E, deterministic=True, max_nodes=500)
    except NeverEnds:
        return None


def _best_words(best: MemorylessOptimum | None) -> str:
    if best is None:
        return "; no deterministic memoryless policy ends"
    sure = "" if best.certified else f" or more, at most {shown(best.bound)}"
    return f"; the best deterministic memoryless policy is worth <b>{shown(best.value)}</b>{sure}"


def _loop_figure(
    E: POMDP,
    run: Improvement,
    n: int,
    best: MemorylessOptimum | None,
    pi: Policy,
    drawing: TaskDrawing | None,
) -> Figure:
    """The values of a loop with a mark at one iterate, and below them its policy on a grid."""
    from matplotlib.figure import Figure

    from workbench.figures import grid_policy, oracle_values

    height = 2.2 if drawing is None else 5.4
    figure = Figure(figsize=(7.0, height), dpi=100, layout="constrained")
    parts: Any = [figure] if drawing is None else figure.subfigures(2, height_ratios=(2, 3))
    axes = parts[0].add_subplot()
    optimum = None if best is None else float(best.value)
    words = "best deterministic" if best and best.certified else "best found"
    oracle_values(run, axes=axes, optimum=optimum, best=words)
    axes.axvline(n, linewidth=1, linestyle=":", color="black")
    value = float(run.values[n])
    axes.plot([n], [value], "o", gid="now", clip_on=False, color="black", label="now")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9, frameon=False)
    if drawing is not None:
        seen = evaluate(E, pi)
        reached = {m for (m, _), met in zip(pi.O, seen.reached.raw, strict=True) if met}
        panels = parts[1].subplots(1, min(len(reached), _MOST_PANELS), squeeze=False)
        grid_policy(seen, drawing, panels, most=_MOST_PANELS)
        note = f"the policy at this iterate; {drawing.key}; {_DOTS}"
        parts[1].supxlabel(note, fontsize=8)
    return figure


_MOST_PANELS = 4
"""Memory states whose arrows are drawn, the most visited ones."""

_DOTS = "a dot: writes (the bits beside it, or a push)"


def _policy_html(E: POMDP, pi: Policy) -> str:
    """pi(a | o) as a heat map made of table cells: dark is probable."""
    table = pi.prob.floats
    head = "".join(f"<th>{escape_html(pi.A.text(a))}</th>" for a in pi.A)
    rows = ""
    for i, o in enumerate(pi.O):
        cells = ""
        for x in table[i].tolist():
            shade = f"rgb({255 - round(247 * x)},{255 - round(207 * x)},{255 - round(148 * x)})"
            ink = "white" if x > 0.5 else "black"
            cells += f'<td style="background:{shade};color:{ink}">{_short(x)}</td>'
        rows += f"<tr><th>{escape_html(pi.O.text(o))}</th>{cells}</tr>"
    caption = f"<caption>π(a | o), the probability of an action; {_legend(E)}</caption>"
    return f"<table>{caption}<tr><th>π(a | o)</th>{head}</tr>{rows}</table>"


# ---------------------------------------------------------------------- TD against Monte Carlo


def td_explorer(P: POMDP, family: str = "OA", k: int = 1) -> Explorer:
    """TD(lambda) values of a best deterministic policy against the true ones, and the shortcuts at
    that lambda.

    Controls: `family` and `k` of the memory, `gamma`, `lam`. In the table each cell has the
    TD(lambda) value above the true one; a frame marks pairs that look at least as good as the
    policy and are not. Lambda = 0 is one-step TD, for which the diagram is that of Figure 3.

    Parameters
    ----------
    P : a task without memory.
    family, k : the memory to begin with.
    """
    widgets = need("ipywidgets", "notebooks")
    gamma = float(P.gamma)
    controls = _memory_controls(widgets, family, k) | {
        "gamma": widgets.FloatSlider(
            value=gamma, min=0.05, max=1, step=0.05, description="discount γ"
        ),
        "lam": widgets.FloatSlider(value=0, min=0, max=1, step=0.05, description="λ of TD"),
    }
    policies: dict[Hashable, tuple[POMDP, Policy, TDValues]] = {}

    def redraw(explorer: Explorer) -> None:
        chosen = tuple(controls[name].value for name in ("family", "k", "gamma"))
        if chosen not in policies:
            E = _augmented(P.with_gamma(_decimal(chosen[2])), controls)
            pi = best_memoryless(E, deterministic=True, max_nodes=500).policy
            policies[chosen] = E, pi, td_values(E, pi, lam=1)
        E, pi, true = policies[chosen]
        td = td_values(E, pi, lam=controls["lam"].value)
        found = shortcuts_between(true, td)
        explorer.show(_td_text(true, td, found), _diagram_figure(E, pi, found))

    return Explorer(controls, redraw)


def _decimal(x: float) -> Fraction:
    """A slider's value as the decimal that it shows."""
    return Fraction(f"{x:.2f}")


def shortcuts_between(true: TDValues, td: TDValues) -> list[Shortcut]:
    """The pairs that the values `td` make look at least as good as the policy, although truly they
    are not.

    For one-step TD these are the non-Markovian shortcuts of the policy.
    """
    P, pi = true.P, true.pi
    found = []
    for i, o in enumerate(P.O):
        for j, a in enumerate(P.A):
            if pi.prob.floats[i, j] == 0 and true.reached.raw[i]:
                values = true.q[o, a], td.q[o, a], true.v[o], td.v[o]
                if all(x == x for x in values) and (kind := kind_of(*values)):
                    found.append(Shortcut(o, a, *values, kind, words_of(P, o, a)))
    return found


def _diagram_figure(E: POMDP, pi: Policy, found: list[Shortcut]) -> Figure:
    from matplotlib.figure import Figure

    from workbench.figures import memory_diagram

    figure = Figure(figsize=(7.0, 4.0))
    memory_diagram(transition_diagram(E, pi, found), figure.add_axes((0, 0, 1, 1)))
    return figure


def _td_text(true: TDValues, td: TDValues, found: list[Shortcut]) -> str:
    P, pi = true.P, true.pi
    looks = {(x.o, x.a): x.kind for x in found}
    head = "".join(f"<th>{escape_html(P.A.text(a))}</th>" for a in P.A)
    rows = ""
    for i, o in enumerate(P.O):
        if not true.reached.raw[i]:
            continue
        cells = ""
        for j, a in enumerate(P.A):
            style = {"strict": "border:2px solid #D55E00", "weak": "border:2px dashed #D55E00"}.get(
                looks.get((o, a), ""), ""
            )
            both = f"{_short(td.q[o, a])}<br>{_short(true.q[o, a])}"
            cells += (
                f'<td style="{style}">{f"<b>{both}</b>" if pi.prob.floats[i, j] > 0 else both}</td>'
            )
        rows += f"<tr><th>{escape_html(P.O.text(o))}</th>{cells}</tr>"
    caption = (
        f"{escape_html(P.name)}, discount {P.gamma}: in each cell TD({_short(td.lam)}) above, the "
        f"true value below; bold: the policy, worth {shown(true.value)}, the best deterministic "
        f"one; frames: shortcuts. {_legend(P)}"
    )
    return f"<table><caption>{caption}</caption><tr><th></th>{head}</tr>{rows}</table>"


def _short(x: Any) -> str:
    return shown(x, digits=4, noise=5e-13)


# ---------------------------------------------------------------------- one episode


def episode_stepper(
    P: POMDP,
    memory: Memory | Family | str = "none",
    pi: Policy | None = None,
    seed: int = 0,
    max_steps: int = 1_000,
    drawing: TaskDrawing | None = None,
) -> Explorer:
    """One episode through environment and memory, a step at a time.

    Controls: the buttons `next`, `back` and `restart`, and `time`, as long as the episode. A button
    that can do nothing says why. Who reads without running sees the whole episode.

    Parameters
    ----------
    P : a task without memory.
    memory : beside it.
    pi : a policy for `augment(P, memory)`; the uniform one if None.
    seed : a seed gives the same episode every time.
    max_steps : longer episodes are refused.
    drawing : of a task on a grid, such as `TASKS["gravity"].drawing`: shows where the agent is.
    """
    widgets = need("ipywidgets", "notebooks")
    attached = attach(memory, P)
    controls = {
        "back": widgets.Button(description="back", icon="arrow-left"),
        "next": widgets.Button(description="next", icon="arrow-right"),
        "restart": widgets.Button(description="restart", icon="refresh"),
        "time": widgets.IntSlider(value=0, min=0, max=max_steps, description="steps done"),
    }
    episode: list[Step] = []

    def redraw(explorer: Explorer) -> None:
        if not episode:
            followed = uniform(augment(P, attached)) if pi is None else pi
            episode.extend(simulate(pair(P, attached), followed, seed, max_steps=max_steps)[0])
        slider = controls["time"]
        slider.max = len(episode)
        done = slider.value
        for names, is_idle, why in (
            (("back", "restart"), done == 0, "this is the beginning"),
            (("next",), done == len(episode), "the episode is over"),
        ):
            for name in names:
                controls[name].disabled = is_idle
                controls[name].tooltip = why if is_idle else ""
        if not explorer.still:
            explorer.still = _episode_text(P, attached, episode, len(episode))
            whole = _walk_figure(drawing, episode, len(episode))
            explorer.still_picture = b"" if whole is None else _png(whole)
        figure = _walk_figure(drawing, episode, done)
        explorer.show(_episode_text(P, attached, episode, done), figure)

    explorer = Explorer(controls, redraw)

    def move(by: Callable[[int], int]) -> Callable[[Any], None]:
        def clicked(button: Any) -> None:
            slider = controls["time"]
            slider.value = max(0, min(slider.max, by(slider.value)))

        return clicked

    controls["next"].on_click(move(lambda done: done + 1))
    controls["back"].on_click(move(lambda done: done - 1))
    controls["restart"].on_click(move(lambda done: 0))
    return explorer


def _walk_figure(drawing: TaskDrawing | None, episode: list[Step], done: int) -> Figure | None:
    """The way of the agent on its grid, after so many steps."""
    from matplotlib.figure import Figure

    from workbench.figures import grid_walk

    if drawing is None:
        return None
    states = [step.state for step in episode]
    if episode:
        states.append(episode[-1].state_next)
    figure = Figure(figsize=(3.0, 3.3), dpi=100, layout="constrained")
    grid_walk(drawing, [drawing.place(s, o) for s, _, o in states[: done + 1]], figure.subplots())
    words = f"{drawing.key}; the agent after {done} steps"
    figure.supxlabel(words, fontsize=8, wrap=True)
    return figure


_COLUMNS = ("t", "state", "memory", "observation", "action", "write", "reward")


def _episode_text(P: POMDP, memory: Memory, episode: list[Step], done: int) -> str:
    """The steps that were made, and the situation in which the agent is now."""

    def words(state: tuple[Label, Label, Label]) -> tuple[str, str, str]:
        s, m, o = state
        return P.S.text(s), memory.M.text(m), P.O.text(o)

    rows: list[tuple[Any, ...]] = []
    for t, step in enumerate(episode[:done]):
        a, w = step.a
        rows.append((t, *words(step.state), P.A.text(a), memory.W.text(w), shown(step.r)))
    if episode:
        s, m, o = episode[done].state if done < len(episode) else episode[-1].state_next
        rows.append((done, *words((s, m, o)), "", "", ""))
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    body = ""
    for place, row in enumerate(rows):
        cells = "".join(f"<td>{escape_html(str(cell))}</td>" for cell in row)
        body += f"<tr{' style=font-weight:bold' if place == len(rows) - 1 else ''}>{cells}</tr>"
    so_far = shown(discounted_return(episode[:done], P.gamma))
    over = ", the episode is over" if done == len(episode) else ""
    legend = f"; memory: {memory.M.legend}" if memory.M.legend else ""
    caption = escape_html(f"{P.name} with {memory.name}{legend}; t counts steps")
    return (
        f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table><p>step {done} of "
        f"{len(episode)}, "
        f"return so far {so_far}{over}</p>"
    )
