"""bestarm: which of my K options is best?

Evaluates options on the same items, drops those that are beaten, and stops as soon as the answer is known: with
probability at least 95% the best is never dropped.

What a practitioner needs is here. What a researcher needs is in `bestarm.algorithms`, `bestarm.comparisons`,
`bestarm.arms`, `bestarm.complexity`, `bestarm.simulation` and `bestarm.testing`; what results hold and stores must do
is in `bestarm.racing`.
"""

from bestarm import algorithms as algorithms
from bestarm import arms as arms
from bestarm import comparisons as comparisons
from bestarm import complexity as complexity
from bestarm.errors import AssumptionWarning, BestarmError, EvaluationError, OutOfBoundsError, StoreError, TableWarning
from bestarm.planning import Plan, plan
from bestarm.racing.ask_tell import Race, Round
from bestarm.racing.calls import load_result, race, race_commands, race_table
from bestarm.result.result import RaceResult
from bestarm.simulation import simulate
from bestarm.sources.files import read_table
from bestarm.sources.tables import ScoreTable
from bestarm.version import __version__

__all__ = [
    "AssumptionWarning",
    "BestarmError",
    "EvaluationError",
    "OutOfBoundsError",
    "Plan",
    "Race",
    "RaceResult",
    "Round",
    "ScoreTable",
    "StoreError",
    "TableWarning",
    "__version__",
    "load_result",
    "plan",
    "race",
    "race_commands",
    "race_table",
    "read_table",
    "simulate",
]
