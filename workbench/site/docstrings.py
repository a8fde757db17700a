"""Docstrings as reStructuredText: formulas set, sections as definition lists, names as links.

The docstrings are written to be read as text. Indented blocks of formulas become mathematics,
tables and other indented blocks stay as they are, `name` becomes a link where the site has that
name, and what reStructuredText would take for markup is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from workbench.site.formulas import block_tex, is_formula

_SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "Yields", "Notes", "Examples")

_RULE = re.compile(r"^-{3,}$")

_ENTRY = re.compile(r"^(?P<names>[\w*]+(?:, [\w*]+)*) : (?P<text>.*)$")


def docstring_rst(lines: list[str], known: Collection[str] = ()) -> list[str]:
    """The lines of a docstring as reStructuredText.

    Parameters
    ----------
    known : names that the site has an entry for.

    >>> docstring_rst(["The value of |A| actions, by `evaluate`."], {"evaluate"})
    ['The value of \\\\|A\\\\| actions, by :py:obj:`~workbench.evaluate`.']
    """
    return _Docstring(lines, known).converted()


class _Docstring:
    def __init__(self, lines: list[str], known: Collection[str]):
        self.lines = [line.rstrip() for line in lines]
        self.known = known
        self.at = 0
        self.out: list[str] = []

    def converted(self) -> list[str]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if self._is_section():
                self._section(line.strip())
            elif line.startswith(">>>"):
                self._doctest()
            elif line.startswith("See also: "):
                self.out += ["", f".. seealso:: {self._inline(line[10:])}", ""]
                self.at += 1
            elif line.startswith("|"):
                self._literal(lambda text: text.startswith("|"))
            elif line.startswith(" "):
                self._indented()
            elif re.match(r"(-|\d+\.) ", line):
                self._item()
            else:
                self._paragraph()
        return self.out

    def _paragraph(self) -> None:
        """Lines up to the next of another kind, together: what is quoted may go over a line's
        end."""
        words = [self.lines[self.at]]
        self.at += 1
        while self.at < len(self.lines) and words[-1]:
            line = self.lines[self.at]
            quoting = "\n".join(words).count("`") % 2 == 1
            other = self._is_section() or re.match(r" |\||>>>|- |\d+\. ", line)
            if not line or (other and not quoting):
                break
            words.append(line)
            self.at += 1
        self.out += self._inline("\n".join(words)).split("\n")

    def _is_section(self) -> bool:
        following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
        return self.lines[self.at].strip() in _SECTIONS and bool(_RULE.match(following.strip()))

    def _section(self, title: str) -> None:
        """`name : text`, each with the deeper lines after it, as a definition list."""
        self.out += ["", f"**{title}**", ""]
        self.at += 2
        names, words = "", list[str]()

        def flush() -> None:
            if names:
                shown = ", ".join(f"``{name}``" for name in names.split(", "))
                self.out.extend([shown, f"   {self._inline(' '.join(words))}", ""])

        while self.at < len(self.lines) and not self._is_section():
            line = self.lines[self.at]
            entry = _ENTRY.match(line)
            if entry:
                flush()
                names, words = entry["names"], [entry["text"]]
            elif line.startswith(" ") and names:
                words.append(line.strip())
            elif line.strip() and names:
                break  # text after the list
            elif line.strip():
                self.out.append(self._inline(line))
            self.at += 1
        flush()

    def _doctest(self) -> None:
        self.out += ["", ".. code-block:: pycon", ""]
        while self.at < len(self.lines) and self.lines[self.at].strip():
            self.out.append("   " + self.lines[self.at])
            self.at += 1
        self.out.append("")

    def _literal(self, goes_on: object) -> None:
        assert callable(goes_on)
        self.out += ["", ".. code-block:: text", ""]
        while self.at < len(self.lines) and goes_on(self.lines[self.at]):
            self.out.append("   " + self.lines[self.at])
            self.at += 1
        self.out.append("")

    def _item(self) -> None:
        words = [self.lines[self.at]]
        self.at += 1
        while self.at < len(self.lines) and self.lines[self.at].startswith("  "):
            words.append(self.lines[self.at].strip())
            self.at += 1
        mark, _, text = " ".join(words).partition(" ")
        self.out += ["", f"{mark} {self._inline(text)}", ""]

    def _indented(self) -> None:
        block: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
            if line.startswith(" ") or (not line and following.startswith(" ")):
                block.append(line)
                self.at += 1
            else:
                break
        depth = min(len(line) - len(line.lstrip()) for line in block if line)
        block = [line[depth:] for line in block]
        filled = [line for line in block if line]
        formal = sum(is_formula(line) for line in filled)
        code = any(re.search(r">>>|^\$ |\"|\bdef |#", line) for line in filled)
        if formal * 2 >= len(filled) and not code:
            self.out += [".. math::", "", f"   {block_tex(block)}", ""]
        else:
            shown = "::" if code else ".. code-block:: text"
            self.out += ["", shown, "", *("   " + line for line in block), ""]

    def _inline(self, text: str) -> str:
        """Turn names in backticks into links or literals. Bars, stars and underscores are
        escaped."""
        parts = re.split(r"(`[^`]+`)", text)
        return "".join(self._quoted(p) if i % 2 else _escaped(p) for i, p in enumerate(parts))

    def _quoted(self, part: str) -> str:
        name = part[1:-1].replace("\n", " ")
        if name in self.known:
            return f":py:obj:`~workbench.{name}`"
        return f"``{name}``"


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("|", "\\|")
    text = re.sub(r"\*(?=\W|$)", r"\\*", text) if text.count("*") % 2 else text
    return re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", text)
