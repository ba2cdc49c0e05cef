"""Slow, obvious versions of the algorithms: every round recomputes everything from the raw rewards so far."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import exp, floor, log, sqrt

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
# Queried arms and their rewards so far -> margins, entry (i, j) positive where column j beats column i; None: no look.
Judge = Callable[[list[int], Matrix], Matrix | None]


@dataclass(frozen=True)
class Beaten:
    arm: int
    round: int
    margins: dict[int, float]  # of every opponent queried

    @property
    def largest(self) -> float:
        return max(self.margins.values())


@dataclass(frozen=True)
class Played:
    queried: list[tuple[int, ...]]  # the arms of each round played
    eliminations: list[Beaten]  # in the order of rounds and arms
    candidates: tuple[int, ...]
    contradiction: Beaten | None

    @property
    def n_queries(self) -> int:
        return sum(len(arms) for arms in self.queried)

    @property
    def n_rounds(self) -> int:
        return len(self.queried)


def lead(X: Matrix) -> Matrix:
    """Entry (i, j): mean of arm j minus mean of arm i."""
    means: Matrix = np.mean(X, axis=0)
    return means[None, :] - means[:, None]


def difference_variance(X: Matrix) -> Matrix:
    """Entry (i, j): unbiased sample variance of the differences of arms i and j."""
    variances: Matrix = np.var(X[:, None, :] - X[:, :, None], axis=0, ddof=1)
    return variances


def race(
    rows: Matrix, judge: Judge, keep: float = 1.0, max_rounds: int | None = None, max_queries: int | None = None
) -> Played:
    n_arms = rows.shape[1]
    candidates = list(range(n_arms))
    last_round: dict[int, int] = {}
    queried: list[tuple[int, ...]] = []
    eliminations: list[Beaten] = []
    contradiction: Beaten | None = None
    for t in range(1, len(rows) + 1):
        arms = [i for i in range(n_arms) if i in candidates or t <= last_round[i]]
        too_many = max_queries is not None and sum(map(len, queried)) + len(arms) > max_queries
        if len(candidates) == 1 or (max_rounds is not None and t > max_rounds) or too_many:
            break
        queried.append(tuple(arms))
        margins = judge(arms, rows[:t, arms])
        beaten = [one for one in _beaten(margins, arms, t) if one.arm in candidates]
        if len(beaten) == len(candidates):
            leader = max(candidates, key=lambda i: float(np.mean(rows[:t, i])))
            contradiction = next(one for one in beaten if one.arm == leader)
            beaten.remove(contradiction)
        eliminations += beaten
        for one in beaten:
            candidates.remove(one.arm)
            last_round[one.arm] = floor(Fraction(str(keep)) * t)
    return Played(queried, eliminations, tuple(candidates), contradiction)


def _beaten(margins: Matrix | None, arms: list[int], t: int) -> list[Beaten]:
    if margins is None or not np.any(margins > 0):
        return []
    np.fill_diagonal(margins, -np.inf)
    beaten = np.flatnonzero(np.max(margins, axis=1) > 0)
    return [
        Beaten(arms[a], t, {arm: float(margins[a, b]) for b, arm in enumerate(arms) if b != a}) for a in beaten.tolist()
    ]


def f(x: float, version: str) -> float:
    if x < 1 / 3:
        return 1 / (1 - 2 * x)
    return exp(2 * x**2 + 1) if version == "proved" else exp(2 * x + 1)


def paper_alpha(t: int, n_arms: int, delta: float) -> float:
    delta_t = delta / (2 * n_arms**2 * t * (t + 1))
    return sqrt(log(1 / delta_t) / (t - 1))


def pairwise_bounded(
    rows: Matrix, delta: float, keep: float = 1.0, max_rounds: int | None = None, max_queries: int | None = None
) -> Played:
    def judge(arms: list[int], X: Matrix) -> Matrix | None:
        t = len(X)
        if t < 3:
            return None
        alpha = paper_alpha(t, rows.shape[1], delta)
        if 9 * alpha**2 >= 1:  # no lead in [0, 1] is larger
            return None
        return lead(X) - 3 / 2 * alpha * np.sqrt(2 * difference_variance(X)) - 9 * alpha**2

    return race(rows, judge, keep, max_rounds, max_queries)


def pairwise_gaussian(
    rows: Matrix,
    delta: float,
    version: str = "proved",
    keep: float = 1.0,
    max_rounds: int | None = None,
    max_queries: int | None = None,
) -> Played:
    def judge(arms: list[int], X: Matrix) -> Matrix | None:
        t = len(X)
        if t < 3:
            return None
        alpha = paper_alpha(t, rows.shape[1], delta)
        return lead(X) - 3 / 2 * alpha * np.sqrt(2 * f(alpha, version) * difference_variance(X))

    return race(rows, judge, keep, max_rounds, max_queries)


def _interval_margins(X: Matrix, radii: Matrix) -> Matrix:
    """Entry (i, j): lower end of the interval of j minus upper end of that of i."""
    means: Matrix = np.mean(X, axis=0)
    return (means - radii)[None, :] - (means + radii)[:, None]


def hoeffding_race(rows: Matrix, delta: float, variances: Matrix) -> Played:
    n_arms = rows.shape[1]

    def judge(arms: list[int], X: Matrix) -> Matrix:
        t = len(X)
        return _interval_margins(X, np.sqrt(variances[arms]) * sqrt(2 * log(2 * n_arms * t * (t + 1) / delta) / t))

    return race(rows, judge)


def variance_race_gaussian(rows: Matrix, delta: float) -> Played:
    n_arms = rows.shape[1]

    def judge(arms: list[int], X: Matrix) -> Matrix | None:
        t = len(X)
        if t < 2:
            return None
        alpha = sqrt(log(4 * n_arms * t * (t + 1) / delta) / (t - 1))
        return _interval_margins(X, alpha * np.sqrt(2 * f(alpha, "proved") * np.var(X, axis=0, ddof=1)))

    return race(rows, judge)


def variance_race_bounded(rows: Matrix, delta: float) -> Played:
    n_arms = rows.shape[1]

    def judge(arms: list[int], X: Matrix) -> Matrix | None:
        t = len(X)
        x = log(3 * n_arms * t * (t + 1) / delta)
        if 6 * x / t >= 1:  # no lead in [0, 1] is larger
            return None
        return _interval_margins(X, np.std(X, axis=0) * sqrt(2 * x / t) + 3 * x / t)

    return race(rows, judge)


def kim_nelson(rows: Matrix, delta: float, zone: float, min_rounds: int) -> Played:
    n0 = min_rounds
    eta = ((2 * delta / (rows.shape[1] - 1)) ** (-2 / (n0 - 1)) - 1) / 2
    h2 = 2 * eta * (n0 - 1)

    def judge(arms: list[int], X: Matrix) -> Matrix | None:
        r = len(X)
        if r < n0:
            return None
        S2 = difference_variance(X[:n0])
        radii: Matrix = np.maximum(0, zone / (2 * r) * (h2 * S2 / zone**2 - r))
        return lead(X) - radii

    return race(rows, judge)


def lucb(rows: Matrix, delta: float, variances: Matrix) -> Played:
    n_arms = rows.shape[1]
    seen: list[list[float]] = [[] for _ in range(n_arms)]
    queried: list[tuple[int, ...]] = []
    arms = tuple(range(n_arms))
    for t, row in enumerate(rows, start=1):
        queried.append(arms)
        for i in arms:
            seen[i].append(row[i])
        means = [float(np.mean(rewards)) for rewards in seen]
        beta = 2 * log(5 * n_arms * t**4 / (4 * delta))
        radii = [sqrt(variances[i]) * sqrt(beta / len(seen[i])) for i in range(n_arms)]
        leader = max(range(n_arms), key=lambda i: means[i])
        others = [i for i in range(n_arms) if i != leader]
        margins = {i: means[leader] - radii[leader] - (means[i] + radii[i]) for i in others}
        if min(margins.values()) > 0:
            return Played(queried, [Beaten(i, t, {leader: margins[i]}) for i in others], (leader,), None)
        challenger = max(others, key=lambda i: means[i] + radii[i])
        arms = tuple(sorted((leader, challenger)))
    return Played(queried, [], tuple(range(n_arms)), None)
