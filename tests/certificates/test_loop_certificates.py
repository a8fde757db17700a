"""Certificates of where the oracle loop ends: what they say, that they are verified apart, and that
spoiled ones are refused."""

import json
from copy import deepcopy
from fractions import Fraction

import flint
import numpy as np
import pytest
from arithmetic import polynomial_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_lab_batch import random_table
from strategies import pomdps
from toy_tasks import small_task

from pomdps import recall, recall4, recall_variant
from pomdps.recalls import RECALL4_REWARDS, VARIANT_REWARDS
from workbench import POMDP, Memory, augment, evaluate, improve, uniform
from workbench.certificates.cycle import certify_cycle
from workbench.certificates.every_k import limit_for_every_k, stuck_for_every_k
from workbench.certificates.loop import certify, is_positive
from workbench.checker.place_graph import PlaceGraph, Segment, is_positive_down_to, worth
from workbench.checker.reader import read_memory, read_task
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.errors import NotExact, WorkbenchError, WrongType
from workbench.improvement.batch import sequence_task, stuck
from workbench.results.json import model_json

VARIANT = np.array(
    [VARIANT_REWARDS[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
).reshape(2, 2, 2)


def through_json(certificate: dict) -> dict:
    return json.loads(json.dumps(certificate))


@pytest.mark.parametrize(
    ("P", "memory", "claim", "value"),
    [
        (recall4(), "B1", "stuck", "3/4"),
        (recall4(), "B2", "stuck", "3/4"),
        (recall4(), "K1", "stuck", "3/4"),
        (recall4(), "OA1", "optimal", "1"),
        (recall_variant(), "B1", "optimal", "3"),
        (recall_variant(), "OA2", "optimal", "3"),
        (recall(), "B2", "optimal", "361/400"),
    ],
    ids=lambda x: x.name if isinstance(x, POMDP) else str(x),
)
def test_the_papers_tasks_have_certificates(P, memory, claim, value):
    certificate = through_json(certify(P, memory))
    assert (certificate["status"], certificate["claim"], certificate["value"]) == (
        "proved",
        claim,
        value,
    )
    assert f"worth {value}" in recheck(certificate)


def test_without_a_limit_iterates_are_checked_and_nothing_is_called_proved():
    certificate = through_json(
        certify(recall_variant(), "OA1", most_phases=12, checked_iterates=25)
    )
    assert (certificate["status"], certificate["claim"]) == ("checked", "below")
    assert certificate["better"]["value"] == "3"
    assert "checked that 25 iterates" in recheck(certificate)
    for spoiled in (
        {**certificate, "highest": "-100"},
        {**certificate, "status": "proved"},
        {**certificate, "claim": "stuck"},
        {**certificate, "iterates": 0},
    ):
        with pytest.raises(Spoiled):
            recheck(spoiled)


@pytest.mark.slow
@settings(max_examples=15)
@given(
    pomdps(most_states=3),
    st.sampled_from(["none", "B1", "OA1"]),
    st.sampled_from([Fraction(1, 10), Fraction(1, 3)]),
)
def test_any_small_pomdp_gets_a_certificate_that_agrees_with_the_loop(P, memory, step):
    """Tasks with loops, several observations and chance, discounted or not."""
    certificate = through_json(certify(P, memory, step, most_phases=5, checked_iterates=4))
    recheck(certificate)
    if certificate["status"] == "proved":
        E = augment(P, memory)
        run = improve(E, uniform(E), step=float(step))
        if run.ended == "fixed":
            assert float(run.limit_value) == pytest.approx(
                float(Fraction(certificate["value"])), abs=1e-9
            )


def test_a_step_changes_the_phases_and_both_are_verified():
    for step in (Fraction(1, 50), Fraction(1, 7), Fraction(1, 2)):
        certificate = certify(recall4(), "OA1", step)
        assert certificate["step"] == str(step)
        recheck(certificate)


@pytest.mark.slow
def test_the_limit_cycle_of_the_variant_with_oa1_is_proved_to_stay_at_25_16_or_below():
    certificate = through_json(certify_cycle(recall_variant(), "OA1", Fraction(1, 10)))
    assert (certificate["status"], certificate["claim"], certificate["better"]["value"]) == (
        "proved",
        "below",
        "3",
    )
    assert (
        Fraction(3, 2)
        < Fraction(certificate["lowest"])
        < Fraction(certificate["highest"])
        <= Fraction(25, 16)
    )
    assert "cycle of 18 policies" in recheck(certificate)
    run = stuck([VARIANT], "OA1", step=0.1)
    assert Fraction(certificate["lowest"]) <= run.value.item() <= Fraction(certificate["highest"])
    shorter, longer, lazy = deepcopy(certificate), deepcopy(certificate), deepcopy(certificate)
    shorter["cycle"].pop()
    longer["before"][0][0] += 30
    lazy["cycle"][0][1].pop()
    spoiled = [
        shorter,
        longer,
        lazy,
        {**certificate, "cycle": []},
        {**certificate, "highest": certificate["lowest"]},
        {**certificate, "lowest": certificate["highest"]},
        {**certificate, "step": "1/9"},
        {**certificate, "ties": "first"},
        {**certificate, "claim": "optimal"},
        {**certificate, "highest": "7/2"},
    ]
    for c in spoiled:
        with pytest.raises(Spoiled):
            recheck(c)


def test_a_loop_with_a_limit_has_no_cycle():
    assert certify_cycle(recall4(), "B1") is None


@pytest.mark.slow
@settings(max_examples=8)
@given(
    st.lists(st.integers(-4, 4), min_size=9, max_size=9),
    st.sampled_from([Fraction(1, 5), Fraction(1, 20)]),
)
def test_proved_cycles_of_random_tables_are_those_of_the_batch(flat, step):
    table = np.array(flat).reshape(3, 3)
    certificate = certify_cycle(sequence_task(table.tolist()), "none", step)
    if certificate is not None:
        recheck(through_json(certificate))
        run = stuck([table], "none", float(step))
        assert run.ended.item() == "limit cycle"
        low, high = (float(Fraction(certificate[name])) for name in ("lowest", "highest"))
        assert low - 1e-7 <= run.value.item() <= high + 1e-7


# ---------------------------------------------------------------------- spoiled certificates


def _greedy_of_the_last_phase(c):
    return {"policy": [[o, [[a, "1"]]] for o, a in c["phases"][-1][1]], "value": "3/4"}


def _bound_of(c, x):
    return {**c["bound"], "v": [[s, x] for s, _ in c["bound"]["v"]]}


SPOILED = {
    "the other policy is no better": lambda c: c.update(better=_greedy_of_the_last_phase(c)),
    "it invents an action": lambda c: c["better"]["policy"][0][1][0].__setitem__(
        0, {"tuple": [7, "1"]}
    ),
    "another greedy action": lambda c: c["phases"][-1][1][0].__setitem__(1, {"tuple": [0, "1"]}),
    "ties the other way": lambda c: c.update(ties="first"),
    "stuck called optimal": lambda c: c.update(claim="optimal", bound={"kind": "histories"}),
    "another memory": lambda c: c.update(memory="OA1"),
    "a phase without end too early": lambda c: c["phases"].insert(0, [None, c["phases"][0][1]]),
    "no phases": lambda c: c.update(phases=[]),
    "OA1: a phase too long": lambda c: c["phases"][0].__setitem__(0, c["phases"][0][0] + 100),
    "OA1: phases left out": lambda c: c.update(phases=c["phases"][-1:]),
    "OA1: the bound too low": lambda c: c.update(bound=_bound_of(c, "1/2")),
    "OA1: the bound above the value": lambda c: c.update(bound=_bound_of(c, "2")),
    "OA1: optimal called stuck": lambda c: c.update(claim="stuck"),
}
"""What takes more than one change in one place, which `test_recheck` tries everywhere."""


@pytest.mark.parametrize("what", SPOILED)
def test_a_spoiled_certificate_is_refused(what):
    certificate = through_json(certify(recall4(), "OA1" if what.startswith("OA1") else "B1"))
    recheck(certificate)
    SPOILED[what](certificate)
    with pytest.raises(Spoiled):
        recheck(certificate)


def test_the_bound_over_histories_is_used_where_seeing_the_state_would_help():
    """A coin that nobody sees: guessing is worth 1/2 to every history, 1 to somebody who sees the
    coin."""
    P = small_task(
        "coin", lambda s, a: {("end", int(s == a)): 1}, {0: Fraction(1, 2), 1: Fraction(1, 2)}
    )
    certificate = through_json(certify(P, "B1"))
    assert (certificate["claim"], certificate["bound"]) == ("optimal", {"kind": "histories"})
    recheck(certificate)
    certificate["bound"] = {"kind": "states", "v": [[0, "1/2"], [1, "1/2"]]}
    with pytest.raises(Spoiled, match="promises 1"):
        recheck(certificate)


# ---------------------------------------------------------------------- parts


POLYNOMIALS = st.lists(st.integers(-5, 5), min_size=1, max_size=5)


@given(POLYNOMIALS, st.booleans(), st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(9, 10)]))
def test_signs_by_sturm_and_by_bernstein_agree_and_fit_the_values(coefficients, strict, low):
    p = flint.fmpq_poly(coefficients)
    found = is_positive(p, strict, flint.fmpq(low.numerator, low.denominator))
    again = polynomial_of([Fraction(c) for c in coefficients])
    shown = is_positive_down_to(again, low, strict)
    # a zero inside is refused by what makes certificates, and allowed by what checks them
    assert shown == found if strict else shown >= found
    if shown:
        for j in range(1, 30):
            value = again.at({"x": low + (1 - low) * Fraction(j, 29)})
            assert value > 0 if strict else value >= 0


