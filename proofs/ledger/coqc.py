"""Run Coq: compile the files of `proofs/coq`, and ask what each formal theorem rests on."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from proofs.ledger.formal import AXIOMS, formal_claims, sources
from workbench.core.errors import WorkbenchError

LONGEST_SECONDS = 600


def find_coqc() -> str:
    """The path of coqc. An error says what to install where there is none."""
    found = shutil.which("coqc")
    if found is None:
        raise WorkbenchError(
            "coqc is not installed, and nothing but --coq needs it; Debian and Ubuntu have it as "
            "`coq` (8.16 is known to work)"
        )
    return found


def compile_file(path: Path) -> str:
    """Compile a file in its folder, and give back what Coq prints. An error shows its complaint."""
    done = subprocess.run(
        [find_coqc(), "-q", "-Q", ".", "Remembering", path.name],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise WorkbenchError(f"coqc refuses {path.name}: {done.stderr.strip()[:600]}")
    return done.stdout


def compile_library(
    folder: Path, tell: Callable[[str], None] = lambda name: None, roots: Iterable[str] = ()
) -> None:
    """Compile the files of `proofs/coq` in a folder of their own, and `tell` before each. If roots
    are named, only these and what they import."""
    for source in sources(*roots):
        tell(source.name)
        compile_file(Path(shutil.copy(source, folder)))


def assumptions(folder: Path, theorems: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """The axioms that theorems (of a file, by name) rest on, in a folder with the compiled
    library."""
    asked = list(theorems)
    lines = [f"From Remembering Require {Path(file).stem}." for file, _ in asked]
    for file, name in asked:
        lines += [f'Goal True. idtac "## {name}". Abort.']
        lines += [f"Print Assumptions {Path(file).stem}.{name}."]
    path = folder / "Assumptions.v"
    path.write_text("\n".join(dict.fromkeys(lines)) + "\n")
    found = {}
    for part in compile_file(path).split("## ")[1:]:
        name, _, told = part.partition("\n")
        closed = "Closed under the global context" in told
        told = told.replace("Axioms:\n", "")
        axioms = () if closed else tuple(re.findall(r"^([\w.]+)\s*:", told, re.M))
        if not closed and not axioms:
            raise WorkbenchError(f"Coq does not say what {name} rests on: {told[:200]}")
        found[name.strip()] = axioms
    return found


def check_formal(
    folder: Path, ids: Iterable[str], tell: Callable[[str], None] = lambda name: None
) -> dict[str, tuple[str, ...]]:
    """Compile the library and list the axioms of each theorem. Formal claims may rest on the axioms
    of the reals alone."""
    compile_library(folder, tell)
    formal = formal_claims()
    asked = [(formal[id].file, name) for id in ids for name in formal[id].theorems]
    tell("what they rest on")
    found = assumptions(folder, asked)
    for name, axioms in found.items():
        if strange := set(axioms) - set(AXIOMS):
            raise WorkbenchError(f"{name} rests on {', '.join(sorted(strange))}")
    if missing := {name for _, name in asked} - set(found):
        raise WorkbenchError(f"Coq says nothing about {', '.join(sorted(missing))}")
    return found
