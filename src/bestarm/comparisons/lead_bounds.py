"""Bounds for leads of bounded rewards that cost the same after any number of rounds.

For the differences ``D_s`` of two arms, scaled to [-1, 1], a bet ``b`` in (0, 1) and numbers ``c_s`` in [-1, 0] that
are known before round ``s``,

    ``prod_s exp(b (D_s - y_s) - psi(b) (D_s - c_s)^2)``,   ``psi(b) = -log(1 - b) - b``,

is a supermartingale if ``y_s`` is at least the mean of ``D_s`` given the past (Fan, Grama, Liu 2015; Howard, Ramdas,
McAuliffe, Sekhon 2021). It depends on a few sums, which are kept of every pair that was asked for. A lower bound for
the mean follows from each bet in closed form, and the best of them holds if the level is divided by their number: see
``docs/theory.md``.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from bestarm.comparisons.history import History

BETS = 0.95 * 0.5 ** (0.5 * np.arange(24))  # down to 0.0003: the best one for leads seen over some 10^9 rounds
PSI = -np.log1p(-BETS) - BETS


@dataclass
class LeadSums:
    """What the bounds for the lead of one arm over another depend on, for the rounds so far."""

    n_rounds: int = 0
    sum: float = 0.0  # of D_s
    ahead: float = 0.0  # of D_s - y_s where the mean is 0
    slope: float = 0.0  # how fast that falls with the mean
    squares: float = 0.0  # of D_s - c_s
    squares_of_reverse: float = 0.0  # the same for -D_s

    def add(self, D: NDArray[np.float64], pool: int | None) -> None:
        """Take the differences of further rounds, scaled; their sums do not depend on how rounds are told."""
        rounds = np.arange(self.n_rounds + 1, self.n_rounds + D.size + 1)
        path = _running(self.sum, D)
        before = path[:-1]
        centre = before / rounds
        self.squares = _running(self.squares, (D - np.minimum(centre, 0.0)) ** 2)[-1]
        self.squares_of_reverse = _running(self.squares_of_reverse, (D - np.maximum(centre, 0.0)) ** 2)[-1]
        if pool is None:
            self.ahead, self.slope = path[-1], float(rounds[-1])
        else:
            left = pool - rounds + 1.0
            self.ahead = _running(self.ahead, D + before / left)[-1]
            self.slope = _running(self.slope, pool / left)[-1]
        self.sum, self.n_rounds = path[-1], int(rounds[-1])

    def lower_bound(self, log_threshold: float) -> float:
        """The lower bound for the mean of ``D``, at the level of this threshold of wealth."""
        return _best_bound(self.ahead, self.squares, self.slope, log_threshold)

    def lower_bound_of_reverse(self, log_threshold: float) -> float:
        """The same for the mean of ``-D``."""
        return _best_bound(-self.ahead, self.squares_of_reverse, self.slope, log_threshold)


def _best_bound(ahead: float, squares: float, slope: float, log_threshold: float) -> float:
    """Where the wealth of one of the bets reaches its threshold, for the bet with which that is largest."""
    needed = (log_threshold + log(BETS.size) + PSI * squares) / BETS
    return float(np.max(ahead - needed) / slope)


def _running(start: float, terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of the terms so far, from the start on, one after the other."""
    return np.cumsum(np.concatenate([[start], terms]))


class LeadBounds:
    """Lower bounds for leads, in units of rewards, from the rewards of a game so far."""

    def __init__(self, history: History, scale: float, pool: int | None) -> None:
        self._history = history
        self._scale = scale
        self._pool = pool
        self._sums: dict[tuple[int, int], LeadSums] = {}

    def lower(self, a: int, b: int, log_threshold: float) -> float:
        """A lower bound for ``mu_a - mu_b`` that holds at all times; the mean itself when a pool is exhausted."""
        sums = self._of(min(a, b), max(a, b))
        sign, n = 1.0 if a < b else -1.0, sums.n_rounds
        if n == self._pool:
            return sign * sums.sum / n / self._scale
        if n == 0:
            return -1.0 / self._scale
        worst = -1.0 if self._pool is None else (sign * sums.sum - (self._pool - n)) / self._pool
        bound = sums.lower_bound(log_threshold) if a < b else sums.lower_bound_of_reverse(log_threshold)
        return min(max(bound, worst), 1.0) / self._scale

    def _of(self, a: int, b: int) -> LeadSums:
        """The sums of a pair after all rounds that the two shared."""
        sums = self._sums.setdefault((a, b), LeadSums())
        new = self._history.differences(a, b, sums.n_rounds)
        if new.size:
            sums.add(new * self._scale, self._pool)
        return sums
