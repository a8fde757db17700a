"""Section 6 and what Sections 1 and 7 say of it: networks with memories and with an LSTM.

A row is a figure: what the record of its cells (`workbench/reproduction/neural_cells.jsonl`) says
of each sentence of the paper, by rules that were written before the cells were run
(`docs/section-6-rules.md`, `workbench.reproduction.neural_judge`). It holds for the settings that
the search chose and for the length of the figure, and says nothing about other settings: the
paper's are `workbench reproduce FIGURE --settings paper`. A cell is made again by its seed:
`workbench reproduce fig6-doors`; that takes the extra `deep` and is not done here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from proofs.ledger import Evidence, Proof, claim, machine, open_, supported
from proofs.ledger.prose import table_text
from workbench.reproduction.neural_cells import NeuralCell, cells_by_memory, read_cells
from workbench.reproduction.neural_figures import LSTM, NEURAL_FIGURES, NeuralFigure
from workbench.reproduction.neural_judge import judge_neural, table_rows
from workbench.reproduction.neural_settings import found_settings, read_log

RecordedCells = Mapping[str, Sequence[NeuralCell]]

SAID = {
    "fig6-doors": {
        "S6.minigrid-best": "supported",
        "S6.minigrid-all": "supported",
        "S6.minigrid-lstm": "supported",
        "S1.efficient": "undecided",
        "S7.outperform": "supported",
    },
    "fig6-memory": {
        "S6.minigrid-best": "contradicted",
        "S6.minigrid-all": "contradicted",
        "S6.minigrid-lstm": "supported",
        "S1.efficient": "undecided",
        "S7.outperform": "contradicted",
    },
    "fig6-cookie": {
        "S6.hallway-lstm": "contradicted",
        "S6.hallway-solved": "supported",
        "S1.efficient": "supported",
        "S7.outperform": "supported",
    },
    "fig6-keys": {
        "S6.hallway-lstm": "contradicted",
        "S6.hallway-solved": "supported",
        "S1.efficient": "supported",
        "S7.outperform": "supported",
    },
    "fig12-doors": {
        "D6.ddqn": "not learned with 3 settings",
        "D6.td": "not learned with 3 settings",
    },
    "fig12-cookie": {
        "D6.ddqn": "not learned with 3 settings",
        "D6.td": "not learned with 3 settings",
    },
    "fig12-memory": {"D6.ddqn": "undecided", "D6.td": "supported"},
}
"""What the record says, by the figures and the ids of the sentences."""

OF_O_AND_OA = ("S6.hallway-solved", "S1.efficient", "S7.outperform")
"""What the paper says of O6 and OA6 in the hallway. What it says of the LSTM has rows of its
own."""

OF_LSTM = ("S6.hallway-lstm",)

STEPS = (
    machine("chosen", "The settings of all cells are what the search chose, on other seeds."),
    machine("rules", "Each rule, applied to the recorded cells, says what is listed."),
)


Twin = tuple[str, tuple[float, float]]
"""A false variant in words, and the shares of the best at which O and OA, and the others, end."""

GOOD: Twin = ("O and OA good, the others not", (0.9, 0.1))
BAD: Twin = ("the others good, O and OA not", (0.1, 0.9))
HALF: Twin = ("O and OA half learned, the others good", (0.5, 0.9))
NO_LSTM: Twin = ("an LSTM that learns nothing", (0.9, 0.0))


def row(
    id: str,
    figure: str,
    *twins: Twin,
    place: str,
    statement: str,
    verdict: str,
    only: Sequence[str] | None = None,
) -> None:
    """Register what the record says of a figure as a row of the ledger.

    Parameters
    ----------
    twins : cells that would say something else.
    only : the ids of the sentences; None for all of the figure.
    """

    @claim(id, place=place, statement=statement, verdict=verdict, steps=STEPS)
    def judge(
        proof: Proof, searched: bool = True, imagined: tuple[float, float] | None = None
    ) -> Evidence:
        """The rules on the recorded cells of a figure, or on imagined ones."""
        return judged(proof, figure, searched, imagined, only)

    judge.twin("settings that were not searched for", guards="chosen", searched=False)
    for what, shares in twins:
        judge.twin(what, guards="rules", imagined=shares)


row(
    "S6.doors",
    "fig6-doors",
    GOOD,
    BAD,
    place="Sec. 6, Fig. 6",
    statement="RedBlueDoors, PPO with our settings, 30 seeds, by rules written before the runs. "
    "O3 and OA3 perform best, are good on all runs (29 of 30 each) and end higher than the LSTM. "
    "About half of the LSTM's runs are poor (10 of 30). Whether they need fewer steps than an "
    "LSTM stays undecided.",
    verdict="supported",
)

row(
    "S6.memory",
    "fig6-memory",
    GOOD,
    BAD,
    place="Sec. 6, Fig. 6",
    statement="MemoryS7, PPO with our settings, 30 seeds (the LSTM 10), by rules written before "
    "the runs. It is contradicted that O3 and OA3 perform best and are good on all runs (20 and "
    "10 of 30 are, and K3 is on all and better). It is contradicted that both end higher than an "
    "LSTM (it ends higher than OA3). About half of the LSTM's runs being poor is supported (2 of "
    "10: the interval holds a half). Whether they need fewer steps than an LSTM stays undecided.",
    verdict="open",
)

row(
    "S6.cookie",
    "fig6-cookie",
    HALF,
    BAD,
    place="Sec. 6, Fig. 6",
    statement="Hallway cookie, PPO with our settings, by rules written before the runs: 30 seeds "
    "of O6 and OA6, 10 of the other memories and of the LSTM. PPO with O6 and OA6 solves the "
    "hallway: 30 and 29 seeds end above 80% of the best pace, at 2.0 cookies in 100 time steps on "
    "average, the best being 2.2. Both are more sample efficient than the LSTM and outperform it. "
    "One search with the same candidates chose the settings of the memories and of the LSTM; their "
    "discount is 0.999 and their lambda 0.99.",
    verdict="supported",
    only=OF_O_AND_OA,
)

row(
    "S6.cookie-lstm",
    "fig6-cookie",
    NO_LSTM,
    place="Sec. 6, Fig. 6",
    statement="Hallway cookie, PPO with an LSTM and our settings, 10 of 30 seeds, by rules "
    "written before the runs. It is contradicted that it does no better than at random: five seeds "
    "of ten learn, and two of them solve the task.",
    verdict="open",
    only=OF_LSTM,
)

row(
    "S6.keys",
    "fig6-keys",
    HALF,
    BAD,
    place="Sec. 6, Fig. 6",
    statement="Hallway keys, PPO with our settings, by rules written before the runs: 30 seeds of "
    "O6 and OA6, 10 of the other memories and of the LSTM. PPO with O6 and OA6 solves the task: 26 "
    "and 27 seeds end above 80% of the best pace, at 1.3 coffees in 100 time steps on average, the "
    "best being 1.5. Both are more sample efficient than the LSTM and outperform it. The settings "
    "come from a search like that of S6.cookie.",
    verdict="supported",
    only=OF_O_AND_OA,
)

row(
    "S6.keys-lstm",
    "fig6-keys",
    NO_LSTM,
    place="Sec. 6, Fig. 6",
    statement="Hallway keys, PPO with an LSTM and our settings, 10 of 30 seeds, by rules written "
    "before the runs. It is contradicted that it does no better than at random: six seeds of ten "
    "learn, and four of them solve the task.",
    verdict="open",
    only=OF_LSTM,
)

row(
    "D6.doors",
    "fig12-doors",
    GOOD,
    HALF,
    place="App. D.6.2, Fig. 12",
    statement="RedBlueDoors, DDQN with our settings, 10 of 30 seeds. No memory is learned within "
    "1.6 million steps by any of the three settings of the search. So neither sentence can be "
    "judged: that O3 outperforms the other memories, and that TD methods take advantage of O(k) "
    "and OA(k).",
    verdict="open",
)

row(
    "D6.cookie",
    "fig12-cookie",
    GOOD,
    HALF,
    place="App. D.6.2, Fig. 12",
    statement="Hallway cookie, DDQN with our settings, 10 of 30 seeds. No memory is learned within "
    "1.6 million steps by any of the three settings of the search: no seed earns more than random "
    "actions do by a tenth of what the best policy earns beyond them. So neither sentence can be "
    "judged: that O3 outperforms the other memories, and that TD methods take advantage of O(k) "
    "and OA(k).",
    verdict="open",
)

row(
    "D6.memory",
    "fig12-memory",
    BAD,
    HALF,
    place="App. D.6",
    statement="MemoryS7, which Figure 12 does not show, DDQN with our settings, 10 of 30 seeds, by "
    "rules written before the runs. TD methods take advantage of O(k) and OA(k): O3 and OA3 end "
    "higher than no memory (rewards per episode of 0.80 and 0.79, and 0.40). Whether O3 "
    "outperforms the other memories stays undecided: OA3 ends as high.",
    verdict="supported",
)


def judged(
    proof: Proof,
    name: str,
    searched: bool,
    imagined: tuple[float, float] | None,
    only: Sequence[str] | None,
) -> Evidence:
    """The rules on the cells of a figure: settings first, then each sentence.

    A figure whose sentences are contradicted, or cannot be judged, with our settings stays open:
    the paper's settings are others.

    Parameters
    ----------
    only : the ids of the sentences; None for all of the figure.
    """
    figure = NEURAL_FIGURES[name]
    cells: RecordedCells = cells_by_memory(figure, read_cells())
    if imagined is not None:
        cells = imagined_cells(figure, *imagined)
    proof.step("chosen", unsearched(figure, cells, searched))
    said = {
        one.sentence.id: one.verdict
        for one in judge_neural(figure, cells)
        if only is None or one.sentence.id in only
    }
    other = {id: word for id, word in said.items() if word != SAID[name][id]}
    proof.step("rules", other or None)
    rows = [list(line[:5]) for line in table_rows(figure, cells)]
    argument = table_text(["memory", "seeds", "reward", "solved", "exact values"], rows)
    usual = Counter(map(len, filter(None, cells.values()))).most_common(1)[0][0]
    others = "".join(f", {m} {len(own)}" for m, own in cells.items() if 0 < len(own) != usual)
    absent = ", ".join(m for m, own in cells.items() if not own)
    told = ", ".join(f"{n} {word}" for word, n in Counter(said.values()).most_common())
    against = any(x == "contradicted" or x.startswith("not learned") for x in said.values())
    return (open_ if against else supported)(
        f"sentences: {told}; {usual} seeds of each memory{others}"
        + (f"; not run: {absent}" if absent else ""),
        argument,
    )


def unsearched(figure: NeuralFigure, cells: RecordedCells, searched: bool = True) -> str | None:
    """Which memory has cells but no settings from a finished search. None if all have.

    Parameters
    ----------
    searched : False for a search that has not begun.
    """
    rows = read_log() if searched else []
    shared = [name for name in figure.learners if name != LSTM]
    for name, own in cells.items():
        if own and found_settings(figure.id, [LSTM] if name == LSTM else shared, rows) is None:
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
