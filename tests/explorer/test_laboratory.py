"""What the explorer computes besides floats: fractions, learners bit for bit those of the package,
fixed points, beliefs, slices; tasks read from files, links, Python code."""

import json
import re
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import (
    ActorCritic,
    Policy,
    QLearning,
    Sarsa,
    augment,
    equilibria,
    evaluate,
    learn,
    load_pomdp,
    reachable_beliefs,
    td_values,
    uniform,
)
from workbench.cli.explore_command import entries
from workbench.core.errors import NeverEnds
from workbench.explorer.export import export_model, offered
from workbench.explorer.html_page import CALCULATING, part
from workbench.improvement.slice import policy_slice
from workbench.learning.sampling_kernels import seed_words
from workbench.results.json import model_json

py_mini_racer = pytest.importorskip(
    "py_mini_racer", reason="needs mini-racer, a JavaScript engine: extra test"
)

DATA = Path(__file__).parents[1] / "data"

HELPERS = """
const W = Workbench;
const plain = (value) => JSON.stringify(value, (key, x) =>
  typeof x === "bigint" ? String(x) : ArrayBuffer.isView(x) ? Array.from(x) : x);
const text = (x) => (x === null ? null : `${x.n}/${x.d}`);
let P, learner;
"""


class Engine:
    """The page's calculating scripts in a JavaScript engine."""

    def __init__(self):
        self.context = py_mini_racer.MiniRacer()
        for name in CALCULATING:
            self.context.eval(part(name))
        self.context.eval(HELPERS)

    def __call__(self, script):
        return json.loads(self.context.eval(f"plain({script})"))

    def load(self, P, memory):
        self.context.eval(f"P = W.augment(W.decode({json.dumps(export_model(P))}), '{memory}'); 0")


@pytest.fixture(scope="module")
def js():
    return Engine()


@cache
def tasks():
    return {entry.id: entry.P for entry in entries()}


# ---------------------------------------------------------------------- fractions


@given(
    st.fractions(min_value=-(10**30), max_value=10**30, max_denominator=10**30)
    | st.fractions(max_denominator=2**60)
)
def test_a_fraction_becomes_the_nearest_float(x):
    engine = _engine()
    found = engine(f"W.fractionNumber(W.Fraction.of({x.numerator}n, {x.denominator}n))")
    assert float(found) == float(x)  # a whole number comes back as an int, by its shortest digits


@cache
def _engine():
    return Engine()


@given(st.fractions(max_denominator=999), st.fractions(max_denominator=999))
def test_arithmetic_of_fractions_is_that_of_python(x, y):
    engine = _engine()
    a, b = (f"W.Fraction.of({z.numerator}n, {z.denominator}n)" for z in (x, y))
    found = engine(f"['add', 'subtract', 'times'].map((name) => text(W.Fraction[name]({a}, {b})))")
    assert [Fraction(z) for z in found] == [x + y, x - y, x * y]
    if y:
        assert Fraction(engine(f"text(W.Fraction.divide({a}, {b}))")) == x / y


def test_texts_of_numbers_are_read_exactly(js):
    texts = ["17/20", "-5", "0.25", "-.5", "3.", "1e3", "x", "1/0", "", "."]
    found = js(f"{json.dumps(texts)}.map((t) => text(W.parseFraction(t)))")
    assert found == ["17/20", "-5/1", "1/4", "-1/2", "3/1", None, None, None, None, None]


def fraction(text):
    return None if text is None else Fraction(text)


EXACT = [("recall4", "B1"), ("recall4", "OA1"), ("recall", "OA1"), ("recall_variant", "B2")]
EXACT += [("t_maze", "O1"), ("load_unload", "B1"), ("short_corridor", "none"), ("tiger", "K1")]


