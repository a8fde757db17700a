"""Whether tasks need memory: known answers, the three ways against each other and against plain
enumeration."""

import itertools
import math
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import assume, given, settings
from strategies import pomdps as random_pomdps
from toy_tasks import small_task
from typer.testing import CliRunner

import pomdps
from workbench.cli.needs_memory_command import find_task_or_environment
from workbench.cli.needs_memory_command import needs_memory_command as command
from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.evaluate import evaluate
from workbench.core.policy import Policy
from workbench.memories import OA, B, K, O
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.sufficiency import gap as gap_closing
from workbench.sufficiency.needs_memory import Attempt, InFamily, Limits, in_stages, needs_memory

QUICK = Limits(seconds=0.2)

KNOWN = {
    "recall": {"K": 2, "B": 2, "O": 2, "OA": 1},
    "recall4": {"K": 1, "B": 1, "O": 1, "OA": 1},
    "recall_variant": {"K": 2, "B": 1, "O": 2, "OA": 1},
    "gravity": {"K": 1, "B": 1, "O": 1, "OA": 1},
    "t_maze": {"K": None, "B": 1, "O": 1, "OA": 1},
    "load_unload": {"K": 3, "B": 1, "O": 1, "OA": 1},
}
"""The smallest k, or None if no k up to 3 is enough (the start of the T-maze is more than three
steps away)."""


@pytest.mark.parametrize("task", KNOWN)
def test_the_smallest_memories_of_small_tasks(task):
    found = needs_memory(getattr(pomdps, task)(), limits=QUICK)
    assert found.needed is True
    assert {family.kind: family.k for family in found.families} == KNOWN[task]
    assert all(family.k == family.at_least for family in found.families if family.k is not None)


def test_a_t_maze_needs_as_many_observations_of_the_past_as_there_are_steps_to_the_junction():
    """The sign is seen at the start; behind n places of corridor, at the junction n + 1 steps
    later, K(n+1) still holds it."""
    for n in (1, 2):
        found = needs_memory(pomdps.t_maze(n), ["K"], limits=QUICK)
        assert found.families[0].k == found.families[0].at_least == n + 1


def test_the_short_corridor_is_solved_by_chance_alone():
    """Sutton and Barto, Example 13.1: the best probability of right is 2 - sqrt 2, worth -(6 + 4
    sqrt 2)."""
    found = needs_memory(pomdps.short_corridor(), ["B"], limits=QUICK)
    assert found.memoryless is None
    assert found.stochastic == pytest.approx(-(6 + 4 * math.sqrt(2)))
    assert (found.lower, found.upper, found.needed) == (-3, -3, True)
    assert found.gain[0] == pytest.approx(3 + 4 * math.sqrt(2))
    assert found.row()["deterministic"] == "none ends"


def test_infinitely_many_beliefs_are_judged_by_bounds():
    """Two bits are enough for the tiger: count what was heard up to two, and see the last."""
    found = needs_memory(
        pomdps.tiger(), ["B"], up_to=2, limits=Limits(seconds=1.0, max_beliefs=300)
    )
    assert found.needed is True
    assert found.memoryless.value == pytest.approx(-20)
    assert found.families[0].k == 2
    assert found.lower <= found.families[0].tried[2].value <= found.upper + found.margin
    assert found.lower == pytest.approx(19.3714, abs=1e-3)


def test_a_task_that_shows_its_state_needs_no_memory():
    P = small_task(
        "seen",
        lambda s, a: {("end", int(a == s)): 1},
        {0: Fraction(1, 2), 1: Fraction(1, 2)},
        omega=lambda s: {s: 1},
    )
    found = needs_memory(P, limits=QUICK)
    assert found.needed is False
    assert [str(family) for family in found.families] == ["0", "0", "0", "0"]
    assert found.gain == (0, 0)


# ---------------------------------------------------------------------- against plain enumeration,
# and each other


def enumerated(P):
    """The best value of a deterministic memoryless policy, by trying all."""
    values = []
    for actions in itertools.product(P.A, repeat=len(P.O)):
        values.append(
            evaluate(
                P, Policy.deterministic(P, dict(zip(P.O, actions, strict=True))), exact=True
            ).value
        )
    return max(values)


discounted = random_pomdps().filter(
    lambda P: P.is_exact and 0 < P.gamma < 1 and len(P.A) ** len(P.O) <= 100
)


@given(discounted)
@settings(max_examples=15)
def test_memory_is_needed_exactly_if_no_deterministic_policy_is_worth_the_best_history_based_value(
    P,
):
    history = best_history(P, max_beliefs=300, max_backups=50)
    assume(history.exact)
    found = needs_memory(P, ["B"], 1, Limits(seconds=0.05, max_beliefs=300, max_backups=50))
    assert found.needed is (enumerated(P) < history.value)


