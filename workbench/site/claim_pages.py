"""The ledger as pages. A table can be filtered by verdict, paper and section. Each claim has a page
with its proof steps, its certificates and the commands that check them again."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from workbench.site.filter_bar import SCRIPT, filter_bar
from workbench.site.material import Material, plain_markdown
from workbench.site.proof_page import NAME as PROOF
from workbench.text import escape_html

PAPER = "The act of remembering"

OWN = "Theorems of our own"


def slug(id: str) -> str:
    """The name of a claim's page.

    >>> slug("S51.variance*"), slug("P.littman1994.grid")
    ('S51-variance-star', 'P-littman1994-grid')
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", id.replace("*", " star")).strip("-")


def paper_of(claim: dict[str, Any], material: Material) -> str:
    """The paper that a claim is about."""
    if claim["section"] == "P":
        key = claim["id"].split(".")[1]
        return material.papers.get(key, key)
    return OWN if claim["section"] == "T" else PAPER


def write_claim_pages(material: Material, source: Path) -> None:
    """Write the sources of the ledger: the table and a page for each claim."""
    folder = source / "ledger"
    folder.mkdir(parents=True)
    (folder / "index.md").write_text(_index(material), encoding="utf-8")
    for claim in material.claims:
        (folder / f"{slug(claim['id'])}.md").write_text(_page(claim, material), encoding="utf-8")


def write_certificates(material: Material, folder: Path) -> None:
    """Write the files to download: the certificates of each claim that has some."""
    folder.mkdir(parents=True, exist_ok=True)
    for claim in material.claims:
        if claim["certificates"]:
            text = json.dumps(claim["certificates"], indent=1, ensure_ascii=False)
            (folder / f"{slug(claim['id'])}.json").write_text(text + "\n", encoding="utf-8")


_LEDGER_FILE = '<a href="../_static/ledger.json" download>ledger.json</a>'


def _index(material: Material) -> str:
    claims = material.claims
    counts = Counter(claim["verdict"] for claim in claims)
    told = ", ".join(f"{counts[v]} {plain_markdown(v)}" for v in material.verdicts if counts[v])
    papers = list(dict.fromkeys(paper_of(claim, material) for claim in claims))
    used = {claim["section"] for claim in claims}
    sections = [title for key, title in material.sections.items() if key in used]
    rows = "".join(_row(claim, material) for claim in claims)
    heads = "".join(
        f'<th scope="col">{head}</th>' for head in ("id", "verdict", "statement", "evidence")
    )
    judged = [v for v in material.verdicts if counts[v]]
    bar = filter_bar("claims", {"verdict": judged, "paper": papers, "section": sections})
    return f"""# The ledger

Every statement, its verdict and the evidence: {len(claims)} claims, {told}. *proved* holds for all
parameters, *argued* has written steps besides, *checked* holds on every case of a stated list,
*supported* is statistics, *misprint* and *refuted* come with what holds instead.

{_ledgers(claims, material)}

{bar}
<div class="scroll" tabindex="0"><table id="claims"><thead><tr>{heads}</tr></thead>
<tbody>{rows}</tbody></table></div>
{SCRIPT}

All of it as data: {_LEDGER_FILE}. `workbench verify` judges every claim again, and
`workbench verify --recheck ledger.json` the certificates alone, with a program that shares nothing
with the one that found them.
"""


def _ledgers(claims: list[dict[str, Any]], material: Material) -> str:
    """Links that show one ledger alone: the paper's, that of other papers, our own."""
    used = {claim["section"] for claim in claims}
    parts = [("paper", PAPER, "The paper's ledger")] if used - {"P", "T"} else []
    for key, words in (("P", "that of other papers"), ("T", OWN.lower())):
        if key in used:
            parts.append(("section", material.sections.get(key, key), words))
    links = [
        f'<a href="#{escape_html(urlencode({name: value}))}">{words}</a>'
        for name, value, words in parts
    ]
    return f'<p class="ledgers">{" · ".join(links)} · <a href="#">all</a></p>'


def _row(claim: dict[str, Any], material: Material) -> str:
    section = material.sections.get(claim["section"], claim["section"])
    return (
        f'<tr data-verdict="{escape_html(claim["verdict"])}" data-section="{escape_html(section)}" '
        f'data-paper="{escape_html(paper_of(claim, material))}">'
        f'<th scope="row"><a href="{slug(claim["id"])}.html">{escape_html(claim["id"])}</a></th>'
        f"<td>{_verdict(claim)}</td>"
        f"<td>{material.sentence(claim['statement'])}</td>"
        f"<td>{material.sentence(claim['evidence'])}</td></tr>"
    )


