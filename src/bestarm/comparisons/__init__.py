"""Who is beaten, and by how much evidence: one file a comparison."""

from bestarm.comparisons.boundary import Boundary, boundary_chunk
from bestarm.comparisons.empirical_bernstein import EmpiricalBernstein
from bestarm.comparisons.gaussian_bernstein import GaussianBernstein

__all__ = ["Boundary", "EmpiricalBernstein", "GaussianBernstein", "boundary_chunk"]
