"""Kim and Nelson's KN procedure, the classic of ranking and selection with common random numbers."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.elimination import EliminationGame
from bestarm.algorithms.game import Game
from bestarm.algorithms.statements import Guarantee
from bestarm.board import PairRule
from bestarm.checks import check_count, check_delta, check_lead, check_n_arms, check_positive
from bestarm.comparisons.boundary import BoundaryEvidence
from bestarm.comparisons.evidence import GAUSSIAN
from bestarm.values import shortest_call


@dataclass(frozen=True)
class TriangularRegion:
    """KN's boundary on the first-stage sum of squares ``(n0 - 1) S2`` of the difference, from round ``n0`` on.

    Arm ``l`` beats arm ``i`` after round ``r`` when ``mean_l - mean_i > max(0, (d / 2r) (h^2 S2_il / d^2 - r))``.
    """

    indifference_zone: float
    min_rounds: int

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slope ``h^2 / (2 d r (n0 - 1)) = eta / (d r)`` on the sum of squares, and offset ``-d / 2``."""
        d, n0 = self.indifference_zone, self.min_rounds
        with np.errstate(over="ignore"):  # an infinite slope beats nobody
            eta = np.expm1(-2.0 / (n0 - 1) * (np.log(2.0) + np.log(delta) - np.log(n_arms - 1))) / 2.0
        slope = np.where(rounds < n0, np.inf, eta / (d * rounds))  # h^2 = 2 eta (n0 - 1)
        return slope, np.full_like(slope, -d / 2.0)


@dataclass(frozen=True, repr=False)
class KimNelson:
    """The KN procedure: fully sequential selection with an indifference zone, adapted to common random numbers.

    The variances of the differences are estimated from the first rounds only; from then on an arm is dropped at once
    when another leads by more than a boundary that shrinks to zero.

    **Guarantee.** Rounds independent and identically distributed, rewards jointly Gaussian, and *the best arm leads by
    at least the indifference zone*: it is chosen with probability at least ``1 - delta``. Nothing is promised for
    smaller leads.

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1) and below ``(K - 1) / 2``
    indifference_zone : assume that the best arm leads by at least this much, above 0
    min_rounds : rounds before the first look, at least 2

    References
    ----------
    Kim, Nelson (2001), A fully sequential procedure for indifference-zone selection in simulation (with c = 1).

    Examples
    --------
    >>> import numpy as np
    >>> from bestarm.algorithms import KimNelson
    >>> from bestarm.arms import equicorrelated_arms
    >>> arms = equicorrelated_arms(4, correlation=0.9)
    >>> game = KimNelson(delta=0.1, indifference_zone=0.1).start(arms.n_arms)
    >>> used = game.play(arms.draw(5000, np.random.default_rng(1)))
    >>> game.best
    3

    """

    delta: float = 0.05
    _: KW_ONLY
    indifference_zone: float = 0.1
    min_rounds: int = 10

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_positive("indifference_zone", self.indifference_zone)
        check_lead("indifference_zone", self.indifference_zone)
        check_count("min_rounds", self.min_rounds, least=2)

    __repr__ = shortest_call

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        from bestarm.kernels import race_pairs

        check_n_arms(n_arms)
        if self.delta >= (n_arms - 1) / 2:
            raise ValueError(f"delta must be below (K - 1) / 2 = {(n_arms - 1) / 2} for KN, got {self.delta!r}")
        region = TriangularRegion(self.indifference_zone, self.min_rounds)
        rule = PairRule(keep=1.0, zone=0.0, epsilon=0.0, linear=True, learn_until=self.min_rounds)
        evidence = BoundaryEvidence(n_arms, region, self.delta, race_pairs, rule)
        promise = Guarantee(self.delta, GAUSSIAN, indifference_zone=self.indifference_zone, nearly_gaussian=True)
        return EliminationGame(evidence, None, promise)