def _verdict(claim: dict[str, Any]) -> str:
    word = escape_html(claim["verdict"])
    return f'<span class="verdict {word}">{word}</span>'


def _page(claim: dict[str, Any], material: Material) -> str:
    title = plain_markdown(claim["id"])
    section = material.sections.get(claim["section"], claim["section"])
    parts = [
        f'<p class="place">{escape_html(section)} · {escape_html(claim["place"])} · '
        f"{escape_html(paper_of(claim, material))}</p>",
        f'<p class="statement">{material.sentence(claim["statement"])}</p>',
        f"<p>{_verdict(claim)} {material.sentence(claim['evidence'])}</p>",
    ]
    if other := claim["corrected_by"]:
        known = any(one["id"] == other for one in material.claims)
        shown = (
            f'<a href="{slug(other)}.html">{escape_html(other)}</a>'
            if known
            else material.sentence(other)
        )
        parts.append(f"<p>What holds instead: {shown}</p>")
    blocks = ["\n".join(parts)]
    if claim["steps"]:
        steps = "".join(
            f'<li value="{int(step["number"])}"><span class="by">{escape_html(step["by"])}</span> '
            f"{material.sentence(step['text'])}</li>"
            for step in claim["steps"]
        )
        blocks.append(f"## Steps\n\n<ol>{steps}</ol>")
    if formal := claim.get("formal"):
        blocks.append(f"## In Coq\n\n{_formal(claim, formal, material)}")
    if claim["argument"]:
        blocks.append(f"## Argument\n\n<pre>{_kept(claim['argument'])}</pre>")
    if claim["counterexample"] is not None:
        found = claim["counterexample"]
        text = found if isinstance(found, str) else json.dumps(found, indent=1, ensure_ascii=False)
        blocks.append(f"## Counterexample\n\n<pre>{_kept(text)}</pre>")
    if claim["twins"]:
        twins = "".join(
            f"<li>{material.sentence(what)}: {escape_html(verdict)}</li>"
            for what, verdict in claim["twins"]
        )
        blocks.append(f"## What the same code refuses\n\n<ul>{twins}</ul>")
    blocks.append(f"## Check it\n\n{_commands(claim)}")
    return f"---\norphan: true\n---\n\n# {title}\n\n" + "\n\n".join(blocks) + "\n"


def _formal(claim: dict[str, Any], formal: dict[str, Any], material: Material) -> str:
    """The claim and the theorems that say it, side by side."""
    code = _kept("\n\n".join(formal["statements"]))
    named = _kept("\n".join(formal["definitions"]))
    defined = "<details><summary>The definitions that it names</summary>"
    return (
        '<div class="scroll" tabindex="0"><table class="formal"><thead><tr>'
        '<th scope="col">The claim</th>'
        f'<th scope="col">proofs/coq/{escape_html(formal["file"])}</th></tr></thead><tbody><tr>'
        f"<td>{material.sentence(claim['statement'])}</td><td><pre>{code}</pre></td></tr></tbody>"
        f"</table></div>\n<p>{escape_html(formal['reads'])} Proved from the axioms of Coq's real "
        "numbers and nothing else; <code>workbench verify --coq</code> compiles it."
        + (f' <a href="../{PROOF}">Step through the proof</a>.' if claim["id"] == "C6" else "")
        + "</p>"
        + (f"{defined}<pre>{named}</pre></details>" if named else "")
    )


def _kept(text: str) -> str:
    """A text inside <pre>. An empty line would end the HTML block in Markdown."""
    return "\n".join(line or "&#32;" for line in escape_html(text).splitlines())


def _commands(claim: dict[str, Any]) -> str:
    commands = [f"workbench verify '{claim['id']}' -v"]
    files = ""
    if claim["certificates"]:
        name = f"{slug(claim['id'])}.json"
        kinds = Counter(str(one["kind"]) for one in claim["certificates"])
        told = ", ".join(f"{n} {escape_html(kind)}" for kind, n in kinds.items())
        commands.append(f"python -m workbench.checker {name}")
        files = (
            f'<p>Certificates ({told}): <a href="../_static/certificates/{name}" '
            f"download>{name}</a></p>"
        )
    module = claim["module"].replace(".", "/")
    code = escape_html("\n".join(commands))
    return f"{files}\n<pre>{code}</pre>\n<p>The code: <code>{escape_html(module)}.py</code></p>"
