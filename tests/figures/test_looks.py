"""Figures look as they did: each is compared, point by point, with the picture that is kept of it.

`python tests/figures/test_looks.py` draws the pictures in tests/data/looks anew; look at them
before they are kept.
"""

import io
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from drawn import diagram_of, meet

from pomdps import recall, recall4
from workbench import augment, evaluate, improve, uniform
from workbench.figures import memory_diagram, oracle_values, policy_flow, q_table
from workbench.improvement.slice import policy_slice

KEPT = Path(__file__).parents[1] / "data" / "looks"

TOLERANCE = 0.03
"""The largest root mean square difference of two pictures, white to black being 1: other versions
of matplotlib move edges by a fraction of a point, a line or a label that is missing is more."""


def draw_q_table():
    E = augment(recall4(), "B1")
    return q_table(evaluate(E, uniform(E), exact=True))


def draw_oracle_values():
    runs = {}
    for memory in ("none", "B1", "OA1"):
        E = augment(recall4(), memory)
        runs[memory] = improve(E, uniform(E), step=0.05)
    axes = oracle_values(runs, optimum=1)
    axes.legend()
    return axes


def draw_memory_diagram():
    return memory_diagram(diagram_of(recall(), "OA1"))


def draw_policy_flow():
    P = meet()
    first, second = P.O[0], P.O[1]
    return policy_flow(policy_slice(P, uniform(P), x=(first, "left"), y=(second, "left"), points=7))


FIGURES = {
    "q_table": draw_q_table,
    "oracle_values": draw_oracle_values,
    "memory_diagram": draw_memory_diagram,
    "policy_flow": draw_policy_flow,
}


def picture(draw):
    """The figure as an array of colours, 80 points an inch."""
    plt.close("all")
    axes = draw()
    buffer = io.BytesIO()
    axes.figure.savefig(buffer, format="png", dpi=80, facecolor="white")
    plt.close("all")
    buffer.seek(0)
    return plt.imread(buffer)[..., :3]


def difference(one, other):
    """The root mean square difference; infinite for pictures of different sizes."""
    return float(np.sqrt(((one - other) ** 2).mean())) if one.shape == other.shape else np.inf


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_looks_as_it_did(name):
    kept = plt.imread(KEPT / f"{name}.png")[..., :3]
    assert difference(picture(FIGURES[name]), kept) < TOLERANCE


def test_a_line_or_a_label_that_is_missing_is_seen():
    def without_a_line():
        axes = draw_oracle_values()
        axes.lines[0].remove()
        return axes

    def without_numbers():
        axes = draw_q_table()
        for text in list(axes.texts):
            text.remove()
        return axes

    for name, spoiled in (("oracle_values", without_a_line), ("q_table", without_numbers)):
        kept = plt.imread(KEPT / f"{name}.png")[..., :3]
        assert difference(picture(spoiled), kept) > TOLERANCE


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        plt.imsave(KEPT / f"{name}.png", picture(draw))
