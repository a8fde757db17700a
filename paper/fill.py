"""Write paper.md from paper.in.md: `python paper/fill.py` (from the root of the checkout).

`@@name@@` in the source stands for a number. Values are computed here, in fractions; counts are
taken from the ledger; times are those of the tables in docs/benchmarks.md, which name their
command. The picture is drawn by `design.py`. To build the paper:

    cd paper && pandoc paper.md --citeproc --pdf-engine=xelatex -o paper.pdf
    cd paper && pandoc paper.md --citeproc -s -o paper.html    # without LaTeX

Debian has what the first needs in pandoc, texlive-xetex, texlive-latex-extra,
texlive-fonts-recommended and lmodern.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

from pomdps import TASKS, recall4
from proofs.ledger import load
from proofs.report import of_the_paper
from workbench import POMDP, augment, improve
from workbench.checker.recheck import CHECKS
from workbench.improvement.batch import sequence_task

HERE = Path(__file__).parent
ROOT = HERE.parent
STEP = Fraction(1, 50)


def limit(P: POMDP, memory: str) -> Any:
    """Where the loop from the uniform policy ends, exactly."""
    return improve(augment(P, memory), step=STEP).limit_value


def table_row(first: str) -> list[str]:
    """The cells of a row of docs/benchmarks.md, by its first cell."""
    lines = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if line.startswith(f"| {first} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def numbers() -> dict[str, str]:
    """Every number of the paper, by name."""
    claims = load()
    counts = of_the_paper({key: one.documented for key, one in claims.items()})
    formal = json.loads((ROOT / "proofs" / "coq" / "formal.json").read_text(encoding="utf-8"))
    hurts, larger = sequence_task([[5, 4], [0, 6]]), sequence_task([[3, 2], [0, 4]])
    found: dict[str, Any] = {
        "statements": counts.total(),
        "misprints": counts["misprint"],
        "refuted": counts["refuted"],
        "open": counts["open"],
        "hold": counts.total() - counts["misprint"] - counts["refuted"] - counts["open"],
        "own": sum(key.startswith("T.") for key in claims),
        "others": sum(key.startswith("P.") for key in claims),
        "formal": len(formal),
        "kinds": len(CHECKS),
        "tasks": len(TASKS),
        "recall_none": f"{float(improve(augment(recall4(), 'none'), step=STEP).value):.4f}",
        "recall_bit": limit(recall4(), "B1"),
        "recall_pair": limit(recall4(), "OA1"),
        "hurts_none": limit(hurts, "none"),
        "hurts_one": limit(hurts, "B1"),
        "hurts_two": limit(hurts, "B2"),
        "hurts_pair": limit(hurts, "OA1"),
        "larger_one": limit(larger, "B1"),
        "larger_two": limit(larger, "B2"),
    }
    for name in ("TagAvoid", "Hallway", "Hallway2"):
        _, seconds, ours, gap, theirs, their_gap = table_row(name)
        found |= {f"{name}_s": seconds, f"{name}_ours": ours, f"{name}_gap": gap}
        found |= {f"{name}_sarsop": theirs, f"{name}_sarsop_gap": their_gap}
    _, nodes, seconds, highs = table_row("12")
    found |= {"nodes": nodes, "nodes_s": seconds, "highs_s": highs}
    states, uniform = table_row("OA2, 456,242")[:2]
    found |= {"large_states": states.split(", ", 1)[1], "large_s": uniform}
    return {name: str(x) for name, x in found.items()}


def filled() -> str:
    """The text of paper.md."""
    found = numbers()
    text = (HERE / "paper.in.md").read_text(encoding="utf-8")
    return re.sub(r"@@(\w+)@@", lambda match: found[match[1]], text)


if __name__ == "__main__":
    (HERE / "paper.md").write_text(filled(), encoding="utf-8")
