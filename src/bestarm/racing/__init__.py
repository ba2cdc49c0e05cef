"""The main job: real candidates, evaluated in parallel, durable, to be continued and shown."""

from bestarm.racing.commands import race_commands
from bestarm.racing.contest import Race, Round
from bestarm.racing.driver import race
from bestarm.racing.evaluation import EvaluationError
from bestarm.racing.planning import Plan, plan
from bestarm.racing.reading import read_table
from bestarm.racing.result import Disqualification, RaceElimination, RaceResult, load_result
from bestarm.racing.store import StoreError
from bestarm.racing.table import ScoreTable, race_table

__all__ = [
    "Disqualification",
    "EvaluationError",
    "Plan",
    "Race",
    "RaceElimination",
    "RaceResult",
    "Round",
    "ScoreTable",
    "StoreError",
    "load_result",
    "plan",
    "race",
    "race_commands",
    "race_table",
    "read_table",
]
