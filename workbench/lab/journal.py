"""The progress of a search in a file, written atomically. Its name depends on all that the answer
depends on.

The name is the SHA-256 of the statement with its parameters, the space, the method, the seed, the
symmetries that are merged, the number of finds after which it stops and the sources of the rooms
that judge; a file of another content, a damaged one, or one of an older code is not read,
and the search begins anew.
"""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.errors import WorkbenchError
from workbench.lab.statements import Verdict
from workbench.output import check_folder, write_whole
from workbench.results.json import Unreadable, parse_json
from workbench.sweeps.cell import key_of, source_digest

if TYPE_CHECKING:
    from workbench.lab.search import Job, Piece

_ROOM = 1_000_000

_JUDGING = (
    *("core", "agents", "evaluation", "improvement", "optima", "sufficiency", "equilibrium"),
    *("research", "certificates", "lab"),
)
"""The rooms on which a verdict depends."""


def version_of(job: Job) -> dict[str, str]:
    """The version of the package, and a digest of the code that judged."""
    return {"version": _package_version(), "code_version": source_digest(*_JUDGING)}


def _package_version() -> str:
    try:
        return version("memory-workbench")
    except PackageNotFoundError:
        return "unknown"


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
            "seeming": total.seeming,
            "hits": [[list(code), verdict_json(verdict)] for code, verdict in total.hits],
        }
        record["sha256"] = _checksum(record)
        write_whole(self.path, json.dumps(record, indent=1, sort_keys=True))

    def read(self) -> tuple[int, Piece] | None:
        """The number of the next piece and what was found before it. None if there is no file that
        fits."""
        from workbench.lab.search import Piece

        try:
            record = parse_json(self.path.read_bytes())
            # a digit changed on the disk would change the counts of a finished search
            if record.pop("sha256") != _checksum(record) or record["content"] != self.content:
                return None
            counts = ("judged", "looked_at", "undecided", "seeming")
            hits = [(tuple(code), verdict_from_json(verdict)) for code, verdict in record["hits"]]
            return record["next"], Piece(**{key: record[key] for key in counts}, hits=hits)
        except (OSError, WorkbenchError, KeyError, TypeError, ValueError, AttributeError):
            return None


def _checksum(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON."""
    return {
        "holds": verdict.holds,
        "facts": dict(verdict.facts),
        "certificates": list(verdict.certificates),
    }


def verdict_from_json(data: dict[str, Any]) -> Verdict:
    """The verdict that `verdict_json` wrote. Anything else raises `Unreadable`."""
    holds, facts, certificates = data["holds"], data["facts"], data["certificates"]
    if not (holds is None or isinstance(holds, bool)) or not isinstance(facts, dict):
        raise Unreadable("no verdict")
    if not isinstance(certificates, list) or not all(isinstance(x, dict) for x in certificates):
        raise Unreadable("no certificates")
    return Verdict(holds, facts, tuple(certificates))
