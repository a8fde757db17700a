"""Cassandra's `.POMDP` files: `load_pomdp` and `save_pomdp`.

`grammar.py` holds the grammar, `compile.py` what a file means in the paper's form, with the first
observation and the ends of episodes, `note.py` the comment by which `save_pomdp` loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.interop.pomdp_file.compile import FileReading, compile_record
from workbench.interop.pomdp_file.grammar import parse_record
from workbench.interop.pomdp_file.note import read_note
from workbench.interop.pomdp_file.source import PomdpFileError, Source
from workbench.interop.pomdp_file.tables import TooMany
from workbench.interop.pomdp_file.write import pomdp_text
from workbench.output import read_whole, write_whole

__all__ = ["PomdpFileError", "load_pomdp", "parse_pomdp", "pomdp_text", "save_pomdp"]


def load_pomdp(
    path: str | PathLike[str],
    *,
    first: str = "auto",
    goals: Iterable[Label] = (),
    exact: bool | None = None,
    tolerance: float | None = None,
    max_outcomes: int = FileReading.max_outcomes,
) -> POMDP:
    """Read a `.POMDP` file.

    States, actions and observations have their names in the file for labels, or the numbers 0, 1,
    ... where it gives a count. A state whose observation depends on the action that led there, or
    on entering which the reward depends on the observation, becomes the states (s, o), "in s,
    having shown o". `values: cost` negates the rewards.

    Parameters
    ----------
    path : the file.
    first : the observation before any action, which files do not define. "auto": what the start
        state shows if that does not depend on the action, otherwise as "start"; "start": a separate
        observation "start", shown by the states (s, "start").
    goals : states or pairs (state, action) that end an episode. Files are written as continuing
        tasks: from a goal every action leads back to the start.
    exact : True reads decimals as rationals; each row must then sum to one exactly.
    tolerance : rows whose sum lies this close to one are divided by it; others are refused. Default
        1e-5, which is `pomdp-solve`'s, and 0 when exact.
    max_outcomes : refuse larger files.

    A file of `save_pomdp` comes back as the model that was saved. With `first`, `goals` or
    `tolerance`, or where `exact` asks for other numbers, it is read as any other file.

    Raises
    ------
    PomdpFileError : with the line, the column, the line itself and what was expected there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "coin.POMDP"
    >>> _ = path.write_text('''
    ... discount: 0.9   values: reward   states: heads tails   actions: look toss
    ... observations: h t
    ... start: heads
    ... T: look identity
    ... T: toss uniform
    ... O: look : heads 1 0
    ... O: look : tails 0 1
    ... O: toss uniform
    ... R: look : heads : * : * 1.5''')
    >>> load_pomdp(path)
    POMDP coin: 5 states, 3 observations, 2 actions, 25 outcomes, gamma 0.9
    >>> load_pomdp(path, goals=[("heads", "look")], exact=True).p("heads", "look")
    {('end', Fraction(3, 2)): Fraction(1, 1)}

    See also: `save_pomdp`, `POMDP`, `from_arrays`.
    """
    path = Path(path)
    return parse_pomdp(
        read_whole(path).decode("utf-8", errors="replace"),
        name=path.name,
        first=first,
        goals=goals,
        exact=exact,
        tolerance=tolerance,
        max_outcomes=max_outcomes,
    )


def parse_pomdp(text: str, *, name: str = "unnamed", **how: Any) -> POMDP:
    """The POMDP that the text of a `.POMDP` file describes. The other arguments are those of
    `load_pomdp`."""
    reading = FileReading(**how)
    source = Source(text, name)
    try:
        if reading.first == "auto" and not reading.goals and reading.tolerance is None:
            P = read_note(source, reading.max_outcomes)
            if P is not None and reading.exact in (None, P.is_exact):
                return P
        record = parse_record(source, bool(reading.exact), reading.max_outcomes)
        task = name[: -len(".pomdp")] if name.lower().endswith(".pomdp") else name
        return compile_record(record, source, reading, task)
    except TooMany as many:
        raise PomdpFileError(
            f"too large: at least {many.args[0]:,} outcomes; the limit is {reading.max_outcomes:,} "
            "(max_outcomes sets this limit)",
            name,
        ) from None


def save_pomdp(P: POMDP, path: str | PathLike[str]) -> None:
    """Write a POMDP as a `.POMDP` file, which `load_pomdp` reads back to the same model. Other
    programs read it too.

    Same labels, same numbers (bit for bit, or as fractions), same start, same terminal states:
    a comment holds what the format has no words for (`workbench.interop.pomdp_file.note`). Other
    programs see terminal states as absorbing, without reward, actions that an observation does not
    allow as the first that it does, and one mean reward for each (s, a, s'). Symbols are refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fractions import Fraction
    >>> third = Fraction(1, 3)
    >>> P = POMDP.from_functions(
    ...     name="a third",
    ...     A=["go"],
    ...     p=lambda s, a: {("end", 1): third, (0, 0): 1 - third},
    ...     omega=lambda s: {"o": 1},
    ...     mu={0: 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "third.POMDP"
    >>> save_pomdp(P, path)
    >>> load_pomdp(path)
    POMDP a third: 2 states (1 terminal), 1 observation, 1 action, 2 outcomes, gamma 1
    >>> load_pomdp(path).p(0, "go")
    {('end', Fraction(1, 1)): Fraction(1, 3), (0, Fraction(0, 1)): Fraction(2, 3)}

    See also: `load_pomdp`, `export_drn`, `to_arrays`.
    """
    write_whole(Path(path), pomdp_text(P))
