"""What the checker says about forged certificates, word by word, as it was looked at once.

`python tests/checker/test_verdicts.py` writes the list anew: every kind of certificate, changed in
up to `MOST` places, with the sentence that accepts or refuses it. `test_recheck` has the changes
that are accepted judged by other code. Only the standard library and the checker are needed, so
that mutation testing can ask it first.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from changed import changes

from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled

SAID = Path(__file__).parents[1] / "data" / "checker_verdicts.json"
MOST, SLOWEST = 120, 0.3


def verdict(certificate: Any) -> str:
    """The sentence of the checker."""
    try:
        return str(recheck(certificate))
    except Spoiled as error:
        return f"refused: {error}"


def forged(kind: str, certificate: Any) -> list[tuple[str, Any]]:
    """Some changed certificates, always the same ones."""
    every = list(changes(certificate))
    return [("", certificate), *random.Random(kind).sample(every, min(len(every), MOST))]


def first_difference() -> str | None:
    """The first forgery about which the checker says something else."""
    for kind, (certificate, said) in json.loads(SAID.read_text()).items():
        for what, changed in forged(kind, certificate):
            if what in said and (found := verdict(changed)) != said[what]:
                return f"{kind}, {what}: {found}, not {said[what]}"
    return None


def test_forged_certificates_get_the_verdicts_that_were_looked_at():
    assert first_difference() is None


def write() -> None:
    """Write the verdicts of today."""
    from certified import CERTIFICATES

    record = {}
    for kind, make in CERTIFICATES.items():
        certificate, said = json.loads(json.dumps(make())), {}
        for what, changed in forged(kind, certificate):
            began = time.process_time()
            found = verdict(changed)
            if time.process_time() - began < SLOWEST:
                said[what] = found
        record[kind] = certificate, said
    SAID.write_text(json.dumps(record, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    sys.exit(write())
