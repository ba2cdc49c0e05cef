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
from bestarm.racing import (
    EvaluationError,
    Plan,
    Race,
    RaceResult,
    Round,
    ScoreTable,
    StoreError,
    load_result,
    plan,
    race,
    race_commands,
    race_table,
    read_table,
)
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
    "EvaluationError",
    "Game",
    "GaussianArms",
    "GaussianBernstein",
    "HoeffdingRace",
    "Intervals",
    "KimNelson",
    "PairwiseBAI",
    "Plan",
    "PoolArms",
    "Portfolio",
    "Race",
    "RaceResult",
    "Round",
    "ScoreTable",
    "Simulation",
    "StoreError",
    "StudentMixture",
    "TableArms",
    "VarianceRace",
    "bernoulli_variances",
    "clustered_arms",
    "complexity",
    "equicorrelated_arms",
    "gaussian_worst_case_arms",
    "load_result",
    "plan",
    "race",
    "race_commands",
    "race_table",
    "read_table",
    "simulate",
]
