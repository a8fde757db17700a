"""The explorer's page computes what the package computes: models, products, values, TD fixed
points, shortcuts, the loop."""

import json
import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pomdps
from typer.testing import CliRunner

from pomdps import recall, recall4, recall_variant
from workbench import (
    Policy,
    augment,
    best_memoryless,
    evaluate,
    improve,
    memories,
    shortcuts,
    td_values,
    uniform,
)
from workbench.cli.explore_command import entries
from workbench.cli.explore_command import explore_command as explore
from workbench.core.errors import NeverEnds, WorkbenchError
from workbench.core.improve import iterates
from workbench.core.ties import tie_order
from workbench.explorer.export import MEMORIES, export_entry, export_model, offered
from workbench.explorer.html_page import CALCULATING, explorer_page, part, styles
from workbench.figures import memory_style
from workbench.text import show

py_mini_racer = pytest.importorskip(
    "py_mini_racer", reason="needs mini-racer, a JavaScript engine: extra test"
)

HELPERS = """
const plain = (value) => JSON.stringify(value, (key, x) =>
  x instanceof Float64Array ? Array.from(x, (y) => (Number.isFinite(y) ? y : String(y))) :
  ArrayBuffer.isView(x) ? Array.from(x)
    : typeof x === "number" && !Number.isFinite(x) ? String(x) : x);
let P;
function measure(pi, lambda, weights) {
  const e = Workbench.evaluate(P, pi, weights), td = Workbench.td(P, pi, lambda, e);
  const one = Workbench.td(P, pi, 0, e);
  return { value: e.value, v: e.v, q: e.q, vGivenO: e.vGivenO, visits: e.visits,
           reached: e.reached, td: td.q, vTd: td.v,
           greedy: Workbench.greedyActions(P, e.q), shortcuts: Workbench.shortcuts(P, pi, e, one) };
}
"""


class Engine:
    """The page's scripts in a JavaScript engine."""

    def __init__(self):
        self.context = py_mini_racer.MiniRacer()
        for name in CALCULATING:
            self.context.eval(part(name))
        self.context.eval(HELPERS)

    def __call__(self, script):
        return json.loads(self.context.eval(f"plain({script})"))

    def load(self, P, memory):
        self.context.eval(
            f"P = Workbench.augment(Workbench.decode({json.dumps(export_model(P))}), '{memory}'); 0"
        )

    def measure(self, pi, lam, weights):
        table = json.dumps(pi.prob.floats.ravel().tolist())
        return self(f"measure(Float64Array.from({table}), {lam}, '{weights}')")


@pytest.fixture(scope="module")
def js():
    return Engine()


@cache
def all_entries():
    return {entry.id: entry for entry in entries()}


IDS = (
    "recall4",
    "recall_variant",
    "recall",
    "gravity",
    "tiger",
    "t_maze",
    "load_unload",
    "short_corridor",
    "invisible_door",
    "sutton_grid",
)


@cache
def products(id, most=200, least=0):
    """The products of a task that the page offers and that have so many states."""
    P = all_entries()[id].P
    return {
        name: augment(P, name) for name, states in offered(P).items() if least <= states <= most
    }


