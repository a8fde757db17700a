"""Load every POMDP that other tools ship, and compare a value of each with Storm's.

python tests/benchmarks/neighbours.py FOLDER ... [--lines FILE]

FOLDER is a clone of Storm's, PAYNT's or another repository. A line for each POMDP found: what it
is here, or the reason why it is refused, and two values where there is one to compare. A file that
leaves constants open holds a POMDP for each set of values that tests in these folders give it.

    PRISM and DRN    the best reward of some steps, or the best probability of reaching a label,
                     if the state were seen, of the model as Storm builds it from the file
    .POMDP           the return of the uniform policy, of the model as `export_drn` writes it

It needs the extra `storm`. Open constants to which no test gives a value get those of `OPEN`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import stormpy

from workbench import (
    evaluate,
    from_prism,
    load_drn,
    load_pomdp,
    uniform,
    with_goal,
    with_step_limit,
)
from workbench.core.errors import WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.interop.drn_file import parse_drn
from workbench.interop.storm import storm_value
from workbench.optima.best_informed import best_informed

OPEN = {"N": "4", "i": "0.5", "sl": "0.1", "slippery": "0.1", "K": "4", "T": "3", "p": "0.5"}
"""What constants are here that files leave open and no test sets; any other is 2."""

HORIZONS = (5, 20, 60)

NEARLY = 1e-5
"""Values this close, as a share of their size, agree: Storm iterates to 1e-6."""

SECONDS = 60
"""Of processor time, for one file."""

_PRISM = re.compile(r"^\s*pomdp\b", re.M)

_GIVEN = re.compile(r'"(/pomdp/[\w-]+\.prism)"[^;]*?"((?:\w+=[\d.]+,?)+)"')
"""A file and values of its constants, in one statement of a test."""


def kind_of(path: Path) -> str | None:
    """In which language a file holds a POMDP. None where it holds none."""
    if path.suffix.lower() == ".pomdp":
        return "POMDP"
    if path.suffix in (".cpp", ".h", ".spirit", ".py", ".md", ".log"):
        return None
    if path.stat().st_size > 20_000_000:
        return None
    text = path.read_text(errors="replace")
    if "@type: POMDP" in text[:2_000]:
        return "DRN"
    return "PRISM" if _PRISM.search(text) else None


def given_values(folders: list[Path]) -> dict[str, list[str]]:
    """The sets of constants that tests give to a file, by the end of its path."""
    found: dict[str, set[str]] = {}
    for path in (path for folder in folders for path in folder.rglob("*.cpp")):
        for file, values in _GIVEN.findall(path.read_text(errors="replace")):
            pairs = (pair.split("=") for pair in values.split(","))
            same = ",".join(f"{name}={float(value):g}" for name, value in pairs)
            found.setdefault(file, set()).add(same)
    return {file: sorted(values) for file, values in found.items()}


def open_constants(path: Path) -> str:
    """The constants that a PRISM file leaves open, with values of `OPEN`."""
    text = re.sub(r"//.*", "", path.read_text(errors="replace"))
    found = re.findall(r"const\s+(?:(?:int|double|bool)\s+)?(\w+)\s*;", text)
    return ",".join(f"{name}={OPEN.get(name, '2')}" for name in dict.fromkeys(found))


def load(path: Path, kind: str, constants: str) -> tuple[POMDP, str | None]:
    """The task, and the reward model that was taken of several."""
    if kind == "POMDP":
        return load_pomdp(path), None
    if kind == "DRN":
        rewards = parse_drn(path.stem, path.read_text()).reward_models
    else:
        rewards = re.findall(r'^\s*rewards\s+"(\w+)"', path.read_text(errors="replace"), re.M)
    one = rewards[0] if len(rewards) > 1 else None
    return (load_drn(path, one) if kind == "DRN" else from_prism(path, constants, one)), one


def storm_model(path: Path, kind: str, constants: str) -> Any:
    """The model as Storm builds it, without us."""
    if kind == "DRN":
        return stormpy.build_model_from_drn(str(path))
    program = stormpy.parse_prism_program(str(path))
    program, _ = stormpy.instantiate_constants(program, constants)
    options = stormpy.BuilderOptions()
    options.set_build_all_labels()
    options.set_build_all_reward_models()
    return stormpy.build_model(program, options=options)


def compare(
    P: POMDP, path: Path, kind: str, constants: str, one: str | None
) -> tuple[str, float, float]:
    """What is compared, our number and Storm's. One that is neither 0 nor 1 tells most."""
    if kind == "POMDP":
        if P.gamma == 1 and not len(P.terminal):
            P = replace(P, gamma=0.95)
        pi = uniform(P)
        return "return of the uniform policy", float(evaluate(P, pi).value), storm_value(P, pi)
    model = storm_model(path, kind, constants)
    environment = stormpy.Environment()
    environment.solver().min_max().precision = stormpy.Rational(1e-9)
    labels = sorted({word for s in P.S for word in getattr(s, "labels", ())} - {"init", "deadlock"})
    words: list[tuple[str, Any]] = []
    if one or len(model.reward_models) == 1:
        name = f'{{"{one}"}}' if one else ""
        words += [(f"R{name}max=? [C<={n}]", (with_step_limit, n)) for n in HORIZONS]
    for word in labels:
        words += [(f'Pmax=? [F<={n} "{word}"]', (with_goal, word, n)) for n in HORIZONS]
    words += [(f'Pmax=? [F "{word}"]', (with_goal, word)) for word in labels]
    for query, (change, *by) in words:
        answer = stormpy.model_checking(
            model,
            stormpy.parse_properties(query)[0],
            force_fully_observable=True,
            environment=environment,
        )
        theirs = float(answer.get_value(model.initial_states[0]))
        if theirs != round(theirs) or query == words[-1][0]:
            return query, float(best_informed(change(P, *by))), theirs
    raise WorkbenchError("it has no label to reach and no reward model")


