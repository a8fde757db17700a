"""POMDP.random, and refusing what does not fit into memory."""

from __future__ import annotations

import re
import sys
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import same_model

from workbench import POMDP, Memory, augment, evaluate, uniform
from workbench.errors import TooLarge, WorkbenchError
from workbench.model.product_size import ProductSize
from workbench.model.room import free_bytes


@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_a_random_task_is_exact_ends_and_has_the_sizes_asked_for(seed, nS, nO, nA, few):
    sizes = {"states": nS, "observations": nO, "actions": nA}
    P = POMDP.random(seed, **sizes, gamma=1, successors=few, emissions=few, rewards=(0, 2))
    assert P.is_exact
    assert (len(P.S), len(P.O), len(P.A)) == (nS + 1, nO, nA)
    assert set(P.R) <= {0, 1, 2}
    for s in range(nS):
        assert 1 <= len(P.omega(s)) <= few
        for a in P.A:
            assert sum(x for (t, _), x in P.p(s, a).items() if t == "end") == F(1, 5)
            assert len(P.p(s, a)) <= few + 1
    assert evaluate(P, uniform(P), exact=True).value <= 2 * 5
    assert same_model(
        P, POMDP.random(seed, **sizes, gamma=1, successors=few, emissions=few, rewards=(0, 2))
    )


def test_other_seeds_give_other_tasks():
    assert len({str(POMDP.random(seed).to_arrays()["p"].tolist()) for seed in range(20)}) == 20


def test_impossible_sizes_are_refused():
    with pytest.raises(WorkbenchError, match="at least one of states, not 0"):
        POMDP.random(0, states=0)
    with pytest.raises(WorkbenchError, match="ending is a probability, not 2"):
        POMDP.random(0, ending=2)
    with pytest.raises(WorkbenchError, match=r"in order, not in \(3, 1\)"):
        POMDP.random(0, rewards=(3, 1))


def test_a_product_that_does_not_fit_is_refused_before_it_is_built(monkeypatch):
    module = sys.modules["workbench.model.augment"]  # `workbench.augment` is the function
    assert free_bytes() > 2**20
    P = POMDP.random(1, states=6, observations=4)
    fits = augment(P, "O2")
    room = len(fits.p.s_next) * module._BYTES_FOR_AN_OUTCOME
    monkeypatch.setattr(module, "free_bytes", lambda: room)
    assert len(augment(P, "O2").S) == len(fits.S)
    monkeypatch.setattr(module, "free_bytes", lambda: room - 1)
    with pytest.raises(TooLarge, match=r"random 1×O2 has more than .* fit into .* free memory: "):
        augment(P, "O2")

    def Gamma(m, w, o, a, r, o_next):
        return {m: 1}

    monkeypatch.setattr(module, "free_bytes", lambda: module._BYTES_FOR_AN_OUTCOME)
    with pytest.raises(TooLarge, match="take a smaller memory"):
        augment(P, Memory("own", [0], ["w"], Gamma, {0: 1}))


def test_a_refused_product_is_walked_no_further_than_needed_and_the_refusal_says_what_fits(
    monkeypatch,
):
    module = sys.modules["workbench.model.augment"]
    P = POMDP.random(1, states=6, observations=4)
    whole = augment(P, "O3")
    # without what is known before the walk, which refuses most of these
    monkeypatch.setattr(module, "least_buffered_size", lambda *_: ProductSize(0, 0))

    def refusal(outcomes: int) -> str:
        monkeypatch.setattr(module, "free_bytes", lambda: outcomes * module._BYTES_FOR_AN_OUTCOME)
        with pytest.raises(TooLarge) as found:
            augment(P, "O3")
        return str(found.value)

    # states count as soon as they are met, so that few more are met than fit
    said = refusal(len(whole.p.s_next) // 4)
    met = int(re.search(r"more than ([\d,]+) states", said)[1].replace(",", ""))
    assert len(whole.S) / 8 < met < len(whole.S) / 2
    # 25 memory states with 41 outcomes and two writes each are at most 2,050
    assert "one of 25 memory states, an entry less, fits" in refusal(2_050)
    assert refusal(2_049).endswith("take a smaller memory")
