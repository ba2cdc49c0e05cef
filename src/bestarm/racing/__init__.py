"""The main job: real candidates, evaluated in parallel, durable, to be continued and shown."""

from bestarm.racing.ask_tell import Race, Round
from bestarm.racing.commands import race_commands
from bestarm.racing.evaluation import EvaluationError
from bestarm.racing.planning import Plan, plan
from bestarm.racing.race import race
from bestarm.racing.reading import read_table
from bestarm.racing.record import Record
from bestarm.racing.result import Disqualification, RaceElimination, RaceResult
from bestarm.racing.settings import RaceSettings
from bestarm.racing.store import Store, StoredRace, StoreError
from bestarm.racing.summary import load_result
from bestarm.racing.table import ScoreTable, race_table

__all__ = [
    "Disqualification",
    "EvaluationError",
    "Plan",
    "Race",
    "RaceElimination",
    "RaceResult",
    "RaceSettings",
    "Record",
    "Round",
    "ScoreTable",
    "Store",
    "StoreError",
    "StoredRace",
    "load_result",
    "plan",
    "race",
    "race_commands",
    "race_table",
    "read_table",
]
