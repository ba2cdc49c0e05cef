"""A saved race: one SQLite file that any SQL tool can read.

Tables: ``settings`` (name, value as JSON), ``arms`` (arm, name), ``rounds`` (round, item, how many arms were asked),
``scores`` (round, arm, score, failure) and ``eliminations`` (arm, round, by, margin, weights as JSON). The version of
this schema is ``PRAGMA user_version``. Every transaction is on disk before it returns (WAL, ``synchronous=FULL``).
"""

import inspect
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bestarm.algorithms import Elimination
from bestarm.errors import StoreError
from bestarm.racing.begun_here import named
from bestarm.racing.record import RoundRow, ScoreRow
from bestarm.racing.sqlite_file import (
    APPLICATION,
    LONGEST_VALUE,
    SCHEMA,
    SMALLEST,
    VERSION,
    RaceFile,
    check_schema,
    explaining,
    in_use,
    is_new,
    race_file,
    reading,
    rescued,
    unwritable,
)
from bestarm.racing.sqlite_limits import on_disk
from bestarm.racing.sqlite_rows import read_record
from bestarm.racing.store import Store, StoredRace, check_stored, damaged
from bestarm.shown import described, file_name, reason_of


def open_store(store: str | os.PathLike[str] | Store) -> Store:
    """The store given, or the SQLite file of this path."""
    if isinstance(store, str | os.PathLike):
        return SQLiteStore(store)
    for name in ("load", "create", "update", "save", "save_eliminations", "close"):
        if not hasattr(store, name) or inspect.isclass(store):
            raise TypeError(f"store must be the path of a file (or have a method {name}), got {described(store)}")
    return store


