"""Commands with wrong options end with an error in words, and soon."""

import random

import pytest
from option_fuzz import CALLS, VALUES, broken_calls, options_of

# Ctrl-C in the middle of a compilation leaves numba's file to the collector
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

EVERY = [
    (name, option, value)
    for name in CALLS
    for option, kind in options_of(name)
    for value in VALUES[kind]
]


def test_some_wrong_options_are_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, option, value in random.Random(0).sample(EVERY, 20):
        assert broken_calls(name, [(option, value)]) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_option_is_refused_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert broken_calls(name, [(o, value) for one, o, value in EVERY if one == name]) == []
