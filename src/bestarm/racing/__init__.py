"""Races on real arms: what results hold, and what a store must do.

The calls themselves, `race`, `race_table`, `race_commands`, `Race` and `load_result`, are in `bestarm`.
"""

from bestarm.racing.breakdown import Breakdown
from bestarm.racing.failures import FailureCount
from bestarm.racing.outcome import ArmRecord, Disqualification
from bestarm.racing.population import ForPopulation
from bestarm.racing.record import Record, RoundRow, ScoreRow
from bestarm.racing.replay import Outage
from bestarm.racing.settings import RaceSettings
from bestarm.racing.shape import Shape
from bestarm.racing.store import Store, StoredRace
from bestarm.racing.summary import Standing

__all__ = [
    "ArmRecord",
    "Breakdown",
    "Disqualification",
    "FailureCount",
    "ForPopulation",
    "Outage",
    "RaceSettings",
    "Record",
    "RoundRow",
    "ScoreRow",
    "Shape",
    "Standing",
    "Store",
    "StoredRace",
]
