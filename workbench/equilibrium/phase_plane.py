"""A plane through the tables of a learner: greedy policies, the mean field, and a real run.

Two entries q(o, a) and q(o', a') vary, all others stay as in a base table. Every point of the plane
lies in the cell of a greedy policy; the mean field there, as far as it lies in the plane, says
where the two entries go. With one row of two actions the plane is the whole space of tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.evaluate import evaluate
from workbench.core.improve import weights_for
from workbench.core.learners import Learner, check_count
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.equilibrium.greedy_cells import Floats
from workbench.equilibrium.mean_field import CellFields, dense_task
from workbench.learning.learn import learn
from workbench.tables.sheet import Column, Drawn, Sheet, Showing

Pair = tuple[Label, Label]


@dataclass(frozen=True, eq=False)
class PhasePlane(Showing, Drawn):
    """Greedy policies and the mean field on a grid.

    Attributes
    ----------
    x, y : the two entries (o, a) that vary; at_x, at_y : their values on the grid.
    region : `region[j, i]`, the number of the greedy policy at (at_x[i], at_y[j]).
    policies : `policies[k]`, {o: a} by number, for the rows that matter.
    flow : `flow[j, i]`, the mean field's two components.
    """

    figure: ClassVar[str] = "phase_portrait"

    P: POMDP
    learner: Learner
    x: Pair
    y: Pair
    at_x: Floats
    at_y: Floats
    region: NDArray[np.int64]
    policies: tuple[dict[Label, Label], ...]
    flow: Floats

    def sheet(self) -> Sheet:
        """The greedy policies on the plane, a row each."""
        P = self.P
        columns = (
            Column("greedy policy", "observation → action"),
            Column("share", "of the points of the plane at which it is greedy"),
        )
        rows = tuple(
            (
                "\n".join(f"{P.O.text(o)} → {P.A.text(a)}" for o, a in policy.items()),
                float(np.mean(self.region == k)),
            )
            for k, policy in enumerate(self.policies)
        )
        x, y = (f"q({P.O.text(o)}, {P.A.text(a)})" for o, a in (self.x, self.y))
        said = f"{len(rows)} policies are greedy somewhere on the plane of {x} and {y}."
        return Sheet(f"Greedy policies on a plane of {P.name}", columns, rows, said)


def phase_plane(
    P: POMDP,
    learner: Learner,
    x: Pair | None = None,
    y: Pair | None = None,
    base: Any = None,
    width: tuple[float, float] | None = None,
    height: tuple[float, float] | None = None,
    points: int = 41,
) -> PhasePlane:
    """The mean field of a learner on a plane of tables.

    Parameters
    ----------
    x, y : two different entries (o, a), for the two axes; by default the first two actions at the
        first observation at which there is a choice.
    base : the table `[o, a]` that says what the other entries are; by default the q-values of the
        uniform policy, and 0 where these are not defined.
    width, height : the lowest and the highest value on each axis; by default the range of these
        q-values and half of it more on either side.
    points : of the grid, along each axis.

    >>> from pomdps import recall4
    >>> from workbench import QLearning
    >>> plane = phase_plane(recall4(), QLearning(epsilon=0.1), points=3)
    >>> plane.x, plane.y, len(plane.policies)
    (('o', 0), ('o', 1), 3)

    See also: `mean_field`, `equilibria`, `policy_slice`.
    """
    P.require_all_actions("phase_plane")
    task = dense_task(P, learner)
    P = task.P
    check_count("points", points, low=2)
    place = {int(o): i for i, o in enumerate(task.rows)}
    first = P.O[int(task.rows[0])]
    x, y = x or (first, P.A[0]), y or (first, P.A[min(1, len(P.A) - 1)])
    spots = [_spot(P, place, pair) for pair in (x, y)]
    if spots[0] == spots[1]:
        raise WorkbenchError(f"the two axes are the same entry, {P.O.text(x[0])}, {P.A.text(x[1])}")
    usual = uniform(P)
    q_uniform = np.nan_to_num(evaluate(P, usual, weights=weights_for(P, usual)).q.raw)
    low, high = float(q_uniform.min()), float(q_uniform.max())
    more = (high - low) / 2 or 1.0
    width, height = width or (low - more, high + more), height or (low - more, high + more)
    q = np.asarray(q_uniform if base is None else base, dtype=float)
    if q.shape != (len(P.O), len(P.A)):
        raise WorkbenchError(f"base is a table of the shape {(len(P.O), len(P.A))}, not {q.shape}")
    q = q[task.rows].copy()
    for name, (low, high) in (("width", width), ("height", height)):
        if not low < high:
            raise WorkbenchError(f"{name} goes from a lower to a higher value, not {low} to {high}")
    at_x, at_y = np.linspace(*width, points), np.linspace(*height, points)
    fields, numbers = CellFields(task), dict[bytes, int]()
    region = np.empty((points, points), dtype=np.int64)
    flow = np.empty((points, points, 2))
    policies = []
    flat = [row * task.nA + a for row, a in spots]
    for j in range(points):
        for i in range(points):
            q[spots[0]], q[spots[1]] = at_x[i], at_y[j]
            actions = q.argmax(axis=1)
            A, c = fields.of(actions)
            flow[j, i] = (A @ q.ravel() + c)[flat]
            key = actions.tobytes()
            if key not in numbers:
                numbers[key] = len(numbers)
                policies.append(
                    {P.O[int(o)]: P.A[int(a)] for o, a in zip(task.rows, actions, strict=True)}
                )
            region[j, i] = numbers[key]
    return PhasePlane(P, learner, x, y, at_x, at_y, region, tuple(policies), flow)


def _spot(P: POMDP, place: dict[int, int], pair: Any) -> tuple[int, int]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise WrongType(f"an axis is an entry (o, a), not {pair!r}")
    o = P.O.index(pair[0])
    if o not in place:
        raise WorkbenchError(f"o={P.O.text(pair[0])} is never seen where a policy matters")
    return place[o], P.A.index(pair[1])


def run_path(P: POMDP, learner: Learner, steps: int, seed: int = 0, points: int = 200) -> Floats:
    """The tables `[k, o, a]` of one run of a learner, evenly spread over its steps, the first one
    included.

    A seed gives the same run whatever its length, so that each table is the end of a shorter run.
    """
    check_count("points", points, low=1)
    ends = np.unique(np.linspace(0, steps, points + 1).round().astype(int))[1:]
    initial = float(getattr(learner, "initial", 0.0))
    tables = [np.full((len(P.O), len(P.A)), initial)]
    for end in ends.tolist():
        run = learn(P, learner, steps=end, seeds=[seed], every=end, policies=False)
        tables.append(run.tables["q"][0])
    return np.array(tables)
