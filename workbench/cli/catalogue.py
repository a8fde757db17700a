"""The catalogue, one line each: tasks, memories, learners, figures, claims, papers.

The lines are those of the records themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class CatalogueLine:
    """One entry of a list: its name, a word on it, and what it is. The word is a definition, a
    place, a verdict, or empty."""

    name: str
    word: str
    text: str


# ---------------------------------------------------------------------- tasks, memories, learners


def tasks() -> list[CatalogueLine]:
    """The tasks of `pomdps`. The word names the optional extra that one needs."""
    from pomdps import TASKS

    return [
        CatalogueLine(name, f"extra {task.extra}" if task.extra else "", task.title)
        for name, task in TASKS.items()
    ]


def memories() -> list[CatalogueLine]:
    """The families of memories."""
    from workbench.memories import FAMILIES

    return [
        CatalogueLine(
            about.name,
            f"Def. {about.definition}" if about.definition else "",
            f"M = {about.M}, W = {about.W}: {about.Gamma}",
        )
        for about in (family.about for family in FAMILIES.values())
    ]


def learners() -> list[CatalogueLine]:
    """The learners by the names that `workbench learn` knows."""
    from workbench.deep.settings import NEURAL_LEARNERS
    from workbench.learning import LEARNERS

    return [
        CatalogueLine(name, "", " ".join((kind.__doc__ or "").split("\n\n")[0].split()))
        for name, kind in (*LEARNERS.items(), *NEURAL_LEARNERS.items())
    ]


# ---------------------------------------------------------------------- figures, claims


def figures() -> list[CatalogueLine]:
    """The figures that `workbench reproduce` makes: the tabular ones, those of networks, and the
    Atari games."""
    from workbench.reproduction.atari_figures import ATARI_FIGURES
    from workbench.reproduction.neural_figures import NEURAL_FIGURES
    from workbench.reproduction.paper_figures import FIGURES

    return [
        *(CatalogueLine(one.id, one.place, one.title) for one in FIGURES.values()),
        *(CatalogueLine(one.id, one.place, one.title) for one in NEURAL_FIGURES.values()),
        *(CatalogueLine(one.id, one.place, one.title) for one in ATARI_FIGURES.values()),
    ]


def claims() -> list[CatalogueLine]:
    """The statements of the ledger in the order of the paper, each with its documented verdict."""
    from proofs.ledger.places import REQUIRED

    return [
        CatalogueLine(id, one["verdict"], one["statement"])
        for id, one in json.loads(REQUIRED.read_text()).items()
    ]


def papers() -> list[CatalogueLine]:
    """Other papers whose results are computed here. The word says how their numbers are known."""
    from proofs.ledger import load
    from proofs.papers import PAPERS

    load()
    return [
        CatalogueLine(paper.key, paper.known_by, f"{paper.authors} {paper.year}: {paper.title}")
        for paper in sorted(PAPERS.values(), key=lambda paper: paper.year)
    ]


SECTIONS: dict[str, Callable[[], list[CatalogueLine]]] = {
    "tasks": tasks,
    "memories": memories,
    "learners": learners,
    "figures": figures,
    "claims": claims,
    "papers": papers,
}
"""Everything that can be listed."""
