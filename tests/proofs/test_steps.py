"""Claims with steps: what a verdict needs, and when a step is known to be needed."""

import pytest

from proofs.ledger import LEDGER, Claim, human, machine, open_, proved, refuted, run
from proofs.ledger.claim import claim

TWO = (machine("low", "n > 0"), machine("high", "n < 10"))


def between(proof, n=5, skip=(), stop=False):
    if "low" not in skip and not proof.step("low", None if n > 0 else f"{n} is too small") and stop:
        raise RuntimeError("what follows needs the step")
    if "high" not in skip:
        proof.step("high", None if n < 10 else f"{n} is too large")
    return proved("five")


def five(steps=TWO, documented="proved", establish=between):
    return Claim("X", "nowhere", "0 < n < 10", documented, establish, steps=steps)


def guarded():
    one = five()
    one.twin("zero", guards="low", n=0)
    one.twin("ten", guards="high", n=10)
    return one


def test_all_steps_hold_and_each_has_a_twin_of_its_own():
    entry = run(guarded())
    assert entry.ok
    assert entry.complaint == ""
    assert entry.shown_steps == "2 steps, all needed"
    assert entry.twins == (("zero", "rejected"), ("ten", "rejected"))


def test_a_step_that_is_not_carried_out_leaves_the_claim_open():
    for key in ("low", "high"):
        found, _ = five().attempt(skip=(key,))
        assert (found.verdict, found.summary) == ("open", f"not carried out: {key}")


def test_a_proof_without_a_step_lets_the_twin_pass_that_guards_it():
    without = five(steps=TWO[:1], establish=lambda proof, n=5: between(proof, n, skip=("high",)))
    without.twin("ten", n=10)
    assert run(without).surviving == ("ten",)
    assert run(without).complaint == "a spoiled twin survives: ten"


def test_a_step_without_a_twin_is_not_known_to_be_needed():
    one = five()
    one.twin("zero", guards="low", n=0)
    entry = run(one)
    assert (entry.idle, entry.ok) == (("high",), False)
    assert entry.complaint == "a step is not shown to be needed: high"
    assert entry.shown_steps == "2 steps, 1 not shown to be needed"


def test_a_twin_that_another_step_catches_guards_nothing():
    one = five()
    one.twin("zero", guards="low", n=0)
    one.twin("minus one", guards="high", n=-1)
    entry = run(one)
    assert entry.astray == ("minus one (caught by low)",)
    assert not entry.ok


def test_a_twin_that_stops_the_code_guards_nothing():
    one = five()
    one.twin("zero", guards="low", n=0, stop=True)
    entry = run(one)
    assert entry.twins == (("zero", "rejected"),)
    assert entry.astray == ("zero (caught by low, what was not reached)",)


def test_errors_before_any_failure_are_errors():
    def broken(proof):
        raise RuntimeError("a mistake in the code")

    with pytest.raises(RuntimeError, match="a mistake"):
        run(five(establish=broken))


def test_a_human_step_makes_a_proof_an_argument():
    steps = (*TWO, human("hence", "therefore"))
    one = five(steps, "argued")
    one.twin("zero", guards="low", n=0)
    one.twin("ten", guards="high", n=10)
    entry = run(one)
    assert (entry.verdict, entry.ok) == ("argued", True)
    assert entry.shown_steps == "2 machine steps, all needed; 1 human"
    for verdict, listed in (("proved", steps), ("argued", TWO)):
        with pytest.raises(ValueError, match="exactly if a step of its proof is human"):
            claim("X.h", place="", statement="", verdict=verdict, steps=listed)


def test_a_refutation_whose_steps_fail_is_open():
    one = five(
        documented="refuted", establish=lambda proof, n=5: between(proof, n) and refuted("x")
    )
    assert one().verdict == "refuted"
    assert one(n=0).verdict == "open"


def test_a_failure_of_the_proof_alone_refutes_nothing():
    def undecided(proof):
        proof.step("low", "the solver gave up", refutes=False)
        proof.step("high")
        return open_("")

    assert five(establish=undecided)().verdict == "open"


def test_steps_have_names_of_their_own_that_the_claim_lists():
    with pytest.raises(ValueError, match="no machine step 'width'"):
        five(establish=lambda proof: proof.step("width"))()
    with pytest.raises(ValueError, match="no machine step 'width'"):
        five().twin("wide", guards="width", n=3)
    with pytest.raises(ValueError, match="the same name"):
        claim("X.t", place="", statement="", verdict="proved", steps=(TWO[0], TWO[0]))
    assert "X.t" not in LEDGER
