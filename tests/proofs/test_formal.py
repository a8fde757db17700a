"""Formal claims: what can be checked without Coq, and, slowly, that Coq accepts them."""

import shutil

import pytest
from typer.testing import CliRunner

from proofs.ledger import load
from proofs.ledger.coq_live import shown_text, write_live_page
from proofs.ledger.coq_steps import SHOWN, digests, proof_of, recorded_steps
from proofs.ledger.coqc import assumptions, compile_file, compile_library, find_coqc
from proofs.ledger.formal import (
    AXIOMS,
    COQ,
    FORBIDDEN,
    forbidden_words,
    formal_claims,
    sources,
    statement_of,
)
from workbench.cli.main import app
from workbench.core.errors import WorkbenchError

FORMAL = formal_claims()


@pytest.mark.parametrize("id", FORMAL)
def test_a_formal_claim_is_in_the_ledger_and_its_theorems_stand_in_their_file(id):
    one = FORMAL[id]
    assert load()[id].documented == "proved"
    assert len(one.statements) == len(one.theorems) > 0
    assert one.reads.endswith(".")
    for name, text in zip(one.theorems, one.statements, strict=True):
        assert name in text
        assert "Proof" not in text


def test_a_statement_comes_after_what_its_section_takes_for_given():
    (text,) = FORMAL["C2"].statements
    assert text.splitlines()[0] == "Variables (c : R) (K : nat)."
    assert "Hypothesis HK2 : (2 <= K)%nat.\n" in text
    assert not FORMAL["C5"].statements[0].startswith(("Variable", "Hypothesis"))


def test_definitions_are_those_that_a_statement_names_without_the_common_ones():
    names = {text.split()[1] for text in FORMAL["T.push"].definitions}
    assert {"window", "is_best_history", "lacks_at_most", "few_heads", "heads", "full"} <= names
    assert not {"loop", "worth", "ties_to_push"} & names


def test_the_ledger_table_marks_formal_claims_and_no_others():
    table = (COQ.parent / "README.md").read_text()
    marked = {line.split(" | ")[0][2:] for line in table.splitlines() if ", [formal](coq/" in line}
    assert marked == set(FORMAL)


def test_the_statement_of_a_theorem_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no theorem nonsense"):
        statement_of("Product.v", "nonsense")


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_no_file_claims_what_it_does_not_prove(path):
    assert forbidden_words(path.read_text()) == []


@pytest.mark.parametrize("word", FORBIDDEN)
def test_each_way_to_claim_without_proof_is_seen(word):
    assert forbidden_words(f"Lemma x : 1 = 2.\n{word}.") == [word]


def test_files_come_after_those_that_they_import():
    names = [path.stem for path in sources()]
    assert names.index("Sums") < names.index("Model") < names.index("Suboptimal")
    assert len(names) == len(list(COQ.glob("*.v")))


def test_the_recorded_steps_are_those_of_the_files_as_they_are():
    """`python -m proofs.ledger.coq_steps` records them anew."""
    record = recorded_steps()
    assert record["files"] == digests()
    for one, (file, theorem) in zip(record["proofs"], SHOWN, strict=True):
        assert (one["file"], one["theorem"]) == (file, theorem)
        assert [step["sentence"] for step in one["steps"]] == proof_of(file, theorem)[1]
        assert one["steps"][-1]["sentence"] == "Qed."


def test_the_live_page_holds_whole_proofs_and_all_that_they_import():
    text = shown_text()
    assert "Theorem theorem_C6" in text
    assert text.count("\nQed.") == 2
    (imports,) = [line for line in text.splitlines() if line.startswith("From Remembering")]
    assert {"Sums", "Model", "Expressive", "Suboptimal."} <= set(imports.split())


def test_a_folder_that_is_not_jscoq_is_refused(tmp_path):
    with pytest.raises(WorkbenchError, match=r"is not jsCoq 0\.17\.1: it has no jscoq\.js"):
        write_live_page(tmp_path, tmp_path / "site")


def test_nothing_that_coqc_makes_is_kept():
    ignored = (COQ.parents[1] / ".gitignore").read_text().splitlines()
    assert {"*.vo", "*.vok", "*.vos", "*.glob"} <= set(ignored)


def test_the_command_says_what_is_missing_where_coq_is(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(WorkbenchError, match="coqc is not installed"):
        find_coqc()
    found = CliRunner().invoke(app, ["verify", "--coq"])
    assert isinstance(found.exception, WorkbenchError)


def test_a_formal_claim_shows_its_theorem_beside_its_statement():
    found = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["verify", "C2", "-v"])
    assert "Theorem pil_is_greedy_on_itself" in found.output


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")
def test_coq_accepts_every_file_and_theorems_rest_on_the_reals_alone(tmp_path):
    compile_library(tmp_path)
    asked = [(one.file, name) for one in FORMAL.values() for name in one.theorems]
    found = assumptions(tmp_path, asked)
    assert set(found) == {name for _, name in asked}
    assert set().union(*found.values()) <= set(AXIOMS)
    # what Coq says of a theorem that is not proved, and of one that is false
    (tmp_path / "Hole.v").write_text("Lemma hole : 1 = 2. Admitted.\n")
    compile_file(tmp_path / "Hole.v")
    assert assumptions(tmp_path, [("Hole.v", "hole")]) == {"hole": ("Hole.hole",)}
    (tmp_path / "False.v").write_text("Lemma false : 1 = 2. Proof. reflexivity. Qed.\n")
    with pytest.raises(WorkbenchError, match=r"coqc refuses False\.v"):
        compile_file(tmp_path / "False.v")
