"""The paper's numbers are those of today, its references are used, and pandoc reads it."""

import re
import shutil
import subprocess
import sys

import pytest

from paper import artifact, fill

SOURCE = (fill.HERE / "paper.in.md").read_text()
KEYS = set(re.findall(r"@\w+\{(\w+),", (fill.HERE / "paper.bib").read_text()))


def test_the_numbers_of_the_paper_are_what_is_computed():
    found = fill.filled()
    assert found == (fill.HERE / "paper.md").read_text(), "stale: run python paper/fill.py"
    assert "None" not in found.replace("None of", "")


def test_every_number_has_a_place_and_a_changed_one_is_seen(monkeypatch):
    found = fill.numbers()
    assert set(re.findall(r"@@(\w+)@@", SOURCE)) == set(found)
    for name in found:
        monkeypatch.setattr(fill, "numbers", lambda name=name: {**found, name: "12345"})
        assert fill.filled() != (fill.HERE / "paper.md").read_text(), name


def test_every_reference_is_cited_and_every_citation_has_one():
    cited = set(re.findall(r"(?<![@\w])@([a-z]\w+)", SOURCE))
    assert cited == KEYS


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="needs pandoc")
def test_pandoc_reads_the_paper_without_a_warning(tmp_path):
    target = tmp_path / "paper.html"
    done = subprocess.run(
        ["pandoc", "paper.md", "--citeproc", "-s", "--mathml", "-o", str(target)],
        cwd=fill.HERE,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Hensel" in target.read_text()


@pytest.mark.skipif(
    shutil.which("pandoc") is None or shutil.which("xelatex") is None,
    reason="needs pandoc, xelatex",
)
def test_the_paper_becomes_a_pdf(tmp_path):
    target = tmp_path / "paper.pdf"
    command = ["pandoc", "paper.md", "--citeproc", "--pdf-engine=xelatex", "-o", str(target)]
    subprocess.run(command, cwd=fill.HERE, check=True)
    assert target.read_bytes().startswith(b"%PDF")


def test_the_report_tells_which_parts_agree(tmp_path, monkeypatch, capsys):
    def part(name, code, **more):
        return artifact.Part(name, f"numbers of {name}", (sys.executable, "-c", code), **more)

    parts = (
        part("good", "print(361 / 400)"),
        part("busy", "import time\nwhile time.process_time() < 2: pass"),
        part("shown", "pass", compares=False),
        part("wrong", "raise SystemExit('1/4 is not 1/5')"),
        part("absent", "pass", tool="no-such-program"),
        part("long", "import time; time.sleep(600)", limit=1),
    )
    monkeypatch.setattr(artifact, "PARTS", parts)
    assert artifact.main(["-o", str(tmp_path)]) == 1
    text = (tmp_path / "report.md").read_text()
    for line in (
        "| good | numbers of good | agrees |",
        "| shown | numbers of shown | ran |",
        "| wrong | numbers of wrong | DIFFERS (exit 1) |",
        "| absent | numbers of absent | left out: needs no-such-program |",
        "| long | numbers of long | stopped after 1 s |",
        "6 of 6 parts",
        "0.9025",
        "1/4 is not 1/5",
    ):
        assert line in text
    cells = next(line for line in text.splitlines() if line.startswith("| busy |")).split("|")
    assert float(cells[-2]) >= 2  # seconds of one core
    assert artifact.main(["-o", str(tmp_path), "--only", "good"]) == 0
    assert "1 of 1 parts" in (tmp_path / "report.md").read_text()


def test_each_part_of_the_report_runs_a_command_that_exists():
    from typer.main import get_command

    from workbench.cli.main import app

    commands = set(get_command(app).commands)
    for part in artifact.PARTS + artifact.BENCHMARKS:
        if part.command[:3] == artifact.WORKBENCH:
            assert part.command[3] in commands, part
        else:
            paths = [word for word in part.command if "/" in word or word.endswith(".md")]
            assert all((artifact.ROOT / path).exists() for path in paths), part
