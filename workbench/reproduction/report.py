"""What is left behind: each figure as PDF and PNG, its numbers, and `report.html`, one file that
holds everything.

The report sets each figure beside what the paper says about it and says whether the data support
it.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.extras import need
from workbench.output import write_whole
from workbench.reproduction.draw import draw
from workbench.reproduction.full_runs import results_to_judge
from workbench.reproduction.judge import Finding, Judgement, judge
from workbench.sweeps.cell import code_version
from workbench.sweeps.experiment import Experiment, Method, OracleLoop
from workbench.sweeps.results import Results
from workbench.text import escape_html

if TYPE_CHECKING:
    import pandas as pd

_DPI = 150

_STYLE = """
body { font: 16px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; color: #1b1b1b; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.25rem; margin-top: 2.6rem; border-top: 1px solid #ccc; padding-top: 1rem; }
img { max-width: 100%; }
blockquote { margin: .8rem 0; padding: .1rem 1rem; border-left: 4px solid #999;
  background: #f6f6f6; }
table { border-collapse: collapse; font-size: .86rem; margin: .6rem 0 1.2rem; }
th, td { text-align: left; padding: .22rem .6rem; border-bottom: 1px solid #ddd;
  vertical-align: top; }
td.number { white-space: nowrap; font-variant-numeric: tabular-nums; }
.yes { color: #00563d; font-weight: 600; } .no { color: #a03c00; font-weight: 600; }
.quick { background: #fff3cd; border: 1px solid #d9b84a; padding: .5rem 1rem; }
.small { font-size: .86rem; color: #444; }
"""


@dataclass(frozen=True)
class Section:
    """One figure of the report: its results and the judgements on them."""

    results: Results
    judgements: tuple[Judgement, ...]

    @classmethod
    def of(cls, results: Results) -> Section:
        """Judge all statements that a figure bears on."""
        found = results_to_judge(results)
        return cls(results, tuple(judge(id, found) for id in results.experiment.statements))


def write_report(
    folder: Path, all_results: Iterable[Results], quick: bool = False, notes: Sequence[str] = ()
) -> list[Section]:
    """Write figures, numbers, judgements and `report.html` into a folder, and return what the
    report says.

    Parameters
    ----------
    quick : whether the runs were short, which the report then says.
    notes : lines about the run, shown at the end.
    """
    sections = [Section.of(results) for results in all_results]
    pictures = [_write_figure(folder, section.results) for section in sections]
    _write_frame(folder / "judgements", _judgements_frame(sections))
    page = _page(sections, pictures, quick, notes)
    write_whole(folder / "report.html", page.encode())
    return sections


def _write_figure(folder: Path, results: Results) -> bytes:
    """Write a figure and its numbers, and return its PNG."""
    figure = draw(results)
    written = {}
    for ending in ("pdf", "png"):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=ending, dpi=_DPI)
        written[ending] = buffer.getvalue()
        write_whole(folder / f"{results.experiment.id}.{ending}", written[ending])
    _write_frame(folder / results.experiment.id, results.to_frame())
    return written["png"]


def _write_frame(stem: Path, frame: pd.DataFrame) -> None:
    write_whole(stem.with_suffix(".csv"), frame.to_csv(index=False).encode())
    if find_spec("pyarrow") is not None:
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        write_whole(stem.with_suffix(".parquet"), buffer.getvalue())


def _judgements_frame(sections: Sequence[Section]) -> pd.DataFrame:
    pd = need("pandas", "frames")

    rows = [
        {
            "statement": judgement.id,
            "sentence": f.sentence,
            "finding": f.what,
            "reading": f.under,
            "effect": f.estimate.effect,
            "low": f.estimate.low,
            "high": f.estimate.high,
            "interval": f.estimate.interval,
            "measured": f.measured,
            "criterion": f.criterion,
            "verdict": judgement.verdict_on(f),
        }
        for section in sections
        for judgement in section.judgements
        for f in judgement.findings
    ]
    return pd.DataFrame(rows)


# ---------------------------------------------------------------------- the page


def _page(
    sections: Sequence[Section], pictures: Sequence[bytes], quick: bool, notes: Sequence[str]
) -> str:
    judgements = [judgement for section in sections for judgement in section.judgements]
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'><title>Tabular figures, "
        "reproduced</title>",
        f"<style>{_STYLE}</style></head><body><h1>The tabular figures of <i>The act of "
        "remembering</i>, reproduced</h1>",
        _QUICK if quick else "",
        "<p>Each statement of the paper about a figure, in our words, is taken apart into findings "
        "that count seeds, or pairs of seeds, with a criterion. A finding is supported if an exact "
        "test shows its criterion to hold, contradicted if one shows it not to hold, else "
        "undecided; the tests of a statement are corrected for their number (Holm). A sentence is "
        "supported if all its findings are, contradicted if one is. What the paper leaves open "
        "about actor-critic, when updates are made and where V starts, is judged under four "
        "readings, and one reading must serve all sentences of a statement. Results that are those "
        "of the record are judged by its 100 other seeds, run after the rules were written. The "
        "criteria and the length of the runs are our choice, not the paper's. “Late” is the last "
        "tenth of a run. Intervals (Clopper and Pearson) are each for itself.</p>",
        "<table><tr><th>statement</th><th>place</th><th>verdict</th></tr>",
        *(
            f"<tr><td><a href='#{escape_html(j.id)}'>{escape_html(j.id)}</a></td>"
            f"<td>{escape_html(j.place)}</td><td>{_coloured(j.verdict)}</td></tr>"
            for j in judgements
        ),
        "</table>",
        *(_section(section, picture) for section, picture in zip(sections, pictures, strict=True)),
        "<h2>This run</h2><ul class='small'>",
        *(f"<li>{escape_html(note)}</li>" for note in notes),
        "</ul></body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


_QUICK = (
    "<p class='quick'><b>Quick version.</b> Fewer seeds and fewer steps than the figures need: it "
    "shows that everything "
    "works, and decides nothing against a statement: what it does not support is undecided.</p>"
)


def _section(section: Section, picture: bytes) -> str:
    experiment = section.results.experiment
    image = base64.b64encode(picture).decode()
    alt = (
        f"{experiment.place}: {experiment.title}. {experiment.measure} by memory; "
        f"the numbers are in {experiment.id}.csv."
    )
    return "\n".join(
        [
            f"<h2 id='{escape_html(experiment.id)}'>{escape_html(experiment.place)}. "
            f"{escape_html(experiment.title)}</h2>",
            f"<img alt='{escape_html(alt)}' src='data:image/png;base64,{image}'>",
            f"<p class='small'>{escape_html(caption(experiment))}</p>",
            *(judgement_html(judgement) for judgement in section.judgements),
        ]
    )


def caption(experiment: Experiment) -> str:
    """Describe a figure and its settings in a few sentences."""
    methods = "; ".join(dict.fromkeys(_described(panel.method) for panel in experiment.panels))
    codes = dict.fromkeys(code_version(panel.method) for panel in experiment.panels)
    end = f"Optimum {experiment.optimum:.4g}. {methods}. Code version {', '.join(codes)}."
    if experiment.length is None:
        return (
            f"Exact {experiment.measure} at each iterate, from the uniform policy; "
            f"nothing here is random. {end}"
        )
    length = experiment.length
    shown = (
        "the exact, undiscounted value of the greedy policy"
        if "greedy" in experiment.measure
        else experiment.measure
    )
    band = (
        ""
        if "greedy" in experiment.measure
        else " mean over seeds, with half a standard deviation on either side;"
    )
    return (
        f"{shown.capitalize()};{band} {length.seeds} seeds of {length.steps:,} "
        f"steps, blocks of {length.every:,}. {end}"
    )


def _described(method: Method) -> str:
    settings = {name: value for name, value in method.settings().items() if value is not None}
    name = settings.pop("method", None) or settings.pop("learner")
    if isinstance(method, OracleLoop):
        name = "oracle loop"
    return f"{name} with " + ", ".join(f"{key} {value}" for key, value in settings.items())


def judgement_html(judgement: Judgement) -> str:
    """A statement, the verdict on it, and every finding that leads to it."""
    rows = "\n".join(_row(f, judgement.verdict_on(f)) for f in judgement.findings)
    id = escape_html(judgement.id)
    head = f"<h3 id='{id}'>{id}: {_coloured(judgement.verdict)}</h3>"
    place = f"<span class='small'>[{escape_html(judgement.place)}]</span>"
    said = f"<blockquote><p>{escape_html(judgement.statement)} {place}</p></blockquote>"
    columns = ("finding", "reading", "measured", "effect", "95% interval", "criterion", "verdict")
    titles = "".join(f"<th>{title}</th>" for title in columns)
    return f"{head}{said}{_grid(judgement)}<table><tr>{titles}</tr>{rows}</table>"


def _grid(judgement: Judgement) -> str:
    """Each sentence under each reading, and all sentences together."""
    if judgement.readings == ("",) and len(judgement.sentences) == 1:
        return ""
    head = "".join(f"<th>{escape_html(under) or 'verdict'}</th>" for under in judgement.readings)
    rows = []
    for name, sentence in (
        *((sentence, sentence) for sentence in judgement.sentences),
        ("all together", None),
    ):
        cells = (
            f"<td>{_coloured(judgement.verdict_under(under, sentence))}</td>"
            for under in judgement.readings
        )
        rows.append(f"<tr><td>{escape_html(name)}</td>{''.join(cells)}</tr>")
    return f"<table><tr><th>sentence</th>{head}</tr>{''.join(rows)}</table>"


def _row(finding: Finding, verdict: str) -> str:
    e = finding.estimate
    interval = "none" if e.low != e.low else f"{e.low:.3f} to {e.high:.3f} ({e.interval})"
    if e.interval == "deterministic":
        interval = "no chance"
    return (
        f"<tr><td>{escape_html(finding.what)}</td>"
        f"<td class='number'>{escape_html(finding.under)}</td>"
        f"<td>{escape_html(finding.measured)}</td>"
        f"<td class='number'>{e.effect:.3f}</td><td class='number'>{escape_html(interval)}</td>"
        f"<td class='number'>{escape_html(finding.criterion)}</td>"
        f"<td>{_coloured(verdict)}</td></tr>"
    )


def _coloured(verdict: str) -> str:
    parts = verdict.split("; ")
    return "; ".join(
        f"<span class='{'yes' if p.startswith('supported') else 'no'}'>{escape_html(p)}</span>"
        for p in parts
    )
