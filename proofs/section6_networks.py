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

from proofs.ledger import Claim, Evidence, claim, open_, refuted, supported
from proofs.ledger.prose import table_text
from workbench.reproduction.neural_cells import NeuralCell, cells_by_memory, read_cells
from workbench.reproduction.neural_figures import NEURAL_FIGURES, NeuralFigure
from workbench.reproduction.neural_judge import SENTENCES, Standing, table_rows


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
        corrected_by=corrected_by,
    )
    def judged(imagined: tuple[float, float] | None = None) -> Evidence:
        """The rule of the sentence on the recorded cells, or on imagined ones."""
        cells: Mapping[str, Sequence[NeuralCell]] = cells_by_memory(about, read_cells())
        if imagined is not None:
            cells = imagined_cells(about, *imagined)
        stand = {name: Standing.of(own, about) for name, own in cells.items()}
        rows = [list(row) for row in table_rows(about, cells)]
        head = ["memory", "seeds", "reward", "solved", "exact values", "success"]
        argument = f"{len(about.seeds)} seeds in full.\n\n{table_text(head, rows)}"
        counts = ", ".join(f"{name} {sum(x.solved)}/{len(x.final)}" for name, x in stand.items())
        summary = f"seeds solved: {counts}"
        said = known.judge(stand, len(about.seeds))
        if said == "supported":
            return supported(summary, argument)
        if said == "contradicted":
            return refuted(summary, argument, counterexample=counts)
        return open_(summary, argument)

    return judged


def imagined_cells(
    figure: NeuralFigure, ours: float, others: float
) -> Mapping[str, Sequence[NeuralCell]]:
    """Ten seeds of each memory that end with these shares of the best: of O and OA, of others."""
    base = NeuralCell("", 0, figure.steps, 0, 0, 0, (), (None,), None, None, None)

    def row(name: str) -> list[NeuralCell]:
        share = ours if name.startswith("O") else others
        # no two alike: ranks are exact without ties
        ends = [figure.optimum * share + 1e-6 * k for k in range(10)]
        return [replace(base, seed=100 + k, final=x, area=x) for k, x in enumerate(ends)]

    return {name: row(name) for name in figure.learners}


# ---------------------------------------------------------------------- RedBlueDoors

doors_best = network_claim("S6.doors-best", "S6.minigrid-best", "fig6-doors", "open")
doors_best.twin("O and OA fail, the others do not", imagined=(0.1, 0.9))

doors_all = network_claim("S6.doors-all", "S6.minigrid-all", "fig6-doors", "open")
doors_all.twin("O and OA fail", imagined=(0.1, 0.9))

doors_lstm = network_claim("S6.doors-lstm", "S6.minigrid-lstm", "fig6-doors", "open")
doors_lstm.twin("every run of the LSTM is good", imagined=(0.9, 0.9))

doors_efficient = network_claim("S6.doors-efficient", "S1.efficient", "fig6-doors", "open")
doors_efficient.twin("the LSTM learns sooner", imagined=(0.1, 0.9))

doors_outperform = network_claim("S6.doors-outperform", "S7.outperform", "fig6-doors", "open")
doors_outperform.twin("the LSTM ends higher", imagined=(0.1, 0.9))
