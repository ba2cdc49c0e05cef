"""bestarm: which of my K candidates is best?

Paired, covariance-adaptive best arm identification with a guarantee.
"""

from bestarm import complexity
from bestarm.algorithms import (
    LUCB,
    Algorithm,
    ConvexBAI,
    DataWarning,
    Elimination,
    EliminationGame,
    Game,
    Guarantee,
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
    Comparison,
    ConvexBernstein,
    ConvexBoundary,
    EmpiricalBernstein,
    GaussianBernstein,
    PairBoundary,
    Portfolio,
    StudentMixture,
)
from bestarm.inputs.files import read_table
from bestarm.inputs.scores import EvaluationError
from bestarm.inputs.tables import ScoreTable
from bestarm.planning import Plan, plan
from bestarm.racing.ask_tell import Race, Round
from bestarm.racing.commands import race_commands
from bestarm.racing.race import race
from bestarm.racing.record import Record
from bestarm.racing.result import Disqualification, RaceResult
from bestarm.racing.settings import RaceSettings
from bestarm.racing.store import Store, StoredRace, StoreError
from bestarm.racing.summary import load_result
from bestarm.racing.table import race_table
from bestarm.simulation import Simulation, simulate
from bestarm.version import __version__

__all__ = [
    "LUCB",
    "Algorithm",
    "Arms",
    "BernoulliArms",
    "Betting",
    "Comparison",
    "ConvexBAI",
    "ConvexBernstein",
    "ConvexBoundary",
    "DataWarning",
    "Disqualification",
    "Elimination",
    "EliminationGame",
    "EmpiricalBernstein",
    "EvaluationError",
    "Game",
    "GaussianArms",
    "GaussianBernstein",
    "Guarantee",
    "HoeffdingRace",
    "Intervals",
    "KimNelson",
    "PairBoundary",
    "PairwiseBAI",
    "Plan",
    "PoolArms",
    "Portfolio",
    "Race",
    "RaceResult",
    "RaceSettings",
    "Record",
    "Round",
    "ScoreTable",
    "Simulation",
    "Store",
    "StoreError",
    "StoredRace",
    "StudentMixture",
    "TableArms",
    "VarianceRace",
    "__version__",
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
