"""Comparisons of an arm with convex combinations of the others, on moments."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bestarm.checks import check_count
from bestarm.comparisons.boundaries import Boundary, BoundaryComparison, BoundaryEvidence, paper_alpha
from bestarm.comparisons.evidence import Evidence, Goal, Role, bounded
from bestarm.kernels.state import ConvexRule, new_search
from bestarm.values import Array, shortest_call

SOLVER_STEPS = 200  # far beyond what the solver needs; then an arm counts as not beaten


class ConvexEvidence(BoundaryEvidence):
    """Moments of all differences, judged by a boundary for convex combinations."""

    no_disqualification = "arms that were compared in combinations cannot be disqualified: use PairwiseBAI"

    def __init__(self, n_arms: int, boundary: Boundary, goal: Goal, sparsity: int) -> None:
        from bestarm.kernels.convex import race_convex

        self._search = new_search(n_arms)
        rule = ConvexRule(float(goal.keep), float(goal.check_growth), sparsity, SOLVER_STEPS)
        super().__init__(n_arms, boundary, goal.delta, race_convex, self._search, rule)

    def weights(self, arm: int) -> dict[int, float]:
        """The weights of the combination that beat an arm."""
        proof = self._search.proofs[arm]
        return {int(j): float(proof[j]) for j in np.flatnonzero(proof)}

    def diagnostics(self) -> dict[str, int]:
        """How often the solver ran, and how often it could not certify a sign."""
        counts = self._search.progress[0]
        return {
            "rounds looked at": int(counts.n_looks),
            "arms solved": int(counts.n_solved),
            "not certified": int(counts.n_uncertified),
        }


class ConvexBoundary(BoundaryComparison):
    """A comparison with combinations that is a boundary: a frozen dataclass with ``boundary`` inherits from it.

    The weights ``w`` on other arms beat arm ``i`` when ``<w, mean> - mean_i > slope_t * sd(<w, X> - X_i) + offset_t``;
    with probability at least ``1 - delta`` no weights may ever beat the best arm. Where ``sparsity`` is a number, only
    combinations of at most that many arms count.
    """

    role: ClassVar[Role] = "combinations"
    supports_epsilon: ClassVar[bool] = False
    sparsity: int | None = None

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The evidence of a new game: moments of all differences, and the search for combinations."""
        return ConvexEvidence(n_arms, self, goal, self.sparsity or n_arms)


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

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Slope ``2 sqrt(2 L / (t - 1))`` and offset ``28 L / (t - 1)``."""
        alpha_squared = paper_alpha(rounds, n_arms, delta) ** 2  # log(1 / delta_t) / (t - 1)
        if self.sparsity is None or self.sparsity >= n_arms - 1:
            complexity = n_arms * alpha_squared
        else:
            supports = math.log(math.comb(n_arms - 1, self.sparsity))
            complexity = self.sparsity * alpha_squared + supports / np.maximum(rounds - 1.0, 1.0)
        return 2.0 * np.sqrt(2.0 * complexity), 28.0 * complexity
