"""The claims about learning curves reach their documented verdicts, and false versions of them do not."""

import pytest
from judging import entry

CLAIMS = {
    "S4.fig-gravity": "refuted",
    "S4.fig-gravity*": "supported",
    "S5.fig-recall": "supported",
    "S51.fig-gravity2": "supported",
    "D6.fig-sarsa": "open",
    "D6.fig-sarsa*": "supported",
}


@pytest.mark.parametrize("name", CLAIMS)
def test_the_documented_verdict_is_reached_and_every_spoiled_twin_is_refuted(name):
    found = entry(name)
    assert found.verdict == CLAIMS[name]
    assert found.ok


def test_the_argument_names_seeds_effects_and_intervals():
    argument = entry("S5.fig-recall").argument
    assert "20 seeds" in argument
    assert "[" in argument
    assert "share of seeds" in argument
