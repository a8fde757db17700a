"""Certificates tied to claims: what each claim of a ledger has to certify, and whether a file does.

A certificate consists of what it states (a task, a memory, a policy, a region, numbers) and, for
some kinds, of evidence that the checker only follows. The digest of what is stated names it. A list
of requirements holds, for each claim, its statement, its verdict, the digests of all that must be
certified, and a digest of its evidence, steps and false variants. A ledger is refused if any of
these is another one, if a certificate that is required is missing, or if a copy of one does not
hold or belongs to no requirement.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from workbench.checker.reader import field
from workbench.checker.recheck import OLDER_NAMES, recheck
from workbench.checker.spoiled import Spoiled

EVIDENCE = {
    "excluded": {"terms", "positive", "squares"},
    "memory-update": {"f"},
    "clique": {"ways"},
    "beliefs-outnumber": {"histories"},
    "value-bound": {"v"},
    "oracle-loop": {"phases", "bound", "better"},
    "oracle-cycle": {"before", "cycle", "better"},
    "fixed-points": {"refuted"},
    "fixed-point-bounds": {"places", "unit", "sets"},
    "fixed-point-regions": {"refuted"},
    "sum-claim": {"steps", "base"},
    "every-k": {"argument", "first", "phases", "from_k", "below"},
}
"""By kind, the fields that show what is stated and are no part of it."""


def certificate_digest(certificate: dict[str, Any]) -> str:
    """The name of what a certificate states, whatever it shows it by.

    >>> one = {"kind": "excluded", "conditions": ["x > 0", "x < 0"], "terms": [["1", [1]]]}
    >>> certificate_digest(one) == certificate_digest({**one, "terms": []})
    True
    """
    kind = str(certificate.get("kind"))
    evidence = EVIDENCE.get(kind, set())
    stated = {key: x for key, x in certificate.items() if key not in evidence}
    stated["kind"] = OLDER_NAMES.get(kind, kind)
    text = json.dumps(stated, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


COVERED = ("place", "documented", "evidence", "corrected_by", "steps", "twins")
"""What a ledger says of a claim in few words; its argument is for readers, and is not shown by what
checks a ledger."""


def words_digest(entry: dict[str, Any]) -> str:
    """The name of what a ledger says of a claim beside its statement and its certificates."""
    # as a file would give it back: tuples are lists
    said = json.loads(json.dumps({key: entry.get(key) for key in COVERED}, default=str))
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def requirements_of(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """What a ledger certifies, as the requirements that another one has to meet."""
    return {
        entry["id"]: {
            "statement": entry["statement"],
            "verdict": entry["verdict"],
            "words": words_digest(entry),
            "certificates": sorted(
                {digest: [kind, digest] for kind, digest in _named(entry["certificates"])}.values()
            ),
        }
        for entry in entries
    }


def _named(certificates: Any) -> list[tuple[str, str]]:
    """The kind and the digest of each certificate."""
    if not isinstance(certificates, list | tuple) or not all(
        isinstance(c, dict) for c in certificates
    ):
        raise Spoiled("the certificates of a claim are a list of objects")
    return [(str(c.get("kind")), certificate_digest(c)) for c in certificates]


def check_claim(entry: Any, required: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What was verified of one claim of a ledger, and what is wrong with it."""
    id = field(entry, "id", str)
    if id not in required:
        return [], [f"{id}: there is no such claim"]
    asked = required[id]
    wrong = []
    for name in ("statement", "verdict"):
        if field(entry, name) != asked[name]:
            wrong.append(f"{id}: its {name} is another one: {str(entry[name])[:60]}")
    if not wrong and words_digest(entry) != asked["words"]:
        wrong.append(f"{id}: its evidence, steps or false variants are others")
    certificates = field(entry, "certificates")
    named = _named(certificates)
    names = {digest for _, digest in named}
    needed = {digest: kind for kind, digest in asked["certificates"]}
    said = []
    for digest, kind in needed.items():
        if digest not in names:
            wrong.append(f"{id}: a {kind} certificate is missing ({digest})")
    # every copy: one that is broken may stand beside one that holds
    for certificate, (kind, digest) in zip(certificates, named, strict=True):
        if digest not in needed:
            wrong.append(f"{id}: a {kind[:40]} certificate is about something else")
            continue
        try:
            said.append(f"{id}: {recheck(certificate)}")
        except Spoiled as error:
            wrong.append(f"{id}: SPOILED: {error}")
    return said, wrong


def check_ledger(entries: Any, required: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What was verified of a ledger, line by line, and what is wrong with it."""
    if not isinstance(entries, list):
        raise Spoiled("a ledger is a list of claims")
    said: list[str] = []
    wrong: list[str] = []
    seen: set[str] = set()
    for entry in entries:
        lines, troubles = check_claim(entry, required)
        said += lines
        wrong += troubles
        if (id := str(entry["id"])) in seen:
            wrong.append(f"{id}: is there twice")
        seen.add(id)
    if not entries:
        wrong.append("there are no claims in it")
    return said, wrong
