"""The ledger as a whole, and the command that runs it. (What each claim finds is tested beside its
subject.)"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from reference import same_model
from strategies import pomdps
from typer.testing import CliRunner

import proofs
from pomdps import gravity
from proofs.ledger import LEDGER, ORDER, Claim, checked, load, refuted, run
from proofs.ledger.places import SECTIONS, section_of
from proofs.report import readme
from workbench import augment, uniform
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.cli.main import app
from workbench.model.json import model_from_json, model_json, policy_from_json, policy_json

QUICK = ["C2", "S5.not-mdp", "C.b2-expressive"]


@pytest.fixture(scope="module")
def claims():
    return load()


def command(*arguments):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["verify", *arguments])


def test_every_statement_of_the_paper_is_in_the_ledger(claims):
    assert [name for name in claims if not name.endswith("*")] == list(ORDER)


def test_a_refuted_claim_names_the_statement_that_holds_instead(claims):
    for one in claims.values():
        if one.documented == "refuted":
            assert one.corrected_by in claims
            assert claims[one.corrected_by].documented in ("proved", "checked", "supported")


def test_the_generated_readme_is_not_stale(claims):
    lines = Path(proofs.__path__[0], "README.md").read_text().splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if line.startswith("| ")
    ][1:]
    expected = [
        [one.id, one.place, one.statement.replace("|", "\\|"), f"**{one.documented}**"]
        for one in claims.values()
    ]
    assert [row[:4] for row in rows] == expected
    evidence = {row[0]: row[4] for row in rows}
    for name in QUICK:
        entry = run(claims[name])
        assert evidence[name].startswith(entry.evidence.replace("|", "\\|"))
        assert readme([entry]).splitlines()[8] in lines


def test_a_claim_fails_when_its_verdict_or_a_twin_does():
    def establish(n=3):
        return checked("odd") if n % 2 else refuted("even", counterexample=n)

    good = Claim("X", "nowhere", "three is odd", "checked", establish)
    assert not run(good).ok  # no twin
    good.twin("an even number", n=4)
    assert run(good).ok
    good.twin("another odd number", n=5)
    assert run(good).surviving == ("another odd number",)
    assert not run(
        Claim("X", "nowhere", "four is odd", "checked", lambda: establish(4), twins=[])
    ).ok
    broken = Claim("X", "nowhere", "four is odd", "refuted", lambda n=4: establish(n))
    broken.twin("three", n=3)
    assert run(broken).ok
    broken.twin("six", n=6)
    assert run(broken).surviving == ("six",)


@given(pomdps())
def test_models_travel_as_json(P):
    assert same_model(P, model_from_json(json.loads(json.dumps(model_json(P)))))


def test_policies_travel_as_json():
    E = augment(gravity(), "O1")
    pi = policy_from_json(E, json.loads(json.dumps(policy_json(uniform(E)))))
    assert pi[E.O[0], E.A[0]] == uniform(E)[E.O[0], E.A[0]]


def test_an_unknown_kind_of_certificate_is_refused():
    with pytest.raises(Spoiled, match="unknown kind of certificate 'wish'"):
        recheck({"kind": "wish"})


def test_the_command_shows_verdicts_and_whole_arguments(tmp_path):
    shown = command(
        *QUICK,
        "-v",
        "-j",
        "1",
        "--json",
        str(tmp_path / "a.json"),
        "--html",
        str(tmp_path / "a.html"),
    )
    assert shown.exit_code == 0, shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    words = " ".join(shown.stdout.split())
    assert "2 proved, 1 refuted; all 3 as documented" in words
    assert "It took " in words
    assert "Spoiled twin" in shown.stdout
    entries = json.loads((tmp_path / "a.json").read_text())
    brief = command(*QUICK, "-j", "1")
    assert max(map(len, brief.stdout.splitlines())) <= 80
    words = " ".join(brief.stdout.split())
    for entry in entries:  # statement and verdict of each, under the title of its section
        assert entry["statement"] in words
        assert f"{entry['verdict']} {' '.join(entry['statement'].split()[:3])}" in words
        assert dict(SECTIONS)[section_of(entry["id"])] in brief.stdout
    entries = json.loads((tmp_path / "a.json").read_text())
    fields = {
        "id",
        "place",
        "statement",
        "verdict",
        "evidence",
        "counterexample",
        "corrected_by",
        "seconds",
    }
    assert all(fields <= set(entry) for entry in entries)
    page = (tmp_path / "a.html").read_text()
    assert 'id="C.b2-expressive"' in page
    assert "http" not in page


def test_certificates_are_rechecked_and_tampered_ones_are_caught(tmp_path):
    path = tmp_path / "ledger.json"
    assert command(*QUICK, "-j", "1", "--json", str(path)).exit_code == 0
    held = command("--recheck", str(path))
    assert held.exit_code == 0
    assert "certificates hold" in held.stdout
    entries = json.loads(path.read_text())
    entries[0]["certificates"] = [
        {**certificate, "kind": "wish"} for certificate in entries[0]["certificates"]
    ] or [{"kind": "wish"}]
    path.write_text(json.dumps(entries))
    assert command("--recheck", str(path)).exit_code == 1


def test_a_verdict_that_is_not_the_documented_one_fails_the_command(monkeypatch, claims):
    monkeypatch.setattr(LEDGER["C2"], "documented", "checked")
    shown = command("C2", "-j", "1")
    assert shown.exit_code == 1
    assert "C2: found proved, documented checked" in shown.stdout


def test_bad_arguments_of_the_command(tmp_path):
    assert "there is no claim 'C9'" in str(command("C9").exception)
    (tmp_path / "x.json").write_text("{}")
    assert "is not a ledger" in str(command("--recheck", str(tmp_path / "x.json")).exception)
    assert "--readme needs every claim" in str(command("C2", "--readme").exception)
