"""The site's sources: formulas as TeX, docstrings as reStructuredText, pages of claims, notebooks
and texts, with everything from a file escaped."""

import csv
import inspect
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import workbench
from proofs.report import read_record
from workbench.cli.site_command import (
    command_helps,
    find_root,
    read_claims,
    read_solutions,
    task_notes,
)
from workbench.core.errors import WorkbenchError
from workbench.lab.exhibits import EXHIBITS, THEOREMS, exhibit
from workbench.lab.gallery import check_entry
from workbench.site.assignments import assignment, write_assignments
from workbench.site.build_site import MARK, check_target
from workbench.site.census_pages import STORED, read_census, write_census_page
from workbench.site.claim_pages import paper_of, slug, write_certificates, write_claim_pages
from workbench.site.docstrings import docstring_rst
from workbench.site.formulas import block_tex, formula_tex, is_formula
from workbench.site.gallery_pages import write_finds, write_gallery_pages
from workbench.site.hosted_notebook import (
    INSTALL_ID,
    checked_address,
    extras_of,
    hosted_links,
    install_cell,
    with_install_cell,
)
from workbench.site.material import Material, TaskNote
from workbench.site.mathml import BadFormula, Katex, set_formulas
from workbench.site.notebook_pages import SETTINGS, notebook_source, write_notebook_pages
from workbench.site.reference_pages import public_names, write_reference_pages
from workbench.site.slide_decks import DECKS, deck_slides, write_slides
from workbench.site.sphinx_setup import terms_of
from workbench.site.teaching_pages import (
    Solutions,
    exercise_texts,
    instructor_sheet,
)
from workbench.site.text_pages import front_scripts, resource, without_dead_links
from workbench.sufficiency.census import COLUMNS
from workbench.text import UNDEFINED

ROOT = Path(__file__).parents[2]

HOSTILE = "<script>alert(1)</script> \"quoted\" & 'more' `code<b>`"


def claim(**changes):
    return {
        "id": "S9.test*",
        "place": "Sec. 9",
        "section": "S4",
        "statement": "It holds.",
        "verdict": "proved",
        "evidence": "seen",
        "argument": "first line\n\nthird line",
        "counterexample": None,
        "corrected_by": None,
        "certificates": [],
        "steps": [{"number": 1, "key": "k", "text": "a step", "by": "machine", "needed": True}],
        "twins": [["a false one", "refuted"]],
        "module": "proofs.section4_writes",
        **changes,
    }


def material(**changes):
    return Material(
        **{
            "root": ROOT,
            "claims": [claim()],
            "sections": {"S4": "Section 4: memory", "P": "Other papers"},
            "papers": {"littman1994": "Littman 1994"},
            "verdicts": ("proved", "refuted"),
            "gallery": [],
            "figures": [],
            "explorer": "<!doctype html>",
            **changes,
        }
    )