@pytest.mark.parametrize(("task", "memory"), EXACT)
def test_values_in_fractions_are_those_of_the_package(js, task, memory):
    E = augment(tasks()[task], memory)
    weights = "discounted" if task == "load_unload" else "visits"
    js.load(tasks()[task], memory)
    rng = np.random.default_rng(len(E.S))
    table = [[Fraction(int(x)) for x in rng.integers(1, 9, len(E.A))] for _ in E.O]
    drawn = Policy(E, [[x / sum(row) for x in row] for row in table])
    for pi in (uniform(E), drawn, Policy.from_actions(E, rng.integers(len(E.A), size=len(E.O)))):
        rows = [str(x) for x in pi.prob.objects.ravel()]
        lam = Fraction(1, 3)
        script = (
            f"(() => {{ const x = {json.dumps(rows)}.map(W.parseFraction); "
            f"const like = W.evaluate(P, Float64Array.from(x, W.fractionNumber), '{weights}'); "
            f"const e = W.evaluateExactly(P, x, like, '{weights}'); "
            "const near = W.td(P, Float64Array.from(x, W.fractionNumber), 1 / 3, like); "
            "const td = W.tdExactly(P, x, W.Fraction.of(1n, 3n), e, near); "
            "return {value: text(e.value), q: e.q.map(text), td: td.map(text)}; })()"
        )
        try:
            expected = evaluate(E, pi, exact=True, weights=weights)
            bootstrapped = td_values(E, pi, lam=lam, exact=True, weights=weights)
        except NeverEnds:
            with pytest.raises(py_mini_racer.JSEvalException, match="gamma is 1"):
                js(script)
            continue
        found = js(script)
        assert Fraction(found["value"]) == expected.value
        assert [fraction(x) for x in found["q"]] == expected.q.array.ravel().tolist()
        assert [fraction(x) for x in found["td"]] == bootstrapped.q.array.ravel().tolist()


def test_an_iterate_of_the_loop_is_the_packages_in_fractions(js):
    from itertools import islice

    from workbench.core.improve import iterates

    E = augment(tasks()["recall4"], "B1")
    js.load(tasks()["recall4"], "B1")
    found = js(
        "(() => { const loop = new W.Loop(P, 'visits'), greedys = []; "
        "for (let i = 0; i < 5; i++) { greedys.push(loop.greedy); loop.step(0.02); } "
        "const start = new Array(P.nO * P.nA).fill(W.Fraction.of(1n, BigInt(P.nA))); "
        "return W.exactIterate(P, start, greedys, W.Fraction.of(1n, 50n)).map(text); })()"
    )
    *_, last = islice(iterates(E, uniform(E), step=Fraction(1, 50), exact=True), 6)
    assert [Fraction(x) for x in found] == last.pi.prob.objects.ravel().tolist()


def test_what_is_written_in_floats_or_too_large_has_no_fractions(js):
    js.load(tasks()["recall4"].with_gamma(0.9), "none")
    assert js("W.whyNotExact(P)") == "this task is written in floats"
    js.load(tasks()["gravity"], "O1")
    assert "1250 states" in js("W.whyNotExact(P)")
    js.load(tasks()["recall4"], "B1")
    assert js("W.whyNotExact(P)") == ""


# ---------------------------------------------------------------------- learners


@pytest.mark.parametrize("seed", [0, 1, 17, 2**40 + 3])
def test_the_generator_is_the_packages(js, seed):
    assert tuple(map(int, js(f"W.seedWords({seed})"))) == seed_words(seed)
    words = list(seed_words(seed))
    mask = 2**64 - 1
    expected = []
    for _ in range(50):  # xoroshiro128+ as Blackman and Vigna write it
        s0, s1 = words
        expected.append((s0 + s1) & mask)
        s1 ^= s0
        words = [
            (((s0 << 24) | (s0 >> 40)) ^ s1 ^ (s1 << 16)) & mask,
            ((s1 << 37) | (s1 >> 27)) & mask,
        ]
    found = js(
        f"(() => {{ const g = new W.Generator({seed}); return Array.from({{length: 50}}, () => "
        "{ g.next(); return [g.high, g.low]; }); })()"
    )
    assert [high << 32 | low for high, low in found] == expected


