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

import numpy as np

from workbench.agents.simulate import Step, discounted_return, pair, simulate
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, TooLarge, WorkbenchError
from workbench.core.evaluate import Evaluation, evaluate
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
    from matplotlib.backends.backend_agg import FigureCanvasAgg
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

    def show(self, text: str, figure: Figure | None = None, png: bytes | None = None) -> None:
        """Put a text (HTML) and a picture on show. `png` is the figure as drawn before."""
        self.text.value, self.figure = text, figure
        self.image.layout.display = "none" if figure is None else None
        if figure is not None:
            self.image.value = png if png is not None else _png(figure)

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
    films: list[_LoopFilm] = []

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
        evaluation = None if drawing is None else evaluate(E, pi)
        films[:] = [film for film in films if film.E is E] or [_LoopFilm(E, best, drawing)]
        explorer.show(text, *films[0].at(run, n, evaluation))

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


class _LoopFilm:
    """The values of a loop, and below them its policies on a grid. What stays the same from iterate
    to iterate, and from run to run, is laid out and drawn once, so that sliders can be dragged.

    Attributes
    ----------
    E : the task with its memory.
    figure : the matplotlib figure with the iterate that was asked for last.
    """

    def __init__(self, E: POMDP, best: MemorylessOptimum | None, drawing: TaskDrawing | None):
        self.E, self.best, self.drawing = E, best, drawing
        self.panels: Any = None
        self.figure: Figure | None = None
        self.run: Improvement | None = None
        self._moving: list[Any] = []

    def at(self, run: Improvement, n: int, evaluation: Evaluation | None) -> tuple[Figure, bytes]:
        """The picture of an iterate. The evaluation of its policy is drawn on the grid."""
        if self.figure is None or not self._fits(evaluation):
            self._prepare(run, n, evaluation)
        else:
            for artist in self._moving:
                artist.remove()
            if run is not self.run:
                self._draw_values(run)
                self._keep_values()
            self._draw(n, evaluation, ground=False)
            if self._titles() != self._told:  # other memory states are the most visited ones
                self._prepare(run, n, evaluation)
        assert self.figure is not None
        self._canvas.restore_region(self._ground)
        for artist in self._moving:
            artist.axes.draw_artist(artist)
        return self.figure, _coded(self._canvas)

    def _fits(self, evaluation: Evaluation | None) -> bool:
        return evaluation is None or self.panels.size == self._count(evaluation)

    def _count(self, evaluation: Evaluation) -> int:
        reached = zip(self.E.O, evaluation.reached.raw, strict=True)
        return min(len({m for (m, _), met in reached if met}), _MOST_PANELS)

    def _prepare(self, run: Improvement, n: int, evaluation: Evaluation | None) -> None:
        """Lay everything out and keep what does not move as pixels."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        height = 2.2 if evaluation is None else 5.4
        figure = Figure(figsize=(7.0, height), dpi=100, layout="constrained")
        parts: Any = [figure]
        if evaluation is not None:
            parts = figure.subfigures(2, height_ratios=(2, 3))
        self.axes = parts[0].add_subplot()
        self._draw_values(run)
        if evaluation is not None:
            assert self.drawing is not None
            self.panels = parts[1].subplots(1, self._count(evaluation), squeeze=False)
            note = f"the policy at this iterate; {self.drawing.key}; {_DOTS}"
            parts[1].supxlabel(note, fontsize=8)
        self._draw(n, evaluation, ground=True)
        self.figure, self._told = figure, self._titles()
        self._canvas = FigureCanvasAgg(figure)
        _lay_out(figure)
        self.axes.set_visible(False)
        self._canvas.draw()
        self.axes.set_visible(True)
        self._base = self._canvas.copy_from_bbox(figure.bbox)
        self._keep_values()

    def _draw_values(self, run: Improvement) -> None:
        """Put the values of a run on their axes, and nothing else."""
        from workbench.figures import oracle_values

        self.run = run
        self.axes.clear()
        optimum = None if self.best is None else float(self.best.value)
        words = "best deterministic" if self.best and self.best.certified else "best found"
        oracle_values(run, axes=self.axes, optimum=optimum, best=words)
        self.axes.plot([], [], "o", color="black", label="now")
        self.axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9, frameon=False)

    def _keep_values(self) -> None:
        """Keep the pixels of the values beside those of the rest."""
        assert self.figure is not None
        self._canvas.restore_region(self._base)
        self.axes.draw(self._canvas.get_renderer())
        self._ground = self._canvas.copy_from_bbox(self.figure.bbox)

    def _draw(self, n: int, evaluation: Evaluation | None, ground: bool) -> None:
        """Put on the axes what belongs to one iterate."""
        from workbench.figures import grid_policy

        assert self.run is not None
        now = {"color": "black", "animated": True}
        line = self.axes.axvline(n, linewidth=1, linestyle=":", **now)
        value = float(self.run.values[n])
        (mark,) = self.axes.plot([n], [value], "o", gid="now", clip_on=False, **now)
        self._moving = [line, mark]
        if evaluation is not None:
            grid_policy(evaluation, self.drawing, self.panels, most=_MOST_PANELS, ground=ground)
            drawn = (x for one in self.panels.ravel() for x in (*one.collections, *one.texts))
            for artist in drawn:
                if artist.get_gid() in ("arrow", "write"):
                    artist.set_animated(True)
                    self._moving.append(artist)

    def _titles(self) -> list[str]:
        return [] if self.panels is None else [one.get_title() for one in self.panels.ravel()]


def _lay_out(figure: Figure) -> None:
    """Lay a figure out for good: what moves later must not move the rest."""
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)
    figure.set_layout_engine("none")


def _coded(canvas: FigureCanvasAgg) -> bytes:
    """What a canvas shows as PNG, packed lightly: a slider that is dragged waits for it."""
    from PIL import Image

    stored = io.BytesIO()
    Image.fromarray(np.asarray(canvas.buffer_rgba())).save(stored, "png", compress_level=1)
    return stored.getvalue()


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
    films: list[_WalkFilm] = []

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
        if drawing is not None and not films:
            films.append(_WalkFilm(drawing, episode))
        if not explorer.still:
            explorer.still = _episode_text(P, attached, episode, len(episode))
            explorer.still_picture = films[0].at(len(episode))[1] if films else b""
        picture = films[0].at(done) if films else ()
        explorer.show(_episode_text(P, attached, episode, done), *picture)

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


class _WalkFilm:
    """An agent on its grid: the grid is drawn once, so that the slider can be dragged."""

    def __init__(self, drawing: TaskDrawing, episode: list[Step]):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        from workbench.figures import grid_walk

        states = [step.state for step in episode]
        if episode:
            states.append(episode[-1].state_next)
        self.cells = [drawing.place(s, o) for s, _, o in states]
        self.figure = Figure(figsize=(3.0, 3.3), dpi=100, layout="constrained")
        self.axes = self.figure.add_subplot()
        grid_walk(drawing, [], self.axes)
        self.words = f"{drawing.key}; the agent after {{}} steps"
        self.note = self.figure.supxlabel(self.words.format(len(episode)), fontsize=8, wrap=True)
        self.canvas = FigureCanvasAgg(self.figure)
        _lay_out(self.figure)
        self.note.set_animated(True)
        self.canvas.draw()
        self.ground = self.canvas.copy_from_bbox(self.figure.bbox)

    def at(self, done: int) -> tuple[Figure, bytes]:
        """The picture after so many steps."""
        from workbench.figures.grid_policy import draw_walk

        for line in [x for x in self.axes.lines if x.get_gid() in ("walk", "now")]:
            line.remove()
        drawn = draw_walk(self.axes, self.cells[: done + 1])
        self.note.set_text(self.words.format(done))
        self.canvas.restore_region(self.ground)
        for line in drawn:
            self.axes.draw_artist(line)
        self.note.draw(self.canvas.get_renderer())
        return self.figure, _coded(self.canvas)


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