@given(discounted)
@settings(max_examples=10)
def test_values_never_contradict_the_exact_answer(P):
    limits = Limits(seconds=0.05, max_beliefs=300, max_backups=50)
    asked = gap_closing.GapCloser(P, best_history(P, max_beliefs=300, max_backups=50), limits)
    assume(asked.graph is not None)
    for family in (K(1), B(1), O(1), OA(1)):
        exact = asked.on_beliefs(family)
        values = asked.by_values(family)
        assert values.holds in (exact.holds, None)
        assert values.value <= float(asked.history.value) + asked.margin


def test_rewards_that_cancel_are_rounded_at_their_own_size():
    """-1/10 - 2/10 + 3/10 is 2.8e-17 below zero in floats: the margin is a share of the rewards,
    not of that."""
    tenths = {("end", r): Fraction(1, 10) for r in (-1, -2, 3)} | {("end", 0): Fraction(7, 10)}
    P = small_task("cancelling", lambda s, a: tenths, "s", A=["a"], gamma=Fraction(1, 2))
    assert best_history(P).value == 0
    asked = gap_closing.GapCloser(P, best_history(P), QUICK)
    assert asked.margin >= QUICK.tolerance * 0.6
    assert asked.by_values(K(1)).holds


def test_climbing_finds_what_a_stochastic_policy_is_worth():
    """recall4: 9/16 with the better two actions mixed, against 1/2 for the best deterministic
    policy."""
    P = pomdps.recall4()
    value, policy = gap_closing.climb_by_ascent(P, 2)
    assert value == pytest.approx(9 / 16)
    assert evaluate(P, policy).value == pytest.approx(9 / 16)


# ---------------------------------------------------------------------- how it is said


def test_what_is_known_of_a_family_in_a_word():
    no, yes, open_ = (Attempt("", holds, "") for holds in (False, True, None))
    assert str(InFamily("B", (no, no, yes))) == "2"
    assert str(InFamily("B", (no, open_, yes))) == "<= 2"
    assert str(InFamily("B", (no, no, no))) == "> 2"
    assert str(InFamily("B", (no, open_))) == "? (> 0)"
    assert str(InFamily("B", (open_,))) == "?"


def test_wrong_arguments_are_named():
    P = pomdps.recall4()
    with pytest.raises(WorkbenchError, match="unknown family 'Q'"):
        needs_memory(P, ["Q"])
    with pytest.raises(WrongType, match="up_to is a whole number from 1, not 0"):
        needs_memory(P, up_to=0)


def test_ctrl_c_keeps_what_was_found(monkeypatch):
    ask = gap_closing.encoding_on_beliefs

    def interrupted(P, graph, memory, budget, until):
        if memory.name == "O1":
            raise KeyboardInterrupt
        return ask(P, graph, memory, budget, until)

    monkeypatch.setattr(gap_closing, "encoding_on_beliefs", interrupted)
    *_, found = in_stages(pomdps.recall4(), limits=QUICK)
    assert found.interrupted
    assert [str(family) for family in found.families] == ["1", "1", "> 0", "> 0"]
    assert found.needed is True


# ---------------------------------------------------------------------- the command


def run(*arguments):
    import typer

    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, [*arguments], env={"COLUMNS": "80", "TERM": "dumb"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert all(len(line) <= 80 for line in result.output.splitlines())
    return result.output


def test_the_command_prints_values_verdict_and_memories():
    text = run("t_maze", "--seconds", "0.2")
    words = " ".join(text.split())
    assert "Does t-maze 5 need memory?" in words
    assert "of the whole history 2.12576 policy iteration" in words
    assert "Yes: no memoryless policy is worth as much as the best of the history." in words
    assert "with K(k) none up to K3 is as good" in words
    assert "with OA(k) OA1 is as good as the history" in words
    assert "Looked at k up to 3" in text


def test_the_command_reads_files(tmp_path):
    from workbench.interop.pomdp_file import save_pomdp

    save_pomdp(pomdps.recall4(), tmp_path / "mine.POMDP")
    assert "B1 is as good" in run(str(tmp_path / "mine.POMDP"), "-f", "B", "--seconds", "0.2")


def test_the_command_explores_environments():
    pytest.importorskip("gymnasium")
    text = run("workbench/recall4-v0", "-f", "OA", "--seconds", "0.2")
    assert "OA1 is as good" in text


def test_an_unknown_environment_is_named():
    pytest.importorskip("gymnasium")
    with pytest.raises(WorkbenchError, match="Gymnasium cannot make Nonsense-v3"):
        find_task_or_environment("Nonsense-v3")


def test_no_bound_on_a_memoryless_policy_lies_above_the_best_history_based_value(monkeypatch):
    """A search that is cut short bounds by full information; histories bound better."""
    cut_short = partial(best_memoryless, max_nodes=1)
    monkeypatch.setattr("workbench.sufficiency.needs_memory.best_memoryless", cut_short)
    found = needs_memory(pomdps.hallway_keys(), [], limits=Limits(seconds=0.05))
    assert not found.memoryless.certified
    assert found.memoryless.bound > found.upper  # else this test would say nothing
    assert found.bound_without == found.upper
    _, bound = found.row()["deterministic"].split(" <= ")
    assert float(bound) <= float(found.upper) * (1 + 1e-5)
