"""TeX as MathML, which browsers set without scripts, fonts or a network.

KaTeX comes with the package sphinxcontrib-katex and runs here in the JavaScript engine of
mini-racer, while pages are built.
"""

from __future__ import annotations

import html
import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from workbench.core.errors import WorkbenchError
from workbench.extras import need


class BadFormula(WorkbenchError):
    """TeX that KaTeX does not take."""


class Katex:
    """KaTeX in an engine of its own, to be closed after use."""

    def __init__(self) -> None:
        need("sphinxcontrib.katex", "site")
        spec = importlib.util.find_spec("sphinxcontrib.katex")
        assert spec is not None
        assert spec.origin is not None
        self._known: dict[tuple[str, bool], str] = {}
        self._engine: Any = need("py_mini_racer", "site").MiniRacer()
        self._engine.eval(Path(spec.origin).with_name("katex.min.js").read_text(encoding="utf-8"))
        self._engine.eval(_SET)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the engine: its thread would keep the interpreter from ending."""
        self._engine.close()

    def mathml(self, tex: str, display: bool = False) -> str:
        """The MathML element of a formula.

        Raises
        ------
        BadFormula : with what KaTeX says, if the TeX is wrong.
        """
        if (tex, display) not in self._known:
            found = str(self._engine.eval(f"set({json.dumps(tex)}, {json.dumps(display)})"))
            if found.startswith("BAD "):
                raise BadFormula(f"{tex!r}: {found[4:]}")
            self._known[tex, display] = found.replace(_BAR, _TIGHT_BAR)
        return self._known[tex, display]


_KEPT = re.compile(r"(<(script|style|pre|code|math|title|textarea)\b.*?</\2>)", re.DOTALL)
"""What is no text to set formulas in."""

_FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)


def set_formulas(page: str, katex: Katex, report: Callable[[str], None]) -> str:
    """A page whose formulas between dollar signs are set. Notebooks have them in tables that they
    show, and slides in their text.

    Parameters
    ----------
    report : told what KaTeX does not take; that is left as it was.
    """

    def one(found: re.Match[str]) -> str:
        tex = html.unescape(found[1] or found[2])
        try:
            return katex.mathml(tex, display=found[1] is not None)
        except BadFormula as error:
            report(str(error))
            return found[0]

    def text(part: str) -> str:
        pieces = re.split(r"(<[^>]*>)", part)
        pieces[::2] = [_FORMULA.sub(one, piece) for piece in pieces[::2]]
        return "".join(pieces)

    parts = _KEPT.split(page)  # text, what is kept, its tag, text, ...
    return "".join(
        text(part) + kept for part, kept in zip(parts[::3], [*parts[1::3], ""], strict=True)
    )


_BAR = '<mo stretchy="false">∣</mo>'
_TIGHT_BAR = '<mo stretchy="false" lspace="0" rspace="0">|</mo>'
"""The bars of a size such as |A|: browsers would set them apart, as they set a relation."""

_SET = (
    "const set = (tex, display) => { try { return katex.renderToString(tex, {output: 'mathml', "
    "displayMode: display, throwOnError: true, strict: 'ignore'}); } "
    "catch (error) { return 'BAD ' + error.message; } }; 0"
)
