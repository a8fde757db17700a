"""Hypothesis strategies for `.POMDP` files: well-formed texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from hypothesis import strategies as st

TENTHS = ["0", "0.1", ".2", "3e-1", "0.4", "0.5", "0.60", "0.7", "0.8", "9.0e-1", "1", "1.0", "1."]
REWARDS = ["0", "1", "-1", "+2", "2.5", "-.5", "1e1", "- 3"]
COLONS = [":", " : ", ": ", " :"]


@dataclass
class Draft:
    """A file in the making."""

    S: list[str]
    A: list[str]
    O: list[str]
    header: list[str]
    start: str
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        return "\n".join([*self.header, self.start, *self.lines]) + "\n"


@st.composite
def drafts(draw: st.DrawFn, most: int = 3) -> Draft:
    """A header and a start, every form of them."""
    sets = {}
    header = []
    for word, letter in (("states", "s"), ("actions", "a"), ("observations", "o")):
        n = draw(st.integers(1, most))
        named = draw(st.booleans())
        sets[word] = [f"{letter}-{i}" for i in range(n)] if named else [str(i) for i in range(n)]
        gap = draw(st.sampled_from([" ", "\n", "  # more below\n\t"]))
        header.append(
            f"{word}{draw(st.sampled_from(COLONS))}{gap}{gap.join(sets[word]) if named else n}"
        )
    header.append(f"discount: {draw(st.sampled_from(['0.9', '.5', '1', '0', '95e-2']))}")
    header.append(f"values: {draw(st.sampled_from(['reward', 'cost']))}")
    header = draw(st.permutations(header))
    S = sets["states"]
    kind = draw(st.sampled_from(["none", "vector", "uniform", "state", "include", "exclude"]))
    some = draw(st.lists(st.sampled_from(S), min_size=1, unique=True))
    start = {
        "none": "",
        "vector": "start:\n" + " ".join(draw(rows(len(S)))),
        "uniform": "start: uniform",
        "state": f"start: {some[0]}",
        "include": "start include: " + " ".join(some),
        "exclude": "start exclude: " + " ".join(some) if len(some) < len(S) else "start include: *",
    }[kind]
    return Draft(S, sets["actions"], sets["observations"], list(header), start)


@st.composite
def rows(draw: st.DrawFn, n: int) -> list[str]:
    """Decimals that sum to one."""
    cuts = sorted(draw(st.lists(st.integers(0, 10), min_size=n - 1, max_size=n - 1)))
    parts = [b - a for a, b in zip([0, *cuts], [*cuts, 10], strict=True)]
    return [str(float(Fraction(part, 10))) for part in parts]


def _or_star(labels: list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from([*labels, *map(str, range(len(labels))), "*", "*"])


@st.composite
def any_line(draw: st.DrawFn, draft: Draft, letter: str) -> str:
    """A line for T or O of any form, its numbers not minded."""
    columns = draft.S if letter == "T" else draft.O
    colon = draw(st.sampled_from(COLONS))
    numbers = st.sampled_from(TENTHS)
    key = [draw(_or_star(draft.A)), draw(_or_star(draft.S)), draw(_or_star(columns))]
    depth = draw(st.integers(1, 3))
    if depth == 3:
        return f"{letter}:{colon.join(key)} {draw(numbers)}"
    words = ["uniform"] + ["reset"] * (letter == "T")
    words += ["identity"] if depth == 1 and len(columns) == len(draft.S) else []
    count = len(columns) * (len(draft.S) if depth == 1 else 1)
    listed = " ".join(draw(st.lists(numbers, min_size=count, max_size=count)))
    return f"{letter}:{colon.join(key[:depth])}\n{draw(st.sampled_from([*words, listed, listed]))}"


@st.composite
def reward_line(draw: st.DrawFn, draft: Draft) -> str:
    """A line for R of any form."""
    colon = draw(st.sampled_from(COLONS))
    key = [
        draw(_or_star(draft.A)),
        draw(_or_star(draft.S)),
        draw(_or_star(draft.S)),
        draw(_or_star(draft.O)),
    ]
    depth = draw(st.sampled_from([2, 3, 4, 4, 4]))
    count = {2: len(draft.S) * len(draft.O), 3: len(draft.O), 4: 1}[depth]
    numbers = draw(
        st.lists(
            st.sampled_from([r for r in REWARDS if r != "- 3"]), min_size=count, max_size=count
        )
    )
    return f"R:{colon.join(key[:depth])} {' '.join(numbers)}"


@st.composite
def distribution_lines(draw: st.DrawFn, draft: Draft, letter: str) -> list[str]:
    """Lines for T or O after which every row is a distribution, in every form that can say it."""
    columns = draft.S if letter == "T" else draft.O
    lines = draw(st.lists(any_line(draft, letter), max_size=2))
    everywhere = draw(st.sampled_from(["*", "each"]))
    for a in ["*"] if everywhere == "*" else draft.A:
        form = draw(st.sampled_from(["matrix", "rows", "word", "entries"]))
        if form == "matrix":
            lines.append(
                f"{letter}: {a}\n" + "\n".join(" ".join(draw(rows(len(columns)))) for _ in draft.S)
            )
        elif form == "word":
            words = (
                ["uniform"]
                + ["reset"] * (letter == "T")
                + ["identity"] * (len(columns) == len(draft.S))
            )
            lines.append(f"{letter}: {a} {draw(st.sampled_from(words))}")
        else:
            for s in draft.S:
                numbers = draw(rows(len(columns)))
                if form == "rows":
                    words = ["uniform", "reset"] if letter == "T" else ["uniform"]
                    lines.append(
                        f"{letter}: {a} : {s} {draw(st.sampled_from([*words, ' '.join(numbers)]))}"
                    )
                else:
                    entries = [
                        f"{letter}: {a} : {s} : {c} {x}"
                        for c, x in zip(columns, numbers, strict=True)
                    ]
                    lines += draw(st.permutations(entries))
    for _ in range(draw(st.integers(0, 2))):  # later rows override
        a, s = draw(_or_star(draft.A)), draw(_or_star(draft.S))
        words = ["uniform", "reset"] if letter == "T" else ["uniform"]
        lines.append(
            f"{letter}: {a} : {s} "
            f"{draw(st.sampled_from([*words, ' '.join(draw(rows(len(columns))))]))}"
        )
    return lines


@st.composite
def files(draw: st.DrawFn, most: int = 3) -> str:
    """The text of a well-formed file whose rows are distributions."""
    draft = draw(drafts(most))
    groups = [
        draw(distribution_lines(draft, "T")),
        draw(distribution_lines(draft, "O")),
        draw(st.lists(reward_line(draft), max_size=4)),
    ]
    for group in draw(st.permutations(groups)):
        draft.lines += group
    return draft.text()