SETTINGS = {
    "qlearning": ({}, QLearning()),
    "qlearning, other settings": (
        {"epsilon": 0.2, "step": 0.3, "initial": 0, "limit": 7},
        QLearning(epsilon=0.2, step=0.3, initial=0.0, max_episode_steps=7),
    ),
    "sarsa": ({}, Sarsa()),
    "sarsa, whole traces": (
        {"lambda": 0.9, "epsilon": 0.1, "cutoff": 0, "limit": 50},
        Sarsa(lam=0.9, epsilon=0.1, trace_cutoff=0.0, max_episode_steps=50),
    ),
    "actor-critic": ({}, ActorCritic()),
    "actor-critic, batch": (
        {"update": "batch", "v": 1, "n": 3, "limit": 20},
        ActorCritic(update="batch", v=1, n=3, max_episode_steps=20),
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    ("task", "memory"),
    [("recall", "OA1"), ("gravity", "B1"), ("tiger", "K2"), ("load_unload", "O1")],
)
def test_learners_are_bit_for_bit_those_of_the_package(js, name, task, memory):
    settings, learner = SETTINGS[name]
    steps = 4_000
    E = augment(tasks()[task], memory)
    expected = learn(E, learner, steps=steps, every=steps, seeds=[3])
    js.load(tasks()[task], memory)
    kind = name.split(",")[0]
    found = js(
        f"(() => {{ learner = W.makeLearner(P, '{kind}', {json.dumps(settings)}, 3); "
        f"learner.run(1000); learner.run({steps - 1000}); "
        "return {table: learner.table, rewards: learner.rewards, episodes: learner.episodes, "
        "greedy: learner.greedy()}; })()"
    )
    table = expected.tables["h" if kind == "actor-critic" else "q"][0]
    assert found["table"] == table.ravel().tolist()
    assert found["rewards"] == expected.rewards[0].sum()
    assert found["episodes"] == expected.episodes[0].sum()
    assert found["greedy"] == table.argmax(axis=1).tolist()


def test_the_greedy_policys_value_is_exact(js):
    E = augment(tasks()["recall4"], "OA1")
    js.load(tasks()["recall4"], "OA1")
    run = learn(E, QLearning(), steps=3000, every=3000, seeds=[0])
    js("(learner = W.makeLearner(P, 'qlearning', {}, 0), learner.run(3000), 0)")
    found = js("W.greedyValue(P, learner.greedy())")
    assert found == pytest.approx(float(evaluate(E, run.policy(0)).value), abs=1e-12)


@pytest.mark.parametrize("task", ["recall4", "recall", "tiger", "t_maze", "gravity"])
def test_probabilities_of_products_are_the_packages_to_the_last_bit(js, task):
    P = tasks()[task]
    for memory in list(offered(P))[:6]:
        E = augment(P, memory)
        js.load(P, memory)
        assert js("P.pProb") == E.p.prob.floats.tolist()
        assert js("P.mu") == [float(E.mu.prob.floats[s]) for s in range(len(E.S))]


# ---------------------------------------------------------------------- further questions


@pytest.mark.parametrize(
    ("task", "memory", "learner"),
    [
        ("recall", "OA1", QLearning(epsilon=0.1)),
        ("recall", "B1", QLearning(epsilon=0.1)),
        ("recall4", "B1", QLearning(epsilon=0.1)),
        ("recall4", "none", QLearning(epsilon=0.3)),
        ("recall_variant", "B1", Sarsa(epsilon=0.2, lam=0.5)),
        ("recall_variant", "OA1", Sarsa(epsilon=0.1, lam=0)),
    ],
)
def test_fixed_points_are_those_of_the_package(js, task, memory, learner):
    E = augment(tasks()[task], memory)
    expected = equilibria(E, learner)
    js.load(tasks()[task], memory)
    kind = "sarsa" if isinstance(learner, Sarsa) else "qlearning"
    found = js(f"W.settling(P, '{kind}', {learner.epsilon}, {getattr(learner, 'lam', 0)})")
    assert expected.complete
    assert found["policies"] == expected.cells
    shown = [
        (
            [
                one["actions"][str(i)] if isinstance(one["actions"], dict) else one["actions"][i]
                for i in range(len(E.O))
                if E.decides[i]
            ],
            one["strict"],
        )
        for one in found["fixed"]
    ]
    wanted = [
        ([int(e.policy.prob.floats[i].argmax()) for i in range(len(E.O)) if E.decides[i]], e.strict)
        for e in expected
    ]
    assert sorted(shown) == sorted(wanted)
    assert sorted(one["value"] for one in found["fixed"]) == pytest.approx(
        sorted(float(e.value) for e in expected), abs=1e-9
    )


def test_too_many_greedy_policies_are_refused_with_their_number(js):
    js.load(tasks()["gravity"], "none")
    with pytest.raises(py_mini_racer.JSEvalException, match="greedy policies"):
        js("W.settling(P, 'qlearning', 0.1)")


@pytest.mark.parametrize("task", ["t_maze", "load_unload", "gravity", "recall"])
def test_beliefs_along_an_episode_are_those_of_the_package(js, task):
    P = tasks()[task]
    js.load(P, "none")
    beliefs = reachable_beliefs(P)
    rng = np.random.default_rng(1)
    node = sorted(beliefs.start, key=str)[0]
    seen, done, expected = [P.O.index(node.o)], [], [node.b]
    for _ in range(4):
        a = int(rng.integers(len(P.A)))
        after = beliefs.after(node, P.A[a])
        nodes = [x for x in after if x is not None]
        if not nodes:
            break
        node = nodes[int(rng.integers(len(nodes)))]
        done.append(a)
        seen.append(P.O.index(node.o))
        expected.append(node.b)
    found = js(f"W.beliefsAlong(P.base, {seen}, {done})")
    for b, wanted in zip(found, expected, strict=True):
        values = list(b.values()) if isinstance(b, dict) else b
        assert values == pytest.approx([float(wanted[s]) if s in wanted else 0 for s in P.S])


def test_a_slice_flows_as_the_packages_does(js):
    E = augment(tasks()["recall4"], "B1")
    js.load(tasks()["recall4"], "B1")
    trap = Policy.deterministic(E, {("0", "o"): (1, "1"), ("1", "o"): (3, "1")})
    x, y = (("0", "o"), (0, "1")), (("1", "o"), (2, "1"))
    expected = policy_slice(E, trap, x=x, y=y, points=5)
    places = [[E.O.index(o), E.A.index(a)] for o, a in (x, y)]
    base = trap.prob.floats.ravel().tolist()
    at = expected.at.tolist()
    found = js(
        f"W.sliceFlow(P, Float64Array.from({base}), {places[0]}, {places[1]}, {at}, 'visits')"
    )
    flow = {(one["x"], one["y"]): (one["dx"], one["dy"]) for one in found}
    for i, at in enumerate(expected.at):
        for j, up in enumerate(expected.at):
            assert flow[at, up] == pytest.approx(tuple(expected.flow[j, i]))


# ---------------------------------------------------------------------- files


def read(js, text, name="mine.POMDP"):
    return js(f"W.readTask({json.dumps(text)}, {json.dumps(name)})")


@pytest.mark.parametrize("task", ["recall4", "tiger", "t_maze", "load_unload", "gravity"])
def test_the_packages_json_is_read_as_the_task_that_it_is(js, task):
    P = tasks()[task]
    exported = read(js, json.dumps(model_json(P)), "task.json")
    expected = export_model(P)
    js.context.eval(f"P = W.augment(W.decode({json.dumps(exported)}), 'none'); 0")
    table = json.dumps(uniform(P).prob.floats.ravel().tolist())
    weights = "discounted" if task == "load_unload" else "visits"
    found = js(f"W.evaluate(P, Float64Array.from({table}), '{weights}').value")
    assert found == pytest.approx(float(evaluate(P, uniform(P), weights=weights).value))
    assert sorted(exported["S"]) == sorted(expected["S"])


@pytest.mark.parametrize("path", sorted(DATA.glob("*.[Pp]*")), ids=lambda path: path.stem)
def test_published_files_have_the_packages_values(js, path):
    exported = read(js, path.read_text())
    P = load_pomdp(path)
    js.context.eval(f"P = W.augment(W.decode({json.dumps(exported)}), 'none'); 0")
    script = "W.evaluate(P, W.uniform(P), 'discounted').value"
    try:
        expected = evaluate(P, uniform(P), weights="discounted").value
    except NeverEnds:
        with pytest.raises(py_mini_racer.JSEvalException, match="gamma is 1"):
            js(script)
        return
    assert js(script) == pytest.approx(float(expected))


COIN = """discount: 0.5
values: reward
states: h t
actions: l r
observations: o
start: h
T: * identity
O: * uniform
R: l : h : * : * 2
"""


def test_a_small_file_is_read(js):
    exported = read(js, COIN)
    js.context.eval(f"P = W.augment(W.decode({json.dumps(exported)}), 'none'); 0")
    assert js("W.evaluate(P, W.uniform(P), 'discounted').value") == pytest.approx(2)
    assert read(js, COIN.replace("reward", "cost"))["numbers"].count("-2") == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("states: h t", "states:", "line 3: states has no names"),
        ("R: l : h", "R: l : x", "line 9: there is no state “x”"),
        ("T: * identity", "T: * : h 0.5 x", "line 7: expected a number, found “x”"),
        ("T: * identity", "T: * : h 0.5 0.2", "line 7: T(. | s=h, a=l) sums to 0.7, not to 1"),
        ("T: * identity", "T: *\n1 0\n0.5 0.6", "line 9: T(. | s=t, a=l) sums to 1.1, not to 1"),
        ("T: * identity", "T: * : h : t 0.5", "line 7: T(. | s=h, a=l) sums to 0.5, not to 1"),
        ("T: * identity", "T: * : * 1.5 -0.5", "line 7: T(. | s=h, a=l) has a probability below 0"),
        ("T: * identity", "", "line 9: the file ends, and T(. | s=h, a=l) is not given"),
        ("O: * uniform", "", "line 9: the file ends, and O(. | s'=h, a=l) is not given"),
        ("start: h", "start: 0.5 0.4", "line 6: start sums to 0.9, not to 1"),
        ("discount: 0.5", "", "the file has no discount"),
        ("values: reward", "values: money", "line 2: values are reward or cost, not “money”"),
        ("O: * uniform", "what is this", "line 8: expected one of"),
        ("states: h t", "states: 9000", "too large for the browser: 9,000 states"),
        ("start: h", "start: 1 0 0", "line 6: start gives 3 numbers for 2 states"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(js, old, new, said):
    with pytest.raises(py_mini_racer.JSEvalException, match=re.escape(said)):
        read(js, COIN.replace(old, new))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{\n\n oops", "line 3: not JSON from “oops” on"),
        ('{\n "S": [1, 2,\n}', "line 3: not JSON from “}” on"),
        ('{"p": [1, 2],\n', "line 2: not JSON from the end of the file on"),
        ('{"p": "a\nb"}', 'line 1: not JSON from “"a” on'),
        ('{"p": 01}', "line 1: not JSON from “1}” on"),
        ("[]\n[]", "line 2: not JSON from “[]” on"),
        ("{}", 'it has no field "actions"'),
        ("[]", 'it has no field "actions"'),
        (
            json.dumps(
                {
                    "actions": ["a"],
                    "mu": [["s", "1/2"]],
                    "gamma": "1",
                    "terminal": ["s"],
                    "omega": [["s", [["o", "1"]]]],
                    "p": [],
                }
            ),
            "mu sums to 1/2, not to 1",
        ),
    ],
)
def test_json_that_is_no_task_is_refused(js, text, said):
    with pytest.raises(py_mini_racer.JSEvalException, match=re.escape(said)):
        read(js, text, "task.json")


# ---------------------------------------------------------------------- links and code


@given(st.data())
def test_a_link_brings_a_policy_back_to_the_last_bit(data):
    engine = _engine()
    engine.load(tasks()["recall4"], "B1")
    rows = []
    for _ in range(2):
        kind = data.draw(st.sampled_from(["uniform", "certain", "any"]))
        drawn = data.draw(st.lists(st.floats(0.01, 1), min_size=8, max_size=8))
        place = data.draw(st.integers(0, 7))
        rows += {
            "uniform": [0.125] * 8,
            "certain": [float(i == place) for i in range(8)],
            "any": [x / sum(drawn) for x in drawn],
        }[kind]
    text = engine(f"W.policyText(P, Float64Array.from({rows}))")
    assert engine(f"W.policyFromText(P, {json.dumps(text)}) || W.uniform(P)") == rows


@pytest.mark.parametrize("text", ["x", "9.1", "0:1_2", "0:0.5", "0.9", ";"])
def test_a_policy_that_makes_no_sense_is_none(js, text):
    js.load(tasks()["recall4"], "B1")
    assert js(f"W.policyFromText(P, {json.dumps(text)})") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lam", "<img src=x onerror=alert(1)>"),
        ("lam", "NaN"),
        ("epsilon", "2"),
        ("epsilon", ""),
        ("steps", "1e99"),
        ("exact", "yes"),
        ("with", "B1<script>"),
        ("step", "0"),
        ("step", "Infinity"),
        ("lambda", "1.01"),
        ("seed", "-1"),
        ("n", "4001"),
        ("weights", "constructor"),
        ("at", "<b>"),
        ("constructor", "x y"),
    ],
)
def test_a_link_brings_numbers_in_range_and_plain_words_only(js, name, text):
    said = f"W.settingFromLink({json.dumps(name)}, {json.dumps(text)}, 'default')"
    assert js(said) == "default"
    assert js("W.settingFromLink('lam', '0.25', '0.5')") == "0.25"
    assert js("W.settingFromLink('with', 'OA1', '')") == "OA1"


