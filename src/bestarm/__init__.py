"""bestarm: which of my K candidates is best?

Paired, covariance-adaptive best arm identification with a guarantee.
"""

from bestarm import complexity
from bestarm.algorithms import (
    LUCB,
    ConvexBAI,
    DataWarning,
    Elimination,
    Game,
    HoeffdingRace,
    Intervals,
    KimNelson,
    PairwiseBAI,
    VarianceRace,
)
from bestarm.arms import (
    Arms,
    BernoulliArms,
    GaussianArms,
    PoolArms,
    TableArms,
    bernoulli_variances,
    clustered_arms,
    equicorrelated_arms,
    gaussian_worst_case_arms,
)
from bestarm.comparisons import (
    Betting,
    ConvexBernstein,
    EmpiricalBernstein,
    GaussianBernstein,
    Portfolio,
    StudentMixture,
)
from bestarm.moments import Moments
from bestarm.simulation import Simulation, simulate

__version__ = "0.1.0"

__all__ = [
    "LUCB",
    "Arms",
    "BernoulliArms",
    "Betting",
    "ConvexBAI",
    "ConvexBernstein",
    "DataWarning",
    "Elimination",
    "EmpiricalBernstein",
    "Game",
    "GaussianArms",
    "GaussianBernstein",
    "HoeffdingRace",
    "Intervals",
    "KimNelson",
    "Moments",
    "PairwiseBAI",
    "PoolArms",
    "Portfolio",
    "Simulation",
    "StudentMixture",
    "TableArms",
    "VarianceRace",
    "bernoulli_variances",
    "clustered_arms",
    "complexity",
    "equicorrelated_arms",
    "gaussian_worst_case_arms",
    "simulate",
]
