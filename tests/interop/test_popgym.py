"""POPGym's card games, explored and compared with the package itself."""

import pytest

pytest.importorskip("popgym", reason="popgym is not installed: pip install 'memory-workbench[gym]'")

from popgym.envs.repeat_previous import RepeatPrevious

from workbench import best_history, best_memoryless
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.interop.gym import CannotEnumerate, from_gymnasium
from workbench.interop.gym.named import explore_id, what_fits
from workbench.interop.gym.popgym_deck import small_deck
from workbench.optima.best_informed import best_informed


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("popgym-RepeatFirstEasy-v0?ranks=1", (52, 4, 4)),
        ("popgym-RepeatPreviousEasy-v0?ranks=1&k=2", (52, 4, 4)),
        ("popgym-CountRecallEasy-v0?ranks=1", (40, 4, 3)),
        ("popgym-HigherLowerEasy-v0?ranks=2", (40, 2, 2)),
        ("popgym-AutoencodeEasy-v0?ranks=1", (105, 8, 4)),
        ("popgym-ConcentrationEasy-v0?ranks=1", (144, 63, 4)),
    ],
)
def test_games_are_explored_and_agree_with_the_package(name, sizes):
    P = explore_id(name, progress=False)
    assert (len(P.S), len(P.O), len(P.A)) == sizes
    assert "agrees with 1,000 steps of the environment" in P.note
    assert P.name == name


def test_the_deck_of_the_package_is_left_as_it_was():
    with small_deck(2):
        assert RepeatPrevious(k=1).deck.num_cards == 8
    assert RepeatPrevious(k=1).deck.num_cards == 52


def test_repeating_the_last_card_but_one_needs_memory():
    """Four cards, one of each suit: the history tells what the state does, the last card less."""
    P = explore_id("popgym-RepeatPreviousEasy-v0?ranks=1&k=2", progress=False)
    assert float(best_history(P).value) == pytest.approx(float(best_informed(P)))
    assert float(best_memoryless(P, max_seconds=5).value) < float(best_history(P).value) - 0.1


def test_a_whole_deck_is_too_large_and_what_is_infinite_is_named():
    with pytest.raises(TooLarge, match="more than 500 states"):
        from_gymnasium(RepeatPrevious(), max_states=500, progress=False)
    with pytest.raises(TooLarge, match=r"ended after 0\.01 s"):
        from_gymnasium(RepeatPrevious(), max_seconds=0.01, progress=False)
    with pytest.raises(CannotEnumerate, match="infinitely many"):
        explore_id("popgym-MultiarmedBanditEasy-v0")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("popgym-RepeatFirstEasy-v0?ranks=14", "whole number from 1 to 13"),
        ("popgym-RepeatFirstEasy-v0?ranks=few", "whole number from 1 to 13"),
        ("popgym-RepeatFirstEasy-v0?cards=2", "cannot make"),
        ("FrozenLake-v1?ranks=2", "ranks is a setting of POPGym"),
        ("FrozenLake-v1?slippery", "come settings"),
        ("popgym-NoSuchGame-v0", "cannot make"),
    ],
)
def test_settings_that_are_none_are_refused(name, said):
    with pytest.raises(WorkbenchError, match=said):
        explore_id(name)


def test_what_fits_is_the_largest_deck_that_does():
    fits = what_fits("popgym-HigherLowerEasy-v0", 100, 60.0)
    assert fits == "popgym-HigherLowerEasy-v0?ranks=2 fits: 40 states"
    assert what_fits("popgym-RepeatPreviousMedium-v0", 50, 5.0) == ""
    assert what_fits("CartPole-v1", 50, 5.0) == ""