def look(path: Path, kind: str, constants: str) -> dict[str, object]:
    """A line about a POMDP."""
    line: dict[str, object] = {"file": str(path), "kind": kind, "constants": constants}
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        P, one = load(path, kind, constants)
    except WorkbenchError as error:
        return line | {"refused": str(error)}
    line["task"] = repr(P)
    try:
        what, ours, theirs = compare(P, path, kind, constants, one)
    except WorkbenchError as error:
        return line | {"not compared": str(error)}
    except RuntimeError as error:
        return line | {"not compared": f"{type(error).__name__}: {error}"}
    same = abs(ours - theirs) <= NEARLY * max(abs(ours), abs(theirs), 1)
    return line | {"compared": what, "ours": ours, "storm": theirs, "agree": same}


def _into(pipe: Any, path: Path, kind: str, constants: str) -> None:
    pipe.send(look(path, kind, constants))


def models(folders: list[Path]) -> Iterator[tuple[Path, str, str]]:
    """Each POMDP: its file, the language, and values of the constants that the file leaves open."""
    given = given_values(folders)
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        kind = kind_of(path)
        if kind != "PRISM":
            yield from [(path, kind, "")] if kind else []
            continue
        opened = open_constants(path)
        values = given.get(f"/{'/'.join(path.parts[-2:])}") if opened else None
        yield from ((path, kind, constants) for constants in values or [opened])


def looked_at(folders: list[Path]) -> Iterator[dict[str, object]]:
    """Each file in a process of its own: Storm ends a process that it cannot go on with."""
    known: dict[tuple[bytes, str], dict[str, object]] = {}
    for path, kind, constants in models(folders):
        text = path.read_bytes(), constants
        if text in known:
            yield known[text] | {"file": str(path)}
            continue
        here, there = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=_into, args=(there, path, kind, constants)
        )
        process.start()
        there.close()
        try:
            known[text] = here.recv()
        except EOFError:
            why = f"not read and compared in {SECONDS} s of processor time"
            line = {"file": str(path), "kind": kind, "constants": constants}
            known[text] = line | {"refused": why}
        process.join()
        yield known[text]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--lines", type=Path)
    given = parser.parse_args()
    lines = []
    for line in looked_at(given.folders):
        lines.append(line)
        print(json.dumps(line), flush=True)
    for word in ("task", "refused", "agree"):
        print(word, sum(bool(line.get(word)) for line in lines))


if __name__ == "__main__":
    main()
