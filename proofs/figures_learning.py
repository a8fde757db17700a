"""What the paper says about its learning curves, Figures 2, 3, 4 and 11, judged by runs of one's
own.

Each statement is one or more sentences, taken apart into findings: counts of seeds, a criterion
fixed beforehand, an exact test, all tests of a row corrected for their number
(`workbench.reproduction.judge`, which is also where the statements and their ids have their home).
The runs are those of the record with 100 seeds that were run after the rules had been written and
serve nothing else (`workbench.reproduction.full_runs.JUDGED`); every claim makes some of them
again, bit for bit.

The paper does not say how its actor-critic batches its updates nor where V starts. So a statement
about it is judged under four readings, {window, batch} x {V = 0, V = 1}:

    supported   one reading bears out all its sentences; the row names it
    refuted     every reading contradicts one of them
    open        neither

Figure 4 shows the actor-critic panel of Figure 2 again, so one reading has to serve both:
`S51.fig-shared` says whether one does, by seeds of its own.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import pomdps
from proofs.ledger import (
    LEDGER,
    Claim,
    Evidence,
    Proof,
    claim,
    machine,
    open_,
    refuted,
    supported,
)
from proofs.ledger.prose import table_text, text
from workbench import augment
from workbench.core.learners import QLearning, Sarsa
from workbench.learning.learn import learn
from workbench.learning.run import Run
from workbench.reproduction.full_runs import JUDGED, differing_runs, recorded_results
from workbench.reproduction.judge import (
    HALF,
    SOLVE,
    SOLVE_PAIRS,
    SOLVED,
    STATEMENTS,
    Finding,
    Judgement,
    judge,
    jumps,
)
from workbench.reproduction.paper_figures import FIGURES, Reading, paper_actor_critic
from workbench.reproduction.statistics import ahead, share
from workbench.sweeps.experiment import GREEDY, Method
from workbench.sweeps.results import Results


@dataclass(frozen=True)
class RepeatedRun:
    """A recorded run that is made again: its figure, method, memory and seed."""

    figure: str
    method: Any
    memory: str
    seed: int


@cache
def run_again(one: RepeatedRun) -> Results:
    """The run at the figure's full length."""
    experiment = FIGURES[one.figure]
    length = experiment.length
    assert length is not None
    P = getattr(pomdps, experiment.task)()
    run = learn(
        augment(P, one.memory),
        one.method,
        steps=length.steps,
        seeds=[one.seed],
        every=length.every,
        policies=experiment.measure == GREEDY,
    )
    if experiment.measure == GREEDY:
        run = run.with_values(np.asarray(run.values(gamma=1)))
    pair: tuple[Method, str] = (one.method, one.memory)
    return Results(experiment, {pair: run})


def differs(runs: Iterable[RepeatedRun], shift: int = 0) -> str | None:
    """Which of the runs is not what the record has for its seed (`shift`: for another seed)."""
    for one in runs:
        if found := differing_runs(run_again(one), [one.seed + shift]):
            return f"seed {one.seed} of {found[0]} is not as recorded"
    return None


STEPS = (
    machine("again", "Recorded runs, made again here, are what the record has, bit for bit."),
    machine("findings", "Every sentence is supported by its findings, under one reading."),
)


def judgement_grid(judgements: Sequence[Judgement]) -> str:
    """Each sentence under each reading."""
    lines = []
    for j in judgements:
        readings = j.readings
        for sentence in (*j.sentences, None):
            told = [j.verdict_under(under, sentence) for under in readings]
            lines.append([sentence or "all together", *told])
    readings = judgements[0].readings
    head = ["", *(under.replace(", V = ", " V=") or "verdict" for under in readings)]
    wrapped = [[textwrap.shorten(line[0], 32, placeholder="..."), *line[1:]] for line in lines]
    short = {"supported": "yes", "undecided": "?", "contradicted": "no"}
    return table_text(head, [[line[0], *(short[x] for x in line[1:])] for line in wrapped])


def argument_of(judgements: Sequence[Judgement], runs: str) -> str:
    """The grid, then each finding with its effect and interval."""
    shown = "yes: supported, no: contradicted, ?: undecided (exact tests at 2.5%, Holm)"
    lines = [runs, "", judgement_grid(judgements), f"  {shown}", ""]
    for found, f in ((j, f) for j in judgements for f in j.findings):
        under = f" [{f.under}]" if f.under else ""
        lines += [
            f"{found.verdict_on(f)}{under}: {f.what}",
            f"    {f.estimate.count} of {f.estimate.of}, claimed "
            f"{'above' if f.above else 'below'} {f.bound:g} ({f.measured}); p = "
            f"{f.p_values()[0]:.2g}",
        ]
    return "\n".join(
        line
        if line.startswith("  ") and "\n" in line
        else textwrap.fill(line, 80, subsequent_indent="    ", drop_whitespace=True)
        for line in lines
    )


