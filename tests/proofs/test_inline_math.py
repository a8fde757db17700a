"""Formulas in the sentences of the ledger are set on its page; words and hostile text stay text."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.inline_math import GREEK, inline_math
from proofs.ledger.prose import table_text, text


def tex(html):
    """The LaTeX that the formulas of a sentence carry."""
    return re.findall(r'<annotation encoding="application/x-tex">(.*?)</annotation>', html)


@pytest.mark.parametrize(
    ("written", "formulas"),
    [
        ("worth gamma^2, the best", [r"\gamma^{2}"]),
        ("|A| 2^k actions", [r"\lvert A\rvert", "2^{k}"]),
        ("b_0(s) for omega(o_0|s)", ["b_{0}", r"\omega", "o_{0}"]),
        ("q_TD of 2 push", [r"q_{\mathrm{TD}}"]),
        ("pi_n = x pi_0", [r"\pi_{n}", r"\pi_{0}"]),
        ("gamma^(n-1)", [r"\gamma^{n-1}"]),
        ("(19/20)^11", ["{}^{11}"]),
        ("lambda-discrepancy", [r"\lambda"]),
        ("any step eps > 0", [r"\epsilon"]),
        ("with B1, OA1 or K(k)", []),
        ("a pinch of mud, alphabet soup", []),
    ],
)
def test_formulas_are_found_and_words_are_not(written, formulas):
    assert tex(inline_math(written)) == formulas


def test_signs_are_set_and_code_is_code():
    assert inline_math("k <= 5, `0 then 1`, x*y -> 0") == "k ≤ 5, <code>0 then 1</code>, x·y → 0"


class Elements(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found, self.words = set(), []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)

    def handle_data(self, data):
        self.words.append(data)


MATHS = {"math", "semantics", "annotation", "mrow", "mi", "mn", "mo", "msub", "msup", "code"}


@given(
    st.lists(
        st.sampled_from(
            ["<img src=x>", "gamma", "^", "_", "(", ")", "<=", "`", "|A|", "2", "x", "&", '"', " "]
        )
    ).map("".join)
)
def test_no_text_becomes_markup(words):
    assert Elements(inline_math(words)).found <= MATHS


def test_every_greek_letter_is_one_sign():
    for name, sign in GREEK.items():
        assert f"<mi>{sign}</mi>" in inline_math(f"for {name}.")


def test_arguments_write_powers_as_statements_do():
    assert text("it is gamma**2") == "it is gamma^2"
    assert table_text(["q"], [["gamma**3"], ["0"]]).splitlines() == [
        "        q",
        "  gamma^3",
        "        0",
    ]


def test_the_page_sets_the_statement_and_the_argument(tmp_path):
    pytest.importorskip("z3", reason="the extra `proofs` is not installed")
    from proofs.ledger import load, run
    from proofs.report import write_html

    entry = run(load()["S51.td"])
    for told in (entry.statement, entry.evidence, entry.argument):
        assert "**" not in told
        assert "((" not in told
    write_html([entry], tmp_path / "ledger.html")
    page = (tmp_path / "ledger.html").read_text()
    assert page.count(r"\gamma^{2}</annotation>") >= 3
    outside = re.sub(r"<pre>.*?</pre>|<math>.*?</math>", "", page, flags=re.DOTALL)
    assert "gamma" not in outside
