"""What the tests of the pictures share: reference policies and diagrams, and how to find what was
drawn."""

from functools import lru_cache

from matplotlib.patches import FancyArrowPatch
from toy_tasks import small_task

from workbench import Policy, augment, best_memoryless, shortcuts, uniform
from workbench.evaluation.transition_diagram import transition_diagram
from workbench.improvement.slice import policy_slice

EMPTY, ONE, TWO, THREE = ((None,), "o"), ((("o", 1),), "o"), ((("o", 2),), "o"), ((("o", 3),), "o")


def blue(E):
    """The blue policy of Figure 3."""
    return Policy.deterministic(E, {EMPTY: (1, "push"), ONE: (2, "push")}, otherwise=(3, "push"))


@lru_cache
def best(E):
    return best_memoryless(E, deterministic=True).policy


def diagram_of(task, memory):
    E = augment(task, memory)
    pi = blue(E) if (task.name, memory) == ("recall", "OA1") else best(E)
    return transition_diagram(E, pi, shortcuts(E, pi))


def texts(axes, gid=None):
    found = [
        text for text in axes.texts if text.get_text() and (gid is None or text.get_gid() == gid)
    ]
    return [text.get_text() for text in found]


def arrows(axes, kind):
    return [x for x in axes.patches if isinstance(x, FancyArrowPatch) and x.get_gid() == kind]


def grid_arrows(axes):
    """The arrows of a policy on its grid: (x, y, dx, dy) of each."""
    return [
        (float(x), float(y), float(dx), float(dy))
        for one in axes.collections
        if one.get_gid() == "arrow"
        for (x, y), dx, dy in zip(one.XY, one.U, one.V, strict=True)
    ]


def grid_dots(axes):
    """The dots of a policy on its grid: {cell: area}."""
    return {
        (int(x), int(y)): float(area)
        for one in axes.collections
        if one.get_gid() == "write"
        for (x, y), area in zip(one.get_offsets(), one.get_sizes(), strict=True)
    }


def meet():
    """Two steps: 2 for left and left, 1 for right and right, else nothing; the second step sees
    only that it is second."""
    return small_task(
        "meet",
        lambda s, a: (
            {((*s, a), 0): 1}
            if not s
            else {("end", {"left": 2, "right": 1}[a] if a == s[0] else 0): 1}
        ),
        (),
        A=["left", "right"],
        omega=lambda s: {len(s) if s != "end" else 2: 1},
    )


def meet_slice(points):
    P = meet()
    return policy_slice(P, uniform(P), x=(0, "right"), y=(1, "right"), points=points, step=0.01)
