"""The ledger as a whole, and the command that runs it. (What each claim finds is tested beside its
subject.)"""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from reference import same_model
from strategies import pomdps
from typer.testing import CliRunner

import proofs
from pomdps import gravity
from proofs.ledger import LEDGER, ORDER, Claim, checked, load, refuted, run
from proofs.ledger.formal import formal_claims
from proofs.ledger.places import REQUIRED
from proofs.ledger.quotes import QUOTES
from proofs.report import read_record, readme, summary
from workbench import augment, uniform
from workbench.checker.__main__ import check_file
from workbench.checker.ledger_file import EVIDENCE, check_ledger
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.cli import verify_command
from workbench.cli.main import app
from workbench.results.json import model_from_json, model_json, policy_from_json, policy_json

QUICK = ["C2", "S5.not-mdp", "C.b2-expressive"]


@pytest.fixture(scope="module")
def claims():
    return load()


def command(*arguments):
    return CliRunner(env={"COLUMNS": "80"}).invoke(app, ["verify", *arguments])


def test_every_statement_of_the_paper_is_in_the_ledger(claims):
    assert [name for name in claims if name in ORDER] == list(ORDER)


def test_a_refuted_claim_names_the_statement_that_holds_instead(claims):
    for one in claims.values():
        if one.documented in ("refuted", "misprint"):
            assert one.corrected_by in claims
            held = ("proved", "argued", "checked", "supported")
            assert claims[one.corrected_by].documented in held


def test_the_generated_readme_is_not_stale(claims):
    """All rows, in order, by section, and the summary: rows are compared with what the code finds
    claim by claim, in `test_claims`."""
    record = read_record()
    assert list(record) == list(claims)
    assert Path(proofs.__path__[0], "README.md").read_text() == readme(record)
    for name, one in claims.items():
        cells = record[name]["row"].strip("| ").split(" | ")
        assert cells[0] == name
        verdict, *formal = cells[3].split(", ")
        assert verdict == f"**{one.documented}**"
        assert bool(formal) == (name in formal_claims())
        assert record[name]["twins"] == len(one.twins)
    for link in set(re.findall(r"\]\(([^)]*)\)", readme(record))):
        assert Path(proofs.__path__[0], link).exists(), link


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
    assert "2 proved, 1 refuted; as documented" in words
    assert "It took " in words
    assert "False variant" in shown.stdout
    entries = json.loads((tmp_path / "a.json").read_text())
    brief = command(*QUICK, "-j", "1")
    assert max(map(len, brief.stdout.splitlines())) <= 80
    words = " ".join(brief.stdout.split())
    for entry in entries:  # the sentence that does not hold comes first, with its words
        assert f"{entry['verdict']} {entry['id']}" in words
    assert words.index("refuted C.b2-expressive") < words.index("proved C2")
    assert QUOTES["C.b2-expressive"] in words
    held = LEDGER["C.b2-expressive*"].statement
    assert f"Holds instead (C.b2-expressive*): {held}" in words
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


@pytest.fixture(scope="module")
def ledger_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "ledger.json"
    assert command(*QUICK, "-j", "1", "--json", str(path)).exit_code == 0
    return path


def test_certificates_are_rechecked(ledger_file):
    held = command("--recheck", str(ledger_file))
    assert held.exit_code == 0, held.stdout
    assert "certificates hold" in held.stdout


def damage_kind(entry):
    entry["certificates"][0] = {**entry["certificates"][0], "kind": "wish"}


def damage_missing(entry):
    entry["certificates"] = []


def damage_one_missing(entry):
    del entry["certificates"][0]


def damage_trivial(entry):
    trivial = {"kind": "identity", "what": "1 = 1", "left": "1", "right": "1"}
    entry["certificates"] = [trivial] * len(entry["certificates"])


def damage_one_more(entry):
    entry["certificates"].append({"kind": "identity", "what": "1", "left": "1", "right": "1"})


def damage_statement(entry):
    entry["statement"] = "Every memory is enough."


def damage_verdict(entry):
    entry["verdict"] = "supported"


def damage_id(entry):
    entry["id"] = "C9"


def damage_task(entry):
    """A certificate that holds, about a task of another name."""
    entry["certificates"][0]["model"]["name"] = "another task"


def damage_copy(entry):
    """A copy of a certificate that states the same and does not show it, before the good one."""
    good = next((c for c in entry["certificates"] if set(c) & EVIDENCE.get(c["kind"], set())), None)
    if good is None:
        entry["certificates"].insert(0, {"kind": "identity"})
        return
    broken = {k: [] if k in EVIDENCE[good["kind"]] else x for k, x in good.items()}
    entry["certificates"].insert(0, broken)