def length_of(figure: str) -> str:
    """The seeds and steps of a figure, in words."""
    length = FIGURES[figure].length
    assert length is not None
    return (
        f"{len(JUDGED)} seeds, {JUDGED[0]} to {JUDGED[-1]}, of {length.steps:,} steps, run after "
        "the rules were written; late: the last tenth of a run."
    )


def verdict_on(proof: Proof, judgement: Judgement, figure: str, summary: str = "") -> Evidence:
    """The evidence that a judgement is, and the step "findings"."""
    argument = argument_of([judgement], length_of(figure))
    found = {under: judgement.verdict_under(under) for under in judgement.readings}
    yes = [under for under, word in found.items() if word == "supported"]
    against = all(word == "contradicted" for word in found.values())
    trouble = None if yes else _first_against(judgement)
    proof.step("findings", trouble, refutes=against)
    if yes:
        return supported(summary or f"{len(JUDGED)} new seeds{_as_read(yes, len(found))}", argument)
    if against:
        return refuted("contradicted under every reading", argument, counterexample=trouble)
    return open_(summary or "undecided", argument)


def _as_read(yes: list[str], readings: int) -> str:
    """Under which of the readings of actor-critic a sentence is supported, where there are any."""
    if readings == 1:
        return ""
    if len(yes) == readings:
        return ", however actor-critic is read"
    return f", with actor-critic read as {' / '.join(yes)}"


def _first_against(judgement: Judgement) -> str:
    order = {"contradicted": 0, "undecided": 1, "supported": 2}
    worst: Finding = min(judgement.findings, key=lambda f: order[judgement.verdict_on(f)])
    under = f" ({worst.under})" if worst.under else ""
    return f"{worst.what}{under}: {worst.estimate.count} of {worst.estimate.of}"


def figure_claim(
    id: str,
    figure: str,
    again: tuple[RepeatedRun, ...],
    summary: Callable[[Judgement], str] = lambda judgement: "",
) -> Claim:
    """Register the claim that a statement about a figure is supported by the record of its runs.

    Its code is the same for all: some recorded runs are made again (`shift`: compared with another
    seed's), then the statement, or what is changed of it, is judged.

    Parameters
    ----------
    id : of the statement, which is in `workbench.reproduction.judge.STATEMENTS`.
    again : the runs that are made again.
    summary : the evidence in a few words; by default the readings that bear the statement out.
    """

    @claim(
        id,
        place=STATEMENTS[id].place,
        statement=STATEMENTS[id].words,
        verdict="supported",
        steps=STEPS,
    )
    def judged(proof: Proof, shift: int = 0, **changes: Any) -> Evidence:
        proof.step("again", differs(again, shift), refutes=False)
        found = judge(id, recorded_results(figure, judged=True), **changes)
        return verdict_on(proof, found, figure, summary(found))

    judged.twin("the record of another seed", guards="again", shift=1)
    return judged


# ---------------------------------------------------------------------- Figure 2

BATCH_1 = Reading("batch", 1)
WINDOW_0 = Reading("window", 0)

FIGURE_2_AGAIN = (
    RepeatedRun("fig2", paper_actor_critic(5, BATCH_1), "K1", JUDGED[3]),
    RepeatedRun("fig2", QLearning(), "O1", 0),
)

fig_gravity = figure_claim("S4.fig-gravity", "fig2", FIGURE_2_AGAIN)
fig_gravity.twin("O1 not solved consistently", guards="findings", fail=("B1", "O1"))
fig_gravity.twin("K1 in the place of O1", guards="findings", solve=("K1",), below=("B1",))

fig_better = figure_claim("S51.fig-better", "fig2", FIGURE_2_AGAIN)
fig_better.twin("B1 better than O1", guards="findings", above=("B1",), below=("O1",))


# ---------------------------------------------------------------------- Figure 3

FIGURE_3_AGAIN = (
    RepeatedRun("fig3", QLearning(), "OA1", 0),
    RepeatedRun("fig3", QLearning(), "B2", JUDGED[7]),
)


WHY_THEY_JUMP = text(
    "Why runs do not stay: no policy that earns anything is a fixed point of Q-learning, for any "
    "epsilon and gamma (S5.settle-worth). The only fixed point with OA1 earns nothing and leads by "
    "too little to hold a run whose steps are 0.1; with B2 there is none (S5.settle). How often a "
    "run is where at such steps is what the seeds measure; with smaller ones it stays longer at "
    "the worthless fixed point (S5.small-steps).",
)