def some_policies(E, seed):
    """Uniform, one drawn from the simplex, one with zeros, one deterministic."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.ones(len(E.A)), len(E.O)) * (rng.random((len(E.O), len(E.A))) < 0.6)
    table[table.sum(axis=1) == 0, 0] = 1
    deterministic = Policy.from_actions(E, rng.integers(len(E.A), size=len(E.O)))
    return [
        uniform(E),
        Policy.random(E, seed),
        Policy(E, table / table.sum(axis=1, keepdims=True)),
        deterministic,
    ]


def same(found, expected, length=1.0):
    """Equal up to rounding, relative to the size of what is compared; undefined in the same places.

    Rounding grows with the condition of the system, which for expected visits is the length of an
    episode.
    """
    found, expected = np.array(found, dtype=float), np.asarray(expected, dtype=float).ravel()
    size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=max(1e-9, 1e-14 * length), atol=1e-11 * size)


def greedy_in_the_page(q, order):
    """The first action, in the order in which ties are broken, that is within 1e-10 of the largest,
    as a share of the largest size in the table: floats of two programs agree no further."""
    close = 1e-10 * np.nanmax(np.abs(q), initial=0.0)
    return [
        -1
        if np.isnan(row).all()
        else next(a for a in order.tolist() if row[a] >= np.nanmax(row) - close)
        for row in q
    ]


def compare(js, E, pi, lam, weights):
    try:
        expected, td = evaluate(E, pi, weights=weights), td_values(E, pi, lam=lam, weights=weights)
    except NeverEnds:
        with pytest.raises(py_mini_racer.JSEvalException, match="gamma is 1"):
            js.measure(pi, lam, weights)
        return
    found = js.measure(pi, lam, weights)
    visits = expected.visits.array
    length = float(visits[np.isfinite(visits)].sum())
    for name, numbers in {
        "value": expected.value,
        "v": expected.v.array,
        "visits": visits,
        "q": expected.q.array,
        "vGivenO": expected.v_given_o.array,
        "td": td.q.array,
        "vTd": td.v.array,
    }.items():
        same(found[name], numbers, length)
    assert found["reached"] == expected.reached.raw.astype(int).tolist()
    if length > 1e5:
        return  # values differ by more than what greedy counts as a tie
    assert found["greedy"] == greedy_in_the_page(expected.q.array, tie_order(E.A))
    undefined = np.isnan(
        expected.v_given_o.array[expected.reached.raw]
    ).all()  # the page marks none then
    found_shortcuts = [] if undefined else shortcuts(E, pi, weights=weights)
    kinds = {(x.o, x.a): {"strict": 2, "weak": 1}[x.kind] for x in found_shortcuts}
    assert found["shortcuts"] == [kinds.get((o, a), 0) for o in E.O for a in E.A]


# ---------------------------------------------------------------------- the product


@pytest.mark.parametrize("id", IDS)
def test_the_products_are_those_of_augment_in_the_same_order(js, id):
    P = all_entries()[id].P
    for memory, E in products(id, 10**6).items():
        js.load(P, memory)
        found = js(
            "{pPtr: P.pPtr, pNext: P.pNext, pR: P.pR, pProb: P.pProb, oCol: P.oCol, mu: P.mu, "
            "terminal: P.terminal, gamma: P.gamma, s: P.s, m: P.m, o: P.o, rowM: P.rowM, rowO: "
            "P.rowO}"
        )
        assert found["pPtr"] == E.p.row_ptr.tolist()
        assert found["pNext"] == E.p.s_next.tolist()
        same(found["pR"], E.p.r.floats)
        same(found["pProb"], E.p.prob.floats)
        assert found["oCol"] == E.omega.o.tolist()
        same(found["mu"], E.mu.prob.floats)
        assert found["terminal"] == E.terminal.mask.astype(int).tolist()
        assert found["gamma"] == float(E.gamma)
        M = memories.parse_memory(memory).on(P).M
        places = [(P.S.index(s), M.index(m), P.O.index(o)) for s, m, o in E.S]
        assert list(zip(found["s"], found["m"], found["o"], strict=True)) == places
        assert list(zip(found["rowM"], found["rowO"], strict=True)) == [
            (M.index(m), P.O.index(o)) for m, o in E.O
        ]


def memory_text(m):
    """A memory state as the page writes it."""
    if isinstance(m, str):
        return m
    cells = ("∅" if c is None else c for c in m)
    return " | ".join(
        " ".join(map(show, c)) if isinstance(c, tuple) and len(c) == 2 else show(c) for c in cells
    )


@pytest.mark.parametrize("memory", MEMORIES)
def test_memory_states_and_writes_have_the_labels_of_the_package(js, memory):
    P = recall()
    attached = memories.parse_memory(memory).on(P)
    js.load(P, memory)
    assert js("P.memory.W") == list(attached.W)
    assert js("Array.from({length: P.memory.nM}, (_, m) => P.memory.label(m))") == [
        memory_text(m) for m in attached.M
    ]


def test_a_two_step_table_is_the_task_of_the_package(js):
    table = json.dumps(
        [[-5, 0.5, 1, 0.5], [0, 0.5, -0.5, 0.75], [0, 0.5, -5, 0.5], [0, 0.5, -5, 0.5]]
    )
    model = json.dumps(export_model(recall4()))
    same_parts = (
        "['S', 'O', 'A', 'gamma', 'mu', 'terminal', 'pPtr', 'pNext', 'pR', "
        "'pProb', 'oPtr', 'oCol', 'oProb']"
    )
    one, other = (
        js(f"(() => {{ const m = {made}; return {same_parts}.map((name) => m[name]); }})()")
        for made in (f"Workbench.twoStep({table}, 'mine')", f"Workbench.decode({model})")
    )
    assert one == other


@pytest.mark.parametrize(
    ("text", "value"), [("17/20", 0.85), ("-5", -5), (" .5 ", 0.5), ("−1/2", -0.5), ("1e-3", 0.001)]
)
def test_numbers_are_read_as_they_are_written(js, text, value):
    assert js(f"Workbench.parseNumber({json.dumps(text)})") == value


@pytest.mark.parametrize("text", ["", "a", "1/2/3", "1/", "--1", "0x10", "Infinity"])
def test_what_is_no_number_is_none(js, text):
    assert js(f"Workbench.parseNumber({json.dumps(text)})") == "NaN"


# ---------------------------------------------------------------------- values


@pytest.mark.parametrize("id", IDS)
def test_values_td_values_and_shortcuts_are_those_of_the_package(js, id):
    for memory, E in products(id).items():
        js.load(all_entries()[id].P, memory)
        _, full, partial, deterministic = some_policies(E, 7)
        compare(js, E, full, 0.9, "discounted")
        compare(js, E, partial, 0.5, "visits")
        compare(js, E, deterministic, 0, "visits")


@pytest.mark.parametrize("id", IDS)
def test_they_are_for_the_larger_products_as_well(js, id):
    for memory, E in products(id, 10**6, 201).items():
        js.load(all_entries()[id].P, memory)
        compare(js, E, Policy.random(E, 3), 0, "visits")


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["visits", "discounted"])
@pytest.mark.parametrize("id", IDS)
def test_they_are_for_many_policies(js, id, weights):
    for memory, E in products(id).items():
        js.load(all_entries()[id].P, memory)
        for seed in range(6):
            for pi, lam in zip(some_policies(E, seed), (0, 0.5, 0.25, 1), strict=True):
                compare(js, E, pi, lam, weights)


@settings(max_examples=25)
@given(
    P=pomdps(),
    seed=st.integers(0, 10**6),
    memory=st.sampled_from(["none", "B1", "K1", "O1", "OA1"]),
    lam=st.sampled_from([0, 0.5, 1]),
)
def test_they_are_for_any_pomdp(js, P, seed, memory, lam):
    E = augment(P, memory)
    js.load(P, memory)
    for pi in some_policies(E, seed)[2:]:
        compare(js, E, pi, lam, "visits")


@pytest.mark.parametrize("weights", ["visits", "discounted"])
def test_they_are_for_a_discount_of_zero(js, weights):
    P = all_entries()["t_maze"].P.with_gamma(0)
    E = augment(P, "O1")
    js.load(P, "O1")
    for pi, lam in zip(some_policies(E, 5), (0, 0.5, 0, 0.25), strict=True):
        compare(js, E, pi, lam, weights)


def test_recall4_with_b1_from_uniform_has_the_q_values_of_lemma_c4(js):
    E = augment(recall4(), "B1")
    js.load(recall4(), "B1")
    exact = evaluate(E, uniform(E), exact=True).q.array.ravel()
    assert exact[0] == Fraction(-11, 12)
    np.testing.assert_allclose(
        js.measure(uniform(E), 0, "visits")["q"], exact.astype(float), rtol=1e-13
    )


# ---------------------------------------------------------------------- the loop


@pytest.mark.parametrize(
    ("id", "memory"),
    [
        ("recall4", "B1"),
        ("recall4", "OA1"),
        ("recall_variant", "OA1"),
        ("gravity", "B1"),
        ("t_maze", "O1"),
    ],
)
def test_iterates_are_those_of_the_oracle_loop(js, id, memory):
    P = all_entries()[id].P
    E = augment(P, memory)
    js.load(P, memory)
    found = js(
        "(() => { const l = new Workbench.Loop(P, 'visits'); for (let i = 0; i < 40; i++) "
        "l.step(0.1); return l; })()"
    )
    stream = iterates(E, uniform(E), step=0.1)
    expected = [next(stream) for _ in range(41)]
    same(found["values"], [iterate.value for iterate in expected])
    same(found["pi"], expected[-1].pi.prob.floats)


@pytest.mark.parametrize(
    ("P", "memory", "step"),
    [
        (recall4(), "B1", 0.02),
        (recall4(), "B3", 0.02),
        (recall4(), "OA1", 0.02),
        (recall4(), "none", 0.02),
        (recall_variant(), "OA1", 0.02),
        (recall_variant(), "OA2", 0.02),
        (recall(), "B2", 0.1),
        (recall(), "OA1", 1),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_the_loop_ends_as_it_ends_in_the_package(js, P, memory, step):
    E = augment(P, memory)
    expected = improve(E, uniform(E), step=step)
    js.load(P, memory)
    found = js(
        f"(() => {{ const l = new Workbench.Loop(P, 'visits'); l.run({step}, 4000); return "
        "l.ended; })()"
    )
    assert found["how"] == expected.ended
    assert found["value"] == pytest.approx(float(expected.mean), abs=1e-6)
    if expected.period:
        assert found["period"] == expected.period


@pytest.mark.parametrize(
    ("id", "memory"),
    [
        ("recall4", "none"),
        ("recall4", "B1"),
        ("recall4", "B2"),
        ("recall_variant", "OA1"),
        ("recall", "B1"),
        ("recall", "OA1"),
        ("tiger", "none"),
        ("t_maze", "none"),
        ("load_unload", "B1"),
    ],
)
def test_the_best_deterministic_policy_is_that_of_the_package(js, id, memory):
    P = all_entries()[id].P
    js.load(P, memory)
    E = augment(P, memory)
    found = js("Workbench.bestDeterministic(P, 100000)")
    assert found["value"] == pytest.approx(float(best_memoryless(E).value), abs=1e-9)
    actions = np.maximum(found["choice"], 0)
    assert evaluate(E, Policy.from_actions(E, actions)).value == pytest.approx(
        found["value"], abs=1e-9
    )


def check_encodes(id, memory):
    entry = all_entries()[id]
    assert best_memoryless(augment(entry.P, memory)).value == pytest.approx(entry.best, abs=1e-9)


@pytest.mark.parametrize(("id", "memory"), [("gravity", "K1"), ("gravity", "B1"), ("t_maze", "O1")])
def test_memories_said_to_encode_the_optimum_do(id, memory):
    assert memory in all_entries()[id].encodes
    check_encodes(id, memory)


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_all_memories_said_to_encode_the_optimum_do(id):
    for memory in all_entries()[id].encodes:
        check_encodes(id, memory)


def test_too_many_policies_are_not_tried(js):
    js.load(all_entries()["gravity"].P, "none")
    assert js("Workbench.bestDeterministic(P, 1000)") is None


# ---------------------------------------------------------------------- episodes


def test_an_episode_follows_from_its_seed_and_only_does_what_can_happen(js):
    P = all_entries()["gravity"].P
    E = augment(P, "O1")
    js.load(P, "O1")
    one, again, other = (
        js(f"Workbench.sample(P, Workbench.uniform(P), {seed}, 300)") for seed in (5, 5, 6)
    )
    assert one == again != other
    s = one["first"]
    assert E.mu.prob[s] != 0
    for step in one["steps"]:
        assert step["s"] == s
        assert step["o"] == E.omega.o[s]
        assert (E.S[step["next"]], Fraction(step["r"])) in E.p(E.S[s], E.A[step["a"]])
        s = step["next"]


def test_the_mean_return_of_episodes_is_the_value(js):
    P = all_entries()["tiger"].P
    js.load(P, "B1")
    E = augment(P, "B1")
    script = """Array.from({length: 4000}, (_, seed) =>
        Workbench.sample(P, Workbench.uniform(P), seed + 1).steps
        .reduce((total, step, t) => total + P.gamma ** t * step.r, 0))"""
    returns = np.array(js(script))
    expected = evaluate(E, uniform(E)).value
    assert abs(returns.mean() - expected) < 4 * returns.std() / np.sqrt(len(returns))


# ---------------------------------------------------------------------- the page


def test_the_page_needs_nothing_from_elsewhere_and_is_small():
    text = explorer_page(list(all_entries().values()), [[0, 1], [1, 0]])
    assert len(text.encode()) < 1_000_000
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)""", text)
    assert "http://" not in text
    assert "https://" not in text
    assert not re.search(r"/\*(data|scripts|explorer\.css)\*/", text)


