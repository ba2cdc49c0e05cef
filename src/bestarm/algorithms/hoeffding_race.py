"""The Hoeffding race with known variances, a baseline of the paper."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.elimination import EliminationGame
from bestarm.algorithms.game import Game
from bestarm.algorithms.statements import Guarantee
from bestarm.algorithms.variances import KNOWN_VARIANCES, KnownVariances, check_variances, variance_vector
from bestarm.checks import check_delta
from bestarm.comparisons.boundary import BoundaryEvidence
from bestarm.values import shortest_call


@dataclass(frozen=True)
class ChernoffIntervals:
    """One interval per arm of known variance: ``mean +- sigma_i sqrt(2 log(2 K t (t + 1) / delta) / t)``."""

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Half-width of the interval, in standard deviations, and offset 0."""
        log_term = np.log(2.0 * n_arms * rounds * (rounds + 1.0)) - np.log(delta)
        slope = np.sqrt(2.0 * log_term / rounds)
        return slope, np.zeros_like(slope)


@dataclass(frozen=True, repr=False)
class HoeffdingRace:
    """Successive elimination with Chernoff intervals and known variances (Section 7 of the paper).

    An arm is dropped at once when its interval lies below that of another. Blind to correlation.

    **Guarantee.** Rounds independent and identically distributed, arm ``i`` Gaussian or sub-Gaussian with at most the
    variance given, one best arm: all intervals hold at all times, so the best arm stays, with probability at least
    ``1 - delta`` (Chernoff's bound, and a union over arms, sides and rounds: ``sum_t 1 / (t (t + 1)) = 1``).

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1)
    variances : the variance of each arm, or one number for all

    References
    ----------
    Maron, Moore (1993), Hoeffding races: accelerating model selection search for classification and function
    approximation.

    """

    delta: float = 0.05
    _: KW_ONLY
    variances: KnownVariances = 1.0

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_variances(self)

    __repr__ = shortest_call

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        from bestarm.kernels import race_intervals

        variances = variance_vector(self.variances, n_arms)
        evidence = BoundaryEvidence(n_arms, ChernoffIntervals(), self.delta, race_intervals, False)
        evidence.board.own[:] = variances
        return EliminationGame(evidence, None, Guarantee(self.delta, KNOWN_VARIANCES))
