"""Formulas as the docstrings write them, as TeX.

    P_pi(s|o) = d_pi(s) omega(o|s) / sum_{s'} d_pi(s') omega(o|s')

is text that reads well in a terminal; on a page it is set. Letters and Greek names are variables,
`sum`, `max` and the like operators, `|A|` a size; other words are words. A block of lines becomes
one array, a column wherever two spaces or more separate its parts.
"""

from __future__ import annotations

import re

GREEK = frozenset(
    (
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "eta",
        "theta",
        "lambda",
        "mu",
        "nu",
        "pi",
        "rho",
        "sigma",
        "tau",
        "phi",
        "chi",
        "psi",
        "omega",
        "Gamma",
        "Delta",
        "Theta",
        "Lambda",
        "Pi",
        "Sigma",
        "Phi",
        "Psi",
        "Omega",
    )
)

_OPERATORS = {"sum": r"\sum", "max": r"\max", "min": r"\min", "log": r"\log", "exp": r"\exp"}

_NAMED = {"argmax": "arg\\,max", "argmin": "arg\\,min", "greedy": "greedy", "softmax": "softmax"}

_SIGNS = {
    "<=": r"\le ",
    ">=": r"\ge ",
    "!=": r"\ne ",
    "->": r"\to ",
    "+=": r"\mathrel{+}= ",
    "-=": r"\mathrel{-}= ",
    "...": r"\dots ",
    "*": r"\cdot ",
    "|": r"\mid ",
    "∅": r"\emptyset ",
    "×": r"\times ",
    "&": r"\& ",
    "%": r"\% ",
    "#": r"\# ",
    "{": r"\{",
    "}": r"\}",
    "~": r"\sim ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "\\": r"\backslash ",
    "$": r"\$",
}

_TOKEN = re.compile(
    r"""
    (?P<size>\|[A-Za-z]'?\|)                 # |A|
  | (?P<word>[A-Za-z]+(?:-[a-z]+)*)          # a variable, an operator or a word
  | (?P<number>\d+(?:[.,]\d+)*)
  | (?P<script>[_^])
  | (?P<sign><=|>=|!=|->|\+=|-=|\.\.\.|.)
""",
    re.VERBOSE,
)

_RELATION = re.compile(r"[=<>^]|->|\b(sum|max|min)(?![a-z])")


def is_formula(text: str) -> bool:
    """Whether a line of a docstring says something in symbols.

    >>> is_formula("v_pi = r_pi + gamma P_pi v_pi"), is_formula("expected visits per episode")
    (True, False)
    """
    return bool(_RELATION.search(text))


def formula_tex(text: str) -> str:
    r"""The TeX of one formula.

    >>> formula_tex("q(o,a) = sum_{s'} P_pi(s'|o) gamma^(n-1)")
    "q(o,a) = \\sum_{s'} P_{\\pi }(s'\\mid o) \\gamma ^{n-1}"
    >>> formula_tex("w = 0 in terminal states, |A| many")
    'w = 0\\text{ in terminal states},\\, \\lvert A\\rvert\\text{ many}'
    """
    return _Reader(text).everything()


class _Reader:
    """A text read from left to right."""

    def __init__(self, text: str):
        self.text = text
        self.at = 0

    def everything(self) -> str:
        out: list[str] = []
        while self.at < len(self.text):
            out.append(self._next())
        return _tidied("".join(out))

    def _next(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        if match is None:  # a line break
            self.at += 1
            return " "
        self.at = match.end()
        kind, token = match.lastgroup, match[0]
        if kind == "size":
            return rf"\lvert {token[1:-1]}\rvert "
        if kind == "word":
            return self._word(token)
        if kind == "script":
            return token + self._script()
        if token == "," and self.text[self.at : self.at + 1] == " ":
            return r",\,"
        return token if kind == "number" else _SIGNS.get(token, token)

    def _word(self, token: str) -> str:
        if token in GREEK:
            return f"\\{token} "
        if token in _OPERATORS:
            return _OPERATORS[token]
        if token in _NAMED:
            return rf"\operatorname{{{_NAMED[token]}}}"
        if len(token) == 1 and token not in "aI":
            return token
        if token == "I" or (token == "a" and not self._is_article()):
            return token
        if len(token) <= 2 and token[0].isupper():
            return rf"\mathit{{{token}}}"
        follows = self.text[self.at : self.at + 1]
        if follows in ("(", "_", "[", "'"):
            return rf"\mathit{{{token}}}"
        return rf"\text{{{token}}}"

    def _is_article(self) -> bool:
        """Whether the letter `a` just read is the word: other words stand on both sides."""
        before, after = self.text[: self.at - 1], self.text[self.at :]
        return bool(re.search(r"[a-z]{2,} $", before) and re.match(r" [a-z]{3,}", after))

    def _script(self) -> str:
        """What an underscore or a caret governs, in braces."""
        opened = self.text[self.at : self.at + 1]
        for left, right in (("{", "}"), ("(", ")")):
            if opened == left:
                depth, end = 0, self.at
                while end < len(self.text):
                    depth += (self.text[end] == left) - (self.text[end] == right)
                    end += 1
                    if depth == 0:
                        break
                inner = self.text[self.at + 1 : end - 1]
                self.at = end
                return f"{{{formula_tex(inner)}}}"
        return f"{{{self._next()}}}" if opened.strip() else r"\_"


def _tidied(tex: str) -> str:
    r"""Neighbouring words in one \text, with the spaces around them."""
    previous = ""
    while tex != previous:
        previous = tex
        tex = re.sub(r"\\text\{([^{}]*)\}([ ,:;.]+)\\text\{([^{}]*)\}", r"\\text{\1\2\3}", tex)
    tex = re.sub(r" +\\text\{ *", r"\\text{ ", tex)
    return re.sub(r"(\\text\{[^{}]*)\} +(?=[^ ,.:;)])", r"\1 }", tex)


_COLUMNS = re.compile(r" {2,}(?! *(?:[=:+]|- ))")
"""Spaces that line relations up make no column."""


def block_tex(lines: list[str]) -> str:
    """The TeX of a block of lines: one array, in the columns that the lines show."""
    rows = [_cells(line) for line in lines if line.strip()]
    width = max(len(row) for row in rows)
    body = r" \\ ".join(" & ".join(row + [""] * (width - len(row))) for row in rows)
    return rf"\begin{{array}}{{{'l' * width}}} {body} \end{{array}}"


def _cells(line: str) -> list[str]:
    indent = len(line) - len(line.lstrip())
    parts = [part for part in _COLUMNS.split(line.strip()) if part]
    found = [
        rf"\displaystyle {formula_tex(part)}" if _is_symbolic(part) else _plain(part)
        for part in parts
    ]
    return ([""] if indent else []) + found


def _is_symbolic(part: str) -> bool:
    words = [word for word in re.findall(r"[A-Za-z]{2,}", part) if word not in GREEK]
    return is_formula(part) or len(words) < 2


def _plain(part: str) -> str:
    escaped = re.sub(r"([%$#&_{}])", r"\\\1", part.replace("\\", "/").replace("^", "↑"))
    return rf"\text{{{escaped}}}"
