"""Every claim of the ledger: its verdict, its spoiled twins, how it prints, and its certificates.

What is particular to a claim, random tasks and spoiled certificates included, is tested in
`test_proofs_*.py`.
"""

import json

import pytest
from judging import entry

from proofs.ledger import load
from workbench.checker.recheck import recheck

VERDICTS = {
    "S4.ignore": "proved",
    "S4.gravity-none": "proved",
    "S4.gravity-bit": "proved",
    "S4.fig-gravity": "supported",
    "S5.oa1-encodes": "proved",
    "S5.not-mdp": "proved",
    "S5.b2-smallest": "proved",
    "S5.fig-recall": "supported",
    "S5.settle": "checked",
    "S5.settle-b1": "proved",
    "S51.mc": "proved",
    "S51.td": "proved",
    "S51.b2-more": "proved",
    "S51.b2-unstable": "supported",
    "S51.nstep": "proved",
    "S51.bigger": "refuted",
    "S51.bigger*": "proved",
    "S51.fig-better": "supported",
    "S51.fig-gravity2": "supported",
    "S51.fig-shared": "supported",
    "S52.local": "refuted",
    "S52.local*": "proved",
    "S52.not-global": "proved",
    "S52.stable": "refuted",
    "S52.stable*": "proved",
    "S52.fig-variant": "proved",
    "A1.equivalent": "proved",
    "A2.optimal": "refuted",
    "A2.optimal*": "proved",
    "A4.bk": "refuted",
    "A4.bk*": "proved",
    "A4.oak": "proved",
    "A4.ok": "proved",
    "B.why": "proved",
    "B.settle": "proved",
    "C.optimal": "proved",
    "C.b2-expressive": "refuted",
    "C.b2-expressive*": "proved",
    "C1": "proved",
    "C2": "proved",
    "C3": "proved",
    "C4": "proved",
    "C5": "proved",
    "C6": "proved",
    "C7": "proved",
    "C.fig": "proved",
    "C.settle": "proved",
    "D6.fig-sarsa": "open",
}
"""What the code finds, claim by claim."""

WITHOUT_CERTIFICATE = {
    name for name in VERDICTS if "fig-" in name and name != "S52.fig-variant"
} | {"S51.b2-unstable"}
"""Statistics are computed again, not certified."""


def test_the_ledger_is_as_listed():
    assert {name: one.documented for name, one in load().items()} == VERDICTS


@pytest.mark.parametrize("name", VERDICTS)
def test_a_claim_reaches_its_verdict_its_twins_do_not_and_its_certificates_are_verified_again(name):
    found = entry(name)
    assert found.verdict == VERDICTS[name]
    assert found.twins
    assert found.surviving == ()
    assert found.ok
    assert len(found.evidence) <= 40, "a summary fits a table"
    assert max(map(len, found.argument.splitlines())) <= 85, "an argument fits a terminal"
    certificates = json.loads(json.dumps(found.certificates))
    assert bool(certificates) is (name not in WITHOUT_CERTIFICATE)
    for certificate in certificates:
        assert recheck(certificate)
