"""Who is beaten, and by how much evidence: one file per comparison."""

from bestarm.comparisons.betting import Betting
from bestarm.comparisons.boundary import Boundary, PairBoundary
from bestarm.comparisons.convex_bernstein import ConvexBernstein
from bestarm.comparisons.convex_boundary import ConvexBoundary
from bestarm.comparisons.empirical_bernstein import EmpiricalBernstein
from bestarm.comparisons.evidence import Comparison, Evidence, Goal
from bestarm.comparisons.gaussian_bernstein import GaussianBernstein
from bestarm.comparisons.leader_betting import LeaderBetting
from bestarm.comparisons.portfolio import Portfolio
from bestarm.comparisons.student_mixture import StudentMixture
from bestarm.comparisons.symmetric_betting import SymmetricBetting
from bestarm.comparisons.wins import Wins

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
