"""The gallery: finds kept, read back, re-checked, shown; damage is seen; a find becomes a claim."""

import copy
import html.parser
import json
import re
from fractions import Fraction

import pytest
import typer
from typer.testing import CliRunner

from pomdps import recall4
from proofs.ledger import LEDGER, run
from proofs.ledger.from_gallery import claim_from, write_claim
from workbench import load_pomdp
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.cli.gallery_command import gallery_command
from workbench.cli.search_command import search_command
from workbench.core.errors import UnknownLabel, WorkbenchError
from workbench.lab.find import Find
from workbench.lab.gallery import Damaged, Gallery, check_entry, gallery_folder
from workbench.lab.print import diagram, figure7, gallery_page
from workbench.lab.sequences import discounted_sequence_task
from workbench.lab.small_models import DeterministicPOMDPs, SparsePOMDPs
from workbench.lab.statements import as_statement
from workbench.results.json import model_json

HALF = Fraction(1, 2)

TRAP = [[-1, 0, 2], [0, 1, 0], [0, 0, 0]]
"""Recall4 after shrinking: B1, B2, B3 end at 1, OA1 at 2."""

FALLING = DeterministicPOMDPs(2, 2, 1, 0, 1, gamma=HALF).task((0, 1, 0, 2, 0, 0, 1, 1, 0, 0, 1))
SIDES = SparsePOMDPs(4, 1, 2, 0, 0, starts=3, start_parts=4, ends=False, gamma=HALF)


def found(P, name, **parameters):
    one = as_statement(name, **parameters)
    verdict = one.exactly(P)
    assert verdict.holds
    return Find(
        P, one, verdict, {"space": {"name": "by hand"}, "method": "none", "seed": 0, "version": "0"}
    )


def trap():
    return found(discounted_sequence_task(TRAP), "oracle-stuck", memory="B1", but_not="OA1")


def finds():
    """One of each kind of certificate."""
    two_starts = DeterministicPOMDPs(3, 2, 2, 0, 1, starts=2, forward=True, gamma=1)
    recall2 = discounted_sequence_task([[[0, 0], [0, 0]], [[0, 1], [0, 0]]], Fraction(9, 10))
    return [
        trap(),
        found(FALLING, "greedy-lowers"),
        found(
            two_starts.task((0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 3)),
            "zero-discrepancy-memory-helps",
        ),
        found(SIDES.task((8, 5, 7, 6, 0, 0, 0, 0, 0, 0, 1, 1, 28)), "bound-not-expressive"),
        found(discounted_sequence_task([[0, 0], [0, 0]]), "expressive-not-by-bound"),
        found(recall2, "td-greedy-leaves-optimum", memory="OA1"),
    ]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    for find in finds():
        find.save(folder)
    return Gallery(folder)


# ---------------------------------------------------------------------- kept and read back


def test_what_is_kept_is_read_back(kept):
    assert len(kept.names()) == 6
    for find in finds():
        entry = kept.get(find.statement.name)
        assert model_json(entry.find.task) == model_json(find.task)
        assert entry.find.statement == find.statement
        assert entry.find.verdict.facts == find.verdict.facts


def test_the_same_find_is_kept_once_and_can_be_taken_out(tmp_path):
    one, other = trap().save(tmp_path), trap().save(tmp_path)
    assert one == other
    assert Gallery(tmp_path).names() == [one]
    Gallery(tmp_path).remove(one)
    assert Gallery(tmp_path).names() == []


def test_certificates_are_verified_by_other_code_and_statements_judged_again(kept):
    for entry in kept.entries():
        lines = check_entry(entry)
        assert lines[-1].startswith("judged again")
        assert len(lines) == 1 + len(entry.find.verdict.certificates) >= 2


def test_damage_is_seen(tmp_path):
    name = trap().save(tmp_path)
    path = tmp_path / f"{name}.json"
    record = json.loads(path.read_text())
    for spoil in (
        lambda r: r["task"]["p"][0][2][0].__setitem__(1, "1"),
        lambda r: r["verdict"]["facts"].__setitem__("B1 ends at", "3"),
        lambda r: r.pop("statement"),
    ):
        changed = copy.deepcopy(record)
        spoil(changed)
        path.write_text(json.dumps(changed))
        with pytest.raises(Damaged):
            Gallery(tmp_path).get(name)
    path.write_text("{")
    with pytest.raises(Damaged, match="cannot be read"):
        Gallery(tmp_path).get(name)
    with pytest.raises(UnknownLabel, match="there is none of that name"):
        Gallery(tmp_path).get("elsewhere")


def test_a_certificate_that_says_something_else_is_refused():
    one = trap()
    (first, second) = copy.deepcopy(one.verdict.certificates)
    first["value"] = "5/4"
    with pytest.raises(Spoiled):
        recheck(first)
    second["phases"] = second["phases"][:-1] or [[None, []]]
    with pytest.raises(Spoiled):
        recheck(second)
    (step,) = copy.deepcopy(found(FALLING, "greedy-lowers").verdict.certificates)
    step["rate"] = "-1"
    with pytest.raises(Spoiled, match="at the rate -4/121, not -1"):
        recheck(step)


def test_the_folder_is_here_unless_said_otherwise(monkeypatch, tmp_path):
    monkeypatch.delenv("WORKBENCH_GALLERY", raising=False)
    assert str(gallery_folder()) == "gallery"
    monkeypatch.setenv("WORKBENCH_GALLERY", str(tmp_path / "mine"))
    assert gallery_folder() == tmp_path / "mine"
    assert gallery_folder("other").name == "other"
    assert Gallery().names() == []


# ---------------------------------------------------------------------- on paper


