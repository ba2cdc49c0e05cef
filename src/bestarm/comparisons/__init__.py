"""Comparisons: who is beaten, and by how much evidence.

`bestarm.comparisons.evidence` says what a comparison is. The other files hold families of them: `boundaries` on
moments, `betting`, `leader_betting` and `symmetric_betting`, `convex`. The evidence that bets share is in `wealth`.
"""

from bestarm.comparisons.betting import Betting, Portfolio, Wins
from bestarm.comparisons.boundaries import Boundary, EmpiricalBernstein, GaussianBernstein, PairBoundary, StudentMixture
from bestarm.comparisons.convex import ConvexBernstein, ConvexBoundary
from bestarm.comparisons.evidence import Comparison, Evidence, Goal
from bestarm.comparisons.leader_betting import LeaderBetting
from bestarm.comparisons.symmetric_betting import SymmetricBetting

__all__ = [
    "Betting",
    "Boundary",
    "Comparison",
    "ConvexBernstein",
    "ConvexBoundary",
    "EmpiricalBernstein",
    "Evidence",
    "GaussianBernstein",
    "Goal",
    "LeaderBetting",
    "PairBoundary",
    "Portfolio",
    "StudentMixture",
    "SymmetricBetting",
    "Wins",
]
