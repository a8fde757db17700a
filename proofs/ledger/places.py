"""Where the paper makes its statements: their order, the sections, and the notebook that goes with
each."""

from __future__ import annotations

from pathlib import Path

REQUIRED = Path(__file__).parent / "required.json"
"""What each claim has to certify (`workbench.checker.ledger_file`)."""

ORDER = (
    "S1.memoryless",
    "S3.arbitrary",
    "S4.ignore",
    "S4.gravity-none",
    "S4.gravity-bit",
    "S4.button",
    "S4.sizes",
    "S4.premature",
    "S4.k-forgets",
    "S4.fig-gravity",
    "S4.ok-general",
    "S4.imagine",
    "S4.ok-actions",
    "S5.oa1-encodes",
    "S5.not-mdp",
    "S5.b2-not-mdp",
    "S5.fig-diagrams",
    "S5.b2-smallest",
    "S5.fig-recall",
    "S5.fig-jumps",
    "S5.small-steps",
    "S5.settle",
    "S5.settle-worth",
    "S5.settle-b1",
    "S51.mc",
    "S51.mc-variance",
    "S51.variance",
    "S51.td",
    "S51.b2-more",
    "S51.b2-unstable",
    "S51.b-general",
    "S51.fig-better",
    "S51.nstep",
    "S51.fig-gravity2",
    "S51.fig-shared",
    "S51.bigger",
    "S52.local",
    "S52.small-change",
    "S52.mdp",
    "S52.converge",
    "S52.not-global",
    "S52.stable",
    "S52.fig-variant",
    "S52.vanish",
    "S53.favour",
    "S53.lines",
    "S6.view",
    "S6.speedups",
    "A1.equivalent",
    "A1.gamma",
    "A1.why-o",
    "A2.belief",
    "A2.optimal",
    "A2.rewards",
    "A4.bk",
    "A4.oak",
    "A4.ok",
    "B.why",
    "B.settle",
    "C.b2-expressive",
    "C.minimum",
    "C.optimal",
    "C1",
    "C2",
    "C2.print",
    "C3",
    "C3.print",
    "C4",
    "C5",
    "C5.print",
    "C5.beta",
    "C6",
    "C7",
    "C.fig",
    "C.structure",
    "C.settle",
    "D2.hallway",
    "D2.hallway-memory",
    "D3.minigrid",
    "D3.reward",
    "D6.fig-sarsa",
    "D6.lambda",
    "T.oa1",
    "T.clock",
    "T.bits",
    "T.bits-region",
    "T.hurts",
    "T.hurts-often",
    "T.eight",
    "T.push",
    "T.grows",
    "T.saddle",
    "T.soft",
    "T.ascent",
)
"""The statements of the paper in the order in which it makes them; a corrected one follows the
printed one. Ids that are not listed come last in their section."""

SECTIONS = (
    ("S1", "Section 1: introduction"),
    ("S3", "Section 3: memoryless policies"),
    ("S4", "Section 4: memory"),
    ("S5", "Section 5: recall"),
    ("S51", "Section 5.1: bootstrapping"),
    ("S52", "Section 5.2: the oracle loop"),
    ("S53", "Section 5.3: from theory to practice"),
    ("S6", "Section 6: experiments"),
    ("A1", "Appendix A.1: the compiled POMDP"),
    ("A2", "Appendix A.2: sufficient expressiveness"),
    ("A4", "Appendix A.4: which memories suffice"),
    ("B", "Appendix B: the variation of recall"),
    ("C", "Appendix C: the 4-action recall task"),
    ("D", "Appendix D: experiments"),
    ("T", "Theorems of our own"),
    ("P", "Other papers"),
)
"""Sections by the beginning of the ids, up to the first dot or, for appendices with numbered
statements, the first digit."""

NOTEBOOKS = {
    "S1": "01-what-is-a-pomdp",
    "S3": "01-what-is-a-pomdp",
    "S4": "02-what-does-a-memory-make-of-a-pomdp",
    "S5": "03-why-does-q-learning-jump",
    "S51": "03-why-does-q-learning-jump",
    "S52": "05-why-does-oa1-get-stuck",
    "S53": "03-why-does-q-learning-jump",
    "S6": "15-what-does-a-network-write-into-its-memory",
    "A1": "02-what-does-a-memory-make-of-a-pomdp",
    "A2": "07-is-this-memory-enough",
    "A4": "07-is-this-memory-enough",
    "B": "05-why-does-oa1-get-stuck",
    "C": "04-why-does-binary-memory-get-stuck",
    "D": "06-what-does-a-memory-learn-to-store",
    "T": "13-when-does-memory-hurt",
    "P": "09-how-far-does-it-go",
}
"""The notebook that looks at a section's statements."""


def section_of(id: str) -> str:
    """The key of the section that a claim belongs to.

    >>> section_of("S51.td"), section_of("C5"), section_of("C.fig"), section_of("D6.fig-sarsa")
    ('S51', 'C', 'C', 'D')
    """
    head = id.split(".")[0].rstrip("*")
    keys = [key for key, _ in SECTIONS]
    if head in keys:
        return head
    return next((key for key in (head[:2], head[:1]) if key in keys), "T")


def rank(id: str) -> tuple[int, int, str]:
    """Where a claim stands in the ledger: section, order of the paper, the printed form first."""
    keys = [key for key, _ in SECTIONS]
    base = id.rstrip("*")
    return keys.index(section_of(id)), ORDER.index(base) if base in ORDER else len(ORDER), id
