"""Races on real arms: what results hold, and what a store must do.

The calls themselves, `race`, `race_table`, `race_commands`, `Race` and `load_result`, are in `bestarm`.
"""

from bestarm.record.record import Record, RoundRow, ScoreRow
from bestarm.record.replay import Outage
from bestarm.record.settings import RaceSettings
from bestarm.record.store import Store, StoredRace
from bestarm.result.live import Standing
from bestarm.result.outcome import ArmRecord, Breakdown, Disqualification, FailureCount
from bestarm.result.population import ForPopulation
from bestarm.result.shape import Shape

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
