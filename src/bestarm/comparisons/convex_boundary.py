"""Comparisons of an arm with convex combinations of the others, on moments."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bestarm.board import ConvexRule, new_search
from bestarm.comparisons.boundary import Boundary, BoundaryEvidence
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


class ConvexBoundary(ABC):
    """A comparison with combinations that is a boundary. A kind of it is a frozen dataclass with ``boundary``.

    The weights ``w`` on other arms beat arm ``i`` when ``<w, mean> - mean_i > slope_t * sd(<w, X> - X_i) + offset_t``;
    with probability at least ``1 - delta`` no weights may ever beat the best arm. Where ``sparsity`` is a number, only
    combinations of so many arms count.
    """

    role: ClassVar[Role] = "combinations"
    bounds: ClassVar[tuple[float, float] | None] = None
    pool: ClassVar[int | None] = None
    supports_epsilon: ClassVar[bool] = False
    sparsity: int | None = None

    @property
    def assumption(self) -> str:
        """What the guarantee rests on, in a sentence for the reader of a result."""
        return f"It assumes what {type(self).__name__} assumes: see its documentation."

    @abstractmethod
    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Slope and offset after each of these rounds; an infinite slope beats nobody."""

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The evidence of a new game: moments of all differences, and the search for combinations."""
        return ConvexEvidence(n_arms, self, goal, self.sparsity or n_arms)
