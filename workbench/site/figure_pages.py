"""The figures report as a page. It shows each tabular figure of the paper as computed here, and the
judgement on every sentence about it."""

from __future__ import annotations

import io
from pathlib import Path

from workbench.reproduction.draw import draw
from workbench.reproduction.report import Section, caption, judgement_html
from workbench.site.material import Material
from workbench.text import escape_html


def write_figure_pages(material: Material, source: Path) -> None:
    """Write the source of the report, with its pictures as vectors."""
    folder = source / "figures"
    folder.mkdir(parents=True)
    parts = [_HEAD]
    for section in material.figures:
        experiment = section.results.experiment
        (folder / f"{experiment.id}.svg").write_text(_svg(section), encoding="utf-8")
        alt = f"{experiment.place}: {experiment.title}. {experiment.measure} by memory."
        judged = "\n".join(judgement_html(one) for one in section.judgements)
        parts += [
            f"## {experiment.place}. {experiment.title}",
            f"```{{image}} {experiment.id}.svg\n:alt: {alt}\n:class: figure\n```",
            f'<p class="quiet">{escape_html(caption(experiment))}</p>',
            f'<details class="judged"><summary>What the paper says about it, judged</summary>'
            f'<div class="scroll" tabindex="0">{judged}</div></details>'.replace("\n\n", "\n"),
        ]
    (folder / "index.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


_HEAD = """# The paper's figures

The tabular figures of *The act of remembering*, made again. Curves of learners come from the
recorded runs of 30 seeds, which `workbench reproduce` repeats bit for bit; the oracle loop has no
chance in it. Findings count 100 other seeds, or pairs of them, run after the rules were written. A
finding is supported if an exact test, corrected for the number of findings, shows its criterion to
hold, contradicted if one shows it not to hold, else undecided."""


def _svg(section: Section) -> str:
    import matplotlib.pyplot as plt

    figure = draw(section.results)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", facecolor="white")
    plt.close(figure)
    return buffer.getvalue()
