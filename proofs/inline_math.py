r"""Formulas inside a sentence, set for a page.

Statements are written to be read in a terminal: `gamma^2`, `|A| 2^k`, `q_TD`, `b_0(s)`, `k <= 5`.
On a page the same is mathematics: each formula becomes an element of MathML, which browsers set by
themselves, and carries its LaTeX (`\gamma^{2}`) for whoever copies it. Words stay words.
"""

from __future__ import annotations

import re

from workbench.text import escape_html

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "epsilon": "ε",
    "eps": "ε",
    "eta": "η",
    "lambda": "λ",
    "mu": "μ",
    "pi": "π",
    "tau": "τ",
    "omega": "ω",
    "Gamma": "Γ",
}

_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "*": "·"}

_NAME = "|".join(GREEK)
_SCRIPT = r"\([^()]*\)|\{[^{}]*\}|\*|-?\d+|(?:" + _NAME + r")\b|[A-Za-z]\w*'?"

_FORMULA = re.compile(
    rf"""
    (?P<size>\|[A-Z]'?\|)                                  # |A|
  | (?P<base>(?<![A-Za-z0-9_])(?:{_NAME})(?![A-Za-z0-9])   # a Greek letter
     | (?<![\w^_|])[A-Za-z](?=[_^])                        # a letter with an index or a power
     | (?<![\w^_.])\d+(?=\^)                               # a number with a power
     | (?<=\))(?=\^))                                      # brackets with a power
    (?P<scripts>(?:[_^](?:{_SCRIPT}))*)
  | (?P<sign><=|>=|!=|->|(?<=[\w)])\*(?=[\w(]))
  | (?P<code>`[^`]+`)
""",
    re.VERBOSE,
)


def inline_math(text: str) -> str:
    r"""The HTML of a sentence: what is no formula is escaped.

    >>> found = inline_math("worth gamma^2 <b>")
    >>> found.startswith("worth <math><semantics><msup><mi>γ</mi><mn>2</mn></msup><annotation")
    True
    >>> "\\gamma^{2}</annotation></semantics></math> &lt;b&gt;" in found
    True
    >>> inline_math("k <= 5")
    'k ≤ 5'
    """
    out, at = "", 0
    for match in _FORMULA.finditer(text):
        out += escape_html(text[at : match.start()])
        at = match.end()
        if match["sign"]:
            out += _SIGNS[match["sign"]]
        elif match["code"]:
            out += f"<code>{escape_html(match['code'][1:-1])}</code>"
        else:
            mathml, tex = _size(match["size"]) if match["size"] else _scripted(match)
            note = f'<annotation encoding="application/x-tex">{escape_html(tex)}</annotation>'
            out += f"<math><semantics>{mathml}{note}</semantics></math>"
    return out + escape_html(text[at:])


def _size(text: str) -> tuple[str, str]:
    name = text.strip("|")
    return f"<mrow><mo>|</mo><mi>{name}</mi><mo>|</mo></mrow>", rf"\lvert {name}\rvert"


def _scripted(match: re.Match[str]) -> tuple[str, str]:
    """A base with its indices and powers, as MathML and as LaTeX."""
    mathml, tex = _atom(match["base"])
    for sign, script in re.findall(rf"([_^])({_SCRIPT})", match["scripts"]):
        inner = script[1:-1] if script[0] in "({" else script
        below, tex_below = _row(inner)
        tag = "msub" if sign == "_" else "msup"
        mathml = f"<{tag}>{mathml}{below}</{tag}>"
        tex += f"{sign}{{{tex_below}}}"
    return mathml, tex


def _row(text: str) -> tuple[str, str]:
    """What stands in an index or a power: letters, numbers and signs side by side."""
    parts = [_atom(part) for part in re.findall(r"[A-Za-z]+'?|\d+|\S", text)]
    mathml = "".join(part for part, _ in parts)
    tex = "".join(part for _, part in parts)
    return (mathml if len(parts) == 1 else f"<mrow>{mathml}</mrow>"), tex


def _atom(text: str) -> tuple[str, str]:
    if not text:
        return "<mrow></mrow>", "{}"
    if text in GREEK:
        return f"<mi>{GREEK[text]}</mi>", "\\epsilon" if text == "eps" else f"\\{text}"
    if text.isdigit():
        return f"<mn>{text}</mn>", text
    if text[0].isalpha():
        tex = text if len(text.rstrip("'")) == 1 else rf"\mathrm{{{text}}}"
        return f"<mi>{text}</mi>", tex
    return f"<mo>{escape_html(text)}</mo>", text
