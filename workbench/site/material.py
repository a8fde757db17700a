"""What the site is made of. The command gathers it, because the ledger and the tasks are not part
of this package."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.lab.gallery import GalleryEntry
from workbench.reproduction.report import Section
from workbench.text import escape_html


def plain_sentence(text: Any) -> str:
    """A sentence as HTML: escaped, with what stands in backticks as code.

    >>> plain_sentence("`a` < b")
    '<code>a</code> &lt; b'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape_html(text))


def plain_markdown(text: str) -> str:
    """A text in one line in which Markdown finds nothing.

    >>> print(plain_markdown("`a` <b> *c*"))
    \\`a\\` &lt;b&gt; \\*c\\*
    """
    line = " ".join(text.split()).replace("&", "&amp;")
    marked = "".join(f"\\{c}" if c in "\\`*_[]|$#{}" else c for c in line)
    return marked.replace("<", "&lt;").replace(">", "&gt;")


@dataclass(frozen=True)
class TaskNote:
    """What a reader wants to know about a task of the collection."""

    name: str
    title: str
    text: str
    source: str
    size: str


@dataclass(frozen=True)
class Material:
    """Everything that pages are made of.

    Attributes
    ----------
    root : the folder that holds `notebooks` and `docs`.
    claims : the ledger, as `workbench verify --json` writes it.
    sections : titles of the ledger's sections by key, in order.
    papers : how each paper other than the first is called, by the key in the ids of its claims.
    verdicts : all verdicts, in order.
    gallery : finds of the counterexample lab.
    figures : the paper's figures with the judgements on them.
    explorer : the explorer's page.
    offered : the names of the tasks of the collection that the explorer has.
    tasks : the tasks of the collection.
    commands : the help of each command.
    sentence : makes HTML of a sentence of the ledger, formulas set.
    repository : the address from which notebooks are opened on Binder and Colab; empty without.
    solutions, judge : for the sheet of instructors: answers by notebook, and what judges them.
    """

    root: Path
    claims: list[dict[str, Any]]
    sections: Mapping[str, str]
    papers: Mapping[str, str]
    verdicts: tuple[str, ...]
    gallery: list[GalleryEntry]
    figures: list[Section]
    explorer: str
    offered: frozenset[str] = frozenset()
    tasks: list[TaskNote] = field(default_factory=list)
    commands: Mapping[str, str] = field(default_factory=dict)
    sentence: Callable[[Any], str] = plain_sentence
    repository: str = ""
    solutions: Mapping[str, Any] = field(default_factory=dict)
    judge: Any = None
