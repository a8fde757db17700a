"""Certificates tied to claims: what each claim of a ledger has to certify, and whether a file does.

A certificate consists of what it states (a task, a memory, a policy, a region, numbers) and, for
some kinds, of evidence that the checker only follows. The digest of what is stated names it. A list
of requirements holds, for each claim, its statement, its verdict and the digests of all that must
be certified. A ledger is refused if a statement or a verdict is another one, if a certificate that
is required is missing or does not hold, or if there is one that belongs to no requirement.
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


def requirements_of(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """What a ledger certifies, as the requirements that another one has to meet."""
    return {
        entry["id"]: {
            "statement": entry["statement"],
            "verdict": entry["verdict"],
            "certificates": sorted(
                [str(c["kind"]), digest] for c, digest in _distinct(entry["certificates"])
            ),
        }
        for entry in entries
    }


def _distinct(certificates: Any) -> list[tuple[dict[str, Any], str]]:
    if not isinstance(certificates, list | tuple) or not all(
        isinstance(c, dict) for c in certificates
    ):
        raise Spoiled("the certificates of a claim are a list of objects")
    found = {certificate_digest(c): c for c in certificates}
    return [(c, digest) for digest, c in found.items()]


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
    given = _distinct(field(entry, "certificates"))
    names = {digest for _, digest in given}
    needed = {digest: kind for kind, digest in asked["certificates"]}
    said = []
    for digest, kind in needed.items():
        if digest not in names:
            wrong.append(f"{id}: a {kind} certificate is missing ({digest})")
    for certificate, digest in given:
        if digest not in needed:
            kind = str(certificate.get("kind"))[:40]
            wrong.append(f"{id}: a {kind} certificate is about something else")
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
