"""POMDPs from dense or sparse arrays, and back.

The rows are judged by `POMDP` itself; an array of the wrong shape is refused here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from workbench.core.errors import ModelError, WrongType
from workbench.core.numbers import Number, Numbers, number
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.rows import own_rows, point_rows
from workbench.core.space import Label, Space

SparseArray: TypeAlias = sp.sparray | sp.spmatrix


def from_arrays(
    *,
    p: ArrayLike | SparseArray | Sequence[SparseArray],
    omega: ArrayLike | SparseArray,
    mu: ArrayLike | SparseArray,
    gamma: Number,
    r: ArrayLike | SparseArray | Sequence[SparseArray] | None = None,
    R: Sequence[Number] | None = None,
    S: Iterable[Label] | None = None,
    O: Iterable[Label] | None = None,
    A: Iterable[Label] | None = None,
    terminal: Iterable[Label] = (),
    name: str = "unnamed",
) -> POMDP:
    """A POMDP from dense or scipy-sparse arrays.

    Parameters
    ----------
    p : the dynamics, in one of these shapes (zero rows for terminal states):

        - dense `p[s, a, s']`, or one scipy-sparse matrix of |S||A| rows (row s |A| + a) and |S|
          columns, or a list with one |S| x |S| matrix for each action, dense or sparse; rewards in
          `r`;
        - joint over (s', r): dense `p[s, a, s', j]`, or sparse with |S||A| rows and |S||R| columns
          (column s' |R| + j); the j-th reward is `R[j]`.
    r : expected by the first kind: `r[s, a]`, or `r[s, a, s']`, or sparse as p is.
    R : the rewards of the joint kind.
    omega : `omega[s, o]`, dense or sparse.
    mu : `mu[s]`.
    S, O, A : labels; 0, 1, 2, ... if not given.
    terminal : labels of the terminal states.

    >>> from_arrays(
    ...     p=np.array([[[0.5, 0.5]], [[0.0, 0.0]]]),
    ...     r=np.array([[1.0], [0.0]]),
    ...     omega=np.ones((2, 1)),
    ...     mu=[1, 0],
    ...     gamma=0.9,
    ...     terminal=[1],
    ... )
    POMDP unnamed: 2 states (1 terminal), 1 observation, 1 action, 2 outcomes, gamma 0.9

    See also: `to_arrays`, `POMDP`, `load_pomdp`.
    """
    omega_rows = _Rows(omega, "omega")
    nS, nO = omega_rows.shape
    S_ = Space(S if S is not None else range(nS))
    O_ = Space(O if O is not None else range(nO))
    _same("omega has one row for each state", nS, len(S_))
    _same("omega has one column for each observation", nO, len(O_))
    p_rows, joint, nA = _dynamics(p, nS, None if R is None else len(R))
    A_ = Space(A if A is not None else range(nA))
    _same("p has one row for each (s, a)", nA, len(A_))

    row_ptr, col, prob = p_rows.compressed()
    if joint:
        if R is None or r is not None:
            raise WrongType("a joint p over (s', r) needs the rewards R, and no r")
        rewards = Numbers.of(list(R)).take(col % len(R))
        s_next = col // len(R)
    else:
        if r is None or R is not None:
            raise WrongType("p over s' needs the expected or per-successor rewards r, and no R")
        rewards = _rewards(r, nS, nA, row_ptr, col)
        s_next = col
    o_ptr, o_col, o_prob = omega_rows.compressed()
    start = Numbers.of(np.atleast_1d(sp.csr_array(mu).toarray().ravel() if sp.issparse(mu) else mu))
    if start.shape != (nS,):
        raise ModelError(f"mu has shape {start.shape}, but there are {nS} states")
    mask = np.zeros(nS, dtype=bool)
    for label in terminal:
        mask[S_.index(label)] = True
    return POMDP(
        name=name,
        S=S_,
        O=O_,
        A=A_,
        p=Transitions(S_, A_, row_ptr, s_next.astype(np.int32), rewards, prob),
        omega=Emissions(S_, O_, o_ptr, o_col.astype(np.int32), o_prob),
        gamma=gamma,
        mu=Distribution(S_, start),
        terminal=StateSet(S_, mask),
    )


class _Rows:
    """A matrix, dense or sparse, read as compressed rows without its zeros."""

    def __init__(self, matrix: Any, what: str):
        self.sparse = sp.issparse(matrix)
        self.matrix: Any = sp.csr_array(matrix) if self.sparse else np.asarray(matrix)
        if self.matrix.ndim != 2:
            raise ModelError(f"{what} must have two dimensions here, not {self.matrix.ndim}")
        self.shape: tuple[int, int] = self.matrix.shape

    def compressed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers]:
        if self.sparse:
            m = self.matrix.copy()
            m.sum_duplicates()
            m.eliminate_zeros()
            return m.indptr.astype(np.int64), m.indices.astype(np.int64), Numbers.of(m.data)
        held = self.matrix
        if held.dtype == object:
            held = np.frompyfunc(number, 1, 1)(held)
        row, col = np.nonzero(held != 0)
        counts = np.bincount(row, minlength=self.shape[0])
        return point_rows(counts), col, Numbers.of(self.matrix[row, col])


def _same(what: str, found: int, expected: int) -> None:
    if found != expected:
        raise ModelError(f"{what}: found {found}, expected {expected}")


def _interleave(matrices: Sequence[Any], nS: int) -> Any:
    """|A| matrices [s, s'] as one with rows s |A| + a."""
    for a, matrix in enumerate(matrices):
        if matrix.shape != (nS, nS):
            raise ModelError(f"matrix number {a} has shape {matrix.shape}; expected {(nS, nS)}")
    order = np.arange(len(matrices) * nS).reshape(len(matrices), nS).T.ravel()
    if any(sp.issparse(m) for m in matrices):
        return sp.csr_array(sp.vstack([sp.csr_array(m) for m in matrices]))[order]
    return np.concatenate([np.asarray(m) for m in matrices])[order]


def _dynamics(p: Any, nS: int, nR: int | None) -> tuple[_Rows, bool, int]:
    """p as compressed rows (s, a), whether it is joint over (s', r), and |A|."""
    if _are_matrices(p):
        return _Rows(_interleave(p, nS), "p"), False, len(p)
    if sp.issparse(p):
        if p.shape[0] % nS:
            raise ModelError(
                f"a sparse p needs |S||A| rows: {p.shape[0]} is not a multiple of |S| = {nS}"
            )
        width = nS if nR is None else nS * nR
        _same("columns of p", p.shape[1], width)
        return _Rows(p, "p"), nR is not None, p.shape[0] // nS
    p = np.asarray(p)
    if (
        p.ndim not in (3, 4)
        or p.shape[0] != nS
        or p.shape[2] != nS
        or (p.ndim == 4 and p.shape[3] != nR)
    ):
        raise ModelError(
            f"p has shape {p.shape}; expected (|S|, |A|, |S|) or (|S|, |A|, |S|, |R|) with |S| = "
            f"{nS}"
        )
    return _Rows(p.reshape(nS * p.shape[1], -1), "p"), p.ndim == 4, p.shape[1]


def _are_matrices(items: Any) -> bool:
    """Whether these are arrays, one for each action. A nested list of numbers is the dense form
    instead."""
    return (
        isinstance(items, list | tuple)
        and len(items) > 0
        and all(hasattr(m, "shape") for m in items)
    )


def _rewards(
    r: Any, nS: int, nA: int, row_ptr: NDArray[np.int64], col: NDArray[np.int64]
) -> Numbers:
    row = own_rows(row_ptr)
    if _are_matrices(r):
        r = _interleave(r, nS)
    if sp.issparse(r):
        _same("rows of r", r.shape[0], nS * nA)
        _same("columns of r", r.shape[1], nS)
        return Numbers.of(np.asarray(sp.csr_array(r)[row, col]).ravel())
    r = np.asarray(r)
    if r.shape == (nS, nA):
        return Numbers.of(r.reshape(-1)[row])
    if r.shape in ((nS, nA, nS), (nS * nA, nS)):
        return Numbers.of(r.reshape(nS * nA, nS)[row, col])
    raise ModelError(f"r has shape {r.shape}; expected {(nS, nA)}, {(nS, nA, nS)} or sparse as p")


def to_arrays(P: POMDP, sparse: bool = False) -> dict[str, Any]:
    """Turn a POMDP into the keywords of `from_arrays`. p is joint over (s', r).

    Sparse arrays hold floats, dense ones the model's own numbers. Dense ones take |S|^2 |A| |R|
    entries: seconds and gigabytes for some thousand states.

    >>> from pomdps import recall4
    >>> to_arrays(recall4())["p"].shape  # [s, a, s', j]
    (6, 4, 6, 6)

    See also: `from_arrays`, `save_pomdp`.
    """
    P.require_all_actions("to_arrays")
    nS, nA, nO = len(P.S), len(P.A), len(P.O)
    R = list(P.R)
    if P.p.r.codes is None:
        j = np.searchsorted(np.array(R), P.p.r.floats)
    else:
        where = {value: i for i, value in enumerate(R)}
        j = np.array([where.get(value, 0) for value in P.p.r.values])[P.p.r.codes]
    col = P.p.s_next.astype(np.int64) * len(R) + j
    labels = {
        "S": P.S,
        "O": P.O,
        "A": P.A,
        "terminal": list(P.terminal),
        "name": P.name,
        "gamma": P.gamma,
        "R": R,
    }
    if sparse:
        p = sp.csr_array((P.p.prob.floats, col, P.p.row_ptr), shape=(nS * nA, nS * len(R)))
        omega = sp.csr_array((P.omega.prob.floats, P.omega.o, P.omega.row_ptr), shape=(nS, nO))
        return {"p": p, "omega": omega, "mu": P.mu.prob.floats, **labels}
    p_dense = _dense((nS * nA, nS * len(R)), P.p.row_ptr, col, P.p.prob)
    omega_dense = _dense((nS, nO), P.omega.row_ptr, P.omega.o, P.omega.prob)
    mu = P.mu.prob.objects if P.mu.prob.is_exact else P.mu.prob.floats
    return {"p": p_dense.reshape(nS, nA, nS, len(R)), "omega": omega_dense, "mu": mu, **labels}


def _dense(
    shape: tuple[int, int], row_ptr: NDArray[np.int64], col: NDArray[Any], prob: Numbers
) -> NDArray[Any]:
    row = own_rows(row_ptr)
    if prob.is_exact:
        table = np.zeros(shape, dtype=object)
        table[row, col] = prob.objects
    else:
        table = np.zeros(shape)
        table[row, col] = prob.floats
    return table