@claim(
    "S5.fig-jumps",
    place=STATEMENTS["S5.fig-jumps"].place,
    statement=STATEMENTS["S5.fig-jumps"].words,
    verdict="supported",
    steps=STEPS,
)
def fig_jumps(proof: Proof, shift: int = 0, memories: tuple[str, ...] = ("OA1", "B2")) -> Evidence:
    """The greedy policy every 10,000 steps, over the second half of the run."""
    proof.step("again", differs(FIGURE_3_AGAIN, shift), refutes=False)
    results = recorded_results("fig3", judged=True)
    told = []
    for memory in ("OA1", "B2"):
        both = jumps(results[QLearning(), memory].measured, results.experiment.optimum)
        told.append(f"{memory} {int(both.sum())} of {len(both)}")
    if "OA2" in memories:  # a twin: a memory without shortcuts, which the figure does not show
        pairs: tuple[tuple[Method, str], ...] = ((QLearning(), "OA2"),)
        results = Results(results.experiment, {pair: _settled(results) for pair in pairs})
    found = judge("S5.fig-jumps", results, memories=memories)
    evidence = verdict_on(proof, found, "fig3", f"seeds jump: {', '.join(told)}")
    return replace(evidence, argument=f"{evidence.argument}\n\n{WHY_THEY_JUMP}")


def _settled(results: Results) -> Run:
    """30 short runs with OA2, in the place of full ones."""
    length = 500_000
    E = augment(pomdps.recall(), "OA2")
    run = learn(E, QLearning(), steps=length, seeds=30, every=10_000)
    return run.with_values(np.asarray(run.values(gamma=1)))


fig_jumps.twin("the record of another seed", guards="again", shift=1)
fig_jumps.twin("OA2, which has no shortcuts", guards="findings", memories=("OA2",))


b2_is_less_stable = figure_claim(
    "S51.b2-unstable",
    "fig3",
    FIGURE_3_AGAIN,
    lambda found: (
        f"B2 switches {found.findings[0].what.partition('(')[2].rstrip(')')} as OA1 "
        f"({len(JUDGED)} new seeds)"
    ),
)
"""That the number of shortcuts is the reason is not shown by this."""
b2_is_less_stable.twin("OA1 less stable than B2", guards="findings", less="B2", more="OA1")


# ---------------------------------------------------------------------- Figure 4

FIGURE_4_AGAIN = (
    RepeatedRun("fig4", paper_actor_critic(20, BATCH_1), "B1", 1),
    RepeatedRun("fig4", paper_actor_critic(5, WINDOW_0), "O2", JUDGED[2]),
)

fig_gravity2 = figure_claim("S51.fig-gravity2", "fig4", FIGURE_4_AGAIN)
fig_gravity2.twin("5 steps superior to 20", guards="findings", better=5, worse=20)
fig_gravity2.twin(
    "OA1 better than OA2, O2 better than O1",
    guards="findings",
    pairs=(("O1", "O2"), ("OA2", "OA1")),
)


SHARED = range(6000, 6200)
"""Seeds for S51.fig-shared alone. An earlier wording of it was narrowed to what the seeds `JUDGED`
bear out. So these were run after the rule below had been written; whatever they say stands.

The statement has four findings, one for each reading: what contradicts a sentence on Figure 2 or 4.
All four are tested at 2.5%, corrected for their number (Holm). The claim is supported if all hold,
refuted if the other side of one does, and else open.
"""

SHARED_FINDINGS = (
    (Reading("window", 0), "K1", "O1"),
    (Reading("window", 1), "K1", "O1"),
    (Reading("batch", 0), "", "O1"),
    (Reading("batch", 1), "OA1", "OA2"),
)
"""A reading, a memory, and one that it outperforms; without the first: one that is not solved."""

SHARED_RECORD = Path(__file__).with_name("shared_panel.json")


def late_rewards(reading: Reading, memory: str, seeds: Iterable[int]) -> list[int]:
    """The rewards of 5-step actor-critic on gravity in the last tenth of a run, by seed."""
    length = FIGURES["fig4"].length
    assert length is not None
    run = learn(
        augment(pomdps.gravity(), memory),
        paper_actor_critic(5, reading),
        steps=length.steps,
        seeds=list(seeds),
        every=length.steps // 10,
    )
    return [int(x) for x in run.rewards[:, -1]]


def record_shared() -> None:
    """Make all runs of the four findings and write the record."""
    found = {
        f"{reading}: {memory}": late_rewards(reading, memory, SHARED)
        for reading, *memories in SHARED_FINDINGS
        for memory in memories
        if memory
    }
    SHARED_RECORD.write_text(json.dumps(found) + "\n", encoding="utf-8")


@cache
def recorded_shared() -> dict[str, list[int]]:
    """The record, by reading and memory."""
    found: dict[str, list[int]] = json.loads(SHARED_RECORD.read_text(encoding="utf-8"))
    return found


