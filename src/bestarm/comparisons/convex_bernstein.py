"""The paper's comparison with convex combinations, for bounded rewards."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import check_count
from bestarm.comparisons.boundary import paper_alpha
from bestarm.comparisons.convex_boundary import ConvexBoundary
from bestarm.comparisons.evidence import bounded
from bestarm.values import shortest_call


@dataclass(frozen=True, repr=False, kw_only=True)
class ConvexBernstein(ConvexBoundary):
    """The paper's test of an arm against convex combinations of the others, for rewards in [0, 1] (appendix B).

    After round ``t >= 3`` the weights ``w`` on the other queried arms beat arm ``i`` when

        ``<w, mean> - mean_i - 2 sqrt(2 L / (t - 1)) sqrt(Vhat(X_i - <w, X>)) - 28 L / (t - 1) > 0``

    with ``L = K log(1 / delta_t)``, ``delta_t = delta / (2 K^2 t (t + 1))``: the paper's ``Gamma_i(w, t, delta)`` with
    ``w_i = 0``, which costs nothing because every term is homogeneous in ``w - e_i``, so that ``|w - e_i|_1 = 2``.

    With ``sparsity=s`` only combinations of at most ``s`` arms count, and

        ``L = s log(1 / delta_t) + log(K - 1 choose s)``

    (the cover of each support has dimension ``s``, and this is the number of supports: ``docs/theory.md``).

    **Guarantee.** Rounds independent and identically distributed, rewards in [0, 1], one best arm: with probability at
    least ``1 - delta`` no combination ever beats the best arm (Theorem B.1, Lemma C.2).

    Parameters
    ----------
    sparsity : the largest number of arms in a combination; any number by default

    References
    ----------
    Saad, Blanchard, Verzelen (2023), Covariance adaptive best arm identification, appendices B and C.

    """

    sparsity: int | None = None

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    assumption: ClassVar[str] = bounded(bounds)

    def __post_init__(self) -> None:
        if self.sparsity is not None:
            check_count("sparsity", self.sparsity)

    __repr__ = shortest_call

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slope ``2 sqrt(2 L / (t - 1))`` and offset ``28 L / (t - 1)``."""
        alpha_squared = paper_alpha(rounds, n_arms, delta) ** 2  # log(1 / delta_t) / (t - 1)
        if self.sparsity is None or self.sparsity >= n_arms - 1:
            complexity = n_arms * alpha_squared
        else:
            supports = math.log(math.comb(n_arms - 1, self.sparsity))
            complexity = self.sparsity * alpha_squared + supports / np.maximum(rounds - 1.0, 1.0)
        return 2.0 * np.sqrt(2.0 * complexity), 28.0 * complexity
