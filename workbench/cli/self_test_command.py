"""`workbench self-test`: does this copy compute what it should?

The answers are in `self_test.json` beside this module: q-values of Appendix C in fractions, a
certificate of each kind with a change that spoils it, and a digest of each learner's run. They
were written by `tests/cli/test_self_test_command.py`, which also compares them with the lemmas.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from importlib.resources import files
from typing import Any

import typer

STEPS, SEED = 2_000, 3
PACKAGES = ("numpy", "scipy", "sympy", "python-flint", "numba", "matplotlib", "rich", "typer")


class Wrong(Exception):
    """A check that does not hold, with what was found instead."""


def self_test_command() -> None:
    """Check that this installed copy computes what it should.

    A line for each check with its time: the packages, the q-values of Appendix C in fractions, a
    certificate of each kind and a spoiled copy of it, each learner bit for bit. It needs no network
    and takes a few seconds, or a minute at first, when kernels are compiled. Exits
    with status 1 if a check fails.

    Example: workbench self-test
    """
    import time

    from workbench.console import plain_console

    console, began = plain_console(), time.monotonic()
    count = failed = 0
    for name, check in checks(kept_answers()):
        start = time.monotonic()
        try:
            said, mark = check(), "ok"
        except Exception as error:  # a check that breaks has failed, and the others go on
            said, mark = str(error) if isinstance(error, Wrong) else repr(error), "FAILED"
        count, failed = count + 1, failed + (mark != "ok")
        seconds = f"{time.monotonic() - start:.2f} s"
        console.print(f"{mark:<6} {seconds:>8}  {name}: {said}", soft_wrap=True)
    took = f"{time.monotonic() - began:.0f} s"
    if failed:
        console.print(f"{failed} of {count} checks fail ({took})")
        raise typer.Exit(1)
    console.print(f"all {count} checks hold ({took})")


def kept_answers() -> dict[str, Any]:
    """The answers that are kept in the package."""
    text = files("workbench.cli").joinpath("self_test.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def checks(answers: dict[str, Any]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Each check by name. It returns what was seen and raises if that is wrong."""
    yield "versions", _versions
    for name, lemma in answers["lemmas"].items():
        yield f"Lemma {name}", partial(_check_lemma, lemma)
    for one in answers["certificates"]:
        kind = one["certificate"]["kind"]
        yield f"certificate {kind}", partial(_check_certificate, **one)
    for name, digest in answers["learners"].items():
        yield f"learner {name}", partial(_check_learner, name, digest)


def _versions() -> str:
    import platform
    from importlib.metadata import version

    import workbench

    found = [f"{name} {version(name)}" for name in PACKAGES]
    own = f"workbench {workbench.__version__}, Python {platform.python_version()}"
    return ", ".join([own, *found, f"{platform.system()} {platform.machine()}"])


def lemma_q(policy: Any) -> dict[str, str]:
    """q-values of a policy of the 4-action recall task with one bit, as fractions in text."""
    from pomdps import recall4
    from workbench import augment, evaluate
    from workbench.results.json import policy_from_json

    E = augment(recall4(), "B1")
    q = evaluate(E, policy_from_json(E, policy), exact=True).q
    return {f"m={m} a={a} w={w}": str(q[(m, o), (a, w)]) for m, o in E.O for a, w in E.A}


def _check_lemma(lemma: dict[str, Any]) -> str:
    found = lemma_q(lemma["policy"])
    for entry, x in lemma["q"].items():
        if found.get(entry) != x:
            raise Wrong(f"q at {entry} is {found.get(entry)}, not {x}")
    return f"{len(found)} q-values of {lemma['of']}, in fractions"


def spoiled_copy(certificate: Any, path: list[Any], value: Any) -> Any:
    """The certificate with one entry changed."""
    changed = json.loads(json.dumps(certificate))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def _check_certificate(certificate: dict[str, Any], path: list[Any], value: Any) -> str:
    from workbench.checker.recheck import recheck
    from workbench.checker.spoiled import Spoiled

    try:
        recheck(certificate)
    except Spoiled as error:
        raise Wrong(f"it is refused: {error}") from None
    try:
        recheck(spoiled_copy(certificate, path, value))
    except Spoiled:
        return "holds; with one entry changed it is refused"
    raise Wrong("a spoiled copy is accepted")


def run_digest(run: Any) -> str:
    """Twelve hex digits of all rewards, episodes, policies and tables of a run."""
    import hashlib

    import numpy as np

    found = hashlib.sha256()
    tables = [run.tables[name] for name in sorted(run.tables)]
    for array in (run.rewards, run.episodes, run.actions, *tables):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:12]


def learner_digest(name: str) -> str:
    """The digest of a short run of a learner on recall with OA1."""
    from pomdps import recall
    from workbench import augment, learn
    from workbench.learning import learner_by_name

    E = augment(recall(), "OA1")
    return run_digest(learn(E, learner_by_name(name), steps=STEPS, seeds=[SEED], every=500))


def _check_learner(name: str, digest: str) -> str:
    found = learner_digest(name)
    if found != digest:
        raise Wrong(f"{STEPS:,} steps with seed {SEED} have the digest {found}, not {digest}")
    return f"{STEPS:,} steps with seed {SEED}, bit for bit"