class SQLiteStore:
    """An open file that takes the scores of one race; no other process can open it meanwhile."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = race_file(path)
        self.path = self.file.given
        try:
            size = self.file.size()
        except OSError as error:
            raise unwritable(self.file, error) from error
        if not self.file.real.parent.is_dir():
            raise StoreError(f"the race cannot be stored in {self.file}: it is in a folder that does not exist")
        self.new = not size
        if not self.new:
            with reading(self.file) as connection:  # before anything could be written to it
                self.new = is_new(connection)
                if not self.new:
                    _check_whole(connection, self.file)
        self._connection = self._opened()
        self._inode = _inode(self.file)
        self._lost: StoreError | None = None

    def __str__(self) -> str:
        return str(self.file)

    def _opened(self) -> sqlite3.Connection:
        """A connection that keeps the file for itself until it is closed."""
        with explaining(self.file):
            connection = self.file.connect("mode=rwc")
            try:
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("BEGIN EXCLUSIVE")
                if not self.new:  # from here on nobody else can change it
                    check_schema(connection, self.file)
                elif not is_new(connection):  # somebody has just begun a race in it
                    raise in_use(self.file)
                connection.execute("COMMIT")
            except (sqlite3.Error, StoreError):
                connection.close()
                raise
            return connection

    def _check_there(self) -> None:
        """Refuse to go on where the file was deleted, moved, replaced or emptied: nobody would find what is written."""
        if self._lost is None and _inode(self.file) != self._inode:
            happened = f"{self.file} was deleted, moved, replaced or emptied while its race was running"
            copy = rescued(self._connection, self.file)
            then = (
                "what was scored so far could not be saved elsewhere"
                if copy is None
                else f"all that was stored is now in {file_name(copy)}: continue the race from there"
            )
            self._lost = StoreError(f"{happened}; {then}")
        if self._lost is not None:
            raise self._lost

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and on disk at the end."""
        connection = self._connection
        self._check_there()
        with explaining(self.file):
            connection.execute("BEGIN")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def create(self, settings: dict[str, Any], arms: Sequence[str]) -> None:
        """Write the settings and arms of a new race."""
        settings = named(settings, arms)
        with self._transaction() as connection:
            connection.execute(f"PRAGMA application_id={APPLICATION}")
            connection.execute(f"PRAGMA user_version={VERSION}")
            for statement in SCHEMA:
                connection.execute(statement)
            _write_settings(connection, settings)
            connection.executemany("INSERT INTO arms VALUES (?, ?)", enumerate(arms))
        with explaining(self.file):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the file alone says what it is
        self.new = False

    def update(self, settings: dict[str, Any]) -> None:
        """Replace the values of these settings."""
        with self._transaction() as connection:
            _write_settings(connection, settings)

    def save(self, rounds: Sequence[RoundRow], scores: Sequence[ScoreRow]) -> None:
        """Save new rounds and scores in one transaction: on disk when this returns."""
        with self._transaction() as connection:
            connection.executemany("INSERT INTO rounds VALUES (?, ?, ?)", rounds)
            connection.executemany("INSERT INTO scores VALUES (?, ?, ?, ?)", scores)

    def drop_failures(self, first: int) -> None:
        """Drop the failures without a score from a round on: an outage says nothing about the arms."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM scores WHERE round >= ? AND score IS NULL", (first,))

    def save_eliminations(self, eliminations: Iterable[Elimination[int]]) -> None:
        """Who is out so far, for those who read the file with SQL; a race that is continued recomputes them."""
        rows = [
            (int(out.arm), int(out.round), int(out.by), float(out.margin), out.weights and json.dumps(out.weights))
            for out in eliminations
        ]
        with self._transaction() as connection:
            connection.execute("DELETE FROM eliminations")
            connection.executemany("INSERT INTO eliminations VALUES (?, ?, ?, ?, ?)", rows)

    def load(self) -> StoredRace | None:
        """All that is in the file."""
        return None if self.new else _load(self._connection, self.file)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _write_settings(connection: sqlite3.Connection, settings: dict[str, Any]) -> None:
    rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in settings.items()]
    connection.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)


def read_store(path: str | os.PathLike[str]) -> StoredRace:
    """The race in a file, which is not changed."""
    file = race_file(path)
    try:
        size = file.size("there is no race in")
    except OSError as error:
        raise StoreError(f"there is no race in {file}: {reason_of(error)}") from error
    if not size:
        what = "does not exist; check its name and its folder" if size is None else "is empty"
        raise StoreError(f"there is no race in {file}: the file {what}")
    with reading(file) as connection:
        if is_new(connection):
            raise StoreError(f"there is no race in {file}: the file is empty")
        _check_whole(connection, file)
        return _load(connection, file)


def _inode(file: RaceFile) -> tuple[int, int] | None:
    """Which file it is, whatever its name; None if there is none, or nothing in it."""
    try:
        found = file.real.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size > 0 else None


def _check_whole(connection: sqlite3.Connection, file: RaceFile) -> None:
    """Refuse a file that is not a race of this version of the schema, or is damaged."""
    check_schema(connection, file)
    health = " ".join(connection.execute("PRAGMA quick_check(1)").fetchone()[0].split())
    if health == "ok" and connection.execute("PRAGMA foreign_key_check(eliminations)").fetchone() is not None:
        health = "there are eliminations without their arm"
    if health != "ok":
        raise damaged(file, health)


def _load(connection: sqlite3.Connection, file: RaceFile) -> StoredRace:
    with explaining(file, "read"):
        settings = _read_settings(connection, file)
        present = check_stored(file, settings)
        arms = _read_arms(connection, file)
        try:
            size = on_disk(file.real, file.beside("-wal"))
            record = read_record(connection, len(arms), present["rounds_in_flight"], size)
        except (ValueError, TypeError, OverflowError) as error:  # also a RecordError
            raise damaged(file, str(error)) from error
    return StoredRace(settings, arms, record)


def _read_settings(connection: sqlite3.Connection, file: RaceFile) -> dict[str, Any]:
    """The settings as plain values; refused before they take much memory, whatever they are."""
    texts: dict[str, str] = {}
    room = LONGEST_VALUE
    for name, value in connection.execute("SELECT name, value FROM settings"):
        if not isinstance(name, str) or not isinstance(value, str):
            raise damaged(file, "there are settings that are not text")
        texts[name] = value
        room -= len(name) + len(value) + SMALLEST
        if room < 0:
            raise damaged(file, "its settings are longer than those of any race")
    try:
        return {name: json.loads(text) for name, text in texts.items()}
    except (ValueError, RecursionError) as error:  # no JSON, numbers of thousands of digits, a thousand brackets
        raise damaged(file, str(error)) from error


def _read_arms(connection: sqlite3.Connection, file: RaceFile) -> tuple[str, ...]:
    rows = connection.execute("SELECT arm, name FROM arms ORDER BY arm").fetchall()
    names = tuple(name for _, name in rows)
    if [arm for arm, _ in rows] != list(range(len(rows))) or len(rows) < 2:
        raise damaged(file, "arms are missing")
    if not all(isinstance(name, str) and name.strip() for name in names) or len(set(names)) < len(names):
        raise damaged(file, "there are arms without a name of their own")
    if sum(map(len, names)) > LONGEST_VALUE:
        raise damaged(file, "the names of its arms are longer than those of any race")
    return names
