"""Slow, obvious games with bets on the leaders: all is computed anew from the raw rewards and what was bet on."""

from dataclasses import replace
from math import inf, log, sqrt
from typing import Any, NamedTuple

import numpy as np

import naive_sharp
from bestarm.comparisons import Betting, LeaderBetting
from naive import Matrix

BETS = [0.95 * 0.5**k for k in range(8)]
WEIGHTS = [bet**0.6 / sum(one**0.6 for one in BETS) for bet in BETS]
SIZES = (1, 2, 4, 8, 16)


class Bet(NamedTuple):
    """What was bet on in a round, before the bet was cut to what may be lost."""

    on: list[int]
    size: float


class LeaderRace(naive_sharp._Race):
    """The game of bets on single differences; most of the wealth against each arm is bet on averages of leaders."""

    def __init__(self, rows: Matrix, leaders: LeaderBetting, delta: float, **options: Any) -> None:
        K = rows.shape[1]
        rules = naive_sharp.betting_rules(Betting(leaders.bounds, pool=leaders.pool), K, delta, **options)
        pairs = (0.05 if K <= 100 else 0.0) if leaders.pairs is None else leaders.pairs
        self.share, self.paired = pairs or 0.05, pairs > 0
        single_threshold = 1 / delta
        super().__init__(rows, replace(rules, threshold=(K - 1) * single_threshold / self.share))
        self.leaders = leaders
        low, high = leaders.bounds
        self.X = (rows - low) / (high - low)
        self.single_threshold, self.zone = single_threshold, rules.zone / (high - low)
        self.wealth = {i: dict(enumerate(WEIGHTS)) for i in range(K)}
        self.ahead = list(range(K))  # the candidates by mean, as they were when last renewed
        self.averages: dict[tuple[int, int], int] = {}  # by arm and bet: of how many leaders
        self.Y = {i: {m: list[float]() for m in SIZES} for i in range(K)}
        self.risked = dict.fromkeys(range(K), 0.0)
        self.V, self.renewal = 0.25, 2
        self.Q = 0.0
        self.closest = inf  # logarithm of a wealth over its threshold
        self.made: dict[int, list[list[Bet | None]]] = {i: [] for i in range(K)}  # by arm, round and bet

    def next_round(self) -> None:
        standing = list(self.candidates)
        for i in standing:
            self.made[i].append([None] * len(BETS))
        if self.t >= 1:
            self._bet()
        self._spread(standing)
        super().next_round()
        if self.t + 1 >= self.renewal or self.candidates != standing:
            self._renew()
            if self.rules.epsilon > 0 and len(self.candidates) > 1 and self.ended is None:
                leader = self._leaders()[0]
                if all(self.rules_out(i, leader, self.rules.epsilon) for i in self.candidates if i != leader):
                    self.ended = "within epsilon"

    def _leader_within(self) -> bool:
        return False  # it is asked when the leaders are renewed

    def rules_out(self, i: int, leader: int, shift: float) -> bool:
        """Whether the wealth against an arm was ever enough, had the leader been worse by this shift (of rewards)."""
        D = (self.rows[:, leader] - self.rows[:, i])[:, None]
        on_pair = self.rules.evidence(D, max(shift, self.rules.zone))[:, 0]
        shared = min(self._shared(i), self._shared(leader))
        for t, on_leaders in enumerate(self.made_again(i, leader, shift), 1):
            pair = float(on_pair[min(t, shared) - 1])
            wealth = (1 - self.share) * on_leaders + self.share * pair / (self.K - 1)
            if wealth >= self.single_threshold:
                return True
        return False

    def made_again(self, i: int, leader: int, shift: float) -> list[float]:
        """The wealth on leaders after each round, with the null means that hold if the leader is worse by the shift."""
        M, wealth, totals = self.rules.pool, list(WEIGHTS), []
        low, high = self.leaders.bounds
        for t, bets in enumerate(self.made[i], 1):
            x, S = self.X[t - 1], self.X[: t - 1].sum(axis=0)
            for k, bet in enumerate(bets):
                if bet is None:
                    continue
                worse = [max(shift / (high - low), self.zone) if j == leader else self.zone for j in bet.on]
                nu, m = -sum(worse) / len(bet.on), len(bet.on)
                behind = sum(S[j] for j in bet.on) / m - S[i]
                y = (M * nu - behind) / (M - t + 1) if M else nu
                gain = sum(x[j] for j in bet.on) / m - x[i]
                cut = min(bet.size, 0.99 / (1 + y) if y > -1 else inf)
                wealth[k] = inf if y < -1 - 1e-9 else wealth[k] * (1 + cut * (gain - y))
            total = sum(wealth)
            totals.append(total)
            if t > 1 and total < inf:
                wealth = [(1 - 0.2 / t) * w + 0.2 / t * v * total for w, v in zip(wealth, WEIGHTS, strict=True)]
        return totals

    def average(self, i: int, m: int, values: Any) -> float | None:
        """The average of the first ``m`` leaders other than ``i`` minus ``i``; None if there are not so many."""
        others = [j for j in self.ahead if j != i][:m]
        return None if len(others) < m else float(sum(values[j] for j in others) / m - values[i])

    def _bet(self) -> None:
        t, M = self.t + 1, self.rules.pool
        x, S = self.X[t - 1], self.X[: t - 1].sum(axis=0)
        left = M - t + 1 if M else 1
        c = M / left if M else 1.0
        for i in self.candidates:
            reach = 4 * c / sqrt(t * (self.risked[i] + 3 * self.V) / (t - 1 + 3))
            for k, bet in enumerate(BETS):
                if (m := self.averages.get((i, k))) is None:
                    continue
                self.made[i][-1][k] = Bet([j for j in self.ahead if j != i][:m], min(c * bet, reach))
                gain, behind = self.average(i, m, x), self.average(i, m, S)
                assert gain is not None
                assert behind is not None
                y = -(M * self.zone + behind) / left if M else -self.zone
                if y < -1 - 1e-9:
                    self.wealth[i][k] = inf
                    continue
                most = 0.99 / (1 + y) if y > -1 else inf
                self.wealth[i][k] *= 1 + min(c * bet, most, reach) * (gain - y)
            total = sum(self.wealth[i].values())
            if total < inf:
                for k, weight in enumerate(WEIGHTS):
                    self.wealth[i][k] = (1 - 0.2 / t) * self.wealth[i][k] + 0.2 / t * weight * total
            if (m := self.averages.get((i, 0))) is not None:
                self.risked[i] += (self.average(i, m, x) or 0.0) ** 2
        for i in self.candidates:
            for m in SIZES:
                if (gain := self.average(i, m, x)) is not None:
                    self.Y[i][m].append(gain)

    def _spread(self, arms: list[int]) -> None:
        """Add the variance of the round to that pooled over pairs of these arms."""
        t = self.t + 1
        if t > 1:
            d = self.X[t - 1, arms] - self.X[: t - 1, arms].mean(axis=0)
            self.Q += 2 * (t - 1) / t * float(((d - d.mean()) ** 2).sum()) / (len(arms) - 1)

    def _renew(self) -> None:
        t = self.t
        S = self.X[:t].sum(axis=0)
        self.ahead = sorted(self.candidates, key=lambda i: (-S[i], i))
        self.renewal = t + 1 + max(1, int(0.02 * (t + 1)))
        self.V = (self.Q + 0.75) / (t + 2)
        self.averages = {
            (i, k): m for i in self.candidates for k, bet in enumerate(BETS) if (m := self._best(i, bet, S / t))
        }

    def _best(self, i: int, bet: float, means: Any) -> int | None:
        """Of how many leaders a bet against an arm should be: the smallest number that promises most."""
        t = self.t + 1
        bet = min(bet, 4 / sqrt(t * (self.risked[i] + 3 * self.V) / (t - 1 + 3)))
        best, most = None, -inf
        for m in SIZES:
            d = self.average(i, m, means)
            if d is None or (self.zone > 0 and m > self.ahead.index(i)):
                break
            Y = np.array(self.Y[i][m])
            r = max(1, self.t - 1)
            v = (float((Y**2).sum()) - float(Y.sum()) ** 2 / r + 3 * self.V * (0.5 + 0.5 / m)) / (r + 2)
            value = d + self.zone - bet / 2 * (v + (d + self.zone) ** 2)
            if value > most + 1e-12:
                best, most = m, value
        return best

    def _beaten(self, i: int) -> bool:
        single = sum(self.wealth[i].values())
        if self.zone > 0 and i == self._leaders()[0] and single > 1:
            single, self.wealth[i] = 1.0, {k: wealth / single for k, wealth in self.wealth[i].items()}
        wealth = (1 - self.share) * single
        if self.paired:
            opponents = [j for j in range(self.K) if j != i and self._may_speak(i, j)]
            pairs = sum(float(self.evidence[i, j][self._shared(j) - 1]) for j in opponents)
            wealth += self.share * pairs / (self.K - 1)
        margin = log(wealth / self.single_threshold) if wealth > 0 else -inf
        self.closest = min(self.closest, abs(margin))
        return margin >= 0


def leader_race(rows: Matrix, leaders: LeaderBetting, delta: float, **options: Any) -> LeaderRace:
    race = LeaderRace(rows, leaders, delta, **options)
    while race.goes_on():
        race.next_round()
    return race