def spoiled(exported):
    """A task of a link, with one thing wrong each time."""
    changes = {
        "a discount of 2": {"gamma": "2"},
        "a label that is no text": {"S": [["x"], *exported["S"][1:]]},
        "a label twice": {"A": ["same"] * len(exported["A"])},
        "labels that are no list": {"O": "<img src=x onerror=alert(1)>"},
        "a number that is none": {"numbers": ["NaN", *exported["numbers"][1:]]},
        "a state that is not there": {"terminal": [10**6]},
        "no start": {"mu": []},
        "rows that are cut": {"p": {**exported["p"], "ptr": exported["p"]["ptr"][:-1]}},
        "a place that is not there": {
            "p": {**exported["p"], "next": [-1] * len(exported["p"]["next"])}
        },
        "rewards that are missing": {"p": {**exported["p"], "r": []}},
        "probabilities of 0": {
            "omega": {**exported["omega"], "prob": [0] * len(exported["omega"]["prob"])}
        },
    }
    return {why: {**exported, **change} for why, change in changes.items()}


def test_a_task_in_a_link_is_whole_or_none(js):
    for task in ("recall4", "t_maze", "load_unload"):
        exported = read(js, json.dumps(model_json(tasks()[task])), "task.json")
        assert js(f"W.isExport({json.dumps(exported)})"), task
    exported["numbers"][0] = "0"  # so that rows of it do not add up
    taken = [why for why, one in spoiled(exported).items() if js(f"W.isExport({json.dumps(one)})")]
    assert taken == []