@settings(max_examples=6)
@given(pomdps(most_states=3), st.sampled_from(["none", "B1", "O1"]))
def test_the_checkers_values_are_those_of_the_workbench(P, memory):
    E = augment(P, memory)
    product = PlaceGraph(read_task(model_json(P)), read_memory(memory))
    pi = {
        o: dict.fromkeys(product.actions, Fraction(1, len(product.actions))) for o in product.rows
    }
    found = Segment(product, pi, pi)
    expected = evaluate(E, uniform(E), exact=True)
    end = {"x": Fraction(1)}
    assert worth(product, pi) == expected.value
    D, D_visits = found.D.at(end), found.D_visits.at(end)
    for o in product.rows:
        visits = found.visits(o).at(end) / D_visits
        a, b = product.actions[0], product.actions[-1]
        gap = found.difference(o, a, b).at(end) / (D * D_visits * visits)
        assert gap == expected.q[o, a] - expected.q[o, b]


def test_what_has_no_certificate_is_refused():
    with pytest.raises(NotExact, match="rational step"):
        certify(recall4(), "B1", 0.02)
    with pytest.raises(WorkbenchError, match="step in"):
        certify(recall4(), "B1", Fraction(3, 2))
    with pytest.raises(WrongType, match="names one"):
        certify(recall4(), Memory("own", [0], [0], lambda m, w, o, a, r, o_next: {0: 1}, {0: 1}))
    with pytest.raises(NotExact):
        certify(sequence_task([[0.1, 0], [0, 1]]), "B1")
    with pytest.raises(Spoiled, match="unknown kind"):
        recheck({})