def shared_findings(turned: str = "") -> tuple[Finding, ...]:
    """For each reading, what contradicts a sentence on Figure 2 or 4. `turned`: the reading under
    which the opposite is said."""
    length = FIGURES["fig4"].length
    assert length is not None
    enough = SOLVED * FIGURES["fig4"].optimum * (length.steps // 10) / 100
    found = []
    for reading, better, worse in SHARED_FINDINGS:
        under = str(reading)
        solved = {
            memory: np.array(recorded_shared()[f"{under}: {memory}"]) > enough
            for memory in (better, worse)
            if memory
        }
        if better:
            more, less = (worse, better) if under == turned else (better, worse)
            what, estimate = f"{more} outperforms {less}", ahead(solved[more], solved[less])
            measured, above = SOLVE_PAIRS, True
        else:
            what = f"{worse} does {'' if under == turned else 'not '}solve gravity"
            estimate, measured, above = share(solved[worse]), SOLVE, under == turned
        told = f"5-step actor-critic: {what} ({under})"
        found.append(Finding(f"{under}: {what}", told, "", estimate, measured, above, HALF))
    return tuple(found)


SHARED_AGAIN = ((BATCH_1, "OA1", SHARED[0]), (WINDOW_0, "O1", SHARED[11]))


@cache
def shared_again() -> tuple[int, ...]:
    """What these runs give."""
    return tuple(late_rewards(reading, memory, [seed])[0] for reading, memory, seed in SHARED_AGAIN)


@claim(
    "S51.fig-shared",
    place="Sec. 4 and 5.1, Fig. 2 and 4",
    statement="No reading of actor-critic, {window, batch} x {V = 0, V = 1}, bears out both "
    "Figure 2 and Figure 4, which share a panel. With windows K1 outperforms O1 (with V = 0 on "
    "the few pairs of seeds that differ). With batches and V = 0 O1 does not solve gravity. With "
    "batches and V = 1 OA1 outperforms OA2.",
    verdict="supported",
    steps=(
        STEPS[0],
        machine("contradicted", "Under each reading a sentence on Fig. 2 or 4 is contradicted."),
    ),
)
def fig_shared(proof: Proof, shift: int = 0, turned: str = "") -> Evidence:
    """One finding for each reading, by exact tests of the seeds `SHARED`, corrected for all
    four."""
    wrong = [
        f"seed {seed} with {memory} ({reading}) is not as recorded"
        for (reading, memory, seed), rewards in zip(SHARED_AGAIN, shared_again(), strict=True)
        if recorded_shared()[f"{reading}: {memory}"][seed - SHARED[0] + shift] != rewards
    ]
    proof.step("again", wrong[0] if wrong else None, refutes=False)
    one = LEDGER["S51.fig-shared"]
    found = Judgement(one.id, one.place, one.statement, shared_findings(turned))
    trouble = None if found.is_supported() else _first_against(found)
    against = "contradicted" in {found.verdict_on(f) for f in found.findings}
    proof.step("contradicted", trouble, refutes=against)
    runs = (
        f"{len(SHARED)} seeds, {SHARED[0]} to {SHARED[-1]}, of 4,000,000 steps, run after the rule "
        "of this claim was written. Who wrote it knew what the seeds of S4.fig-gravity say: an "
        "earlier wording had been narrowed to them."
    )
    argument = argument_of([found], runs)
    if trouble:
        return open_("undecided", argument)
    pairs = ", ".join(f"{f.estimate.count} of {f.estimate.of}" for f in found.findings)
    return supported(
        f"{len(SHARED)} new seeds; each reading contradicts a sentence: {pairs}", argument
    )


fig_shared.twin("the record of another seed", guards="again", shift=1)
fig_shared.twin("O1 outperforms K1 (window)", guards="contradicted", turned="window, V = 1")
fig_shared.twin("O1 solves gravity (batch)", guards="contradicted", turned="batch, V = 0")


# ---------------------------------------------------------------------- Figure 11

FIGURE_11_AGAIN = (
    RepeatedRun("fig11", Sarsa(lam=0.5), "O1", 0),
    RepeatedRun("fig11", Sarsa(lam=1.0), "B1", 4),
    RepeatedRun("fig11", Sarsa(lam=0.5), "OA1", JUDGED[0]),
)

fig_sarsa = figure_claim("D6.fig-sarsa", "fig11", FIGURE_11_AGAIN)
fig_sarsa.twin("OA1 steadier than O1", guards="findings", stable=(0.5, "OA1"))
fig_sarsa.twin("Sarsa(1) with OA1 the most stable", guards="findings", stable=(1.0, "OA1"))

fig_favour = figure_claim("S53.favour", "fig11", FIGURE_11_AGAIN)
fig_favour.twin("B1 favoured over O1", guards="findings", above="B1", below=("O1",))