def hostile_files():
    """JSON of a task with one thing replaced by something that the format does not have there."""
    task = model_json(tasks()["t_maze"])
    for key in task:
        for wrong in (None, 1, "<b>", [], [[]], {}, [None], [[None, None]], {"tuple": 1}):
            if key != "name" and (key, wrong) != ("terminal", []):
                yield json.dumps({**task, key: wrong})


def test_a_file_passes_the_same_check_as_a_link(js):
    """A task that no link may bring was taken from a file, and errors of the browser's own came."""
    tried = 0
    for text in hostile_files():
        tried += 1
        said = js(
            f"(() => {{ try {{ return W.isExport(W.readTask({json.dumps(text)}, 'x.json')); }}"
            " catch (e) { return e instanceof W.FileError ? e.message : `raw: ${e}`; } })()"
        )
        assert said is True or not said.startswith("raw"), (text[:300], said)
    assert tried > 50
    twice = model_json(tasks()["t_maze"])
    twice["gamma"] = "7"
    refused = js(
        f"(() => {{ try {{ W.readTask({json.dumps(json.dumps(twice))}, 'x.json'); }}"
        " catch (e) { return e.message; } })()"
    )
    assert refused == "its labels, numbers or rows make no task"


def test_numbers_are_written_to_python_in_one_way(js):
    evil = "__import__('os')"
    code = js(
        "W.pythonCode({model: null, code: 'pomdps.recall4()', "
        f"rewards: [['0.75', '1e3'], ['-2/6', {json.dumps(evil)}]], memory: 'none', "
        f"pi: [['0.5', '1/2'], [{json.dumps(evil)}, '1/0']], weights: 'visits', "
        f"lambda: {json.dumps(evil)}, exact: false}})"
    )
    assert '[[F("3/4"), 1000], [F("-1/3"), "__import__(\'os\')"]]' in code
    assert '[0.5, F("1/2")],' in code
    assert '["__import__(\'os\')", "1/0"],' in code
    assert "lam=\"__import__('os')\"" in code


def test_what_is_no_number_in_a_link_is_no_code_in_the_saved_python(js):
    exported = read(js, json.dumps(model_json(tasks()["t_maze"])), "task.json")
    evil = "1.0); __import__('os').system('x"
    exported["numbers"][0] = exported["gamma"] = evil
    code = js(
        f"W.pythonCode({{model: {json.dumps(exported)}, code: '', rewards: null, memory: 'none', "
        "pi: [], weights: 'visits', lambda: '0', exact: false})"
    )
    assert evil not in code.replace(json.dumps(evil), "")


def test_the_python_of_a_file_makes_the_task_again(js):
    P = tasks()["t_maze"]
    exported = read(js, json.dumps(model_json(P)), "task.json")
    rows = [[f"1/{len(P.A)}"] * len(P.A)] * len(P.O)
    code = js(
        f"W.pythonCode({{model: {json.dumps(exported)}, code: '', rewards: null, memory: 'none', "
        f"pi: {json.dumps(rows)}, weights: 'visits', lambda: '0', exact: true}})"
    )
    made = {}
    exec(code.replace("print(", "(lambda *x: None)("), made)
    assert made["found"].value == evaluate(P, uniform(P), exact=True).value
    assert len(made["P"].S) == len(P.S)
