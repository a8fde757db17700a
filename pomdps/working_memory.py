"""Working-memory tasks of cognitive science as exact POMDPs: what has to be kept is known.

Zilli and Hasselmo (2008) and Todd, Niv and Cohen (2009) ask of such tasks which memory an agent
needs that learns what to remember. Their drawings lay time, or what is remembered, out on a grid;
where actions are words, arrows stand for them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pomdps.drawing import ARROWS, Drawing, Grid, GridCell
from pomdps.task import task
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP

_GAMMA = Fraction(9, 10)
_HALF = Fraction(1, 2)
StepOutcomes = dict[tuple[Any, Number], Number]

_SAME = {"same": ARROWS["up"], "different": ARROWS["down"]}
_SIDES = {name: ARROWS[name] for name in ("left", "right")}
_SHOWN = ("1", "2", "A", "B", "X", "Y")


def _lanes(blocks: str, key: str, moves: dict[str, GridCell]) -> Drawing:
    """Two lanes of time, the upper one after A, for states (first letter, time, ...)."""
    grid = Grid.of_blocks(blocks)

    def place(s: Any, o: Any) -> GridCell | None:
        if s == "end":
            return None
        cell = (s[1], int(s[0] == "A"))
        return cell if cell in grid.cells else None

    return Drawing(blocks, key, grid, place, moves)


def _tree(n: int) -> Drawing:
    """A column for each number of letters seen, a row for each word read as a binary number."""
    rows = [
        "".join("#" if y >= 2 ** (x + 1) else "AB"[y % 2] for x in range(n + 1))
        for y in reversed(range(2 ** (n + 1)))
    ]
    blocks = "\n".join(rows)
    grid = Grid.of_blocks(blocks)

    def place(s: str, o: Any) -> GridCell | None:
        cell = (len(s) - 1, int(s.translate({65: "0", 66: "1"}), 2))
        return cell if cell in grid.cells else None

    text = "\n".join(row.replace("#", " ") for row in rows)
    key = "columns: letters kept\nrows: the word they are\nup: same, down: different"
    return Drawing(text, key, grid, place, _SAME)


def _stream() -> Drawing:
    """A row for each last digit and letter before it, a column for each sign shown."""
    blocks = "\n".join(["".join(_SHOWN)] * 9)

    def place(s: tuple[str, str, str], o: Any) -> GridCell:
        digit, before, now = s
        return _SHOWN.index(now), 3 * "-12".index(digit) + "-AB".index(before)

    key = (
        "columns: the sign shown\nrows from below: no digit yet, 1, 2,\n"
        "each after neither letter, A, B\nup: press, down: wait"
    )
    moves = {"press": ARROWS["up"], "wait": ARROWS["down"]}
    return Drawing(blocks, key, Grid.of_blocks(blocks), place, moves)


@task(
    title="A sample is shown, then a delay, then a probe: does it match?",
    text="The sample A or B is shown for one step, then nothing for the delay, then a probe A or "
    "B. Saying same or different at the probe ends the episode and pays 1 if that is right. With "
    "match = False the answer is the other way round.",
    source="delayed match to sample, as in Zilli and Hasselmo 2008",
    known={"states": 11, "observations": 6, "actions": 2, "best": Fraction(729, 1000)},
    drawing=_lanes(
        "A..P\nB..P",
        "A, B: the sample, then the delay, P: the probe; up: same, down: different",
        _SAME,
    ),
)
def delayed_match(delay: int = 2, match: bool = True, gamma: Number = _GAMMA) -> POMDP:
    """Delayed match (or non-match) to sample.

    Parameters
    ----------
    delay : steps in which nothing is shown.
    match : whether `same` is right if probe and sample agree; if not, `different` is.

    >>> delayed_match()
    POMDP delayed match: 11 states (1 terminal), 6 observations, 2 actions, 24 outcomes, gamma 9/10
    """
    if delay < 0:
        raise WorkbenchError(f"a delay has at least 0 steps, not {delay}")

    def p(s: Any, a: str) -> StepOutcomes:
        sample, t, probe = s
        if probe is not None:
            right = (probe == sample) == match
            return {("end", int((a == "same") == right)): 1}
        if t < delay:
            return {((sample, t + 1, None), 0): 1}
        return {((sample, t + 1, shown), 0): _HALF for shown in "AB"}

    def omega(s: Any) -> dict[str, int]:
        if s == "end":
            return {"end": 1}
        sample, t, probe = s
        return {f"probe {probe}" if probe else "nothing" if t else f"sample {sample}": 1}

    return POMDP.from_functions(
        name="delayed match" if match else "delayed non-match",
        A=("same", "different"),
        p=p,
        omega=omega,
        mu={(sample, 0, None): _HALF for sample in "AB"},
        gamma=gamma,
        terminal={"end"},
    )


@task(
    title="Go to the other side each time",
    text="Left or right; it pays 1 to choose another side than the last time. Nothing is shown.",
    source="spatial alternation, as in Zilli and Hasselmo 2008",
    known={"states": 3, "observations": 1, "actions": 2, "best": 9},
    drawing=Drawing(
        "L.R",
        "L, R: the side chosen last; in between the start",
        Grid.of_blocks("L.R"),
        lambda s, o: ({"left": 0, "start": 1, "right": 2}[s], 0),
        _SIDES,
    ),
)
def alternation(gamma: Number = _GAMMA) -> POMDP:
    """Spatial alternation: the first choice pays nothing.

    >>> alternation()
    POMDP alternation: 3 states, 1 observation, 2 actions, 6 outcomes, gamma 9/10
    """

    def p(s: str, a: str) -> StepOutcomes:
        return {(a, int(s not in ("start", a))): 1}

    return POMDP.from_functions(
        name="alternation",
        A=("left", "right"),
        p=p,
        omega=lambda s: {"o": 1},
        mu={"start": 1},
        gamma=gamma,
    )


@task(
    title="Two sequences that share their middle: where does this one go?",
    text="A sequence begins with A or B and goes on with the same letters; at its end left is "
    "right after A, and right after B. Actions matter at the end only, where they pay 1 or 0.",
    source="sequence disambiguation, as in Zilli and Hasselmo 2008",
    known={"states": 9, "observations": 6, "actions": 2, "best": Fraction(729, 1000)},
    drawing=_lanes("ACD?\nBCD?", "letters as they come; ?: the choice", _SIDES),
)
def sequence_disambiguation(shared: int = 2, gamma: Number = _GAMMA) -> POMDP:
    """Sequences with `shared` letters in common between their beginning and their end.

    >>> sequence_disambiguation()
    POMDP sequence disambiguation: 9 states (1 terminal), 6 observations, 2 actions, 16 outcomes,
    gamma 9/10
    """
    if not 0 <= shared <= 20:
        raise WorkbenchError(f"sequences share 0 to 20 letters here, not {shared}")
    middle = "CDEFGHIJKLMNOPQRSTUV"[:shared]

    def p(s: Any, a: str) -> StepOutcomes:
        first, t = s
        if t <= shared:
            return {((first, t + 1), 0): 1}
        return {("end", int((a == "left") == (first == "A"))): 1}

    def omega(s: Any) -> dict[str, int]:
        if s == "end":
            return {"end": 1}
        first, t = s
        return {first if t == 0 else middle[t - 1] if t <= shared else "choose": 1}

    return POMDP.from_functions(
        name="sequence disambiguation",
        A=("left", "right"),
        p=p,
        omega=omega,
        mu={("A", 0): _HALF, ("B", 0): _HALF},
        gamma=gamma,
        terminal={"end"},
    )


@task(
    title="Is this letter the one of n steps ago?",
    text="A stream of random letters A and B. In every step it pays 1 to say same if the letter is "
    "that of n steps ago, and different if not; the first n answers pay nothing.",
    source="n-back, as in Todd, Niv and Cohen 2009",
    known={"states": 14, "observations": 2, "actions": 2, "best": Fraction(81, 10)},
    drawing=_tree(2),
)
def n_back(n: int = 2, gamma: Number = _GAMMA) -> POMDP:
    """The n-back task with two letters. A state is the last n + 1 letters.

    >>> n_back()
    POMDP n-back 2: 14 states, 2 observations, 2 actions, 56 outcomes, gamma 9/10
    """
    if not 1 <= n <= 12:
        raise WorkbenchError(f"letters are asked for 1 to 12 steps back here, not {n}")

    def p(s: str, a: str) -> StepOutcomes:
        paid = int(len(s) > n and (a == "same") == (s[0] == s[-1]))
        return {((s + letter)[-n - 1 :], paid): _HALF for letter in "AB"}

    return POMDP.from_functions(
        name=f"n-back {n}",
        A=("same", "different"),
        p=p,
        omega=lambda s: {s[-1]: 1},
        mu={"A": _HALF, "B": _HALF},
        gamma=gamma,
    )


@task(
    title="1-2-AX: answer X after A if the last digit was 1, Y after B if it was 2",
    text="A stream of the digits 1, 2 and the letters A, B, X, Y, all alike likely. Target is an X "
    "just after an A if the last digit was 1, and a Y just after a B if it was 2. In every step it "
    "pays 1 to press on a target and -1 to press elsewhere.",
    source="O'Reilly and Frank 2006; Todd, Niv and Cohen 2009",
    known={"states": 54, "observations": 6, "actions": 2, "best": Fraction(3, 16)},
    drawing=_stream(),
)
def one_two_ax(gamma: Number = _GAMMA) -> POMDP:
    """The 1-2-AX task. A state is the last digit, the letter before, and what is shown.

    >>> one_two_ax()
    POMDP 1-2-AX: 54 states, 6 observations, 2 actions, 648 outcomes, gamma 9/10
    """
    sixth = Fraction(1, 6)

    def p(s: tuple[str, str, str], a: str) -> StepOutcomes:
        digit, before, now = s
        target = (digit, before, now) in (("1", "A", "X"), ("2", "B", "Y"))
        paid = (1 if target else -1) if a == "press" else 0
        kept = now if now in "12" else digit
        last = now if now in "AB" else "-"
        return {((kept, last, after), paid): sixth for after in _SHOWN}

    return POMDP.from_functions(
        name="1-2-AX",
        A=("wait", "press"),
        p=p,
        omega=lambda s: {s[2]: 1},
        mu={("-", "-", now): sixth for now in _SHOWN},
        gamma=gamma,
    )
