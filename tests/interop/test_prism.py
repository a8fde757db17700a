"""PRISM and JANI files through Storm: labels, constants, rewards, and what is refused by name."""

from __future__ import annotations

from fractions import Fraction as F
from pathlib import Path

import pytest

from workbench import (
    best_history,
    best_memoryless,
    evaluate,
    from_prism,
    from_umb,
    to_umb,
    uniform,
    with_goal,
)
from workbench.core.errors import ModelError, UnknownLabel

stormpy = pytest.importorskip("stormpy")

LOCKS = """pomdp
const double lucky;
observable "where" = s;
module door
  s : [0..3] init 0;
  lock : [0..1] init 0;
  [enter] s=0 -> lucky : (s'=1)&(lock'=0) + 1-lucky : (s'=1)&(lock'=1);
  [a] s=1 -> (s'=lock=0 ? 2 : 3);
  [b] s=1 -> (s'=lock=1 ? 2 : 3);
  [stay] s>1 -> true;
endmodule
label "open" = s=2;
rewards "turns"
  [a] true : 1;
  [b] true : 3;
endrewards
"""


@pytest.fixture
def locks(tmp_path):
    path = tmp_path / "locks.prism"
    path.write_text(LOCKS)
    return path


def test_a_model_is_built_with_its_labels(locks):
    P = from_prism(locks, {"lucky": F(2, 3)})
    assert P.is_exact
    assert best_history(with_goal(P, "open"), exact=True).value == F(2, 3)
    assert best_history(with_goal(P, "open", within=1), exact=True).value == 0
    assert best_history(P, exact=True).value == 3
    assert "not all allowed everywhere" in repr(P)


def test_the_tiger_of_the_page_for_users_of_storm_is_worth_what_the_page_says(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text()
    path = tmp_path / "tiger.prism"
    path.write_text(page.split("```text\n")[1].split("```")[0])
    P = from_prism(path, gamma=0.95)
    assert best_memoryless(P).value == pytest.approx(-0.95 * 20)
    found, known = best_history(P), 0.95 * 19.3714
    assert found.lower - 0.01 <= known <= found.upper + 0.01


def test_a_model_goes_on_as_umb(locks, tmp_path):
    pytest.importorskip("umbi")
    P = from_prism(locks, "lucky=0.25")
    to_umb(P, tmp_path / "locks.umb")
    Q = from_umb(tmp_path / "locks.umb")
    assert evaluate(Q, uniform(Q), exact=True).value == evaluate(P, uniform(P), exact=True).value
    model = stormpy.build_model_from_umb(tmp_path / "locks.umb")
    assert (model.nr_states, model.nr_observations) == (len(P.S), len(Q.O))


def test_what_is_missing_or_unknown_is_named(locks):
    with pytest.raises(ModelError, match=r"locks.prism leaves constants open: give lucky"):
        from_prism(locks)
    with pytest.raises(UnknownLabel, match="leaves no constant 'N' open; open are lucky"):
        from_prism(locks, "lucky=0.5,N=3")
    locks.write_text("ctmc module m s : [0..1]; <> s=0 -> 2:(s'=1); <> s=1 -> 1:(s'=1); endmodule")
    with pytest.raises(ModelError, match=r"locks.prism is a model of type CTMC"):
        from_prism(locks)
    locks.write_text("pomdp nonsense")
    with pytest.raises(ModelError, match=r"Storm does not build locks.prism"):
        from_prism(locks)


def test_actions_that_depend_on_what_is_hidden_are_refused(locks):
    locks.write_text(LOCKS.replace("[b] s=1 ->", "[b] s=1 & lock=0 ->"))
    with pytest.raises(ModelError, match=r"Storm does not build locks.prism: .*[Oo]bservation"):
        from_prism(locks, "lucky=0.5")


def test_a_family_of_models_is_refused_by_name(locks):
    locks.write_text(LOCKS.replace("const double lucky;", "hole int lucky in {0,1};"))
    with pytest.raises(ModelError, match=r"locks.prism has holes, so it is a family of models"):
        from_prism(locks)
