"""Slow, obvious games with the sharp comparisons: all evidence is computed from the raw rewards of two arms."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.comparisons import Betting, StudentMixture, Wins

Array = NDArray[np.float64]
# Differences, one column a pair, and what is added to each of them -> the evidence for a positive mean, round by round.
Evidence = Callable[[Array, float], Array]

CAP = 0.99  # share of a purse that one round can lose
TIED = 1e-12  # means closer than this are equal but for rounding


@dataclass(frozen=True)
class Rules:
    evidence: Evidence
    averaged: bool  # the sum over all opponents counts, not each by itself
    threshold: float
    keep: float = 1.0
    epsilon: float = 0.0
    zone: float = 0.0
    pool: int | None = None
    max_rounds: int | None = None
    max_queries: int | None = None
    only_ahead: bool = True  # with a zone, only opponents that are ahead count
    signs: bool = False  # whether an arm is better counts, not by how much


@dataclass(frozen=True)
class Played:
    eliminations: list[tuple[int, int]]  # arm and round, in the order of rounds and arms
    candidates: tuple[int, ...]
    reason: str | None
    n_rounds: int
    n_queries: int
    contradiction: tuple[int, int] | None
    tied: bool  # some decision was between arms that are equal so far
    by_rounding: bool  # and rounding may have changed it: the arms are equal, their rewards are not


# --- evidence --------------------------------------------------------------------------------------------------------


def student_rules(mixture: StudentMixture, n_arms: int, delta: float, **options: Any) -> Rules:
    evidence = student_evidence(mixture)
    return Rules(evidence, averaged=False, threshold=log((n_arms - 1) / delta), **options)


def student_evidence(mixture: StudentMixture) -> Evidence:
    """``log E_n`` of the mean and the standard deviation of the differences so far."""

    def path(D: Array, shift: float) -> Array:
        rounds = range(2, len(D) + 1)
        leads = np.array([np.mean(D[:n], axis=0) + shift for n in rounds]).reshape(-1, D.shape[1])
        sds = np.array([np.std(D[:n], axis=0, ddof=1) for n in rounds]).reshape(-1, D.shape[1])
        with np.errstate(divide="ignore", invalid="ignore"):
            effects = np.where(leads == 0, 0.0, leads / sds)
        none_yet = np.full((1, D.shape[1]), -inf)
        evidence = np.concatenate([none_yet, mixture.log_evalue(np.array(rounds)[:, None], effects)])
        evidence[: mixture.min_rounds - 1] = -inf
        return evidence

    return path


def betting_rules(betting: Betting, n_arms: int, delta: float, **options: Any) -> Rules:
    evidence, threshold = betting_evidence(betting), (n_arms - 1) / delta
    return Rules(evidence, averaged=True, threshold=threshold, pool=betting.pool, **options)


def betting_evidence(betting: Betting) -> Evidence:
    scale = 1 / (betting.bounds[1] - betting.bounds[0])

    def path(D: Array, shift: float) -> Array:
        return wealth_path(scale * D, bets_of(betting, len(D)), -scale * shift, betting.pool)

    return path


def wins_rules(wins: Wins, n_arms: int, delta: float, **options: Any) -> Rules:
    bets = Betting(bets=wins.bets, weights=wins.weights, reserve=wins.reserve, pool=wins.pool)
    return betting_rules(bets, n_arms, delta, signs=True, **options)


Bets = list[tuple[float, float, int]]  # each bet, its weight, and the first round in which it is made


def bets_of(betting: Betting, n_rounds: int) -> Bets:
    """All bets that are made in these rounds; what is left of the reserve is never bet."""
    pairs = zip(betting.bets, betting.weights or (), strict=True)
    bets = [(bet, (1 - betting.reserve) * weight, 1) for bet, weight in pairs]
    bet, left = min(betting.bets) / 2, betting.reserve
    while ceil(1 / (4 * bet**2)) <= n_rounds:
        bets.append((bet, left / 2, ceil(1 / (4 * bet**2))))
        bet, left = bet / 2, left / 2
    return [*bets, (0.0, left, 1)]


def wealth_path(D: Array, bets: Bets, nu: float = 0.0, pool: int | None = None) -> Array:
    """The wealth against "the mean is at most ``nu``": for each bet a plain product from its first round on."""
    y = null_means(D, nu, pool)
    with np.errstate(divide="ignore"):
        largest = np.where(y > -1, CAP / np.maximum(1 + y, 0), inf)
    total = np.zeros(D.shape)
    for bet, weight, first in bets:
        factors = 1 + np.minimum(bet, largest) * (D - y)
        factors[: first - 1] = 1.0
        total += weight * np.cumprod(factors, axis=0)
    impossible = np.maximum.accumulate(y < -1 - 1e-9, axis=0)
    return np.where(impossible, inf, total)


def null_means(D: Array, nu: float, pool: int | None) -> Array:
    """The largest mean that each difference can have, given those before it, if the mean of all is at most ``nu``."""
    if pool is None:
        return np.full(D.shape, nu)
    so_far = np.cumsum(D, axis=0) - D
    left: Array = (pool - np.arange(len(D))).reshape(-1, *[1] * (D.ndim - 1)).astype(np.float64)
    return (pool * nu - so_far) / left


# --- the game --------------------------------------------------------------------------------------------------------


def play(rows: Array, rules: Rules) -> Played:
    race = _Race(rows, rules)
    while race.goes_on():
        race.next_round()
    return Played(
        sorted(race.eliminations, key=lambda one: (one[1], one[0])),
        tuple(race.candidates),
        race.reason(),
        race.t,
        race.n_queries,
        race.contradiction,
        race.tied,
        race.by_rounding,
    )


class _Race:
    def __init__(self, rows: Array, rules: Rules) -> None:
        self.rows, self.rules, self.K = rows, rules, rows.shape[1]
        self.candidates = list(range(self.K))
        self.last_round: dict[int, int] = {}
        self.eliminations: list[tuple[int, int]] = []
        self.contradiction: tuple[int, int] | None = None
        self.t = self.n_queries = 0
        self.ended: str | None = None
        self.tied = self.by_rounding = False
        self.evidence = self._paths(rules.zone)
        self.near = self._paths(rules.epsilon) if rules.epsilon > 0 else {}
        self.sums = {pair: np.cumsum(self._differences(*pair)) for pair in self.evidence}

    def _paths(self, shift: float) -> dict[tuple[int, int], Array]:
        """For each (i, j) the evidence that j is better than i, after each round if both are queried in it."""
        pairs = [(i, j) for i in range(self.K) for j in range(self.K) if i != j]
        paths = self.rules.evidence(np.column_stack([self._differences(*pair) for pair in pairs]), shift)
        return {pair: paths[:, column] for column, pair in enumerate(pairs)}

    def _differences(self, i: int, j: int) -> Array:
        D: Array = self.rows[:, j] - self.rows[:, i]
        return np.sign(D) if self.rules.signs else D

    def queried(self, t: int) -> list[int]:
        return [i for i in range(self.K) if i in self.candidates or t <= self.last_round[i]]

    def over_budget(self) -> bool:
        rules, queries = self.rules, self.n_queries + len(self.queried(self.t + 1))
        too_many_rounds = rules.max_rounds is not None and self.t >= rules.max_rounds
        return too_many_rounds or (rules.max_queries is not None and queries > rules.max_queries)

    def goes_on(self) -> bool:
        undecided = len(self.candidates) > 1 and self.ended is None
        return undecided and self.t < len(self.rows) and not self.over_budget()

    def reason(self) -> str | None:
        if self.ended is None and len(self.candidates) == 1:
            return "decided"
        return self.ended or ("budget" if self.over_budget() else None)

    def next_round(self) -> None:
        self.t += 1
        self.n_queries += len(self.queried(self.t))
        self._eliminate([i for i in self.candidates if self._beaten(i)])
        if len(self.candidates) > 1 and self.rules.epsilon > 0 and self._leader_within():
            self.ended = "within epsilon"
        elif len(self.candidates) > 1 and self.t == self.rules.pool:
            self._settle()

    def _shared(self, j: int) -> int:
        return self.t if j in self.candidates else min(self.t, self.last_round[j])

    def _beaten(self, i: int) -> bool:
        opponents = range(self.K) if self.rules.averaged else self.queried(self.t)
        evidence = [
            float(self.evidence[i, j][self._shared(j) - 1]) for j in opponents if j != i and self._may_speak(i, j)
        ]
        if self.rules.averaged:
            return sum(evidence) >= self.rules.threshold
        return any(one >= self.rules.threshold for one in evidence)

    def _may_speak(self, i: int, j: int) -> bool:
        """With a zone only who is ahead on the shared rounds, ties by number."""
        if self.rules.zone == 0 or not self.rules.only_ahead:
            return True
        lead = float(self.sums[i, j][self._shared(j) - 1])
        self.tied = self.tied or lead == 0
        return lead > 0 or (lead == 0 and j < i)

    def _eliminate(self, beaten: list[int]) -> None:
        if len(beaten) == len(self.candidates):
            leaders = self._leaders()
            self.by_rounding = self.by_rounding or self._differ(leaders)
            self.contradiction = (leaders[0], self.t)
            beaten.remove(leaders[0])
        for i in beaten:
            self.candidates.remove(i)
            self.last_round[i] = floor(self.rules.keep * self.t)
            self.eliminations.append((i, self.t))

    def _leaders(self) -> list[int]:
        if self.rules.signs:
            return self._leaders_in_wins()
        means = {i: float(np.mean(self.rows[: self.t, i])) for i in self.candidates}
        leaders = [i for i in self.candidates if means[i] >= max(means.values()) - TIED]
        self.tied = self.tied or len(leaders) > 1
        return leaders

    def _leaders_in_wins(self) -> list[int]:
        """Those whose largest deficit against another candidate is smallest: whole numbers, so the first one leads."""
        behind = {i: self._behind(i) for i in self.candidates}
        least = min(behind.values())
        leaders = [i for i in self.candidates if behind[i] == least]
        self.tied = self.tied or len(leaders) > 1
        return leaders[:1]

    def _behind(self, i: int) -> float:
        return max(float(self.sums[i, j][self.t - 1]) for j in self.candidates if j != i)

    def _differ(self, arms: list[int]) -> bool:
        """Whether these arms of equal means have different rewards."""
        X = self.rows[: self.t]
        return any(not np.array_equal(X[:, i], X[:, arms[0]]) for i in arms)

    def _leader_within(self) -> bool:
        leaders = self._leaders()
        within = [
            all(self.near[i, leader][self.t - 1] >= self.rules.threshold for i in self.candidates if i != leader)
            for leader in leaders
        ]
        self.by_rounding = self.by_rounding or (any(within) and not all(within) and self._differ(leaders))
        return within[0]

    def _settle(self) -> None:
        """The means over the pool are known, or all wins are counted."""
        if self.rules.signs:
            unbeaten = [i for i in self.candidates if self._behind(i) <= 0]
            self._eliminate([i for i in self.candidates if unbeaten and i not in unbeaten])
        else:
            leaders = self._leaders()
            self._eliminate([i for i in self.candidates if i not in leaders])
        self.ended = "all items used"
