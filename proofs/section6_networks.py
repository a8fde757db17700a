"""Section 6 and what Sections 1 and 7 say of it: networks with memories and with an LSTM.

Each row is a sentence about one task of Figure 6, judged by the record of its cells
(`workbench/reproduction/neural_cells.jsonl`) and by a rule that was written before they were run
(`docs/section-6-rules.md`, `workbench.reproduction.neural_judge`). It holds for the settings that
the search chose and for the length of the figure, and says nothing about other settings: the
paper's are `workbench reproduce FIGURE --settings paper`. A cell is made again by its seed:
`workbench reproduce fig6-doors`; that takes the extra `deep` and is not done here.

    supported   the rule says supported
    refuted     the rule says contradicted
    open        the rule says neither
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from proofs.ledger import Claim, Evidence, Proof, claim, machine, open_, refuted, supported
from proofs.ledger.prose import table_text
from workbench.reproduction.neural_cells import NeuralCell, cells_by_memory, read_cells
from workbench.reproduction.neural_figures import LSTM, NEURAL_FIGURES, NeuralFigure
from workbench.reproduction.neural_judge import SENTENCES, judge_neural, table_rows
from workbench.reproduction.neural_settings import found_settings, read_log

RecordedCells = Mapping[str, Sequence[NeuralCell]]

STEPS = (
    machine("chosen", "The settings of all cells are what the search chose, on other seeds."),
    machine("rule", "The rule, applied to the cells, says what this row says."),
)

WORDS = {"supported": "supported", "refuted": "contradicted", "open": "undecided"}
"""What the rule says, by the verdict of a row."""


def network_claim(
    id: str, sentence: str, figure: str, verdict: str, corrected_by: str | None = None
) -> Claim:
    """Register a sentence about a figure.

    Parameters
    ----------
    sentence : its id in `workbench.reproduction.neural_judge.SENTENCES`.
    verdict : what the record says at present.
    """
    known, about = SENTENCES[sentence], NEURAL_FIGURES[figure]

    @claim(
        id,
        place=f"{known.place}, {about.place}",
        statement=f"{about.title}: {known.text} (Our settings, {about.steps:,} steps.)",
        verdict=verdict,
        steps=STEPS,
        corrected_by=corrected_by,
    )
    def judged(
        proof: Proof, searched: bool = True, imagined: tuple[float, float] | None = None
    ) -> Evidence:
        """The rule of the sentence on the recorded cells, or on imagined ones."""
        cells: RecordedCells = cells_by_memory(about, read_cells())
        if imagined is not None:
            cells = imagined_cells(about, *imagined)
        proof.step("chosen", unsearched(about, cells, searched), refutes=False)
        found = next(x for x in judge_neural(about, cells) if x.sentence is known)
        proof.step("rule", None if found.verdict == WORDS[verdict] else f"it says {found.verdict}")
        rows = [list(row) for row in table_rows(about, cells)]
        head = ["memory", "seeds", "reward", "solved", "exact values", "success"]
        argument = f"{found.budget}.\n\n{table_text(head, rows)}"
        summary = ", ".join(f"{row[0]} {row[3].split(' (')[0]} of {row[1]}" for row in rows)
        if verdict == "supported":
            return supported(f"solved: {summary}", argument)
        if verdict == "refuted":
            return refuted(f"solved: {summary}", argument, counterexample=summary)
        return open_(f"solved: {summary}", argument)

    judged.twin("settings that were not searched for", guards="chosen", searched=False)
    return judged


def unsearched(figure: NeuralFigure, cells: RecordedCells, searched: bool = True) -> str | None:
    """Which memory has cells but no settings from a finished search; None if all have."""
    rows = read_log() if searched else []
    shared = [name for name in figure.learners if name != LSTM]
    for name, own in cells.items():
        group = [LSTM] if name == LSTM else shared
        if own and found_settings(figure.id, group, rows) is None:
            return f"{name} was run with settings of an unfinished search"
    return None


def imagined_cells(figure: NeuralFigure, ours: float, others: float) -> RecordedCells:
    """Ten seeds of each memory that end with these shares of the best: of O and OA, of others."""
    base = NeuralCell("", 0, figure.steps, 0, 0, 0, (), (None,), None, None, None)

    def row(name: str) -> list[NeuralCell]:
        share = ours if name.startswith("O") else others
        # no two alike: ranks are exact without ties
        ends = [figure.optimum * share + 1e-6 * k for k in range(10)]
        return [replace(base, seed=100 + k, final=x, area=x) for k, x in enumerate(ends)]

    return {name: row(name) for name in figure.learners}
