"""What the paper says about its learning curves, Figures 2, 3, 4 and 11, judged by runs of one's
own.

Each statement is one or more sentences, taken apart into findings with a criterion fixed beforehand
and a 95% interval over 30 seeds (`workbench.reproduction.judge`, which is also where the statements
and their ids have their home). The runs are those of the record
(`workbench.reproduction.full_runs`); every claim makes some of them again, bit for bit, and
`workbench reproduce` makes all of them.

The paper does not say how its actor-critic batches its updates nor where V starts. So a statement
about it is judged under four readings, {window, batch} x {V = 0, V = 1}:

    supported   one reading bears out all its sentences; the row names it
    refuted     every reading contradicts one of them
    open        neither

Figure 4 shows the actor-critic panel of Figure 2 again, so one reading has to serve both:
`S51.fig-shared` says whether one does.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import pomdps
from proofs.ledger import Claim, Evidence, Proof, claim, machine, open_, refuted, supported
from proofs.ledger.prose import table_text, text
from workbench import augment
from workbench.core.learners import QLearning, Sarsa
from workbench.learning.learn import learn
from workbench.learning.run import Run
from workbench.reproduction.fresh_seeds import fresh_difference
from workbench.reproduction.full_runs import FRESH, differing_runs, recorded_results
from workbench.reproduction.judge import STATEMENTS, Finding, Judgement, judge, jumps
from workbench.reproduction.paper_figures import FIGURES, READINGS, Reading, paper_actor_critic
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
    wrapped = [[textwrap.shorten(line[0], 34, placeholder="..."), *line[1:]] for line in lines]
    short = {"supported": "yes", "undecided": "?", "contradicted": "no"}
    return table_text(head, [[line[0], *(short[x] for x in line[1:])] for line in wrapped])


def argument_of(judgements: Sequence[Judgement], runs: str) -> str:
    """The grid, then each finding with its effect and interval."""
    shown = "yes: supported, no: contradicted, ?: undecided (95% intervals)"
    lines = [runs, "", judgement_grid(judgements), f"  {shown}", ""]
    for f in (f for j in judgements for f in j.findings):
        under = f" [{f.under}]" if f.under else ""
        lines += [
            f"{f.verdict}{under}: {f.what}",
            f"    {f.estimate.effect:.3f} [{f.estimate.low:.3f}, {f.estimate.high:.3f}], claimed "
            f"{'above' if f.above else 'below'} {f.bound:g} ({f.measured})",
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
    return f"{length.seeds} seeds of {length.steps:,} steps; late: the last tenth of a run."


def verdict_on(proof: Proof, judgement: Judgement, figure: str, summary: str = "") -> Evidence:
    """The evidence that a judgement is, and the step "findings"."""
    argument = argument_of([judgement], length_of(figure))
    found = {under: judgement.verdict_under(under) for under in judgement.readings}
    yes = [under for under, word in found.items() if word == "supported"]
    against = all(word == "contradicted" for word in found.values())
    trouble = None if yes else _first_against(judgement)
    proof.step("findings", trouble, refutes=against)
    if yes:
        under = "every reading" if len(yes) == len(found) else " / ".join(yes)
        return supported(summary or f"30 seeds: {under}", argument)
    if against:
        return refuted("contradicted under every reading", argument, counterexample=trouble)
    return open_(summary or "undecided", argument)


def _first_against(judgement: Judgement) -> str:
    order = {"contradicted": 0, "undecided": 1, "supported": 2}
    worst: Finding = min(judgement.findings, key=lambda f: order[f.verdict])
    e = worst.estimate
    under = f" ({worst.under})" if worst.under else ""
    return f"{worst.what}{under}: {e.effect:.2f} [{e.low:.2f}, {e.high:.2f}]"


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
        found = judge(id, recorded_results(figure), **changes)
        return verdict_on(proof, found, figure, summary(found))

    judged.twin("the record of another seed", guards="again", shift=1)
    return judged


# ---------------------------------------------------------------------- Figure 2

BATCH_1 = Reading("batch", 1)
WINDOW_0 = Reading("window", 0)

FIGURE_2_AGAIN = (
    RepeatedRun("fig2", paper_actor_critic(5, BATCH_1), "K1", 3),
    RepeatedRun("fig2", QLearning(), "O1", 0),
)

fig_gravity = figure_claim("S4.fig-gravity", "fig2", FIGURE_2_AGAIN)
fig_gravity.twin("K1 not solved consistently", guards="findings", fail=("B1", "K1"))
fig_gravity.twin("K1 in the place of O1", guards="findings", solve=("K1",), below=("B1",))

fig_better = figure_claim("S51.fig-better", "fig2", FIGURE_2_AGAIN)
fig_better.twin("B1 better than O1", guards="findings", above=("B1",), below=("O1",))


# ---------------------------------------------------------------------- Figure 3

FIGURE_3_AGAIN = (
    RepeatedRun("fig3", QLearning(), "OA1", 0),
    RepeatedRun("fig3", QLearning(), "B2", 7),
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
    results = recorded_results("fig3")
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
    lambda found: f"30 seeds, {found.findings[0].what.partition('(')[2].rstrip(')')}",
)
"""That the number of shortcuts is the reason is not shown by this."""
b2_is_less_stable.twin("OA1 less stable than B2", guards="findings", less="B2", more="OA1")


# ---------------------------------------------------------------------- Figure 4

FIGURE_4_AGAIN = (
    RepeatedRun("fig4", paper_actor_critic(20, BATCH_1), "B1", 1),
    RepeatedRun("fig4", paper_actor_critic(5, WINDOW_0), "O2", 2),
)

fig_gravity2 = figure_claim("S51.fig-gravity2", "fig4", FIGURE_4_AGAIN)
fig_gravity2.twin("5 steps superior to 20", guards="findings", better=5, worse=20)
fig_gravity2.twin(
    "OA1 better than OA2, O2 better than O1",
    guards="findings",
    pairs=(("O1", "O2"), ("OA2", "OA1")),
)


@claim(
    "S51.fig-shared",
    place="Sec. 4 and 5.1, Fig. 2 and 4",
    statement="No reading of actor-critic, {window, batch} x {V = 0, V = 1}, bears out at once "
    "what is said about Figure 2 and about Figure 4, which share a panel: under each one a "
    "sentence is contradicted.",
    verdict="supported",
    steps=(
        STEPS[0],
        machine("contradicted", "Under each reading a sentence on Fig. 2 or 4 is contradicted."),
    ),
)
def fig_shared(proof: Proof, shift: int = 0, only: str = "") -> Evidence:
    """The statements of both figures under each reading; `only`: of one of them."""
    proof.step("again", differs((*FIGURE_2_AGAIN[:1], *FIGURE_4_AGAIN[:1]), shift), refutes=False)
    found = [
        judge(id, recorded_results(figure))
        for id, figure in (("S4.fig-gravity", "fig2"), ("S51.fig-gravity2", "fig4"))
        if id != only
    ]
    left = [
        str(reading)
        for reading in READINGS
        if not any(j.verdict_under(str(reading)) == "contradicted" for j in found)
    ]
    proof.step("contradicted", f"not contradicted: {', '.join(left)}" if left else None)
    return supported("each of the four contradicts one", argument_of(found, length_of("fig4")))


fig_shared.twin("the record of another seed", guards="again", shift=1)
fig_shared.twin("Figure 4 alone", guards="contradicted", only="S4.fig-gravity")
fig_shared.twin("Figure 2 alone", guards="contradicted", only="S51.fig-gravity2")


# ---------------------------------------------------------------------- Figure 11

FIGURE_11_AGAIN = (
    RepeatedRun("fig11", Sarsa(lam=0.5), "O1", 0),
    RepeatedRun("fig11", Sarsa(lam=1.0), "B1", 4),
    RepeatedRun("fig11", Sarsa(lam=0.5), "OA1", FRESH[0]),
)


@claim(
    "D6.fig-sarsa",
    place=STATEMENTS["D6.fig-sarsa"].place,
    statement=STATEMENTS["D6.fig-sarsa"].words,
    verdict="supported",
    steps=(
        STEPS[0],
        machine("findings", "Every sentence is supported, one comparison left aside."),
        machine("fresh", "That one, O1 the steadier of O1 and OA1 at 0.5, by 120 fresh seeds."),
    ),
)
def fig_sarsa(proof: Proof, shift: int = 0, calm: str = "O1", **changes: Any) -> Evidence:
    """30 seeds leave it undecided whether O1 or OA1 is the steadier with lambda = 0.5; seeds 30 to
    149 were run for that alone. `calm`: the one said to be the steadier."""
    proof.step("again", differs(FIGURE_11_AGAIN, shift), refutes=False)
    found = judge("D6.fig-sarsa", recorded_results("fig11"), **changes)
    wild = "OA1" if calm == "O1" else "O1"
    asked = f"Sarsa(0.5) with {wild} is less steady than Sarsa(0.5) with {calm}"
    settled = next((f for f in found.findings if f.what == asked), found.findings[-1])
    settled = replace(settled, what=f"{asked} (fresh seeds)", estimate=fresh_difference(wild, calm))
    e = settled.estimate
    trouble = None if e.low > 0 else f"{asked}: {e.effect:.3f} [{e.low:.3f}, {e.high:.3f}]"
    proof.step("fresh", trouble, refutes=False)
    aside = "Sarsa(0.5) with OA1 is less steady than Sarsa(0.5) with O1"
    others = tuple(f for f in found.findings if f.what != aside)
    evidence = verdict_on(proof, replace(found, findings=others), "fig11")
    shown = argument_of(
        [replace(found, findings=(*others, settled))],
        f"{length_of('fig11')} For O1 against OA1 at 0.5: {len(FRESH)} fresh seeds.",
    )
    return replace(evidence, summary="30 seeds, and 120 for O1 against OA1", argument=shown)


fig_sarsa.twin("the record of another seed", guards="again", shift=1)
fig_sarsa.twin("OA1 steadier than O1", guards="fresh", calm="OA1")
fig_sarsa.twin("Sarsa(1) with OA1 the most stable", guards="findings", stable=(1.0, "OA1"))
