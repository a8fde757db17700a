"""Controls for Jupyter that redraw at once: the oracle loop, TD against Monte Carlo, and an episode
step by step.

Each function returns an object that Jupyter shows. Its parts can be used without a browser:
`controls` holds the sliders and buttons by name, `picture` the PNG that is on show, `text` and
`message` what is said. A choice that cannot be computed, such as a memory that is too large, is
answered by `message`; no choice raises an error. Needs the extra `notebooks`.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from workbench import memories
from workbench.errors import TooLarge, WorkbenchError
from workbench.evaluation.shortcuts import Shortcut, kind_of, words_of
from workbench.evaluation.td import TDValues, td_values
from workbench.evaluation.transition_diagram import transition_diagram
from workbench.extras import need
from workbench.improvement.improve import Improvement, improve, iterates
from workbench.model.augment import augment
from workbench.model.memories import Family, Memory, attach
from workbench.model.policy import Policy, uniform
from workbench.model.pomdp import POMDP
from workbench.model.simulate import Step, discounted_return, pair, simulate
from workbench.model.space import Label
from workbench.optima.best_memoryless import best_memoryless
from workbench.text import escape_html, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_STATES, MOST_PAIRS = 400, 25_000
"""Of states, and of states with actions: larger tasks do not answer at once, and are refused."""

_BUDGET = 1_000
"""Iterates of the oracle loop."""

_FAMILIES: dict[str, Callable[[int], Family]] = {
    "none": lambda k: memories.none,
    "K": memories.K,
    "B": memories.B,
    "O": memories.O,
    "OA": memories.OA,
}


class Explorer:
    """Controls above a text and a picture that follow them.

    Attributes
    ----------
    controls : the sliders and buttons by name.
    text, message, image : the widgets below them; a message says why there is nothing to see.
    figure : the matplotlib figure on show, or None.
    box : all of it as one widget.
    """

    def __init__(self, controls: dict[str, Any], redraw: Callable[[Explorer], None]):
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
        try:
            self._redraw(self)
        except WorkbenchError as error:
            self.message.value = f"<b>{escape_html(str(error))}</b>"
            self.text.value, self.figure = "", None
            self.image.layout.display = "none"
        else:
            self.message.value = ""

    def show(self, text: str, figure: Figure | None = None, png: bytes | None = None) -> None:
        """Put a text (HTML) and a picture on show; `png` is the figure as drawn before."""
        self.text.value, self.figure = text, figure
        self.image.layout.display = "none" if figure is None else None
        if figure is not None:
            self.image.value = png if png is not None else _png(figure)

    @property
    def picture(self) -> bytes:
        """The PNG on show; empty if there is none."""
        return bytes(self.image.value) if self.figure is not None else b""

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and what is on show as HTML for readers of a notebook that is not running."""
        image = base64.b64encode(self.picture).decode()
        picture = f'<img alt="" src="data:image/png;base64,{image}">' if image else ""
        still = f"{self.message.value}{self.text.value}{picture}"
        return {**self.box._repr_mimebundle_(**options), "text/html": still}


def _png(figure: Figure) -> bytes:
    stored = io.BytesIO()
    figure.savefig(stored, format="png", dpi=100)
    return stored.getvalue()


def _memory_controls(widgets: Any, family: str, k: int) -> dict[str, Any]:
    return {
        "family": widgets.Dropdown(options=list(_FAMILIES), value=family, description="memory"),
        "k": widgets.IntSlider(value=k, min=1, max=6, description="k"),
    }


def _augmented(P: POMDP, controls: dict[str, Any]) -> POMDP:
    memory = attach(_FAMILIES[controls["family"].value](controls["k"].value), P)
    words = f"{memory.name} on {P.name} has {{}}, too many to answer at once: take a smaller k"
    if len(memory.M) > 10 * MOST_PAIRS:
        raise TooLarge(words.format(f"{len(memory.M):,} memory states"))
    E = augment(P, memory)
    if len(E.S) > MOST_STATES or len(E.S) * len(E.A) > MOST_PAIRS:
        raise TooLarge(words.format(f"{len(E.S):,} states and {len(E.A):,} actions"))
    return E


# ---------------------------------------------------------------------- the oracle loop


def oracle_explorer(P: POMDP, family: str = "B", k: int = 1) -> Explorer:
    """The oracle loop of Section 5.2 from the uniform policy: its values, and the policy at any
    iterate.

    Controls: `family` and `k` of the memory, `step` (the paper's epsilon), `iterate` (beyond the
    end: the last one).

    Parameters
    ----------
    P : a task without memory.
    family, k : the memory to begin with.
    """
    widgets = need("ipywidgets", "notebooks")
    controls = _memory_controls(widgets, family, k) | {
        "step": widgets.FloatSlider(value=0.05, min=0.01, max=0.5, step=0.01, description="step"),
        "iterate": widgets.IntSlider(value=_BUDGET, min=0, max=_BUDGET, description="iterate"),
    }

    def redraw(explorer: Explorer) -> None:
        E = _augmented(P, controls)
        step = controls["step"].value
        run = improve(E, uniform(E), step=step, budget=_BUDGET)
        n = min(controls["iterate"].value, run.iterates - 1)
        pi = next(islice(iterates(E, uniform(E), step=step), n, None)).pi
        text = (
            f"<p>{escape_html(repr(run))}</p><p>value at iterate {n}: "
            f"<b>{shown(run.values[n])}</b></p>"
        )
        explorer.show(text + _policy_html(pi), _values_picture(E, run, n))

    return Explorer(controls, redraw)


