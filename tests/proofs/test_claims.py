"""Every claim of the ledger: its verdict, its steps, its spoiled twins, how it prints, and its
certificates.

What is particular to a claim, random tasks and spoiled certificates included, is tested beside its
subject.
"""

import io
import json

import pytest
from judging import entry
from rich.console import Console

from proofs.ledger import load
from proofs.report import AGAINST, against, read_record, readme_row, recorded
from workbench.checker.ledger_file import check_claim
from workbench.checker.recheck import recheck

RECORD = read_record()
"""What `workbench verify --readme` has written down, under version control."""

CERTIFIED_FIGURES = {"S52.fig-variant", "S5.fig-recall"}

WITHOUT_CERTIFICATE = {name for name in RECORD if "fig-" in name} - CERTIFIED_FIGURES | {
    "S51.b2-unstable",
    "S4.sizes",
    "S5.small-steps",
    "S4.button",
    "S4.k-forgets",
    "S5.b2-not-mdp",
    "S6.speedups",
    "S6.cookie",
    "S6.cookie-lstm",
    "S6.doors",
    "S6.keys",
    "S6.keys-lstm",
    "S6.memory",
    "D6.cookie",
    "D6.doors",
    "D6.memory",
    "C3.print",
    "C5.beta",
    "C.minimum",
    "S51.mc-variance",
    "S53.favour",
    "S6.view",
    "A1.gamma",
    "D2.hallway",
    "D2.hallway-memory",
    "D3.minigrid",
    "D3.reward",
    "S4.ok-general",
    "S4.premature",
    "S4.ok-actions",
    "S51.b-general",
    "S53.lines",
    "T.bits-region",
    "T.hurts-often",
    "T.grows",
    "P.jsj1995.local",
    "P.klc1998.beliefs",
    "P.loch_singh1998.average",
    "P.loch_singh1998.traces",
    "P.lss2001.float_reset",
    "P.pasql2024.limits",
    "P.pasql2024.periods",
}
"""Statistics, counts and lists of cases are computed again, not certified."""

STATISTICS = {"T.hurts-often", "T.bits-region", "P.loch_singh1998.traces"}
"""Counts over thousands of tables or runs; tests/proofs/test_own_theorems.py counts over a few
every day."""

LONG = {
    "S4.gravity-none",
    "S4.gravity-bit",
    "S4.ignore",
    "S5.fig-recall",
    "S5.settle",
    "S5.settle-b1",
    "S5.settle-worth",
    "S51.b-general",
    "S51.b2-more",
    "S51.bigger",
    "S51.nstep",
    "S52.fig-variant",
    "S52.local*",
    "S52.stable*",
    "S52.vanish",
    "A1.equivalent",
    "A2.optimal*",
    "B.settle",
    "B.why",
    "C.fig",
    "C.settle",
    "C3",
    "C5",
    "T.bits",
    "T.clock",
    "T.eight",
    "T.grows",
    "T.oa1",
    "T.push",
    "T.saddle",
    "T.soft",
    "P.am2026.spread",
    "P.jsj1995.gradient",
    "P.jsj1995.local",
    "P.littman1994.memory",
    "P.pasql2024.limits",
    "P.pasql2024.periods",
    "P.perkins2002.switches",
    "P.zilli_hasselmo2008.needs",
}
"""Claims whose twins take longest: every day they are judged without them."""

TEN = {
    "S4.ignore",
    "S51.mc",
    "S51.nstep",
    "S52.local*",
    "S52.stable*",
    "A1.equivalent",
    "A2.optimal*",
    "A4.bk*",
    "A4.oak",
    "A4.ok",
}
"""Statements about tasks of any size: all but three are carried by the machine alone."""

ARGUED = {"S51.mc", "A2.optimal*", "A4.bk*"}
"""The strong law; an optimal policy of beliefs; codes of triples and maps."""


def test_every_claim_is_recorded_as_it_is_documented():
    kept = {name: (one["statement"], one["verdict"]) for name, one in RECORD.items()}
    claims = {name: (one.statement, one.documented) for name, one in load().items()}
    assert kept == claims
    for name in TEN:
        assert RECORD[name]["verdict"] == ("argued" if name in ARGUED else "proved")


def test_every_proof_lists_its_steps():
    for one in load().values():
        assert one.steps, one.id
        guarded = set(one.guards.values())
        assert {step.key for step in one.steps if step.by == "machine"} == guarded, one.id


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=pytest.mark.slow) if x in STATISTICS | LONG else x for x in RECORD],
)
def test_a_claim_reaches_its_verdict_each_step_is_needed_and_its_certificates_are_required(name):
    found = entry(name)
    assert found.complaint == ""
    assert found.ok
    assert len(found.evidence) <= 100, "a summary is one short sentence"
    assert max(map(len, found.argument.splitlines())) <= 85, "an argument fits a terminal"
    assert recorded(found) == RECORD[name], "run workbench verify --readme"
    assert readme_row(found) == RECORD[name]["row"]
    said, wrong = check_claim(json.loads(json.dumps(found.as_json(), default=str)), RECORD)
    assert wrong == []
    assert bool(said) is (name not in WITHOUT_CERTIFICATE)


@pytest.mark.parametrize(
    "name", [name for name, one in RECORD.items() if one["verdict"] in AGAINST]
)
def test_what_does_not_hold_as_printed_is_told_whole(name):
    found = entry(name)
    console = Console(record=True, width=1000, file=io.StringIO())
    against(found, console)
    shown = console.export_text()
    assert f'The paper: "{found.quote}"' in shown
    assert "Wrong: " in shown
    assert "Smallest counterexample:" in shown
    assert f"Holds instead ({found.corrected_by}): " in shown


@pytest.mark.parametrize("name", sorted(LONG))
def test_a_long_claim_reaches_its_verdict_and_its_certificates_hold(name):
    claim = load()[name]
    found, proof = claim.attempt()
    assert found.verdict == claim.documented
    assert not proof.failed
    assert not proof.missing
    assert bool(found.certificates) is (name not in WITHOUT_CERTIFICATE)
    for certificate in found.certificates:
        recheck(json.loads(json.dumps(certificate, default=str)))
