"""The proof of Theorem C.6 in a real browser: stepped through, with nothing loaded from outside."""

import pytest
from browsing import Page, find_browser
from extras import skip_without

from proofs.ledger.coq_steps import recorded_steps
from workbench.site.proof_page import proof_page

pytestmark = pytest.mark.slow
skip_without("websocket", reason="needs websocket-client: extra test")


@pytest.fixture(scope="module")
def page():
    found = find_browser()
    if found is None:
        pytest.skip("no chromium is installed")
    one = Page(found)
    yield one
    one.close()


def test_the_proof_is_stepped_through_without_a_network(page, tmp_path):
    path = tmp_path / "proof.html"
    path.write_text(proof_page(recorded_steps()), encoding="utf-8")
    page.open(path.as_uri())
    shown = "document.getElementById('left').textContent"
    assert "sufficiently_expressive" in page.run(shown)
    steps = recorded_steps()["proofs"][0]["steps"]
    for step in steps[1:]:
        page.run("document.getElementById('next').click()")
        assert page.run(shown) == step["left"]
    assert page.run("document.querySelector('[aria-current]').textContent") == "Qed."
    page.run("document.getElementById('back').click()")
    assert page.run(shown) == "No more goals."
    page.run(
        "document.getElementById('theorem').value = 1;"
        "document.getElementById('theorem').dispatchEvent(new Event('change'))"
    )
    assert "lemma_C5" in page.run("document.querySelector('[aria-current]').textContent")
    assert page.complaints == []
    assert all(url.startswith(("file:", "about:", "data:")) for url in page.requested)
