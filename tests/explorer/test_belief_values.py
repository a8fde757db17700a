"""The explorer's values of beliefs: bounds that hold, and the actions of the package's policy."""

from fractions import Fraction
from pathlib import Path

import pytest
from test_laboratory import Engine
from toy_tasks import task_like

from pomdps import heaven_hell, load_unload, recall4, tiger
from workbench import best_history, load_pomdp

py_mini_racer = pytest.importorskip(
    "py_mini_racer", reason="needs mini-racer, a JavaScript engine: extra test"
)


@pytest.fixture(scope="module")
def js():
    return Engine()


def solve(js, rounds):
    js.context.eval(f"V = new W.BeliefValues(P); for (let i = 0; i < {rounds}; i++) V.round(); 0")


@pytest.fixture(scope="module")
def solved():
    """An engine with the bounds for the tiger, and what the package knows of it."""
    js = Engine()
    js.load(tiger(), "none")
    solve(js, 300)
    return js, best_history(tiger())


FILE = Path(__file__).parent.parent / "data" / "tiger.95.POMDP"


def hold(bounds, truth):
    return bounds[0] <= truth.upper + 1e-9 and bounds[1] >= truth.lower - 1e-9


@pytest.mark.parametrize("P", [load_pomdp(FILE), tiger(episodic=True)], ids=["file", "episodic"])
def test_the_bounds_hold_and_close(js, P):
    truth = best_history(P)
    js.load(P, "none")
    solve(js, 0)
    assert js("V.bounds")[0] <= truth.lower + 1e-9
    assert js("V.bounds")[1] >= truth.upper - 1e-9
    solve(js, 300)
    low, high = js("V.bounds")
    assert hold((low, high), truth)
    assert high - low <= 1e-3


def test_the_regions_of_the_tiger_are_the_policys(solved):
    js, best = solved
    P, policy = tiger(), best.policy
    low, high = js("V.bounds")
    assert hold((low, high), best)
    assert high - low <= 1e-3
    labels = js("P.base.A")
    for o in range(js("P.nO")):
        behind = [P.S[s] for s in js(f"V.behind[{o}].map((s) => P.s[s])")]
        assert len(behind) == 2
        regions = js(f"V.regions({o})")
        assert [region["to"] for region in regions][-1] == 1
        assert len(regions) == 3
        for region in regions if o == 0 else ():  # a second each, and all alike
            x = (region["from"] + region["to"]) / 2
            chosen = policy.action({behind[0]: 1 - x, behind[1]: x})
            assert str(chosen) in str(labels[region["a"]])


def test_the_bounds_hold_at_other_beliefs(solved):
    js, P = solved[0], tiger()
    o = js("V.starts[0].o")
    behind = [P.S[s] for s in js(f"V.behind[{o}].map((s) => P.s[s])")]
    for x in (Fraction(0), Fraction(1, 3), Fraction(4, 5)):
        bounds = js(f"[V.lowerAt({o}, {float(x)}), V.upperAt({o}, {float(x)})]")
        belief = {s: y for s, y in zip(behind, (1 - x, x), strict=True) if y}
        assert hold(bounds, best_history(task_like(P, P.name, mu=belief)))
        assert bounds[1] - bounds[0] < 0.1


@pytest.mark.parametrize(
    ("P", "message"),
    [(load_unload(), "states look alike"), (recall4(), "states look alike")],
)
def test_where_more_states_look_alike_it_says_so(js, P, message):
    js.load(P, "none")
    with pytest.raises(py_mini_racer.JSEvalException, match=message):
        js("new W.BeliefValues(P)")


def test_a_task_of_two_sides_that_are_told_apart_late_is_bounded(js):
    P = heaven_hell()
    truth = best_history(P)
    js.load(P, "none")
    solve(js, 60)
    low, high = js("V.bounds")
    assert low <= truth.upper + 1e-9
    assert high >= truth.lower - 1e-9
    assert high - low <= 1e-6
    assert js("V.widest") >= high - low - 1e-12
