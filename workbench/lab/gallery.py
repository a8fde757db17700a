"""The gallery: a folder of finds, one JSON file each, with where they come from and what proves
them.

A file holds the task as tables of labels and fractions, the statement with its parameters, the
provenance (space, code, method, seed, versions), the verdict with its certificates, and the task
that it was shrunk from. It is written whole or not at all, and carries the SHA-256 of its content.
The folder is `gallery` in the current directory, unless one is given or the environment variable
WORKBENCH_GALLERY names another.

To *check* an entry is to verify its certificates by code that shares nothing with the code that
found it, where there is such code for their kind, and to judge the statement on the task again, in
rationals.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.errors import UnknownLabel, WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.lab.find import Find
from workbench.lab.shrink import size
from workbench.lab.statements import Statement, Verdict, as_statement
from workbench.output import StorageError, check_folder, write_whole
from workbench.results.json import (
    Unreadable,
    model_from_json,
    model_json,
    parse_json,
    read_rational,
)

VARIABLE = "WORKBENCH_GALLERY"


class Damaged(WorkbenchError):
    """An entry that does not hold what it says."""


def gallery_folder(folder: str | Path | None = None) -> Path:
    """The folder of the gallery."""
    return Path(folder or os.environ.get(VARIABLE) or "gallery")


@dataclass(frozen=True, eq=False)
class GalleryEntry:
    """A find as it is kept.

    Attributes
    ----------
    name : of the file, without .json.
    find : the task, the statement and the verdict, read back from the text.
    record : the whole content.
    """

    name: str
    find: Find
    record: dict[str, Any]

    @property
    def size(self) -> tuple[int, ...]:
        """States that are not terminal, actions, observations."""
        return size(self.find.task)[:3]


class Gallery:
    """A folder of finds."""

    def __init__(self, folder: str | Path | None = None):
        self.folder = gallery_folder(folder)

    def add(self, find: Find) -> str:
        """Keep a find. The same find twice is one entry. Its name has the statement and the
        beginning of a digest."""
        check_folder(self.folder)
        record = find_json(find)
        record["sha256"] = _digest(record)
        name = f"{record['statement']['name']}-{record['sha256'][:8]}"
        write_whole(self._path(name), (json.dumps(record, indent=1) + "\n").encode())
        return name

    def names(self) -> list[str]:
        """All entries, by name."""
        if not self.folder.is_dir():
            return []
        return sorted(
            path.stem for path in self.folder.glob("*.json") if not path.name.startswith(".")
        )

    def get(self, name: str) -> GalleryEntry:
        """An entry by its name, or by a part of it that no other has."""
        names = self.names()
        fitting = [name] if name in names else [x for x in names if name in x]
        if len(fitting) != 1:
            why = (
                "there is none of that name"
                if not fitting
                else f"it could be {', '.join(fitting[:4])}"
            )
            raise UnknownLabel(f"no entry {name!r} in {self.folder}: {why}")
        return read_find(self._path(fitting[0]))

    def entries(self) -> list[GalleryEntry]:
        """All entries. A damaged one raises `Damaged`."""
        return [self.get(name) for name in self.names()]

    def remove(self, name: str) -> None:
        """Take an entry out."""
        self._path(self.get(name).name).unlink()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def find_json(find: Find) -> dict[str, Any]:
    """A find as JSON."""
    certificates = [
        {**each, "model": each.get("model", model_json(find.task))}
        for each in find.verdict.certificates
    ]
    verdict = Verdict(find.verdict.holds, find.verdict.facts, tuple(certificates))
    return {
        "format": 1,
        "statement": find.statement.settings(),
        "sentence": find.statement.sentence(),
        "task": model_json(find.task),
        "verdict": verdict_json(verdict),
        "provenance": find.provenance,
        "shrunk_from": None if find.larger is None else model_json(find.larger.task),
    }


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


def read_find(path: str | Path) -> GalleryEntry:
    """An entry from its file."""
    path = Path(path)
    try:
        record = parse_json(path.read_bytes())
        if record["format"] != 1:
            raise Damaged(
                f"{path.name} has the format {record['format']!r}; this version reads format 1"
            )
        if record["sha256"] != _digest({key: x for key, x in record.items() if key != "sha256"}):
            raise Damaged(f"{path.name} was changed: its checksum does not match")
        task, verdict = model_from_json(record["task"]), verdict_from_json(record["verdict"])
        statement = statement_from_json(record["statement"], record["sentence"])
        provenance = record["provenance"]
        if not isinstance(provenance, dict) or not isinstance(provenance.get("space", {}), dict):
            raise Damaged(f"{path.name} does not say where it comes from")
        if any("model" not in certificate for certificate in verdict.certificates):
            raise Damaged(f"{path.name} has a certificate without a task")
        return GalleryEntry(path.stem, Find(task, statement, verdict, provenance), record)
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from None
    except Damaged:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Damaged(f"{path.name} cannot be read: {type(error).__name__}: {error}") from None


def _digest(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Gone(Statement):
    """A statement that was a Python function: only its words are left."""

    words: str
    name = "predicate"
    about = "a Python function that is not here"

    def sentence(self) -> str:
        return self.words

    def score(self, P: POMDP) -> float:
        return float("nan")

    def exactly(self, P: POMDP) -> Verdict:
        return Verdict(None, {"undecided": "the function that was asked is not here"})


def statement_from_json(settings: dict[str, Any], sentence: str) -> Statement:
    """The statement of an entry."""
    if not isinstance(settings, dict) or not isinstance(sentence, str):
        raise Damaged("no statement")
    if settings["name"] == "predicate":
        return Gone(sentence)
    found = as_statement(
        settings["name"], **{key: _value(x) for key, x in settings.items() if key != "name"}
    )
    if found.sentence() != sentence:
        raise Damaged("the statement's parameters and its words say different things")
    return found


def _value(x: Any) -> Any:
    if isinstance(x, list):
        return tuple(_value(part) for part in x)
    return read_rational(x) if isinstance(x, str) and re.fullmatch(r"-?\d+(/\d+)?", x) else x


# ---------------------------------------------------------------------- checking


def check_entry(entry: GalleryEntry) -> list[str]:
    """Verify everything that an entry says, and return what was verified, line by line. An error is
    raised where it is wrong."""
    find = entry.find
    said = []
    for certificate in find.verdict.certificates:
        if certificate["model"] != entry.record["task"]:
            raise Damaged(f"{entry.name}: a certificate speaks of another task")
        try:
            said.append(recheck(certificate))
        except Spoiled as error:
            raise Damaged(f"{entry.name}: {certificate.get('kind')} certificate: {error}") from None
    if isinstance(find.statement, Gone):
        return [*said, "the statement was a Python function: not judged again"]
    verdict = find.statement.exactly(find.task)
    if not verdict.holds:
        raise Damaged(f"{entry.name}: the statement does not hold for its task")
    if dict(verdict.facts) != dict(find.verdict.facts):
        raise Damaged(
            f"{entry.name}: the task has other numbers than {dict(find.verdict.facts)}: "
            f"{dict(verdict.facts)}"
        )
    return [*said, "judged again in rationals: it holds, with the same numbers"]
