"""Who is beaten, and by how much evidence: one file a comparison."""

from bestarm.comparisons.betting import Betting
from bestarm.comparisons.boundary import Boundary
from bestarm.comparisons.convex_bernstein import ConvexBernstein
from bestarm.comparisons.empirical_bernstein import EmpiricalBernstein
from bestarm.comparisons.gaussian_bernstein import GaussianBernstein
from bestarm.comparisons.portfolio import Portfolio
from bestarm.comparisons.student_mixture import StudentMixture

__all__ = [
    "Betting",
    "Boundary",
    "ConvexBernstein",
    "EmpiricalBernstein",
    "GaussianBernstein",
    "Portfolio",
    "StudentMixture",
]
