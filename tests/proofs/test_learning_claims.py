"""The claims about learning curves say what they rest on."""

from judging import entry


def test_the_argument_names_seeds_effects_and_intervals():
    argument = entry("S5.fig-recall").argument
    assert "20 seeds" in argument
    assert "[" in argument
    assert "share of seeds" in argument