def _values_picture(E: POMDP, run: Improvement, n: int) -> Figure:
    from matplotlib.figure import Figure

    from workbench.figures import oracle_values

    figure = Figure(figsize=(7.0, 2.2))
    axes = figure.add_axes((0.1, 0.21, 0.87, 0.75))
    oracle_values({E.name.rpartition("×")[2]: run}, axes)
    axes.axvline(n, color="black", linewidth=1, linestyle=":")
    axes.plot([n], [float(run.values[n])], "o", color="black", gid="now", clip_on=False)
    return figure


def _policy_html(pi: Policy) -> str:
    """pi(a | o) as a heat map made of table cells: dark is probable."""
    table = pi.prob.floats
    head = "".join(f"<th>{escape_html(pi.A.text(a))}</th>" for a in pi.A)
    rows = ""
    for i, o in enumerate(pi.O):
        cells = ""
        for x in table[i].tolist():
            shade = f"rgb({255 - round(247 * x)},{255 - round(207 * x)},{255 - round(148 * x)})"
            cells += f'<td style="background:{shade};color:{"white" if x > 0.5 else "black"}">{_short(x)}</td>'
        rows += f"<tr><th>{escape_html(pi.O.text(o))}</th>{cells}</tr>"
    return f"<table><tr><th>π(a | o)</th>{head}</tr>{rows}</table>"


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
        "gamma": widgets.FloatSlider(value=gamma, min=0.05, max=1, step=0.05, description="gamma"),
        "lam": widgets.FloatSlider(value=0, min=0, max=1, step=0.05, description="lambda"),
    }
    policies: dict[Hashable, tuple[POMDP, Policy, TDValues]] = {}
    pictures: dict[Hashable, tuple[Figure, bytes]] = {}

    def redraw(explorer: Explorer) -> None:
        chosen = tuple(controls[name].value for name in ("family", "k", "gamma"))
        if chosen not in policies:
            E = _augmented(P.with_gamma(_decimal(chosen[2])), controls)
            pi = best_memoryless(E, deterministic=True, max_nodes=500).policy
            policies[chosen] = E, pi, td_values(E, pi, lam=1)
        E, pi, true = policies[chosen]
        td = td_values(E, pi, lam=controls["lam"].value)
        found = shortcuts_between(true, td)
        key = chosen, tuple((x.o, x.a, x.kind) for x in found)
        if key not in pictures:
            pictures[key] = _diagram_picture(E, pi, found)
        explorer.show(_td_text(true, td, found), *pictures[key])

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


def _diagram_picture(E: POMDP, pi: Policy, found: list[Shortcut]) -> tuple[Figure, bytes]:
    from matplotlib.figure import Figure

    from workbench.figures import memory_diagram

    figure = Figure(figsize=(7.0, 4.0))
    memory_diagram(transition_diagram(E, pi, found), figure.add_axes((0, 0, 1, 1)))
    return figure, _png(figure)


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
        f"{escape_html(P.name)}, gamma {P.gamma}: TD({_short(td.lam)}) above, true below; bold: "
        f"the policy, worth {shown(true.value)}; frames: shortcuts"
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
) -> Explorer:
    """One episode through environment and memory, a step at a time.

    Controls: the buttons `next`, `back` and `restart`.

    Parameters
    ----------
    P : a task without memory.
    memory : beside it.
    pi : a policy for `augment(P, memory)`; the uniform one if None.
    seed : a seed gives the same episode every time.
    max_steps : longer episodes are refused.
    """
    widgets = need("ipywidgets", "notebooks")
    attached = attach(memory, P)
    controls = {
        "back": widgets.Button(description="back", icon="arrow-left"),
        "next": widgets.Button(description="next", icon="arrow-right"),
        "restart": widgets.Button(description="restart", icon="refresh"),
    }
    done = 0
    episode: list[Step] = []

    def redraw(explorer: Explorer) -> None:
        if not episode:
            followed = uniform(augment(P, attached)) if pi is None else pi
            episode.extend(simulate(pair(P, attached), followed, seed, max_steps=max_steps)[0])
        controls["back"].disabled = done == 0
        controls["next"].disabled = done == len(episode)
        explorer.show(_episode_text(P, attached, episode, done))

    explorer = Explorer(controls, redraw)

    def move(to: Callable[[], int]) -> Callable[[Any], None]:
        def clicked(button: Any) -> None:
            nonlocal done
            done = max(0, min(len(episode), to()))
            explorer.redraw()

        return clicked

    controls["next"].on_click(move(lambda: done + 1))
    controls["back"].on_click(move(lambda: done - 1))
    controls["restart"].on_click(move(lambda: 0))
    return explorer


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
    return (
        f"<table><tr>{head}</tr>{body}</table><p>step {done} of {len(episode)}, "
        f"return so far {so_far}{over}</p>"
    )