def test_recall4_looks_like_figure_7_of_the_paper():
    lines = figure7(recall4()).split("\n")
    assert lines[0].split() == ["(a1,", "a2)", "R", "||", "(a1,", "a2)", "R"]
    assert [
        re.sub(r"\s+", " ", line)
        for line in lines
        if line.startswith("(0") or line.startswith("(1")
    ] == [
        "(0, 0) -5 || (2, 0) 0",
        "(0, 1) 0.5 || (2, 1) 0.5",
        "(0, 2) 1 || (2, 2) -5",
        "(0, 3) 0.5 || (2, 3) 0.5",
        "(1, 0) 0 || (3, 0) 0",
        "(1, 1) 0.5 || (3, 1) 0.5",
        "(1, 2) -0.5 || (3, 2) -5",
        "(1, 3) 0.75 || (3, 3) 0.5",
    ]


class Outline(html.parser.HTMLParser):
    """Open tags, and where a page points to."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.pictures = [], [], 0

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "line", "circle", "path"):
            self.open.append(tag)
        self.pictures += tag == "svg"
        self.links += [x for key, x in attrs if key in ("href", "src")]

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else(kept):
    entries = kept.entries()
    text = gallery_page(entries)
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert all(link.startswith("#") for link in outline.links)
    assert outline.pictures == 3
    for entry in entries:
        assert entry.name in text


def test_pictures_are_made_for_small_sequence_tasks_only():
    assert diagram(trap().task).startswith("<svg")
    assert diagram(FALLING) == ""
    assert diagram(discounted_sequence_task([[[[0, 1, 2]] * 3] * 3] * 3)) == ""


# ---------------------------------------------------------------------- claims


def test_every_find_is_a_claim_with_a_twin_that_is_refuted(kept):
    for name in kept.names():
        entry = run(claim_from(name, folder=kept.folder))
        assert entry.ok, name
        for certificate in entry.certificates:
            assert recheck(certificate)


def test_a_claim_of_a_task_that_does_not_show_it_fails():
    find = trap()
    wrong = Find(discounted_sequence_task([[0, 1], [2, 0]]), find.statement, find.verdict)
    assert run(claim_from(wrong, "L.wrong")).verdict == "refuted"


def test_a_claim_can_be_written_as_a_module(tmp_path, monkeypatch):
    write_claim(trap(), "L.trap", tmp_path / "trap_as_claim.py")
    monkeypatch.syspath_prepend(tmp_path)
    import trap_as_claim  # noqa: F401

    try:
        entry = run(LEDGER["L.trap"])
        assert entry.ok
        assert "B1 ends at: 1" in entry.argument
    finally:
        del LEDGER["L.trap"]


# ---------------------------------------------------------------------- on the command line


@pytest.fixture
def command(tmp_path, monkeypatch):
    app = typer.Typer()
    app.command("search")(search_command)
    app.command("gallery")(gallery_command)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WORKBENCH_GALLERY", raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def ask(*words, fails=False):
        result = CliRunner().invoke(app, " ".join(words).split())
        if not fails and result.exception is not None:
            raise result.exception
        assert all(len(line) <= 80 for line in result.output.split("\n"))
        return result.output if not fails else result

    return ask


def test_the_command_finds_shrinks_keeps_shows_and_checks(command, tmp_path):
    text = command("search oracle-stuck --memory B1 --set but_not=OA1 --actions 3 --keep 1")
    assert "1 find among sequence tasks of length 2, 3 actions" in text
    assert "B1 could reach: 2" in text
    (path,) = (tmp_path / "gallery").glob("*.json")
    assert path.stem in command("gallery")
    assert "certificates: oracle-loop, oracle-loop" in command("gallery", "show", path.stem[-8:])
    assert "1 of 1 right" in command("gallery", "check")
    command("gallery", "--html", "all.html")
    assert (tmp_path / "all.html").read_text().count("<article") == 1
    assert "POMDP" in command("gallery", "save", path.stem)
    assert len(load_pomdp(tmp_path / f"{path.stem}.POMDP").A) == 3
    path.write_text(path.read_text().replace('"ties": "last"', '"ties": "first"'))
    result = command("gallery", "check", fails=True)
    assert result.exit_code == 1
    assert "WRONG" in result.output


def test_the_list_names_every_statement_and_space(command):
    text = command("search", "--list")
    for name in ("oracle-stuck", "greedy-lowers", "sequences", "automata"):
        assert name in text
    assert "holds no finds yet" in command("gallery")


def test_other_spaces_and_options_reach_the_search(command):
    text = command(
        "search greedy-lowers --space deterministic --states 2 --actions 2 --observations "
        "1 --lowest 0 --gamma 1/2 --keep 1 --no-save --no-shrink"
    )
    assert "rate of change: -" in text
    assert "holds no finds yet" in command("gallery")
    text = command(
        "search bound-not-expressive --space sparse --states 4 --actions 1 --lowest 0 "
        "--highest 0 --starts 3 --start-parts 4 --endless --gamma 1/2 --method random "
        "--seed 219 --tries 32 --no-save --no-shrink"
    )
    assert "9 situations must be told apart" in text
    for words in (
        ["--space", "nowhere"],
        ["--gamma", "x"],
        ["--keep", "-1"],
        ["--set", "kind=B"],
        ["--set", "x"],
        ["--set", "any_order=so"],
    ):
        assert isinstance(
            command("search", "oracle-stuck", *words, fails=True).exception, WorkbenchError
        )
    assert isinstance(command("gallery", "show", fails=True).exception, WorkbenchError)
    assert isinstance(command("gallery", "dance", fails=True).exception, WorkbenchError)
