"""The rounds and scores in an SQLite file, read into columns part by part: memory is taken for what was read alone."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bestarm.racing.record import Record
from bestarm.racing.rows import RecordError, RoundColumns, ScoreColumns
from bestarm.racing.sqlite_pages import SMALLEST_ROW, columns_of

ROUNDS = "SELECT round, item, asked FROM rounds ORDER BY round"
SCORES = "SELECT round, arm, score FROM scores ORDER BY round, arm"
FAILURES = "SELECT round, arm, score, failure FROM scores WHERE failure IS NOT NULL OR score IS NULL"
TOGETHER = 20_000  # rows that are fetched at a time


def read_record(connection: sqlite3.Connection, n_arms: int, ahead: int, on_disk: int) -> Record:
    """The record in a file with so many arms; at most ``ahead`` rounds, those in flight, may be missing in it.

    The file and its log have so many bytes ``on_disk``: one that says to have more is not believed.

    RecordError if no race can have written it. What SQLite would take minutes to find in a long race (scores without
    their round or arm, scores that are no numbers) is found in the columns.
    """
    rounds, scores, failures = columns_of(connection, on_disk) or _columns_by_rows(connection)
    arms, asked = (np.frombuffer(column, dtype=np.intc) for column in (scores.arms, rounds.asked))
    if arms.size and (arms.min() < 0 or arms.max() >= n_arms):
        raise RecordError("there are scores without their round or arm")
    if asked.size and asked.max() > n_arms:
        raise RecordError(f"there is a round that asked for {asked.max()} arms, and there are {n_arms}")
    del arms, asked
    failed = [row for rows in _parts(connection, FAILURES) for row in rows] if failures else []
    if any(not isinstance(row[3], str | None) for row in failed):
        raise RecordError("there are failures that are no text")
    return Record.of_columns(rounds, scores, failed, ahead)


def _columns_by_rows(connection: sqlite3.Connection) -> tuple[RoundColumns, ScoreColumns, bool]:
    """The rounds and scores as SQLite gives them, and that there may be failures."""
    rounds, scores = RoundColumns(), ScoreColumns()
    for rows in _parts(connection, ROUNDS):
        rounds.add(rows)
    for rows in _parts(connection, SCORES):
        scores.add(rows)
    return rounds, scores, True


def _parts(connection: sqlite3.Connection, query: str) -> Iterator[Sequence[Any]]:
    """The rows of a table, many at a time; refused if they are more than the file has room for."""
    pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    left, found = pages * size // SMALLEST_ROW, connection.execute(query)
    while rows := found.fetchmany(TOGETHER):
        left -= len(rows)
        if left < 0:
            raise RecordError("it says to hold more rows than it has room for")
        yield rows