def damage_evidence(entry):
    entry["evidence"] += ", beyond any doubt"


def damage_documented(entry):
    entry["documented"] = "proved for ever"


def damage_steps(entry):
    entry["steps"] = [*entry["steps"], {**entry["steps"][0], "number": 99}]


def damage_twins(entry):
    entry["twins"] = [*entry["twins"], ["another one", "rejected"]]


@pytest.mark.parametrize(
    "damage",
    [
        damage_kind,
        damage_copy,
        damage_evidence,
        damage_documented,
        damage_steps,
        damage_twins,
        damage_missing,
        damage_one_missing,
        damage_trivial,
        damage_one_more,
        damage_statement,
        damage_verdict,
        damage_id,
        damage_task,
    ],
)
@pytest.mark.parametrize("number", range(len(QUICK)))
def test_missing_foreign_and_trivial_certificates_are_refused(
    damage, number, ledger_file, tmp_path, capsys
):
    entries = json.loads(ledger_file.read_text())
    damage(entries[number])
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(entries))
    assert command("--recheck", str(path)).exit_code == 1
    assert check_file([str(path), "--required", str(REQUIRED)]) == 1
    assert check_file([str(ledger_file), "--required", str(REQUIRED)]) == 0
    told = f"{len(entries)} of {len(read_record())} claims"
    assert told in capsys.readouterr().out
    assert told in command("--recheck", str(ledger_file)).stdout


def test_a_ledger_is_refused_if_a_claim_is_there_twice_or_none_is(ledger_file):
    entries = json.loads(ledger_file.read_text())
    record = read_record()
    assert check_ledger([*entries, entries[0]], record)[1] == [f"{QUICK[0]}: is there twice"]
    assert check_ledger([], record)[1] == ["there are no claims in it"]
    with pytest.raises(Spoiled, match="a list of claims"):
        check_ledger({}, record)


def test_a_verdict_that_is_not_the_documented_one_fails_the_command(monkeypatch, claims):
    monkeypatch.setattr(LEDGER["C2"], "documented", "checked")
    shown = command("C2", "-j", "1")
    assert shown.exit_code == 1
    assert "C2: found proved, documented checked" in shown.stdout


def test_a_claim_that_raises_becomes_a_line_and_the_others_are_judged(monkeypatch, claims):
    def broken(*_, **__):
        raise ZeroDivisionError("nothing to\ndivide by")

    monkeypatch.setattr(LEDGER["C2"], "establish", broken)
    monkeypatch.setattr(LEDGER["C2"], "documented", "refuted")  # rows wait for such claims
    shown = command("C2", "S5.not-mdp", "-j", "1")
    assert shown.exit_code == 1
    assert "\nC2 failed: ZeroDivisionError: nothing to divide by\n" in shown.stdout
    assert "; 1 NOT judged." in " ".join(shown.stdout.split())
    assert re.search(r"^\w+ +S5\.not-mdp ", shown.stdout, re.MULTILINE)


def test_every_row_about_the_paper_quotes_it(claims):
    assert set(QUOTES) == {name for name in claims if name[:2] not in ("T.", "P.")}
    assert {name for name, words in QUOTES.items() if len(words.split()) > 25} == set()


def test_the_paper_is_judged_unless_more_is_asked_for(monkeypatch, claims):
    asked = []

    def judge(ids, jobs, console, show):
        asked.append(set(ids))
        return []

    monkeypatch.setattr(verify_command, "judge_claims", judge)
    told = command().stdout
    for option in ("--own", "--papers", "--all"):
        command(option)
    paper, own, papers, everything = asked
    assert {name[:2] for name in own} == {"T."}
    assert {name[:2] for name in papers} == {"P."}
    assert paper | own | papers == everything == set(claims) - {n for n in claims if claims[n].deep}
    wrong = [one.documented for name, one in claims.items() if name in paper]
    assert f"{wrong.count('refuted')} do not hold as printed" in " ".join(told.split())
    command("--grep", "Non-Markovian SHORTCUTS")
    assert {"S51.b2-more", "S51.bigger"} <= asked[-1] < paper


def test_bad_arguments_of_the_command(tmp_path):
    assert "give one of" in str(command("--own", "--papers").exception)
    assert "no claim contains 'xyzzy'" in str(command("--grep", "xyzzy").exception)
    assert "there is no claim 'C9'" in str(command("C9").exception)
    (tmp_path / "x.json").write_text("{}")
    assert "a ledger is a list" in str(command("--recheck", str(tmp_path / "x.json")).exception)


def test_a_summary_of_no_claims_counts_none():
    assert summary([]) == "no claim was judged"
