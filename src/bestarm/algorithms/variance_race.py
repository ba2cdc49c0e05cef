"""Successive elimination with empirical variances, one interval per arm: a baseline of the paper."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.elimination import EliminationGame
from bestarm.algorithms.game import Game
from bestarm.algorithms.statements import Guarantee
from bestarm.checks import check_choice, check_delta, check_n_arms
from bestarm.comparisons.boundary import BoundaryEvidence
from bestarm.comparisons.evidence import bounded
from bestarm.comparisons.gaussian_bernstein import variance_inflation
from bestarm.values import shortest_call

Rewards = Literal["gaussian", "bounded"]


@dataclass(frozen=True)
class GaussianIntervals:
    """``mean +- alpha sqrt(2 f(alpha) Vhat_i)`` with ``alpha = sqrt(log(4 K t (t + 1) / delta) / (t - 1))``, t >= 2."""

    bounds: ClassVar[None] = None
    assumption: ClassVar[str] = "the items are independent of each other and the scores of each arm are Gaussian"

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Half-width of the interval, in standard deviations, and offset 0."""
        t = np.maximum(rounds, 2.0)
        alpha = np.sqrt((np.log(4.0 * n_arms * t * (t + 1.0)) - np.log(delta)) / (t - 1.0))
        slope = np.where(rounds < 2, np.inf, alpha * np.sqrt(2.0 * variance_inflation(alpha)))
        return slope, np.zeros_like(slope)


@dataclass(frozen=True)
class BernsteinIntervals:
    """``mean +- (sd_t sqrt(2 x / t) + 3 x / t)``, ``x = log(3 K t (t + 1) / delta)``, ``sd_t`` with divisor ``t``."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    assumption: ClassVar[str] = bounded(bounds)

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Half-width of the interval: in (unbiased) standard deviations, and what is added."""
        t = np.maximum(rounds, 2.0)
        x = np.log(3.0 * n_arms * t * (t + 1.0)) - np.log(delta)
        slope = np.where(rounds < 2, np.inf, np.sqrt((t - 1.0) / t) * np.sqrt(2.0 * x / t))
        return slope, 3.0 * x / t


@dataclass(frozen=True, repr=False)
class VarianceRace:
    """Successive elimination with one interval per arm and its empirical variance (Section 7 of the paper).

    An arm is dropped at once when its interval lies below that of another. Adapts to the variance of each arm, blind
    to correlation.

    **Guarantee.** Rounds independent and identically distributed, one best arm; rewards Gaussian, or in [0, 1] with
    ``rewards="bounded"``: with probability at least ``1 - delta`` all intervals hold at all times and the best arm
    stays. Gaussian: Chernoff's bound with the variance bounded by Lemma K.7 of the paper, three events of probability
    ``delta / (4 K t (t + 1))`` per arm and round. Bounded: the empirical Bernstein bound, which fails with probability
    ``3 exp(-x)``.

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1)
    rewards : ``"gaussian"`` or ``"bounded"``

    References
    ----------
    Mnih, Szepesvári, Audibert (2008), Empirical Bernstein stopping (the bounded race, here with
    ``delta / (K t (t + 1))`` for each arm and round).

    """

    delta: float = 0.05
    _: KW_ONLY
    rewards: Rewards = "gaussian"

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_choice("rewards", self.rewards, ("gaussian", "bounded"))

    __repr__ = shortest_call

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        from bestarm.kernels import race_intervals

        check_n_arms(n_arms)
        intervals = GaussianIntervals() if self.rewards == "gaussian" else BernsteinIntervals()
        evidence = BoundaryEvidence(n_arms, intervals, self.delta, race_intervals, True)
        promise = Guarantee(self.delta, intervals.assumption, nearly_gaussian=intervals.bounds is None)
        return EliminationGame(evidence, intervals.bounds, promise)
