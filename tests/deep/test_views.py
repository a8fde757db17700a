"""What networks see, and what a policy of it is worth: none of it needs jax."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import families, pomdps

from pomdps import gravity, hallway_cookie, hallway_keys, recall4
from workbench import POMDP, Memory, Policy, augment, evaluate
from workbench.core.errors import TooLarge, WrongType
from workbench.deep import closed_loop
from workbench.deep.closed_loop import close_loop
from workbench.deep.features import features_of
from workbench.deep.pair import MemoryPair, join, pair_of, views_of

# ------------------------------------------------------------------ what is seen


def test_features_take_labels_apart_as_the_paper_does():
    cookie = features_of(hallway_cookie().O)
    assert cookie.shape == (102, 62 + 5)  # a cell, and a cookie on one of four sites or none seen
    assert (cookie.sum(axis=1) == 2).all()
    keys = features_of(hallway_keys().O)
    assert keys.shape == (212, 53 + 2 + 4 + 2)  # cells but the coffee, carried, sites, doors
    tiles = features_of([("closed red door", "wall"), ("open red door", "wall")])
    assert tiles.tolist() == [[1, 1, 1, 0, 1], [0, 1, 1, 1, 1]]


def test_labels_whose_parts_are_alike_get_features_of_their_own():
    assert features_of(["red key", "key red"]).tolist() == [[1, 0], [0, 1]]


@settings(max_examples=15)
@given(pomdps(), families())
def test_the_views_of_a_product_show_its_labels(P, family):
    E = augment(P, family)
    pair = pair_of(E)
    views = views_of(E)
    assert [pair.label(view) for view in views] == list(E.O)
    for features, symbols in zip(pair.features, pair.symbols, strict=True):
        assert features is None or len(features) == symbols


def test_a_pair_is_never_multiplied_out_and_a_python_memory_always():
    pair = MemoryPair(hallway_keys(), "OA6")
    assert pair.symbols == (212, *[1 + 212 * 4] * 6)
    assert isinstance(join(hallway_cookie(), "O6"), MemoryPair)
    assert isinstance(join(gravity(), "O1"), POMDP)
    flip = Memory("flip", M=[0, 1], W=["-"], Gamma=lambda m, *_: {1 - m: 1}, eta={0: 1})
    with pytest.raises(WrongType, match="the memory flip is a Python function"):
        MemoryPair(recall4(), flip)
    assert isinstance(join(recall4(), flip), POMDP)


# ------------------------------------------------------------------ the closed loop


@settings(max_examples=15)
@given(pomdps(), st.sampled_from(["none", "B1", "O1", "OA1", "K2"]), st.integers(0, 1000))
def test_a_policy_in_a_closed_loop_is_worth_what_it_is_worth_in_the_product(P, memory, seed):
    E = augment(P, memory)
    actions = np.random.default_rng(seed).integers(0, len(E.A), len(E.O))
    places = {tuple(view): i for i, view in enumerate(views_of(E).tolist())}
    loop = close_loop(
        pair_of(E), lambda views: actions[[places[tuple(view)] for view in views.tolist()]]
    )
    pi = Policy.from_actions(E, actions)
    assert loop.value == pytest.approx(float(evaluate(E, pi).value), abs=1e-9)
    assert set(loop.chain.O) <= set(E.O)
    for o, action in zip(loop.chain.O, loop.actions, strict=True):
        assert pi[o, action] == 1


def test_a_policy_that_gets_too_far_is_refused(monkeypatch):
    monkeypatch.setattr(closed_loop, "MOST_REACHED", 50)
    with pytest.raises(TooLarge, match="gets to more than 50 places"):
        close_loop(MemoryPair(hallway_cookie(), "K6"), lambda views: views[:, 0] % 4)
