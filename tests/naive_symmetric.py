"""A slow, obvious game of `SymmetricBetting`: all is computed from the raw rewards, round by round."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import floor, inf, log, sqrt, tanh
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.comparisons import StudentMixture, SymmetricBetting

Array = NDArray[np.float64]
EFFECTS = [1.5, 0.6, 0.24, 0.096, 0.0384, 0.01536]
KEPT = 500  # rounds whose differences are looked at for distinct values


@dataclass(frozen=True)
class Rules:
    student: float
    min_rounds: int
    delta: float
    keep: float = 1.0
    epsilon: float = 0.0
    zone: float = 0.0
    failing: Mapping[int, Collection[int]] = field(default_factory=dict)  # by round: who fails in it
    withdrawn: Mapping[int, Collection[int]] = field(default_factory=dict)  # by round: who is not queried from it on


def rules_of(settings: SymmetricBetting, delta: float, **given: Any) -> Rules:
    return Rules(settings.student, settings.min_rounds, delta, **given)


class Naive:
    """One game; `play` it, and look at what is left."""

    def __init__(self, rows: Array, rules: Rules) -> None:
        self.rows, self.rules, self.K = rows, rules, rows.shape[1]
        self.candidates = list(range(self.K))
        self.last_round = dict.fromkeys(range(self.K), len(rows))
        self.eliminations: list[tuple[int, int]] = []
        self.reason: str | None = None
        self.t = 0
        self.bets = {i: [1 / 6] * 6 for i in range(self.K)}
        self.rival: dict[int, int | None] = {}
        self.sd: dict[int, float] = {}
        self.renewal = 0

    def play(self) -> "Naive":
        while self.reason is None and self.t < len(self.rows):
            self.next_round()
        self.eliminations.sort(key=lambda one: (one[1], one[0]))
        return self

    def queried(self, t: int) -> list[int]:
        return [i for i in range(self.K) if t <= self.last_round[i]]

    def playing(self, t: int) -> list[int]:
        return [i for i in self.candidates if t <= self.last_round[i]]

    def differences(self, j: int, i: int) -> Array:
        """The rewards of arm j minus those of arm i so far."""
        found: Array = self.rows[: self.t, j] - self.rows[: self.t, i]
        return found

    def mean(self, i: int) -> float:
        return float(np.mean(self.rows[: self.t, i]))

    # --- a round ----------------------------------------------------------------------------------------------------

    def next_round(self) -> None:
        r = self.t + 1
        self._withdraw(self.rules.withdrawn.get(r, ()))
        failing = [i for i in self.rules.failing.get(r, ()) if r <= self.last_round[i]]
        bet_on = {i: self.rival.get(i) for i in self.playing(r)}
        for i in failing:
            self.last_round[i] = self.t
            if i in self.candidates:
                self.candidates.remove(i)
        if len(self.candidates) == 1:
            self.reason = "decided"
            return
        self.t = r
        for i in self.playing(r):
            self._bet(i, bet_on[i], failing)
        if self.rules.zone > 0:
            self._protect(self.leader())
        self._judge()
        if failing or self.eliminated_now() or r + 1 >= self.renewal:
            self._renew(self.playing(r + 1))
            self.renewal = r + 1 + max(1, floor(0.02 * (r + 1)))

    def _withdraw(self, arms: Collection[int]) -> None:
        for i in arms:
            self.last_round[i] = self.t
        playing = self.playing(self.t + 1)
        if any(self.rival.get(i) in arms for i in playing):
            self._renew(playing)
            self.renewal = min(self.renewal, self.t + 1 + max(1, floor(0.02 * (self.t + 1))))

    def _bet(self, i: int, j: int | None, failing: Collection[int]) -> None:
        if j is None:
            return
        grown = [w * self._factor(i, j, g, j in failing) for w, g in zip(self.bets[i], EFFECTS, strict=True)]
        total, share = sum(grown), 0.2 / self.t
        self.bets[i] = [(1 - share) * w + share * total / 6 for w in grown]

    def _factor(self, i: int, j: int, g: float, failed: bool) -> float:
        if failed:
            return 0.1
        Y = self.rows[self.t - 1, j] - self.rows[self.t - 1, i] + self.rules.zone
        bet = min(g, 4 / sqrt(self.t)) / self.sd[i]
        return 1 + 0.9 * tanh(bet * Y / 0.9)

    def _protect(self, leader: int) -> None:
        if sum(self.bets[leader]) > 1:
            self.bets[leader] = [1 / 6] * 6

    def leader(self) -> int:
        return max(self.playing(self.t), key=lambda i: (self.mean(i), -i))

    def eliminated_now(self) -> bool:
        return any(t == self.t for _, t in self.eliminations)

    def _judge(self) -> None:
        out = [i for i in self.playing(self.t) if self._out(i)]
        if len(out) == len(self.candidates):
            out.remove(self.leader())
        for i in out:
            self.candidates.remove(i)
            self.last_round[i] = min(floor(self.rules.keep * self.t), len(self.rows))
            self.eliminations.append((i, self.t))
        if len(self.candidates) == 1:
            self.reason = "decided"
        elif self.rules.epsilon > 0 and self._leader_near():
            self.reason = "within epsilon"

    def _out(self, i: int) -> bool:
        if sum(self.bets[i]) >= 1 / ((1 - self.rules.student) * self.rules.delta):
            return True
        others = [j for j in self.queried(self.t) if j != i]
        return any(self.shown(j, i, self.rules.zone) for j in others if self.rules.zone == 0 or self._ahead(j, i))

    def _ahead(self, j: int, i: int) -> bool:
        return (self.mean(j), -j) > (self.mean(i), -i)

    def _leader_near(self) -> bool:
        leader = self.leader()
        everybody = set(self.playing(self.t)) == set(self.candidates)
        return everybody and all(self.shown(leader, i, self.rules.epsilon) for i in self.candidates if i != leader)

    # --- the Student mixture ----------------------------------------------------------------------------------------

    def shown(self, j: int, i: int, shift: float) -> bool:
        """Whether the Student part shows that arm j, with a shift, is better than arm i."""
        if self.rules.student == 0 or self.t < self.rules.min_rounds:
            return False
        D = self.differences(j, i)
        lead, sd = float(np.mean(D)) + shift, float(np.std(D, ddof=1))
        effect = lead / sd if sd > 0 else inf if lead > 0 else 0.0
        needed = log((self.K - 1) / (self.rules.student * self.rules.delta))
        evidence = float(StudentMixture(min_rounds=2).log_evalue(self.t, effect))
        return evidence > needed and self._varied(j, i, needed)

    def _varied(self, j: int, i: int, log_threshold: float) -> bool:
        X = self.rows[: min(self.t, KEPT)]
        values = np.sort(X[:, j] - X[:, i])
        size = float(np.abs(X[:, [i, j]]).max())
        distinct = 1 + int((np.diff(values) > 1e-13 * size).sum())
        constant = float(np.ptp(self.differences(j, i))) <= 1e-13 * size
        constant_for_long = constant and self.t - 1 >= log_threshold / log(2)
        return distinct >= min(self.t, 10) or constant_for_long

    # --- whom it is bet on ------------------------------------------------------------------------------------------

    def _renew(self, standing: list[int]) -> None:
        if len(standing) < 2:
            return
        first, second = sorted(standing, key=lambda i: (-self.mean(i), i))[:2]
        pairs = [(i, j) for i in standing for j in standing if i < j]
        spread = float(np.mean([self._variance(i, j) for i, j in pairs]))
        for i in standing:
            self.rival[i] = first if i != first else second if self.rules.zone == 0 else None
            other = first if i != first else second
            own = 0.0 if self.t == 1 else self._variance(i, other) * (self.t - 1)
            self.sd[i] = sqrt((own + max(spread, 1e-300)) / self.t)

    def _variance(self, i: int, j: int) -> float:
        D = self.differences(j, i)
        return float(D[0] ** 2) if self.t == 1 else float(np.var(D, ddof=1))


def play(rows: Array, rules: Rules) -> Naive:
    return Naive(rows, rules).play()
