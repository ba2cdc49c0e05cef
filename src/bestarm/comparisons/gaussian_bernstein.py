"""The paper's comparison for Gaussian rewards."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import check_choice
from bestarm.comparisons.boundary import PairBoundary, paper_alpha
from bestarm.comparisons.evidence import GAUSSIAN
from bestarm.values import shortest_call

Inflation = Literal["proved", "published"]


def variance_inflation(x: NDArray[np.float64], f: Inflation = "proved") -> NDArray[np.float64]:
    """The factor ``f(x)`` with ``V_ij <= f(alpha_t) Vhat_ij`` on the paper's good event (Section 5, Lemma D.1).

    ``1 / (1 - 2x)`` below 1/3. From there on the paper prints ``exp(2x + 1)``; its proof inverts
    ``e^-1 exp(-2 alpha^2)`` and gives ``exp(2x^2 + 1)``. Above 1 the printed one is smaller than what is proved.

    Examples
    --------
    >>> variance_inflation(np.array([0.25, 2.0])), variance_inflation(np.array([0.25, 2.0]), "published")
    (array([2.00000000e+00, 8.10308393e+03]), array([  2.        , 148.4131591]))

    """
    power = x**2 if f == "proved" else x
    with np.errstate(over="ignore"):  # infinite inflation is an infinite slope, and beats nobody
        return np.where(x < 1 / 3, 1.0 / (1.0 - 2.0 * np.minimum(x, 1 / 3)), np.exp(2.0 * power + 1.0))


@dataclass(frozen=True, repr=False, kw_only=True)
class GaussianBernstein(PairBoundary):
    """The paper's test for jointly Gaussian rewards of unknown covariance (Section 5, eq. 7).

    After round ``t >= 3`` arm ``j`` beats arm ``i`` when

        ``mean_j - mean_i - (3/2) alpha_t sqrt(2 f(alpha_t) Vhat_ij) > 0``

    with ``alpha_t = sqrt(log(2 K^2 t (t + 1) / delta) / (t - 1))`` and ``f`` as in `variance_inflation`.

    **Guarantee** (``f="proved"``). Rounds independent and identically distributed, rewards jointly Gaussian, one best
    arm: with probability at least ``1 - delta`` the best arm is never beaten (Theorem 5.1). With ``f="published"`` the
    rule is the printed one, whose proof does not cover rounds with ``alpha_t > 1``.

    Parameters
    ----------
    f : ``"proved"`` or ``"published"``

    References
    ----------
    Saad, Blanchard, Verzelen (2023), Covariance adaptive best arm identification, Section 5 and appendix D.

    """

    f: Inflation = "proved"

    assumption: ClassVar[str] = GAUSSIAN

    def __post_init__(self) -> None:
        check_choice("f", self.f, ("proved", "published"))

    __repr__ = shortest_call

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slope ``(3/2) alpha_t sqrt(2 f(alpha_t))`` and offset 0."""
        alpha = paper_alpha(rounds, n_arms, delta)
        slope = 1.5 * alpha * np.sqrt(2.0 * variance_inflation(alpha, self.f))
        return slope, np.zeros_like(slope)
