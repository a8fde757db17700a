"""The Sphinx settings of the site. Mathematics becomes MathML, exercises unfold, and words of the
glossary become links."""

from __future__ import annotations

import re
from typing import Any

from workbench.site.docstrings import docstring_rst
from workbench.site.mathml import BadFormula, Katex

NAME = "The memory workbench"


def configuration(version: str) -> dict[str, Any]:
    """The settings of Sphinx."""
    return {
        "project": NAME,
        "version": version,
        "release": version,
        "extensions": ["myst_nb", "sphinx.ext.autodoc"],
        "html_theme": "furo",
        "html_title": NAME,
        "html_static_path": ["_static"],
        "html_css_files": ["site.css"],
        "html_extra_path": ["_extra"],
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_search_summary": False,  # would fetch pages, which browsers refuse from a disk
        "html_show_sphinx": False,
        "html_show_copyright": False,
        "html_math_renderer": "mathml",
        "html_theme_options": {"top_of_page_buttons": []},
        "nb_execution_mode": "off",
        "nb_merge_streams": True,
        "nb_render_image_options": {
            "alt": "figure; its numbers are in the text and the code above"
        },
        "myst_enable_extensions": [
            "amsmath",
            "dollarmath",
            "colon_fence",
            "deflist",
            "attrs_inline",
        ],
        "myst_heading_anchors": 3,
        "autodoc_typehints": "signature",
        "autodoc_member_order": "bysource",
        "autodoc_preserve_defaults": True,
        "python_use_unqualified_type_names": True,
        "add_module_names": False,
        "exclude_patterns": ["_static", "_extra", "originals"],
        "suppress_warnings": ["myst.header", "mystnb.unknown_mime_type", "docutils"],
        "templates_path": [],
    }


def prepare(app: Any, katex: Katex, known: frozenset[str]) -> None:
    """Teach Sphinx what is special about these documents.

    Parameters
    ----------
    known : public names, to which docstrings link.
    """
    visits = _visitors(katex)
    app.add_html_math_renderer("mathml", *visits)
    app.connect(
        "autodoc-process-docstring",
        lambda app, what, name, found, options, lines: lines.__setitem__(
            slice(None), docstring_rst(list(lines), known)
        ),
    )
    app.connect("doctree-read", _fold_exercises)
    app.connect("doctree-read", _link_terms)
    app.connect("doctree-resolved", _label_scrolling)


def _visitors(katex: Katex) -> tuple[Any, Any]:
    """How mathematics is written, in a line and on its own."""
    from docutils import nodes

    def inline(translator: Any, node: Any) -> None:
        translator.body.append(_set(katex, node.astext(), False))
        raise nodes.SkipNode

    def block(translator: Any, node: Any) -> None:
        formula = _set(katex, node.astext(), True)
        translator.body.append(f'<div class="math" tabindex="0">{formula}</div>\n')
        raise nodes.SkipNode

    return (inline, None), (block, None)


def _set(katex: Katex, tex: str, display: bool) -> str:
    from html import escape

    from sphinx.util import logging

    try:
        return katex.mathml(tex, display)
    except BadFormula as error:
        logging.getLogger(__name__).warning("%s", error)
        return f"<code>{escape(tex)}</code>"


_EXERCISE = re.compile(r"^\d+\.\d+$")


def _fold_exercises(app: Any, doctree: Any) -> None:
    """Put each exercise of a notebook, from its number to the next, into an element that
    unfolds."""
    from docutils import nodes

    if not app.env.docname.startswith("notebooks/"):
        return
    for section in list(doctree.findall(nodes.section)):
        starts = [i for i, child in enumerate(section.children) if _exercise_number(child)]
        if not starts:
            continue
        ends = [*starts[1:], len(section.children)]
        for i, j in reversed(list(zip(starts, ends, strict=True))):
            inner = section.children[i:j]
            stop = next((k for k, x in enumerate(inner) if isinstance(x, nodes.section)), None)
            j = j if stop is None else i + stop
            number = _exercise_number(section.children[i])
            opened = f'<details class="exercise"><summary>Exercise {number}</summary>'
            section.insert(j, nodes.raw("", "</details>", format="html"))
            section.insert(i, nodes.raw("", opened, format="html"))


def _exercise_number(node: Any) -> str:
    from docutils import nodes

    if isinstance(node, nodes.paragraph):
        first = next((child for child in node.children if child.astext()), None)
        if isinstance(first, nodes.strong) and _EXERCISE.match(first.astext()):
            return str(first.astext())
    return ""


_LINKED = ("notebooks/", "docs/findings", "docs/models")


def _link_terms(app: Any, doctree: Any) -> None:
    """Link the first place of a page where a word of the glossary stands to its entry."""
    from docutils import nodes
    from sphinx.addnodes import pending_xref

    page = app.env.docname
    terms = app.config.workbench_terms
    if not page.startswith(_LINKED) or not terms:
        return
    left = dict(terms)
    for text in list(doctree.findall(nodes.Text)):
        parent = text.parent
        if not isinstance(parent, nodes.paragraph | nodes.list_item) or not left:
            continue
        pattern = re.compile(
            r"\b(" + "|".join(re.escape(t) for t in sorted(left, key=len, reverse=True)) + r")\b",
            re.IGNORECASE,
        )
        found = pattern.search(text.astext())
        if found is None:
            continue
        term = left.pop(found[1].lower())
        left = {word: name for word, name in left.items() if name != term}
        link = pending_xref(
            "", reftype="term", refdomain="std", reftarget=term, refdoc=page, refexplicit=True
        )
        link += nodes.inline("", found[1], classes=["xref", "std-term"])
        before, after = text.astext()[: found.start()], text.astext()[found.end() :]
        parent.replace(text, [nodes.Text(before), link, nodes.Text(after)])


def _label_scrolling(app: Any, doctree: Any, docname: str) -> None:
    """Give tables and outputs that scroll sideways a place in the order of the keyboard."""
    from docutils import nodes

    for node in doctree.findall(nodes.container):
        if "cell_output" in node.get("classes", []):
            node["classes"].append("scroll")


def terms_of(glossary: str) -> dict[str, str]:
    """The words of the glossary that pages link to, in small letters, with the term as it stands.

    >>> terms_of(":::{glossary}\\nObservation\\n  What is seen.\\n\\nOA(k)\\n  Pairs.\\n:::")
    {'observation': 'Observation'}
    """
    inner = re.search(r":::\{glossary\}\n(.*?):::", glossary, re.DOTALL)
    names = re.findall(r"^(\S.*)$", inner[1], re.MULTILINE) if inner else []
    return {name.lower(): name for name in names if re.fullmatch(r"[\w' -]{4,}", name)}
