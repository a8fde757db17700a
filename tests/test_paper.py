"""The paper's numbers are those of today, its references are used, and pandoc reads it."""

import re
import shutil
import subprocess

import pytest

from paper import fill

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
