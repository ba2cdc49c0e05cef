"""What tests of saved races share: scores that depend on the arm and the item alone, and what must stay the same."""

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import bestarm

Evaluated = tuple[str, int]  # an arm and an item

ARMS = {"bad": -0.35, "fair": -0.2, "good": -0.11, "best": 0.0}


def score(arm: str, item: int, noise: float = 0.2) -> float:
    """A function of the arm and the item alone: some luck with the item that all arms share, and some of its own."""
    shared = float(np.random.default_rng(item).normal())
    return ARMS[arm] + shared + noise * float(np.random.default_rng([item, len(arm), ord(arm[0])]).normal())


def quick(arm: str, item: int) -> float:
    """A score with little luck of its own, so that few rounds decide."""
    return score(arm, item, 0.1)


def share(arm: str, item: int) -> float:
    """A score squeezed into 0 to 1."""
    return float(1.0 / (1.0 + np.exp(-2.0 * score(arm, item))))


def outcome(result: bestarm.RaceResult[Any]) -> dict[str, Any]:
    """What a race that was killed must have in common with one that was not, as it comes back from JSON."""
    plain = {
        "best": result.best,
        "candidates": result.candidates,
        "reason": result.reason,
        "eliminations": [(out.arm, out.round, out.by, out.margin) for out in result.eliminations],
        "disqualified": [(out.arm, out.round, out.failure, out.had_eliminated) for out in result.disqualified],
        "n_queries": result.n_evaluations,
        "n_rounds": result.n_rounds,
        "means": result.means.tolist(),
        "counts": result.counts.tolist(),
    }
    found: dict[str, Any] = json.loads(json.dumps(plain))
    return found


def stored_scores(store: Path) -> set[Evaluated]:
    """What a file holds, read from a copy: the killed race is to be continued from what it left, not from a repair."""
    with tempfile.TemporaryDirectory() as scratch:
        for file in store.parent.glob(f"{store.name}*"):
            shutil.copy(file, scratch)
        copy = Path(scratch) / store.name
        if not copy.exists():
            return set()
        with closing(sqlite3.connect(copy)) as connection:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                return set()
            rows = connection.execute("SELECT name, item FROM scores JOIN rounds USING (round) JOIN arms USING (arm)")
            return {(name, int(item)) for name, item in rows}
