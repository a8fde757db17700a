"""Files of every kind that the workbench reads, damaged at random: texts, and JSON values.

`attack(kind, count, seed)` reads `count` damaged files of a kind. Whatever is wrong with them, only
the package's own errors may come out, and soon; the caller looks at the memory. Run as a script,
it does so for a kind, a count and a seed, and prints how many were read and refused, and how many
bytes the process took at most beyond what it began with.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import random
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pomdps import recall4, t_maze
from workbench import Policy, augment, controller_of, export_drn
from workbench.cli.task_name import find_task
from workbench.core.errors import WorkbenchError
from workbench.interop.controller_file import controller_data, controller_from_data
from workbench.interop.drn_file import parse_drn
from workbench.interop.explicit import to_pomdp
from workbench.interop.pomdp_file import parse_pomdp, pomdp_text
from workbench.results.json import model_from_json, model_json, parse_json
from workbench.sweeps.spec import EXAMPLE, parse_spec
from workbench.sweeps.store import pack, unpack

DATA = Path(__file__).parents[1] / "data"
HANGS = 60
"""Seconds after which one file counts as hanging, on a machine that does other things too."""

WORDS = [
    *("*", ":", "T:", "O:", "R:", "uniform", "identity", "reset", "start:", "states:", "#", "\n"),
    *(
        "T: * : * ",
        "O: * uniform\n",
        "T: * identity\n",
        "R: * : * : * : * 3\n",
        "- 3",
        "+",
        "1.0.0",
    ),
    *(
        "0",
        "1",
        "0.5",
        "-1",
        "99",
        "1e400",
        "1e-400",
        "1/0",
        "nan",
        "9" * 400,
        "\x00",
        "é",
        "\u2028",
    ),
    *(
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        ",",
        "=",
        ".",
        "a.b.c",
        "null",
        "true",
        "[[grid]]",
        "'''",
        '"""',
    ),
    *("#@workbench name: 3\n", '#@workbench {"tokens": 1}\n'),
]
VALUES = [None, True, -1, 0, 1, 10**30, 1e308, "", "x", "1/0", "1e999999999", "9" * 5000]
VALUES += [[], {}, [[]], {"tuple": []}, {"tuple": [{"tuple": [1]}]}, [1, 2, 3], "\0", 10**12]


def damaged_text(text: str, rng: random.Random) -> str:
    """The text with a few words or lines changed, doubled, moved or lost."""
    for _ in range(rng.choice([1, 1, 2, 5])):
        words = list(re.finditer(r"\S+", text))
        if not words:
            return text + rng.choice(WORDS)
        word, lines = rng.choice(words), text.split("\n")
        match rng.randrange(7):
            case 0:
                text = text[: word.start()] + text[word.end() :]
            case 1:
                text = text[: word.start()] + rng.choice(WORDS) + text[word.end() :]
            case 2:
                text = text[: word.start()] + rng.choice(WORDS) + " " + text[word.start() :]
            case 3:
                text = text[: word.start()] + rng.choice(words).group() + text[word.end() :]
            case 4:
                lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
                text = "\n".join(lines)
            case 5:
                lines.pop(rng.randrange(len(lines)))
                text = "\n".join(lines)
            case 6:
                i = rng.randrange(len(text))
                text = text[:i] + chr(rng.randrange(0x3000)) + text[i + 1 :]
    return text


def damaged_json(value: Any, rng: random.Random, texts: bool = True) -> str:
    """A JSON value with one part changed, taken out or doubled; sometimes its text damaged."""
    value = copy.deepcopy(value)
    inside, part = None, value
    while isinstance(part, dict | list) and part and (inside is None or rng.random() < 0.8):
        inside, key = part, rng.choice(list(part) if isinstance(part, dict) else range(len(part)))
        part = part[key]
    if inside is not None:
        if (how := rng.random()) < 0.2:
            del inside[key]
        elif how < 0.3 and isinstance(inside, list):
            inside.append(copy.deepcopy(part))
        else:
            inside[key] = copy.deepcopy(rng.choice(VALUES))
    text = json.dumps(value)
    return damaged_text(text, rng) if texts and rng.random() < 0.2 else text


