"""A paper whose results are run again: what it is, and how its numbers are known."""

from __future__ import annotations

from dataclasses import dataclass

KNOWN_BY = ("read", "quoted", "ours")


@dataclass(frozen=True)
class Paper:
    """A paper: its key in ids, its authors and title, and whether its numbers were read in it."""

    key: str
    authors: str
    title: str
    year: int
    known_by: str

    def __post_init__(self) -> None:
        if self.known_by not in KNOWN_BY:
            raise ValueError(f"known_by is one of {', '.join(KNOWN_BY)}, not {self.known_by!r}")
        PAPERS[self.key] = self

    @property
    def place(self) -> str:
        """How the ledger cites it."""
        return f"{self.authors} {self.year} ({self.known_by})"


PAPERS: dict[str, Paper] = {}
"""Every paper by its key."""
