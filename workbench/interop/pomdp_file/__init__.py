"""Cassandra's `.POMDP` files: `load_pomdp` and `save_pomdp`.

`grammar.py` holds the grammar, `compile.py` what a file means in the paper's form, with the first
observation and the ends of episodes, `notes.py` what `save_pomdp` adds in comments so that nothing
is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from pathlib import Path

from rich.text import Text

from workbench.console import plain_console
from workbench.core.errors import ModelError
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.interop.pomdp_file.compile import FileReading, compile_record
from workbench.interop.pomdp_file.grammar import parse_record
from workbench.interop.pomdp_file.notes import read_notes
from workbench.interop.pomdp_file.source import PomdpFileError, Source
from workbench.interop.pomdp_file.write import pomdp_text
from workbench.output import read_whole, write_whole

__all__ = ["PomdpFileError", "load_pomdp", "parse_pomdp", "pomdp_text", "save_pomdp"]

MAX_OUTCOMES = 10_000_000
"""`load_pomdp` refuses files with more states times actions, observations or outcomes, unless told
otherwise."""


def load_pomdp(
    path: str | PathLike[str],
    *,
    first: str = "auto",
    goals: Iterable[Label] = (),
    exact: bool | None = None,
    tolerance: float | None = None,
    max_outcomes: int = MAX_OUTCOMES,
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
        tasks: from a goal every action leads back to the start. A file of `save_pomdp` knows its
        terminal states.
    exact : True reads decimals as rationals; each row must then sum to one exactly. None: as a file
        written by `save_pomdp` says, and otherwise False.
    tolerance : rows whose sum lies this close to one are divided by it; others are refused. Default
        1e-5, which is `pomdp-solve`'s, and 0 when exact.
    max_outcomes : refuse larger files.

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
    data = read_whole(path)
    with _patience(path.name, len(data)):
        return parse_pomdp(
            data.decode("utf-8", errors="replace"),
            name=path.name,
            first=first,
            goals=goals,
            exact=exact,
            tolerance=tolerance,
            max_outcomes=max_outcomes,
        )


def _patience(name: str, size: int) -> AbstractContextManager[object]:
    """A spinner in the terminal while a large file is read. A file of some megabytes takes a second
    for each."""
    if size < 2_000_000:
        return nullcontext()
    return plain_console(stderr=True).status(Text(f"reading {name} ({size / 1e6:.0f} MB)"))


def parse_pomdp(
    text: str,
    *,
    name: str = "unnamed",
    first: str = "auto",
    goals: Iterable[Label] = (),
    exact: bool | None = None,
    tolerance: float | None = None,
    max_outcomes: int = MAX_OUTCOMES,
) -> POMDP:
    """The POMDP that the text of a `.POMDP` file describes. The arguments are those of
    `load_pomdp`."""
    if first not in ("auto", "start"):
        raise PomdpFileError(f"first must be 'auto' or 'start', not {first!r}")
    if tolerance is not None and not 0 <= tolerance < 1:
        raise PomdpFileError(f"tolerance must lie in [0, 1), not {tolerance}")
    goals = (goals,) if isinstance(goals, str) else tuple(goals)
    reading = FileReading(first, goals, tolerance, max_outcomes)
    source = Source(text, name)
    notes = read_notes(source)
    if exact is None:
        exact = notes.exact is not None
    record = parse_record(source, exact, notes.exact or {}, max_outcomes)
    P = compile_record(record, notes, source, reading, notes.name or _task_name(name))
    if not notes.allowed:
        return P
    try:
        rows = {P.O[o]: [P.A[a] for a in row] for o, row in notes.allowed.items()}
        return P.with_allowed(lambda o: rows.get(o, P.A))
    except (IndexError, ModelError) as wrong:
        line = notes.lines["allowed"]
        raise source.fault_at_line(line, f"the note allowed does not fit: {wrong}") from None


def _task_name(name: str) -> str:
    return name[: -len(".pomdp")] if name.lower().endswith(".pomdp") else name


def save_pomdp(P: POMDP, path: str | PathLike[str]) -> None:
    """Write a POMDP as a `.POMDP` file, which `load_pomdp` reads back to the same model. Other
    programs read it too.

    Same labels, same numbers (bit for bit, or as fractions), same start, same terminal states.
    Outcomes of probability zero are left out. What the format has no words for goes into comments
    (`workbench.interop.pomdp_file.notes`): labels that are no names, terminal states (other
    programs see them absorbing, without reward), which actions an observation allows (other
    programs see the others do what the first of them does), fractions that are no decimals, and
    that some states are copies of others, which several rewards for one (s, a, s') need. Symbols
    are refused.

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
    {(0, Fraction(0, 1)): Fraction(2, 3), ('end', Fraction(1, 1)): Fraction(1, 3)}

    See also: `load_pomdp`, `export_drn`, `to_arrays`.
    """
    write_whole(Path(path), pomdp_text(P))
