"""The paper's comparison for bounded rewards."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bestarm.comparisons.boundary import PairBoundary, paper_alpha
from bestarm.comparisons.evidence import bounded


@dataclass(frozen=True)
class EmpiricalBernstein(PairBoundary):
    """The paper's test for rewards in [0, 1], from the empirical Bernstein inequality (Section 4).

    After round ``t >= 3`` arm ``j`` beats arm ``i`` when

        ``mean_j - mean_i - (3/2) alpha_t sqrt(2 Vhat_ij) - 9 alpha_t^2 > 0``

    with ``alpha_t = sqrt(log(2 K^2 t (t + 1) / delta) / (t - 1))`` and ``Vhat_ij`` the unbiased sample variance of the
    difference. The factors are as published; the guarantee needs only 1 in place of 3/2 and 6 in place of 9.

    **Guarantee.** Rounds independent and identically distributed, rewards in [0, 1], one best arm: with probability at
    least ``1 - delta`` the best arm is never beaten (Theorem 4.1).

    References
    ----------
    Saad, Blanchard, Verzelen (2023), Covariance adaptive best arm identification, Section 4 and appendix C.

    """

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    assumption: ClassVar[str] = bounded(bounds)

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slope ``(3/2) sqrt(2) alpha_t`` and offset ``9 alpha_t^2``."""
        alpha = paper_alpha(rounds, n_arms, delta)
        return 1.5 * np.sqrt(2.0) * alpha, 9.0 * alpha**2
