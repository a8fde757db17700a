"""The proof of a theorem step by step: what is left to show after each sentence, recorded.

`python -m proofs.ledger.coq_steps` asks `coqtop` and writes `proofs/coq/steps.json`, which the site
shows. The record names the files that it was made from by their digests, so that a test sees when
it is stale.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from proofs.ledger.coqc import compile_library, find_coqc
from proofs.ledger.formal import COQ, statement_of

SHOWN = (
    ("Suboptimal.v", "theorem_C6"),
    ("Suboptimal.v", "lemma_C5"),
    ("Suboptimal.v", "loop_from_uniform"),
    ("Suboptimal.v", "uniform_goes_to_pil"),
    ("Suboptimal.v", "pil_is_greedy_on_itself"),
    ("Segment.v", "step_keeps"),
    ("Suboptimal.v", "bits_expressive_from_three"),
    ("Suboptimal.v", "words_are_expressive"),
)
"""Theorem C.6 and what it rests on, in the order in which one reads it."""

STEPS = COQ / "steps.json"

_MARK = "mark_of_step_{}"


def digests() -> dict[str, str]:
    """The files that the record is made from."""
    files = sorted({file for file, _ in SHOWN} | {"Model.v"})
    return {name: hashlib.sha256((COQ / name).read_bytes()).hexdigest()[:16] for name in files}


def sentences(text: str) -> list[str]:
    """The sentences of a Coq text. Comments stay with what follows them.

    >>> sentences("Proof. intros x. - lra. { ring. } Qed.")
    ['Proof.', 'intros x.', '-', 'lra.', '{', 'ring.', '}', 'Qed.']
    """
    found, start, depth, i = [], 0, 0, 0
    while i < len(text):
        if text.startswith("(*", i):
            depth, i = depth + 1, i + 2
            continue
        if text.startswith("*)", i):
            depth, i = depth - 1, i + 2
            continue
        begun = text[start:i].strip()
        ends = text[i] == "." and (i + 1 == len(text) or text[i + 1].isspace())
        bullet = not begun and text[i] in "-+*{}"
        if depth == 0 and (ends or bullet):
            if bullet and text[i] in "-+*":
                while i + 1 < len(text) and text[i + 1] == text[i]:
                    i += 1
            found.append(text[start : i + 1].strip())
            start = i + 1
        i += 1
    return found


def proof_of(file: str, theorem: str) -> tuple[str, list[str]]:
    """The text before a theorem, and the sentences of its statement and proof."""
    text = (COQ / file).read_text()
    stated = statement_of(file, theorem)
    at = text.index(stated)
    end = re.compile(r"\bQed\.").search(text, at)
    assert end is not None
    return text[:at], [stated, *sentences(text[at + len(stated) : end.end()])]


def states_of(folder: Path, file: str, theorem: str) -> list[dict[str, str]]:
    """Each sentence of a proof and what is left to show after it, in a folder with the compiled
    library."""
    before, steps = proof_of(file, theorem)
    lines = [before, "Set Printing Width 90."]
    for i, sentence in enumerate(steps[:-1]):
        lines += [sentence, f"Locate {_MARK.format(i)}.", "Show.", f"Locate {_MARK.format(i)}_end."]
    done = subprocess.run(
        [find_coqc().replace("coqc", "coqtop"), "-q", "-Q", ".", "Remembering"],
        input="\n".join(lines) + "\n",
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found = []
    for i, sentence in enumerate(steps):
        left = ""
        if i + 1 < len(steps):
            mark = re.escape(_MARK.format(i))
            part = re.search(
                rf"basename {mark}\n(.*?)No object of basename {mark}_end", done.stdout, re.S
            )
            left = _goals(part.group(1)) if part else ""
        found.append({"sentence": sentence, "left": left or "Nothing is left to show."})
    return found


def _goals(told: str) -> str:
    """What coqtop shows, without its prompts."""
    lines = [re.sub(r"^(?:\w+ < )+", "", line) for line in told.splitlines()]
    return "\n".join(line.rstrip() for line in lines).strip()


def recorded_steps() -> dict[str, Any]:
    """The proofs as they are recorded."""
    found: dict[str, Any] = json.loads(STEPS.read_text())
    return found


def record_steps() -> None:
    """Record the proofs anew."""
    with tempfile.TemporaryDirectory() as folder:
        compile_library(Path(folder))
        proofs = [
            {"file": file, "theorem": theorem, "steps": states_of(Path(folder), file, theorem)}
            for file, theorem in SHOWN
        ]
    STEPS.write_text(json.dumps({"files": digests(), "proofs": proofs}, indent=1) + "\n")


if __name__ == "__main__":
    record_steps()
