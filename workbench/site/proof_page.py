"""The page on which the proof of Theorem C.6 is stepped through: one file that loads nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workbench.site.text_pages import resource

NAME = "proof-C6.html"


def proof_page(record: dict[str, Any]) -> str:
    """The page with the recorded states of the proofs in it.

    >>> "</script><b>" in proof_page({"proofs": [{"left": "</script><b>"}]})
    False
    """
    data = json.dumps(record, ensure_ascii=False).replace("<", "\\u003c")
    return resource("proof_page.html").replace("@DATA@", data)


def write_proof_page(root: Path, folder: Path) -> None:
    """Write the page beside the others, from what `proofs/coq` records."""
    record = json.loads((root / "proofs" / "coq" / "steps.json").read_text(encoding="utf-8"))
    (folder / NAME).write_text(proof_page(record), encoding="utf-8")