def damaged_cell(data: bytes, rng: random.Random) -> bytes:
    """The bytes of a cell with a few changed, and a checksum that fits again."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 2, 8])):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    start = bytes(changed).rfind(b"sha256:") + 7
    if start < 7 or len(changed) < start + 64:
        return bytes(changed)
    changed[start : start + 64] = b"0" * 64
    changed[start : start + 64] = hashlib.sha256(changed).hexdigest().encode()
    return bytes(changed)


def reading(rng: random.Random) -> dict[str, Any]:
    """A way to read a `.POMDP` file."""
    choices: dict[str, list[Any]] = {
        "exact": [None, True, False],
        "goals": [(), (0,), ((0, 0),)],
        "first": ["auto", "start"],
        "tolerance": [None, 0.5],
    }
    return {key: rng.choice(values) for key, values in choices.items()}


def _pomdp(rng: random.Random) -> None:
    parse_pomdp(damaged_text(rng.choice(_files()), rng), max_outcomes=100_000, **reading(rng))


def _files() -> list[str]:
    if not _kept:
        paths = sorted(path for path in DATA.iterdir() if path.suffix.lower() == ".pomdp")
        _kept.extend(path.read_text() for path in paths if path.stat().st_size < 20_000)
        _kept.append(pomdp_text(recall4()))
    return _kept


_kept: list[str] = []


def _drn(rng: random.Random) -> None:
    text = export_drn(rng.choice([recall4(), t_maze(2)]))
    to_pomdp(parse_drn("damaged", damaged_text(text, rng)))


def _controller(rng: random.Random) -> None:
    P = rng.choice([recall4(), t_maze(2)])
    form = rng.choice(["json", "paynt", "storm"])
    first = Policy.deterministic(
        augment(P, "none"), dict.fromkeys(augment(P, "none").O, (P.A[0], "-"))
    )
    data = controller_data(controller_of(P, "none", first), form)
    controller_from_data(P, parse_json(damaged_json(data, rng)))


def _spec(rng: random.Random) -> None:
    parse_spec(damaged_text(EXAMPLE, rng), find_task)


def _model(rng: random.Random) -> None:
    model_from_json(parse_json(damaged_json(model_json(recall4()), rng)))


def _cell(rng: random.Random) -> None:
    columns = {"step": np.arange(9), "x": np.linspace(0, 1, 9), "ended": np.array(["fixed"] * 9)}
    # ValueError is what `unpack` promises
    with contextlib.suppress(ValueError):
        unpack(damaged_cell(pack({"task": "recall", "seeds": [0]}, columns), rng))


KINDS: dict[str, Callable[[random.Random], None]] = {
    "pomdp": _pomdp,
    "drn": _drn,
    "controller": _controller,
    "spec": _spec,
    "model": _model,
    "cell": _cell,
}


@contextlib.contextmanager
def not_for_ever(what: str, seconds: int = HANGS) -> Iterator[None]:
    """Fail what takes longer."""

    def late(*_: Any) -> None:
        raise AssertionError(f"{what} takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attack(kind: str, count: int, seed: int) -> tuple[int, int]:
    """How many damaged files were read, and how many were refused."""
    read = refused = 0
    for i in range(count):
        rng = random.Random(f"{kind} {seed} {i}")
        with not_for_ever(f"{kind}, seed {seed}, file {i}"):
            try:
                KINDS[kind](rng)
                read += 1
            except WorkbenchError:
                refused += 1
            except Exception as error:
                error.add_note(f"{kind}, seed {seed}, file {i}")
                raise
    return read, refused


def _most_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    attack(sys.argv[1], 3, 0)
    before = _most_bytes()
    print(*attack(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])), _most_bytes() - before)
