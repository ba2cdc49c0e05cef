"""Bets that sleep: ever smaller ones, each of which bets nothing until the round from which on it can matter."""

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestarm.board import FOREVER

# What they cost on score tables, and what they find: benchmarks/power_one.py. The optimum is flat.
RESERVE = 1 / 16  # the share of the wealth that is kept for bets that sleep
HALVING = 0.5  # each bet is so much smaller than the one before it,
FADING = 0.5  # and has so much less weight
WAKING = 0.25  # a bet wakes in round WAKING / bet^2: until then the best it could do is less than a factor of two
TINY = 1e-150  # its square is still a number


class Sleeper(NamedTuple):
    """A bet that bets nothing before this round, and its weight in the mixture."""

    bet: float
    weight: float
    round: int


def sleeper(smallest: float, reserve: float, m: int) -> Sleeper:
    """The m-th bet (m = 1, 2, ...) after the smallest one that is awake from the start; the weights sum to reserve."""
    bet = smallest * HALVING**m
    wakes = min(WAKING / max(bet, TINY) ** 2, FOREVER)
    return Sleeper(bet, reserve * (1.0 - FADING) * FADING ** (m - 1), ceil(wakes))


def asleep(reserve: float, n_awake: int) -> float:
    """The weight of all bets that still sleep when so many of them have woken."""
    return reserve * FADING**n_awake


class Mixture(NamedTuple):
    """Bets with their weights, which sum to one, and the rounds in which they begin to bet."""

    bets: NDArray[np.float64]
    weights: NDArray[np.float64]
    first_rounds: NDArray[np.int64]


def mixture(bets: NDArray[np.float64], weights: NDArray[np.float64], reserve: float, n_rounds: int) -> Mixture:
    """The bets that are awake from the start, those that wake within so many rounds, and a bet of 0 for the others."""
    sleepers: list[Sleeper] = []
    if reserve > 0.0:
        smallest = float(bets.min())
        while (following := sleeper(smallest, reserve, len(sleepers) + 1)).round <= n_rounds:
            sleepers.append(following)
        sleepers.append(Sleeper(0.0, asleep(reserve, len(sleepers)), FOREVER))
    return Mixture(
        np.concatenate([bets, [one.bet for one in sleepers]]),
        np.concatenate([(1.0 - reserve) * weights, [one.weight for one in sleepers]]),
        np.array([1] * bets.size + [one.round for one in sleepers]),
    )
