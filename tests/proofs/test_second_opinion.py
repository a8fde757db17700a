"""Two opinions on what is decided when it is made: they agree, and either sees what is wrong."""

import io
import sys
from dataclasses import replace

import pytest
import sympy
from rich.console import Console
from sympy import Interval

from proofs.ledger import LedgerEntry, exclusion, inequalities
from proofs.ledger.inequalities import Undecided, prove_positive
from proofs.ledger.second_opinion import second_opinion
from proofs.ledger.theory import Theory, trouble_in
from proofs.report import in_a_line, in_full, readme_row, write_html, write_json
from workbench.checker import expressions, positivity

FLOW = Theory(
    {
        "p": "sum[s1](p(s, s1)) == 1",
        "x": "x(n+1, s1) == sum[s](x(n, s)*p(s, s1))",
        "0": "x(0, s) == mu(s)",
        "mu": "sum[s](mu(s)) == 1",
        "sign": "p(s, s1) >= 0",
        "d": "d(s) >= 0",
    }
)
MASS = ("mass", "sum[s](x(n, s)) == 1")
STEPS, BASE = [("unfold", "x"), ("add", "hypothesis", "-1")], [("unfold", "0")]


def wrong(certificate, **changes):
    return second_opinion({**certificate, **changes})


def test_a_derivation_leaves_nothing_and_another_goal_something():
    shown = FLOW.shows(*MASS, STEPS, base=BASE)
    assert trouble_in(shown) is second_opinion(shown) is None
    assert wrong(shown, goal="sum[s](x(n, s)) == 2")
    assert wrong(shown, base=[])
    assert wrong(shown, steps=shown["steps"][:1])
    given = shown["given"]
    assert wrong(shown, given=[given[0].replace("== 1", "== c"), *given[1:]])
    assert wrong(shown, given=[given[0], given[1].replace("p(s, s1)", "p(s1, s)"), *given[2:]])


def test_products_of_inequalities_are_taken_off():
    steps = [("less", 2, (("sign", {}), ("d", {"s": "s1"})))]
    shown = FLOW.shows("less", "2*sum[s, s1](p(s, s1)*d(s1)) >= 0", steps)
    assert trouble_in(shown) is second_opinion(shown) is None
    assert wrong(shown, goal="sum[s, s1](p(s, s1)*d(s1)) >= 0")
    assert wrong(shown, steps=[["less", "2", [[4, {}], [5, {"s": "s2"}]]]])


def test_names_that_clash_are_kept_apart():
    chain = Theory({"v": "v(s) == r(s) + sum[s1](p(s, s1)*v(s1))", "p": FLOW.given["p"]})
    goal = (
        "sum[s1](p(s, s1)*v(s1)) == sum[s1](p(s, s1)*r(s1)) + sum[s1, s2](p(s, s1)*p(s1, s2)*v(s2))"
    )
    shown = chain.shows("two steps", goal, [("unfold", "v")])
    # unfolding replaces v on both sides, and once each
    assert trouble_in(shown) is not None
    half = (
        "sum[s1](p(s, s1)*v(s1)) - sum[s1](p(s, s1)*r(s1)) == sum[s1, s2](p(s, s1)*p(s1, s2)*w(s2))"
    )
    renamed = Theory({**chain.given, "w": "w(s) == v(s)"})
    shown = renamed.shows("two steps", half, [("unfold", "v"), ("unfold", "w")])
    assert trouble_in(shown) is second_opinion(shown) is None


def test_a_polynomial_needs_both_the_solver_and_the_checker(monkeypatch):
    x = sympy.Symbol("x")
    box = {x: Interval(0, 1)}
    assert prove_positive(x**2 - x + 1, box).holds
    monkeypatch.setattr(positivity, "is_positive_within", lambda *_: True)
    assert prove_positive(
        x - 1, box
    ).witness  # the solver finds a number, whatever the checker says
    monkeypatch.undo()
    monkeypatch.setattr(inequalities, "solve_conditions", lambda _: None)
    monkeypatch.setattr(inequalities, "_break_on_grid", lambda *_: None)
    with pytest.raises(Undecided, match="says z3; the checker: x - 1 > 0 is not shown"):
        prove_positive(x - 1, box)


def test_conditions_that_multiply_out_to_too_much_have_no_certificate(monkeypatch):
    """Without z3 the row then says that it is missing, and the others are judged."""
    conditions = ["x >= 0", "x - 1 <= 0", "x*(1 - x) < 0"]
    assert exclusion.exclusion_certificate(conditions)
    monkeypatch.setattr(exclusion, "renew_budget", lambda: expressions.renew_budget(1))
    assert exclusion.exclusion_certificate(conditions) is None
    expressions.renew_budget()


def test_without_z3_a_row_says_that_there_is_one_opinion(monkeypatch, tmp_path):
    positive = {"kind": "polynomial-positive", "polynomial": "x", "box": {"x": "(0, 1]"}}
    entry = LedgerEntry(
        "X", "", "S5", "", "proved", "proved", "all x",
        "", None, None, (positive,), (), (), (), "", 0.0,
    )  # fmt: skip

    def shown(one):
        console = Console(record=True, width=100, file=io.StringIO())
        in_a_line(one, console)
        in_full(one, console)
        write_html([one], tmp_path / "page.html")
        write_json([one], tmp_path / "file.json")
        files = [x.read_text() for x in tmp_path.iterdir()]
        return "\n".join([console.export_text(), readme_row(one), *files])

    assert "one opinion" not in shown(entry)
    monkeypatch.setitem(sys.modules, "z3", None)
    assert shown(entry).count("one opinion: no z3") == 6
    assert "one opinion" not in shown(replace(entry, certificates=({"kind": "identity"},)))
