"""What the tests of the claims share: each claim judged once, and certificates that must be
rejected."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import pytest

from proofs.ledger import LedgerEntry, load, run
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled


@cache
def entry(name: str) -> LedgerEntry:
    """A claim after its code has run."""
    return run(load()[name])


def first(name: str, kind: str) -> dict[str, Any]:
    """A copy, to be spoiled, of a claim's first certificate of a kind."""
    return copy.deepcopy(next(c for c in certificates_of(name) if c["kind"] == kind))


@cache
def certificates_of(name: str) -> tuple[dict[str, Any], ...]:
    """What a claim certifies; its twins are not judged here."""
    return tuple(load()[name].attempt()[0].certificates)


def rejected(certificate: dict[str, Any]) -> str:
    """Why a certificate is rejected; it must be."""
    with pytest.raises(Spoiled) as caught:
        recheck(certificate)
    return str(caught.value)
