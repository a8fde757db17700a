"""Littman, Sutton and Singh 2001: float-reset has a linear PSR of rank 5, and no window is enough.

After a reset and j floats the probability that the next reset shows 1 is u_j = e' T^j e, with T the
float's random walk on five cells and e the right end. T is symmetric and invertible, and I - T^2 is
positive semidefinite, so for even j, with w = T^(j/2) e,

    u_j - u_{j+2} = w' (I - T^2) w >= 0,      0 only if (I - T^2) w = 0, that is (I - T^2) e = 0,

since T commutes with I - T^2 and can be undone. The latter is not so: u_j falls strictly along even
j. The histories `reset, j floats` and `reset, j + 2 floats` end in the same j pairs (float, 0), so
for no k does a window of the last k pairs predict what its history predicts.
"""

from __future__ import annotations

import sympy

from pomdps import float_reset
from proofs.ledger import Evidence, Proof, argued, claim, human, machine
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench.core.pomdp import POMDP
from workbench.research.theories import dynamics_rank

PAPER = Paper(
    "lss2001",
    "Littman, Sutton and Singh",
    "Predictive representations of state",
    2001,
    "ours",
)


def float_walk(P: POMDP) -> tuple[sympy.Matrix, sympy.Matrix]:
    """T of the float over the cells (what was shown last summed out), and the right end."""
    cells = sorted({s[0] for s in P.S})
    T = sympy.zeros(len(cells), len(cells))
    for i, cell in enumerate(cells):
        s = next(s for s in P.S if s[0] == cell)
        for (t, _), x in P.p(s, "float").items():
            T[i, cells.index(t[0])] += sympy.Rational(x.numerator, x.denominator)
    return T, sympy.Matrix([int(cell == cells[-1]) for cell in cells])


@claim(
    "P.lss2001.float_reset",
    place=PAPER.place,
    statement="The float-reset problem has a system dynamics matrix of rank 5. For no k do the "
    "last k observations and actions predict as the history does.",
    verdict="argued",
    steps=(
        human(
            "windows",
            "e'T^(2j)e then falls strictly in j, and a window of k floats that show 0 is the same "
            "for all j > k: so no k is enough",
        ),
        machine("rank", "histories and tests, closed in rationals, give rank 5"),
        machine("symmetric", "T = T'"),
        machine("undone", "det T is not 0"),
        machine("definite", "no eigenvalue of I - T^2 is negative: its characteristic polynomial"),
        machine("moves", "(I - T^2) e is not 0"),
        machine("same", "floats show 0 whatever the cell"),
    ),
)
def windows(
    proof: Proof,
    rank: int = 5,
    cells: int = 5,
    drift: int = 0,
    power: int = 2,
    start: int = -1,
    shown: int = 0,
) -> Evidence:
    """Judge the claim. `rank`, `shown`: what is claimed. `cells`: of the walk that is undone.
    `drift`: added to an entry of T. `power`: T^power for T^2. `start`: the cell e."""
    P = float_reset()
    found = dynamics_rank(P)
    proof.step("rank", None if found == rank else f"rank {found}")
    T, e = float_walk(P)
    pushed = T.copy()
    pushed[0, 1] += drift
    proof.step("symmetric", None if pushed == pushed.T else f"T = {pushed}")
    other, _ = float_walk(float_reset(n=cells)) if cells != 5 else (T, e)
    proof.step("undone", None if other.det() != 0 else f"det T = 0 with {cells} cells")
    x = sympy.Symbol("x")
    gone = sympy.eye(5) - T**2 if power == 2 else T - sympy.eye(5)
    # det(xI - G) with roots >= 0 only: the coefficients alternate in sign (Descartes).
    coefficients = gone.charpoly(x).all_coeffs()
    alternate = all((-1) ** i * c >= 0 for i, c in enumerate(coefficients))
    proof.step("definite", None if alternate else f"charpoly {coefficients}")
    kept = (sympy.eye(5) - T**2) * (e if start == -1 else sympy.ones(5, 1))
    proof.step("moves", None if any(kept) else "(I - T^2) e = 0")
    seen = {
        o for s in P.S for (t, _), p in P.p(s, "float").items() if p for o in map(str, P.omega(t))
    }
    proof.step("same", None if seen == {str(shown)} else f"floats show {sorted(seen)}")
    return argued(
        "the rank is 5; predictions differ after every even number of floats",
        text(
            "T is symmetric, so its powers are and its eigenvalues are real; a polynomial with "
            "real roots whose coefficients alternate in sign has no negative one."
        ),
    )


windows.twin("rank 4", guards="rank", rank=4)
windows.twin("a walk that drifts", guards="symmetric", drift=1)
windows.twin("six cells, where T cannot be undone", guards="undone", cells=6)
windows.twin("T - I for I - T^2", guards="definite", power=1)
windows.twin("from all cells alike", guards="moves", start=0)
windows.twin("floats show 1", guards="same", shown=1)
