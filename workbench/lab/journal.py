"""How far a search is, in a file: whole or not there at all, named by all that its answer depends
on.

The name is the SHA-256 of the statement with its parameters, the space, the method, the seed, the
symmetries that are merged, the number of finds after which it stops and the syntax trees of the
modules that judge; a file of another content, a damaged one, or one of an older code is not read,
and the search begins anew.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.lab.statements import Verdict
from workbench.sweeps.cell import closure, digest_of, key_of
from workbench.sweeps.store import check_folder, write_whole

if TYPE_CHECKING:
    from workbench.lab.search import Job, Piece

_PACKAGE = Path(__file__).parent.parent

_ROOM = 1_000_000

_AFTERWARDS = tuple(
    f"workbench.lab.{name}" for name in ("printing", "diagrams", "gallery", "shrinking")
)
"""What is done with finds does not change what is found."""


def version_of(job: Job) -> dict[str, str]:
    """The version of the package, and a digest of the code that judged."""
    roots = ("workbench.lab.search", type(job.statement).__module__, type(job.space).__module__)
    return {"version": _package_version(), "code_version": _code_version(tuple(sorted(set(roots))))}


def _package_version() -> str:
    try:
        return version("memory-workbench")
    except PackageNotFoundError:
        return "unknown"


@cache
def _code_version(roots: tuple[str, ...]) -> str:
    return digest_of(
        closure([root for root in roots if root.startswith("workbench.")], _PACKAGE, _AFTERWARDS),
        _PACKAGE,
    )


class Journal:
    """The file of one search."""

    def __init__(self, folder: str | Path, job: Job):
        check_folder(Path(folder), _ROOM)
        self.content: dict[str, Any] = {
            "statement": job.statement.settings(),
            "space": job.space.settings(),
            "method": job.method,
            "seed": job.seed,
            "merged": list(job.merge),
            "exact": job.exact,
            "piece": job.size,
            "keep": job.keep,
            **version_of(job),
        }
        self.path = Path(folder) / f"search-{key_of(self.content)[:16]}.json"

    def write(self, next_piece: int, total: Piece) -> None:
        """Everything before `next_piece` is done."""
        record = {
            "content": self.content,
            "next": next_piece,
            "judged": total.judged,
            "looked_at": total.looked_at,
            "undecided": total.undecided,
            "mistaken": total.mistaken,
            "seeming": total.seeming,
            "hits": [[list(code), verdict_json(verdict)] for code, verdict in total.hits],
            "best": None if total.best is None else [total.best[0], list(total.best[1])],
        }
        write_whole(self.path, json.dumps(record, indent=1, sort_keys=True).encode())

    def read(self) -> tuple[int, Piece] | None:
        """The number of the next piece and what was found before it; None if there is no file that
        fits."""
        from workbench.lab.search import Piece

        try:
            record = json.loads(self.path.read_bytes())
            if record["content"] != self.content:
                return None
            best = record["best"]
            return int(record["next"]), Piece(
                judged=int(record["judged"]),
                looked_at=int(record["looked_at"]),
                undecided=int(record["undecided"]),
                mistaken=int(record["mistaken"]),
                seeming=int(record["seeming"]),
                hits=[
                    (tuple(code), verdict_from_json(verdict)) for code, verdict in record["hits"]
                ],
                best=None if best is None else (float(best[0]), tuple(best[1])),
            )
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON."""
    return {
        "holds": verdict.holds,
        "facts": dict(verdict.facts),
        "certificates": list(verdict.certificates),
    }


def verdict_from_json(data: dict[str, Any]) -> Verdict:
    """The verdict that `verdict_json` wrote."""
    return Verdict(data["holds"], dict(data["facts"]), tuple(data["certificates"]))
