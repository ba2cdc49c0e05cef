"""Algorithms of users that do not eliminate: they choose other arms in every round."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import bestarm
from bestarm import Elimination, Game, Guarantee


class TopTwoGame(Game):
    """The leader and the arm that is hardest to tell from it, on Gaussian rewards of known variance."""

    def __init__(self, n_arms: int, delta: float, sigma: float) -> None:
        super().__init__(n_arms, guarantee=Guarantee(delta, "It assumes Gaussian scores of known variance."))
        self._sigma = sigma

    def _radii(self) -> Any:
        t, K = self.n_rounds, self.n_arms
        return self._sigma * np.sqrt(2 * np.log(1.25 * K * t**4 / self.guarantee.delta) / self.counts)

    def next_arms(self) -> Any:
        if self.n_rounds == 0:
            return np.arange(self.n_arms)
        leader, means = int(np.argmax(self.means)), self.means
        cost = (means[leader] - means) ** 2 / (1 / self.counts[leader] + 1 / self.counts)
        cost[leader] = np.inf
        return np.sort([leader, int(np.argmin(cost))])

    @property
    def reason(self) -> str | None:
        return "decided" if len(self.candidates) == 1 else None

    @property
    def candidates(self) -> tuple[int, ...]:
        if self.n_rounds == 0:
            return super().candidates
        radii, means = self._radii(), self.means
        leader = int(np.argmax(means))
        lower = means[leader] - radii[leader]
        others = np.arange(self.n_arms) != leader
        over = bool(np.all(means[others] + radii[others] < lower))
        return (leader,) if over else tuple(range(self.n_arms))

    @property
    def eliminations(self) -> list[Elimination[int]]:
        if not self.finished:
            return []
        (winner,) = self.candidates
        lead = self.means[winner] - self.means
        return [Elimination(arm, self.n_rounds, winner, lead[arm]) for arm in range(self.n_arms) if arm != winner]


@dataclass(frozen=True)
class TopTwo:
    delta: float = 0.05
    sigma: float = 1.0

    def start(self, n_arms: int) -> Game:
        return TopTwoGame(n_arms, self.delta, self.sigma)


@dataclass(frozen=True)
class Wrapped:
    """Another algorithm, under a name of its own."""

    inner: bestarm.Algorithm = field(default_factory=lambda: bestarm.LUCB(0.1, 0.05))

    def start(self, n_arms: int) -> Game:
        return self.inner.start(n_arms)
