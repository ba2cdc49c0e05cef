"""Race files of any length, written with plain SQL: arms that nobody can tell apart, so that no race is decided."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import bestarm

UNIT = (0.0, 1.0)
BATCH = 10_000  # rounds that are written at a time
DELTA = 1e-9
ROUNDS = "INSERT INTO rounds VALUES (?, ?, ?)"
SCORES = "INSERT INTO scores VALUES (?, ?, ?, NULL)"


def options(kind: str) -> dict[str, Any]:
    """How a race is begun and continued: on a stream of items, with bounds or without."""
    return {"items": count(), "bounds": None if kind == "no bounds" else UNIT, "delta": DELTA}


def random_rounds(n_arms: int, n_rounds: int) -> Iterator[tuple[list[Any], list[Any]]]:
    """Rows of rounds and of scores, a batch at a time."""
    rng = np.random.default_rng(0)
    for first in range(1, n_rounds + 1, BATCH):
        numbers = range(first, min(first + BATCH, n_rounds + 1))
        rounds = [(number, str(number - 1), n_arms) for number in numbers]
        scores = rng.random((len(rounds), n_arms)).tolist()
        rows = ((number, row) for (number, _, _), row in zip(rounds, scores, strict=True))
        yield rounds, [(number, arm, score) for number, row in rows for arm, score in enumerate(row)]


def write_race(path: Path, n_arms: int, kind: str, n_rounds: int) -> None:
    """A file with a race of so many rounds, undecided."""
    bestarm.Race(range(n_arms), store=path, **options(kind)).close()
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA synchronous=OFF")
        for rounds, scores in random_rounds(n_arms, n_rounds):
            file.executemany(ROUNDS, rounds)
            file.executemany(SCORES, scores)
            file.commit()


def continue_race(path: Path, n_arms: int, kind: str, n_rounds: int) -> None:
    """What a race that is continued does before its first evaluation."""
    with bestarm.Race(range(n_arms), store=path, **options(kind)) as race:
        if race.finished or race.result().n_rounds != n_rounds:
            raise RuntimeError(f"a file of {n_rounds} rounds was continued otherwise: {race.result().reason}")
