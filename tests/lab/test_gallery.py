"""The gallery: finds kept, read back, re-checked, shown; damage is seen."""

import copy
import hashlib
import json
import re

import pytest
import typer
from typer.testing import CliRunner

from pomdps import gravity, recall4
from workbench import load_pomdp
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.cli.gallery_command import gallery_command
from workbench.cli.search_command import search_command
from workbench.core.errors import UnknownLabel, WorkbenchError
from workbench.lab.find import Find
from workbench.lab.gallery import Damaged, Gallery, check_entry, gallery_folder
from workbench.lab.print import described_html, diagram, figure7
from workbench.lab.sequences import discounted_sequence_task
from workbench.lab.statements import as_statement, statements
from workbench.results.json import model_json

TRAP = [[-1, 0, 2], [0, 1, 0], [0, 0, 0]]
"""Recall4 after shrinking: B1, B2, B3 end at 1, OA1 at 2."""


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
    return [
        trap(),
        found(discounted_sequence_task([[0, 5], [4, 2]]), "oracle-chatters", memory="B1"),
        found(discounted_sequence_task([[3, 2], [0, 4]]), "larger-does-worse"),
        found(discounted_sequence_task([[0, 1], [1, 0]]), "no-fixed-point"),
        found(discounted_sequence_task([[[0, 1], [0, 0]], [[0, 0], [0, 0]]]), "encodes-optimum"),
    ]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    for find in finds():
        find.save(folder)
    return Gallery(folder)


# ---------------------------------------------------------------------- kept and read back


def test_what_is_kept_is_read_back(kept):
    assert len(kept.names()) == 5
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


def test_a_find_is_shown_with_its_table_and_its_picture(kept):
    for entry in kept.entries():
        shown = described_html(entry.find)
        assert shown.count("<table class='figure7'>") == shown.count("<svg") == 1
        assert all(key in shown for key in entry.find.verdict.facts)


def test_pictures_are_made_for_small_sequence_tasks_only():
    assert diagram(trap().task).startswith("<svg")
    assert diagram(gravity()) == ""
    assert diagram(discounted_sequence_task([[[[0, 1, 2]] * 3] * 3] * 3)) == ""


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
    assert "POMDP" in command("gallery", "save", path.stem)
    assert len(load_pomdp(tmp_path / f"{path.stem}.POMDP").A) == 3
    path.write_text(path.read_text().replace('"ties": "last"', '"ties": "first"'))
    result = command("gallery", "check", fails=True)
    assert result.exit_code == 1
    assert "WRONG" in result.output


def test_a_find_of_a_statement_that_is_gone_keeps_its_words(tmp_path):
    name = trap().save(tmp_path)
    path = tmp_path / f"{name}.json"
    record = json.loads(path.read_text())
    record["statement"] = {"name": "greedy-lowers", "parts": 2}
    del record["sha256"]
    record["sha256"] = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(record))
    entry = Gallery(tmp_path).get(name)
    assert entry.find.statement.sentence() == trap().statement.sentence()
    assert check_entry(entry)[-1] == "the statement is not here: not judged again"


def test_the_list_names_every_statement(command):
    text = command("search", "--list")
    assert all(name in text for name in statements())
    assert "holds no finds yet" in command("gallery")


def test_options_reach_the_search(command):
    text = command(
        "search no-fixed-point -m none --length 3 --actions 2 --lowest 0 --highest 1 --by 1/2 "
        "--gamma 9/10 --method random --seed 2 --tries 64 --keep 1 --no-save --no-shrink"
    )
    assert "length 3, 2 actions, rewards 0, 1/2, 1, gamma 9/10" in " ".join(text.split())
    assert "holds no finds yet" in command("gallery")
    for words in (
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
