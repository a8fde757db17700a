"""oracle-chatters: loops that go round for ever, their near misses, a search that finds one."""

from fractions import Fraction

import pytest

from workbench import augment, evaluate, improve, uniform
from workbench.certificates.cycle import certify_cycle
from workbench.checker.recheck import recheck
from workbench.core.errors import WorkbenchError
from workbench.lab.loop_statements import OracleChatters
from workbench.lab.search import search
from workbench.lab.sequences import SequenceTasks, discounted_sequence_task
from workbench.results.json import model_from_json, model_json

SADDLE = discounted_sequence_task([[0, 1], [1, 0]])


def test_the_saddle_chatters_with_each_memory_that_could_leave_it():
    asked = OracleChatters(("K1", "B1", "O1"))
    verdict = asked.exactly(SADDLE)
    assert verdict.holds
    assert len(verdict.certificates) == 3
    for certificate in verdict.certificates:
        assert "cycle of 2 policies" in recheck(certificate)
    assert asked.score(SADDLE) == pytest.approx(0.45, abs=1e-3)
    assert verdict.facts["B1 could reach"] == "1"


def test_the_certified_cycle_is_where_the_exact_loop_goes():
    """A slow loop in rationals stays between the two numbers once it has come near."""
    (certificate,) = OracleChatters("B1", step=Fraction(1, 4)).exactly(SADDLE).certificates
    low, high = (Fraction(certificate[name]) for name in ("lowest", "highest"))
    E = augment(SADDLE, "B1")
    pi = uniform(E)
    for n in range(60):
        found = evaluate(E, pi, exact=True)
        if n > 50:
            assert low - Fraction(1, 10**6) <= found.value <= high + Fraction(1, 10**6)
        pi = pi.toward(pi.greedy(found.q.array), Fraction(1, 4))


def test_a_cycle_around_the_best_is_not_said_to_lose():
    """Without memory 1/2 is the best: the loop goes round close below it."""
    asked = OracleChatters("none")
    assert asked.exactly(SADDLE).holds is None
    assert asked.score(SADDLE) < 0


def test_a_loop_that_ends_does_not_chatter():
    P = discounted_sequence_task([[0, 1], [2, 0]])
    asked = OracleChatters("B1")
    assert asked.exactly(P).holds is None
    assert asked.score(P) == float("-inf")


def test_a_search_finds_the_saddle():
    found = search("oracle-chatters", over=SequenceTasks(2, 2, 0, 1), memory="B1", keep=1)
    assert found[0].rewards == [[0, 1], [1, 0]]


def test_rows_that_nothing_leads_to_do_not_keep_a_cycle_from_being_proved():
    """The end of an episode may be seen as something that is seen nowhere else."""
    model = model_json(SADDLE)
    end = next(i for i, (s, _) in enumerate(model["omega"]) if s in model["terminal"])
    model["omega"][end][1] = [["over", "1"]]
    P = model_from_json(model)
    certificate = certify_cycle(P, "B1", Fraction(1, 4))
    assert certificate is not None
    assert recheck(certificate)
    run = improve(augment(P, "B1"), uniform(augment(P, "B1")), step=Fraction(1, 4))
    assert run.ended == "limit cycle"


@pytest.mark.parametrize(
    "make",
    [
        lambda: OracleChatters(()),
        lambda: OracleChatters("B1", lost=0),
        lambda: OracleChatters("Z1"),
    ],
)
def test_parameters_that_say_nothing_are_refused(make):
    with pytest.raises(WorkbenchError):
        make()