# ---------------------------------------------------------------------- every k


def test_recall4_is_stuck_for_every_k_and_so_is_a_task_of_two_actions():
    for rewards, value in (
        (RECALL4_REWARDS, "3/4"),
        ([[5, 4], [0, 6]], "5"),
        ([[6, 0], [4, 5]], "5"),
    ):
        certificate = through_json(stuck_for_every_k(rewards))
        assert certificate["value"] == value
        assert "for every k" in recheck(certificate)
    assert stuck_for_every_k([[1, 0], [0, 1]]) is None


def test_a_task_on_which_only_large_k_are_stuck_is_not_claimed():
    """[[3, 2], [0, 4]]: B1 reaches 4, B2 and all larger ones that were run end at 3."""
    table = [[3, 2], [0, 4]]
    assert [stuck([table], f"B{k}").value.item() for k in (1, 2, 3, 4)] == [4, 3, 3, 3]
    assert limit_for_every_k(table) is None


@pytest.mark.parametrize("actions", [2, 3])
def test_a_claim_for_every_k_agrees_with_runs_for_small_k(actions):
    rng = np.random.default_rng(actions)
    tables = [random_table(rng, actions, 2) for _ in range(12)] + [[[5, 4], [0, 6]]]
    claims = 0
    for table in tables:
        certificate = limit_for_every_k(table)
        if certificate is None:
            continue
        claims += 1
        recheck(through_json(certificate))
        for k in range(1, 5):
            run = stuck([np.array(table, dtype=float)], f"B{k}")
            assert run.stuck.item() == (certificate["claim"] == "stuck"), (table, k)
            if k >= certificate["from_k"]:
                assert run.value.item() == float(Fraction(certificate["value"]))
    assert claims > 5


@pytest.mark.parametrize("rewards", [RECALL4_REWARDS, [[5, 4], [0, 6]]], ids=["phases", "stays"])
def test_spoiled_claims_for_every_k_are_refused(rewards):
    certificate = through_json(stuck_for_every_k(rewards))
    worse = deepcopy(certificate)
    worse["rewards"][0][1] = "7"
    spoiled = [
        worse,
        {**certificate, "value": "1/8"},
        {**certificate, "claim": "optimal"},
        {**certificate, "from_k": 0},
        {**certificate, "from_k": 2},
        {**certificate, "ties": "first"},
        {**certificate, "argument": "hope"},
        {**certificate, "step": "1"},
    ]
    if certificate["argument"] == "phases":
        spoiled += [
            {**certificate, "phases": [[None, [1, "0"], 3, 3]]},
            {**certificate, "phases": [[5, [1, "last"], 3, 3]]},
        ]
    else:
        spoiled += [
            {**certificate, "first": 1},
            {**certificate, "first": 9},
            {**certificate, "step": "9/10"},
        ]
    for c in spoiled:
        with pytest.raises(Spoiled):
            recheck(c)