def test_the_exported_tasks_can_be_read_back():
    text = explorer_page(list(all_entries().values()), [["1/2", 1], [1, 0]])
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert [task["id"] for task in data["tasks"]] == list(all_entries()) == list(IDS)
    assert data["tasks"][0]["memories"] == offered(recall4())
    assert data["rewards"] == [["1/2", "1"], ["1", "0"]]


def test_the_best_values_are_those_of_the_tasks():
    assert export_entry(all_entries()["recall4"])["best"] == 1
    assert export_entry(all_entries()["recall_variant"])["best"] == 3
    assert export_entry(all_entries()["gravity"])["best"] == pytest.approx(0.95**11)
    assert export_entry(all_entries()["tiger"])["best"] is None


def test_memories_have_their_colours():
    assert {name: style["color"] for name, style in styles().items()} == {
        m: memory_style(m)["color"] for m in MEMORIES
    }
    assert styles()["B1"]["dash"] == ""
    assert styles()["B2"]["dash"] != styles()["B3"]["dash"] != ""


APP = typer.Typer()
APP.command()(explore)


def test_the_command_writes_the_page(tmp_path):
    result = CliRunner().invoke(APP, ["-o", str(tmp_path / "mine.html")], catch_exceptions=False)
    assert result.exit_code == 0
    assert "mine.html" in result.output
    assert (tmp_path / "mine.html").read_text().startswith("<!doctype html>")


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(WorkbenchError, match=r"cannot write .*missing.*: there is no folder"):
        CliRunner().invoke(
            APP, ["-o", str(tmp_path / "missing" / "x.html")], catch_exceptions=False
        )
