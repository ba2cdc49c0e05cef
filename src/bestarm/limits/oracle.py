"""An oracle that knows the law of bounded scores, and makes the best constant bet against each arm.

For arm ``i`` it knows the opponent ``j`` and the bet ``lambda`` with the largest growth rate
``r_i = max E log(1 + lambda (X_j - X_i))``. A wealth that starts at one and must reach ``1/alpha`` takes
``log(1/alpha) / r_i`` rounds to first order: overshoot is not counted, and rounds are not rounded up. That is at most
what the oracle's own test needs on average, by Wald's identity (docs/theory.md, "What is possible").
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.arms import TableArms
from bestarm.checks import check_open_unit, refuse_first

HALVINGS = 40  # of the interval of bets


def growth_rates(scores: ArrayLike) -> NDArray[np.float64]:
    """The largest growth rate of a bet in [0, 1] against each arm, over all opponents; 0 against the best.

    Parameters
    ----------
    scores : table in [0, 1], one row per item, one column per arm; rows are drawn with replacement

    """
    arms = TableArms(scores)
    refuse_first("scores", arms.scores, (arms.scores < 0) | (arms.scores > 1), "must lie in [0, 1]")
    rates = np.zeros(arms.n_arms)
    for arm, mean in enumerate(arms.means):
        ahead = arms.means > mean
        if ahead.any():
            rates[arm] = _largest_rate(arms.scores[:, ahead] - arms.scores[:, [arm]])
    return rates


def _largest_rate(differences: NDArray[np.float64]) -> float:
    """The largest mean of ``log(1 + lambda D)`` over bets and columns, each concave in the bet and rising at 0."""
    low, high = np.zeros(differences.shape[1]), np.ones(differences.shape[1])
    for _ in range(HALVINGS):
        bet = (low + high) / 2.0
        rising = (differences / (1.0 + bet * differences)).mean(axis=0) > 0
        low, high = np.where(rising, bet, low), np.where(rising, high, bet)
    return float(np.log1p(low * differences).mean(axis=0).max())


def oracle_queries(rates: NDArray[np.float64], delta: float, *, union: bool) -> float:
    """Queries of the oracle: each arm until its wealth is there, the best as long as the last of the others.

    Parameters
    ----------
    rates : `growth_rates` of the arms
    delta : accepted probability of a wrong answer
    union : whether it pays for testing an arm against every other: the wealth must reach ``(K - 1) / delta`` in place
        of ``1 / delta``

    """
    check_open_unit("delta", delta)
    beaten = rates[rates > 0]
    if beaten.size != rates.size - 1:
        raise ValueError("the oracle needs one best arm, the largest mean is shared by several")
    rounds = np.log((beaten.size if union else 1) / delta) / beaten
    return float(rounds.sum() + rounds.max())