class Tags(HTMLParser):
    """The tags of a text, and the words between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.words.append(data)


# ---------------------------------------------------------------------- formulas


def test_formulas_of_the_paper_are_set_as_the_paper_sets_them():
    assert formula_tex("v_pi = r_pi + gamma P_pi v_pi") == (
        r"v_{\pi } = r_{\pi } + \gamma  P_{\pi } v_{\pi }"
    )
    assert formula_tex("pi(a|o) >= 0") == r"\pi (a\mid o) \ge  0"
    assert formula_tex("lambda^(n-1)") == r"\lambda ^{n-1}"
    assert formula_tex("argmax_b q(o,b)") == r"\operatorname{arg\,max}_{b} q(o,b)"
    assert formula_tex("a in A, 0 otherwise") == r"a\text{ in }A,\, 0\text{ otherwise}"


def test_a_block_has_the_columns_that_it_shows_and_relations_make_none():
    tex = block_tex(["v    = r", "q(o,a) = w    what is learned"])
    assert tex.startswith(r"\begin{array}{ll}")
    assert r"v = r" in re.sub(" +", " ", tex)
    assert r"\text{what is learned}" in tex


def test_every_formula_of_the_public_docstrings_is_taken_by_katex():
    pytest.importorskip("sphinxcontrib.katex", reason="needs the extra `site`")
    found = 0
    with Katex() as katex:
        for modules in public_names().values():
            for home, names in modules.items():
                module = __import__(home, fromlist=["_"])
                for text in (module.__doc__, *(getattr(workbench, n).__doc__ for n in names)):
                    for line in docstring_rst(inspect.cleandoc(text or "").splitlines()):
                        if line.startswith(r"   \begin{array}"):
                            assert "<math" in katex.mathml(line.strip(), display=True)
                            found += 1
        with pytest.raises(BadFormula, match="KaTeX"):
            katex.mathml(r"\begin{array}")
    assert found >= 13


def test_formulas_between_dollar_signs_are_set_where_there_is_text():
    pytest.importorskip("sphinxcontrib.katex", reason="needs the extra `site`")
    complaints = []
    code = "<pre>a $b$</pre><script>if (a<b) '$x$'</script>"
    page = f'<p title="$t$">$\\gamma &lt; 1$ and</p>{code}<td>$$x^2$$</td><td>$\\begin{{$ 5 $</td>'
    with Katex() as katex:
        found = set_formulas(page, katex, complaints.append)
    assert found.startswith('<p title="$t$"><span class="katex"><math')
    assert "\\gamma &lt; 1</annotation>" in found
    assert code in found
    assert found.count("<math") == 2
    assert 'display="block"' in found
    assert found.endswith("<td>$\\begin{$ 5 $</td>")
    assert len(complaints) == 1


@given(st.text(alphabet="abq_^(){}|=<> '\\$%&#~,.0123λ", max_size=30))
def test_any_text_becomes_some_tex(text):
    assert isinstance(formula_tex(text), str)
    assert isinstance(is_formula(text), bool)


# ---------------------------------------------------------------------- docstrings


def test_sections_of_a_docstring_become_definitions_and_names_links():
    lines = [
        "Evaluate |A| actions.",
        "",
        "Parameters",
        "----------",
        "P, Q : a task;",
        "    see `evaluate`.",
    ]
    assert docstring_rst(lines, {"evaluate"}) == [
        r"Evaluate \|A\| actions.",
        "",
        "",
        "**Parameters**",
        "",
        "``P``, ``Q``",
        "   a task; see :py:obj:`~workbench.evaluate`.",
        "",
    ]


def test_what_is_quoted_may_go_over_the_end_of_a_line():
    assert docstring_rst(["Row `s |A| +", "a` holds |S|."]) == [r"Row ``s |A| + a`` holds \|S\|."]
    assert docstring_rst(["Code `e", "|M| + m`."]) == ["Code ``e |M| + m``."]


def test_formulas_doctests_and_tables_of_a_docstring_keep_their_kind():
    lines = ["    v = r", "", ">>> 1 + 1", "2", "", "| a | b |", "", "    $ workbench list"]
    text = "\n".join(docstring_rst(lines))
    assert ".. math::" in text
    assert ".. code-block:: pycon\n\n   >>> 1 + 1\n   2" in text
    assert ".. code-block:: text\n\n   | a | b |" in text
    assert "::\n\n   $ workbench list" in text


# ---------------------------------------------------------------------- the ledger


def test_a_claims_page_shows_statement_steps_twins_and_how_to_check_it(tmp_path):
    certificates = [{"kind": "identity", "left": "1", "right": "1"}]
    write_claim_pages(material(claims=[claim(certificates=certificates)]), tmp_path)
    text = (tmp_path / "ledger" / "S9-test-star.md").read_text()
    for part in ("It holds.", "a step", "a false one", "third line", "Section 4: memory"):
        assert part in text
    assert "workbench verify &#x27;S9.test*&#x27; -v" in text
    assert "python -m workbench.checker S9-test-star.json" in text
    assert "\n\n" not in re.search(r"<pre>.*?</pre>", text, re.DOTALL)[0]
    write_certificates(material(claims=[claim(certificates=certificates)]), tmp_path / "files")
    assert json.loads((tmp_path / "files" / "S9-test-star.json").read_text()) == certificates


def test_the_ledgers_table_can_be_filtered_by_what_its_rows_say(tmp_path):
    other = claim(id="P.littman1994.grid", section="P", verdict="refuted")
    write_claim_pages(material(claims=[claim(), other]), tmp_path)
    text = (tmp_path / "ledger" / "index.md").read_text()
    assert 'data-verdict="refuted" data-section="Other papers" data-paper="Littman 1994"' in text
    assert text.count("<tr data-") == 2
    assert '<a href="#paper=The+act+of+remembering">The paper\'s ledger</a>' in text
    assert '<a href="#section=Other+papers">that of other papers</a>' in text
    assert "<option value='Littman 1994'>" in text
    assert paper_of(claim(section="T"), material()) == "Theorems of our own"


def test_every_text_of_a_claim_is_escaped(tmp_path):
    fields = ("place", "statement", "evidence", "argument", "counterexample", "module")
    hostile = claim(
        **dict.fromkeys(fields, HOSTILE),
        steps=[{"number": 1, "key": "k", "text": HOSTILE, "by": HOSTILE, "needed": True}],
        twins=[[HOSTILE, HOSTILE]],
        certificates=[{"kind": HOSTILE}],
    )
    write_claim_pages(material(claims=[hostile]), tmp_path)
    for path in (tmp_path / "ledger").glob("*.md"):
        found = Tags(path.read_text())
        assert found.tags.count("script") == (path.stem == "index")
        assert "b" not in found.tags
        assert any("<script>alert(1)" in words for words in found.words)


def rendered(path):
    """The tags and words of a source as MyST reads it."""
    core = pytest.importorskip("docutils.core", reason="needs the extra `site`")
    parser = pytest.importorskip("myst_parser.docutils_", reason="needs the extra `site`")
    settings = {
        "myst_enable_extensions": ["dollarmath", "amsmath", "deflist"],
        "math_output": "MathML",
        "report_level": 5,
        "output_encoding": "unicode",
    }
    body = core.publish_parts(
        path.read_text(), parser=parser.Parser(), writer="html5", settings_overrides=settings
    )["body"]
    return Tags(body)


@pytest.mark.parametrize("text", [HOSTILE, f"one\n\n{HOSTILE}", f"$x$ {HOSTILE}"])
def test_no_label_of_a_file_becomes_a_tag_on_any_page(tmp_path, text):
    from proofs.inline_math import inline_math

    fields = ("id", "place", "statement", "verdict", "evidence", "argument", "counterexample")
    hostile = claim(
        **dict.fromkeys((*fields, "module", "section"), text),
        corrected_by=text,
        steps=[{"number": 1, "key": text, "text": text, "by": text, "needed": True}],
        twins=[[text, text]],
        certificates=[{"kind": text}],
    )
    note = TaskNote("task", text, text, text, text)
    entry = replace(exhibit("bits-are-stuck-where-pairs-are-not"), name=text.replace("\n", " "))
    shown = material(
        claims=[hostile],
        verdicts=(text,),
        sections={text: text},
        tasks=[note],
        gallery=[entry],
        sentence=inline_math,
    )
    write_claim_pages(shown, tmp_path)
    write_gallery_pages(shown, tmp_path)
    write_reference_pages(shown, tmp_path)
    pages = [*tmp_path.glob("ledger/*.md"), *tmp_path.glob("gallery/*.md")]
    for path in [*pages, tmp_path / "reference" / "tasks.md"]:
        found = rendered(path)
        allowed = (path.parent.name, path.stem) == ("ledger", "index")
        assert found.tags.count("script") == allowed, path
        assert "b" not in found.tags, path
        assert "alert(1)" in "".join(found.words), path


def test_formulas_of_statements_are_set(tmp_path):
    from proofs.inline_math import inline_math

    shown = material(claims=[claim(statement="worth gamma^2 <b>")], sentence=inline_math)
    write_claim_pages(shown, tmp_path)
    for path in (tmp_path / "ledger").glob("*.md"):
        text = path.read_text()
        assert "<msup><mi>γ</mi><mn>2</mn></msup>" in text
        assert "&lt;b&gt;" in text


def test_no_two_claims_share_a_page():
    from proofs.ledger import load

    names = [slug(id) for id in load()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("text", ["{", "{}", '[{"id": 1}]', "[1]"])
def test_what_is_no_ledger_is_refused_by_name(tmp_path, text):
    path = tmp_path / "ledger.json"
    path.write_text(text)
    with pytest.raises(WorkbenchError, match=r"ledger\.json cannot be read"):
        read_claims(path)
    with pytest.raises(WorkbenchError, match=r"nothing\.json cannot be read"):
        read_claims(tmp_path / "nothing.json")


# ---------------------------------------------------------------------- the gallery


@pytest.mark.parametrize("name", [name for name, *_ in EXHIBITS])
def test_every_exhibit_holds_and_its_certificates_do(name):
    entry = exhibit(name)
    assert check_entry(entry)[-1] == "judged again in rationals: it holds, with the same numbers"


def test_the_gallery_has_its_files_and_a_way_into_the_explorer(tmp_path):
    shown = material(
        gallery=[
            exhibit("bits-are-stuck-where-pairs-are-not"),
            exhibit("pairs-are-stuck-where-bits-are-not"),
        ]
    )
    write_gallery_pages(shown, tmp_path)
    text = (tmp_path / "gallery" / "index.md").read_text()
    assert "explorer.html#task=recall4&amp;m=B1&amp;r=5,4;0,6" in text
    assert text.count("Play with it") == 1  # the other one has three steps
    write_finds(shown, tmp_path / "finds")
    record = json.loads(
        (tmp_path / "finds" / "bits-are-stuck-where-pairs-are-not.json").read_text()
    )
    assert record["verdict"]["facts"]["OA1 ends at"] == "6"


def test_an_exhibit_of_a_theorem_leads_to_its_page(tmp_path):
    assert set(THEOREMS) <= {name for name, *_ in EXHIBITS}
    assert set(THEOREMS.values()) <= set(read_record())
    one = {"id": "T.hurts"}
    shown = [exhibit("bits-hurt"), exhibit("no-fixed-point")]
    write_gallery_pages(material(gallery=shown, claims=[one]), tmp_path)
    text = (tmp_path / "gallery" / "index.md").read_text()
    assert text.count("The theorem behind it") == text.count("../ledger/T-hurts.html") == 1


def test_an_exhibit_that_is_not_there_is_refused():
    with pytest.raises(WorkbenchError, match="no exhibit 'nothing'"):
        exhibit("nothing")


# ---------------------------------------------------------------------- notebooks and texts


def test_notebooks_get_their_explorer_and_keep_every_output(tmp_path):
    pages = write_notebook_pages(ROOT, tmp_path)
    assert len(pages) == len(list((ROOT / "notebooks").glob("*.ipynb")))
    assert {name[:2] for name in pages} == set(SETTINGS)
    for name in pages:
        before = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text())["cells"]
        after = json.loads((tmp_path / "notebooks" / f"{name}.ipynb").read_text())["cells"]
        assert [cell for cell in before if cell["id"] == INSTALL_ID] == before[1:2]
        assert after[:1] + after[2:] == before[:1] + before[2:]
        assert SETTINGS[name[:2]] in "".join(after[1]["source"])


def test_the_explorer_knows_the_tasks_and_memories_of_the_notebooks():
    from workbench.cli.explore_command import entries
    from workbench.explorer.export import offered

    tasks = {entry.id: entry for entry in entries()}
    for setting in SETTINGS.values():
        parts = dict(part.split("=") for part in setting.split("&"))
        assert parts["m"] in offered(tasks[parts["task"]].P)


def test_a_notebook_without_a_setting_only_gets_its_download():
    text = json.dumps({"cells": [{"cell_type": "markdown", "source": ["# Ten"]}]})
    assert "iframe" not in notebook_source(text, "99-ten.ipynb")
    assert "iframe" in notebook_source(text, "04-four.ipynb")


def test_a_notebook_can_be_opened_where_its_repository_can_be_reached(tmp_path):
    address = "https://github.com/me/lab"
    pages = write_notebook_pages(ROOT, tmp_path, address)
    for name in pages:
        page = (tmp_path / "notebooks" / f"{name}.ipynb").read_text()
        for link in hosted_links(address, f"notebooks/{name}.ipynb").values():
            assert f"]({link})" in page
        assert "git clone" not in page
        offered = json.loads((tmp_path / "originals" / f"{name}.ipynb").read_text())
        assert offered["cells"][1] == install_cell(address, extras_of(offered))
    assert "mybinder" not in notebook_source(json.dumps(offered), f"{name}.ipynb")


def test_binder_installs_what_the_notebooks_need():
    assert (ROOT / ".binder" / "runtime.txt").read_text().startswith("python-3.")
    post = ROOT / ".binder" / "postBuild"
    assert post.stat().st_mode & 0o111
    assert "pip install --no-cache-dir '.[notebooks]'" in post.read_text()


class Shell:
    """What a cell finds as its shell; it writes down what it is asked to do."""

    def __init__(self, name):
        self.name, self.asked = name, []

    def __str__(self):
        return self.name

    def system(self, line):
        self.asked.append(line)

    def run_line_magic(self, name, line):
        self.asked.append(f"{name} {line}")


def run_cell(cell, shell, typed=""):
    from IPython.core.inputtransformer2 import TransformerManager

    # A shell expands {repository} by itself; here the names of the cell are looked up afterwards.
    names = {"get_ipython": lambda: shell, "input": lambda words: typed}
    exec(TransformerManager().transform_cell(cell["source"]), names)
    return [line.replace("{repository}", names["repository"]) for line in shell.asked]


def test_the_cell_that_installs_does_so_on_colab_and_nothing_elsewhere():
    pytest.importorskip("IPython", reason="needs ipykernel: extra test")
    colab, jupyter = "<google.colab._shell.Shell object>", "<ipykernel.zmqshell object>"
    cell = install_cell("https://github.com/me/lab")
    assert run_cell(cell, Shell(jupyter)) == []
    expected = [
        "git clone --quiet --depth 1 https://github.com/me/lab workbench-repository",
        'pip install --quiet "./workbench-repository[proofs,gym,cluster]"',
        "cd -q workbench-repository/notebooks",
    ]
    assert run_cell(cell, Shell(colab)) == expected
    assert run_cell(install_cell(), Shell(colab), "https://github.com/me/lab") == expected
    once = with_install_cell({"cells": [{"id": "a"}, {"id": "b"}]}, "https://github.com/me/lab")
    assert with_install_cell(once, "https://github.com/me/lab") == once
    assert [one["id"] for one in once["cells"]] == ["a", INSTALL_ID, "b"]


@pytest.mark.parametrize(
    "address",
    [
        "github.com/me/lab",
        "http://github.com/me/lab",
        "https://github.com/me",
        'https://github.com/me/lab";rm -r *;"',
        "https://github.com/me/lab?x=<script>",
        "https://me:secret@github.com/me/lab",
        "git@github.com:me/lab.git",
    ],
)
def test_what_is_no_address_of_a_repository_is_refused(address):
    with pytest.raises(WorkbenchError, match="is no address of a repository"):
        checked_address(address)


def test_links_to_what_the_site_has_not_become_words():
    text = (
        "[a](findings.md) [b](../proofs/README.md) [c](https://example.org) [d](#here) ![e](x.png)"
    )
    assert without_dead_links(text, ROOT / "docs") == (
        "[a](findings.md) b [c](https://example.org) [d](#here) ![e](x.png)"
    )


def test_the_glossary_has_the_words_that_pages_link_to():
    terms = terms_of((ROOT / "docs" / "glossary.md").read_text())
    assert {"observation", "oracle loop", "binary memory"} <= set(terms)
    assert "pomdp" in terms
    assert terms["pomdp"] == "POMDP"


def test_the_front_page_holds_the_scripts_that_its_trap_calls():
    scripts = front_scripts()
    for name in set(re.findall(r"\bW\.(\w+)", resource("trap.js"))):
        assert re.search(rf"\b{name}\b", scripts.removesuffix(resource("trap.js"))), name
    ids = re.findall(r'\$\("([\w-]+)"\)', resource("trap.js"))
    assert set(ids) <= set(re.findall(r'id="([\w-]+)"', resource("front.html")))


# ---------------------------------------------------------------------- the command


def test_a_folder_that_holds_something_else_is_refused(tmp_path):
    check_target(tmp_path / "new")
    check_target(tmp_path)
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(WorkbenchError, match="something else than a site"):
        check_target(tmp_path)
    with pytest.raises(WorkbenchError, match="is a file"):
        check_target(tmp_path / "thesis.tex")
    (tmp_path / MARK).write_text("")
    check_target(tmp_path)


def test_tasks_and_commands_are_listed():
    assert find_root() == ROOT
    notes = {note.name: note for note in task_notes()}
    assert notes["recall4"].size.startswith("6 states")
    assert all(note.title and note.text and note.source for note in notes.values())
    helps = command_helps()
    assert helps["workbench site"].startswith("Usage: workbench site")
    assert all("Example: workbench" in " ".join(text.split()) for text in helps.values())


def test_the_command_says_which_extra_is_missing_before_it_judges_claims(monkeypatch, tmp_path):
    from workbench.cli import site_command

    monkeypatch.setattr(site_command, "gather_material", lambda *_: pytest.fail("it judges"))
    monkeypatch.setitem(__import__("sys").modules, "sphinx", None)
    app = typer.Typer()
    app.command()(site_command.site_command)
    answer = CliRunner().invoke(app, ["-o", str(tmp_path / "site")])
    assert "pip install 'memory-workbench[site]'" in str(answer.exception)


# ---------------------------------------------------------------------- teaching


def notebook(*cells):
    made = [
        {"cell_type": kind, "metadata": {}, "source": source, "outputs": outputs}
        for kind, source, outputs in cells
    ]
    return {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


@pytest.mark.parametrize("deck", DECKS, ids=lambda deck: deck.name)
def test_a_deck_has_six_to_ten_slides_with_little_on_each(deck):
    title, *slides = deck_slides((ROOT / "docs" / "slides" / f"{deck.name}.md").read_text())
    assert title.startswith(f"# {deck.title}")
    assert 6 <= len(slides) <= 10
    for slide in slides:
        assert slide.startswith("## ")
        words = re.sub(r"!\[[^\]]*\]\([^)]*\)|\$[^$]*\$", "", slide).split()
        assert len(words) <= 120, slide
    assert sum("![" in slide for slide in slides) >= 4  # slides show; a projector is not a page


def test_slides_load_nothing_but_what_lies_beside_them(tmp_path):
    for package in ("markdown_it", "sphinx_revealjs"):
        pytest.importorskip(package, reason="needs the extra `site`")
    write_slides(ROOT, tmp_path)
    for deck in DECKS:
        text = (tmp_path / f"{deck.name}.html").read_text()
        found = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"([^\"]*)\"", text)
        assert found
        for target in found:
            assert (tmp_path / target).is_file()
        assert 7 <= text.count("<section>") <= 11
        assert f"<title>{deck.title}</title>" in text


def test_an_assignment_splits_each_exercise_into_an_answer_and_a_locked_judge(tmp_path):
    count = write_assignments(ROOT, tmp_path / "course")
    assert count == len(list((ROOT / "notebooks" / "exercises").glob("notebook_*.py")))
    name = "04-why-does-binary-memory-get-stuck"
    folder = tmp_path / "course" / "source" / name
    cells = json.loads((folder / f"{name}.ipynb").read_text())["cells"]
    marked = [cell for cell in cells if "nbgrader" in cell["metadata"]]
    about = [cell["metadata"]["nbgrader"] for cell in marked]
    assert [x["grade_id"] for x in about] == [
        f"exercise-4-{i}{end}" for i in (1, 2) for end in ("", "-graded")
    ]
    assert [(x["solution"], x["grade"], x["locked"]) for x in about] == [
        (True, False, False),
        (False, True, True),
    ] * 2
    assert "check" not in marked[0]["source"]
    assert (folder / "exercises" / "notebook_04.py").is_file()
    with pytest.raises(WorkbenchError, match="is not empty"):
        write_assignments(ROOT, tmp_path / "course")


def test_the_graded_cell_fails_for_a_wrong_answer_and_passes_for_a_right_one():
    names = {"check": lambda number, answer: type("V", (), {"right": answer == 1})()}
    cell = {"cell_type": "code", "metadata": {}, "source": 'answer = ...\ncheck("1.1", answer)'}
    graded = assignment({"cells": [cell], "metadata": {}})["cells"][1]["source"]
    exec(graded, {**names, "answer": 1})
    with pytest.raises(AssertionError):
        exec(graded, {**names, "answer": 2})


@pytest.mark.slow
def test_nbgrader_gives_a_point_for_each_right_answer(tmp_path):
    program = shutil.which("nbgrader")
    if program is None:
        pytest.skip("nbgrader is not installed")
    name, course = "04-why-does-binary-memory-get-stuck", tmp_path / "course"
    write_assignments(ROOT, course)
    home = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}

    def nbgrader(*words):
        command = [program, *words, "--CourseDirectory.course_id=course"]
        subprocess.run(command, cwd=course, env={**os.environ, **home}, check=True)

    nbgrader("generate_assignment", name)
    known = read_solutions(ROOT, "04")["04"]
    for student, second in (("ann", known.right), ("bob", known.wrong)):
        folder = course / "submitted" / student / name
        shutil.copytree(course / "release" / name, folder)
        handed_in = json.loads((folder / f"{name}.ipynb").read_text())
        for cell in handed_in["cells"]:
            for i, answers in ((1, known.right), (2, second)):
                if cell["id"] == f"exercise-4-{i}":
                    cell["source"] = f"from fractions import Fraction\nanswer = {answers[i][0]!r}"
        (folder / f"{name}.ipynb").write_text(json.dumps(handed_in))
    nbgrader("autograde", name, "--create")
    nbgrader("export")
    rows = csv.DictReader((course / "grades.csv").open())
    assert {row["student_id"]: float(row["score"]) for row in rows} == {"ann": 2, "bob": 1}


def test_the_instructors_sheet_has_each_exercise_with_its_solution(tmp_path):
    root = tmp_path / "root"
    (root / "notebooks").mkdir(parents=True)
    book = notebook(("markdown", "# Four", []), ("markdown", "## Exercises\n\n**4.1** Why?", []))
    (root / "notebooks" / "04-four.ipynb").write_text(json.dumps(book))
    answers = Solutions({1: [{"a": "<b>"}]}, {1: [2, 3]})
    text = instructor_sheet(root, {"04": answers}, lambda n, a: (False, f"{a} is <no>"))
    assert "## 4. Four" in text
    assert "**4.1** Why?" in text
    assert "{&#x27;a&#x27;: &#x27;&lt;b&gt;&#x27;}" in text
    assert "<code>2</code>: 2 is &lt;no&gt;" in text


def test_the_sheet_shows_the_code_of_an_answer_that_is_a_function_or_a_task(tmp_path):
    root = tmp_path / "root"
    (root / "notebooks").mkdir(parents=True)
    asked = "## Exercises\n\n**1.1** Write f.\n\n**1.2** And a spec."
    book = notebook(("markdown", "# One", []), ("markdown", asked, []))
    (root / "notebooks" / "01-one.ipynb").write_text(json.dumps(book))
    source = (
        "K = 3\n\ndef f(x):\n\n    return K * x\n\ndef other(x):\n    return x\n\n"
        'RIGHT = {1: [f], 2: ["a\\n\\nb"]}\nWRONG = {1: [lambda x: f(x) < 1], 2: []}\n'
    )
    names = {}
    exec(source, names)
    answers = Solutions(names["RIGHT"], names["WRONG"], source)
    text = instructor_sheet(root, {"01": answers}, lambda n, a: (False, "no"))
    assert "<div><pre>K = 3\ndef f(x):\n    return K * x</pre></div>" in text
    assert "<li><pre>K = 3\ndef f(x):\n    return K * x\nlambda x: f(x) &lt; 1</pre>: no" in text
    assert "<pre>a\nb</pre>" in text
    assert " at 0x" not in text
    assert "other" not in text


def has_solutions(path, solutions):
    number = path.stem.removeprefix("notebook_")
    (book,) = (ROOT / "notebooks").glob(f"{number}-*.ipynb")
    asked = exercise_texts(json.loads(book.read_text()))
    return {int(one.split(".")[1]) for one in asked} == set(solutions[number].right)


def test_a_notebook_has_solutions_for_the_sheet():
    path = ROOT / "notebooks" / "exercises" / "notebook_04.py"
    assert has_solutions(path, read_solutions(ROOT, "04"))


@pytest.mark.slow
def test_every_notebook_with_exercises_has_solutions_for_the_sheet():
    solutions = read_solutions(ROOT)
    for path in (ROOT / "notebooks" / "exercises").glob("notebook_*.py"):
        assert has_solutions(path, solutions)


def test_the_lesson_plans_fill_ninety_minutes():
    for deck in DECKS:
        text = (ROOT / "docs" / f"lesson-{deck.name}.md").read_text()
        spans = [tuple(map(int, x)) for x in re.findall(r"(?m)^\| (\d+) to (\d+) \|", text)]
        assert spans[0][0] == 0
        assert spans[-1][1] == 90
        assert all(first[1] == second[0] for first, second in pairwise(spans))
        for number in re.findall(r"exercises? (\d+)\.\d", text):
            assert (ROOT / "notebooks" / "exercises" / f"notebook_{int(number):02d}.py").is_file()


# ---------------------------------------------------------------------- the census


def census_root(tmp_path, **changes):
    """A project that holds nothing but a stored census of two tasks."""
    import pandas as pd

    row = {
        "task": "recall4",
        "source": "recall4",
        "states": 6,
        "observations": 1,
        "actions": 4,
        "gamma": 1.0,
        **{name: 1.0 for column in COLUMNS for name in (column, f"{column}_bound")},
        "deterministic": 0.5,
        "deterministic_bound": 0.75,
        "one_bit": None,
        "needs_memory": True,
        "note": "",
    }
    other = {**row, "task": HOSTILE, "source": HOSTILE, "note": HOSTILE, "needs_memory": None}
    (tmp_path / "docs").mkdir()
    frame = pd.DataFrame([{**row, **changes}, other])
    frame.to_parquet(tmp_path / "docs" / "census.parquet")
    return tmp_path


def test_the_census_is_a_table_to_filter_with_the_explorer_and_its_files(tmp_path):
    source = tmp_path / "source"
    (source / "docs").mkdir(parents=True)
    shown = material(root=census_root(tmp_path), offered=frozenset({"recall4"}))
    write_census_page(shown, source)
    text = (source / "docs" / "census.md").read_text()
    assert "<a href='../explorer.html#task=recall4'>recall4</a>" in text
    assert "<td data-order='0.5'>0.5 to 0.75</td>" in text
    assert (
        f"<td data-order=''>{UNDEFINED}</td>" in text
    )  # undefined is no number, and none in order
    assert "<tr data-memory='yes'>" in text
    assert "<tr data-memory='not decided'>" in text
    assert "1 need memory, 1 are not decided" in text
    for name in ("census.csv", "census.parquet"):
        assert (source / "_static" / "census" / name).stat().st_size > 100
    found = Tags(text)
    assert found.tags.count("script") == 1
    assert "b" not in found.tags
    assert found.tags.count("a") == 3
    assert any("<script>alert(1)" in words for words in found.words)


def test_without_a_stored_census_there_is_no_page_and_what_is_none_is_refused(tmp_path):
    import pandas as pd

    (tmp_path / "docs").mkdir()
    write_census_page(material(root=tmp_path), tmp_path)
    assert list((tmp_path / "docs").iterdir()) == []
    path = tmp_path / "docs" / "census.parquet"
    path.write_text("no table")
    with pytest.raises(WorkbenchError, match=r"census\.parquet is no table of a census"):
        write_census_page(material(root=tmp_path), tmp_path)
    pd.DataFrame({"task": ["recall"]}).to_parquet(path)
    with pytest.raises(WorkbenchError, match="it has no column source"):
        read_census(path)


def test_the_stored_census_has_the_tasks_of_the_collection():
    from pomdps import TASKS

    stored = read_census(ROOT / STORED)
    large = {"sutton_grid"}  # its searches take long
    assert set(stored["source"]) >= {n for n, one in TASKS.items() if not one.extra} - large
    for column in COLUMNS:
        known = stored[[column, f"{column}_bound"]].dropna()
        assert (known[column] <= known[f"{column}_bound"]).all()
