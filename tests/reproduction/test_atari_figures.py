"""The rules for the Atari games; their runs are tested where stable-baselines3 is installed."""

import numpy as np
import pytest

from workbench.reproduction.atari_figures import ATARI_FIGURES, judge_atari


def finals(seeds=10, **means):
    """Final rewards around the given means, no two alike."""
    spread = np.linspace(-1, 1, seeds)
    return {name: list(mean + spread + 0.001 * i) for i, (name, mean) in enumerate(means.items())}


@pytest.mark.parametrize(
    ("o3", "answer"), [(20, "supported"), (15, "supported"), (13, "contradicted")]
)
def test_o3_is_comparable_to_k3_if_behind_by_less_than_a_tenth_of_the_range(o3, answer):
    assert judge_atari(ATARI_FIGURES["fig6-pong"], finals(O3=o3, K3=18)) == answer


def test_an_interval_that_holds_the_limit_decides_nothing():
    assert judge_atari(ATARI_FIGURES["fig6-pong"], finals(O3=13.8, K3=18)) == "undecided"
    few = finals(seeds=9, O3=20, K3=18)
    assert judge_atari(ATARI_FIGURES["fig6-pong"], few) == "undecided"


def test_seaquest_and_pong_with_ddqn_are_judged_by_ranks():
    seaquest = ATARI_FIGURES["fig6-seaquest"]
    assert judge_atari(seaquest, finals(O3=1200, LSTM=900)) == "supported"
    assert judge_atari(seaquest, finals(O3=900, LSTM=1200)) == "contradicted"
    assert judge_atari(seaquest, finals(O3=900, LSTM=900)) == "undecided"
    pong = ATARI_FIGURES["fig12-pong"]
    others = {"none": 10, "B3": 11, "OA3": 12}
    assert judge_atari(pong, finals(K3=20, O3=13, **others)) == "supported"
    assert judge_atari(pong, finals(K3=20, O3=20, **others)) == "undecided"
    assert judge_atari(pong, finals(K3=20, O3=23, **others)) == "contradicted"
