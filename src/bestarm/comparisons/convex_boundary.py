"""Comparisons of an arm with convex combinations of the others, on moments."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bestarm.board import ConvexRule, new_search
from bestarm.comparisons.boundary import Boundary, BoundaryComparison, BoundaryEvidence
from bestarm.comparisons.evidence import Evidence, Goal, Role

Array = NDArray[np.float64]

SOLVER_STEPS = 200  # far beyond what the solver needs; then an arm counts as not beaten


class ConvexEvidence(BoundaryEvidence):
    """Moments of all differences, judged by a boundary for convex combinations."""

    no_disqualification = "arms that were compared in combinations cannot be disqualified: use PairwiseBAI"

    def __init__(self, n_arms: int, boundary: Boundary, goal: Goal, sparsity: int) -> None:
        from bestarm.kernels import race_convex

        self._search = new_search(n_arms)
        rule = ConvexRule(float(goal.keep), float(goal.check_growth), sparsity, SOLVER_STEPS)
        super().__init__(n_arms, boundary, goal.delta, race_convex, self._search, rule)

    def weights(self, arm: int) -> dict[int, float]:
        """The weights of the combination that beat an arm."""
        proof = self._search.proofs[arm]
        return {int(j): float(proof[j]) for j in np.flatnonzero(proof)}

    def diagnostics(self) -> dict[str, int]:
        """How often the solver ran, and how often it could not certify a sign."""
        rounds, arms, uncertified = self._search.counts.tolist()
        return {"rounds looked at": rounds, "arms solved": arms, "not certified": uncertified}


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
