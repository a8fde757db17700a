"""Krylov methods and their parts, against dense linear algebra."""

import numpy as np
import pytest
import scipy.sparse as sp

from workbench.core.krylov_kernels import (
    DOWNWARDS,
    PLAIN,
    UPWARDS,
    bicgstab,
    combine_rows,
    orthogonalize,
)
from workbench.core.rows import without_signs


def random_chain(seed: int, n: int = 60, stay: float = 0.2) -> np.ndarray:
    """Rows that sum to less than one, some of it for staying."""
    rng = np.random.default_rng(seed)
    P = rng.random((n, n)) * (rng.random((n, n)) < 0.1)
    np.fill_diagonal(P, stay)
    return P * (0.95 / P.sum(axis=1, keepdims=True).clip(1.0))


def solve(P: np.ndarray, b: np.ndarray, how: int, gamma: float = 0.99) -> tuple[np.ndarray, int]:
    rows = sp.csr_array(P)
    x = np.zeros(len(b))
    places = without_signs(rows.indptr, rows.indices)
    left, taken = bicgstab(*places, rows.data, gamma, b, x, 1e-13, True, 400, how)
    assert left <= 1e-13
    return x, taken


@pytest.mark.parametrize("how", [PLAIN, UPWARDS, DOWNWARDS])
@pytest.mark.parametrize("seed", range(3))
def test_products_and_sweeps_find_the_same_solution(seed, how):
    P = random_chain(seed)
    b = np.random.default_rng(seed).normal(size=len(P))
    x, _ = solve(P, b, how)
    assert x == pytest.approx(np.linalg.solve(np.eye(len(P)) - 0.99 * P, b), rel=1e-10)


def test_a_sweep_against_the_direction_of_a_chain_is_its_solution():
    P = np.triu(random_chain(1, stay=0.0), 1)  # later states alone are read
    b = np.ones(len(P))
    taken = {how: solve(P, b, how)[1] for how in (PLAIN, UPWARDS, DOWNWARDS)}
    assert taken[DOWNWARDS] <= 1
    assert taken[UPWARDS] > 1
    turned = {how: solve(P.T.copy(), b, how)[1] for how in (UPWARDS, DOWNWARDS)}
    assert turned[UPWARDS] <= 1
    assert turned[DOWNWARDS] > 1


def test_what_is_left_of_a_vector_is_orthogonal_to_the_rows():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.normal(size=(30, 4)))[0].T.copy()
    w, along = rng.normal(size=30), np.zeros(6)
    expected, kept = V[:3] @ w, w.copy()
    length = orthogonalize(V, 3, w, along)
    assert along[:3] == pytest.approx(expected)
    assert w == pytest.approx(kept - expected @ V[:3])
    assert length == pytest.approx(np.linalg.norm(w))
    assert along[3:].tolist() == [0.0] * 3


def test_rows_are_combined():
    rng = np.random.default_rng(1)
    V, shares, found = rng.normal(size=(5, 20)), rng.normal(size=3), np.full(20, np.nan)
    combine_rows(V, shares, found)
    assert found == pytest.approx(shares @ V[:3])
