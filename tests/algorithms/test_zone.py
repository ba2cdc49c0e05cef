"""What an indifference zone gives without its promise: the best arm is beaten by arms within the zone of it only."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

from bestarm.algorithms import PairwiseBAI
from bestarm.comparisons import Betting, Comparison, StudentMixture

DELTA, GAMES, ROUNDS, LEAD = 0.2, 200, 4000, 0.06
BEST, TWIN, FAR = 0, 1, range(2, 10)
BEHIND = np.array([0.0, 0.0] + [LEAD] * len(FAR))


def rows(comparison: Comparison, seed: int) -> NDArray[np.float64]:
    """The best arm and its equal, so that there is no lead, and arms that are behind by `LEAD`."""
    luck = np.random.default_rng(seed)
    if comparison.bounds is None:
        return np.asarray(luck.standard_normal((ROUNDS, BEHIND.size)) / 4 - BEHIND)
    return (luck.random((ROUNDS, BEHIND.size)) < 0.5 - BEHIND).astype(np.float64)


def beaten_by_far_arms(comparison: Comparison, zone: float) -> tuple[int, int]:
    """Games in which the best arm was out, and those of them in which its equal had no part in it.

    For a boundary: a far arm beat it. For bets, which are summed: its equal was behind it, so that it did not count.
    """
    out = without_the_twin = 0
    for seed in range(GAMES):
        played = rows(comparison, seed)
        game = PairwiseBAI(DELTA, comparison=comparison, indifference_zone=zone).start(BEHIND.size)
        game.play(played)
        for elimination in game.eliminations:
            if elimination.arm == BEST:
                out += 1
                shared = min(elimination.round, int(game.counts[TWIN]))
                twin_ahead = played[:shared, TWIN].sum() >= played[:shared, BEST].sum() - 1e-9
                by_boundary = comparison.bounds is None
                without_the_twin += elimination.by in FAR if by_boundary else not twin_ahead
    return out, without_the_twin


@pytest.mark.parametrize("comparison", [StudentMixture(min_rounds=2), Betting()], ids=["boundary", "betting"])
def test_without_its_promise_a_zone_still_keeps_far_arms_from_beating_the_best(comparison: Comparison) -> None:
    out, wrong = beaten_by_far_arms(comparison, LEAD)
    assert out > GAMES * DELTA  # the promise is broken, so the best arm does leave
    assert binomtest(wrong, GAMES, DELTA, alternative="greater").pvalue > 0.01
    out, wrong = beaten_by_far_arms(comparison, 10 * LEAD)  # now these arms are within the zone as well
    assert binomtest(wrong, GAMES, DELTA, alternative="greater").pvalue < 0.01
