"""A saved race: one SQLite file that any SQL tool can read.

Tables: ``settings`` (name, value as JSON), ``arms`` (arm, name), ``rounds`` (round, item, how many arms were asked),
``scores`` (round, arm, score, failure) and ``eliminations`` (arm, round, by, margin, weights as JSON). The version of
this schema is ``PRAGMA user_version``. Every transaction is on disk before it returns (WAL, ``synchronous=FULL``).
"""

import inspect
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bestarm.algorithms import Elimination
from bestarm.checks import check_count
from bestarm.errors import StoreError
from bestarm.racing.record import RoundRow, ScoreRow
from bestarm.racing.sqlite_rows import read_record
from bestarm.racing.store import Store, StoredRace, check_stored, damaged

VERSION = 1
SMALLEST = 512  # bytes of a page, the least that a database has
APPLICATION = 0x62_41_52_4D  # "bARM", as `file` shows it

SCHEMA = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE arms (arm INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE rounds (round INTEGER PRIMARY KEY, item TEXT NOT NULL, asked INTEGER NOT NULL)",
    """CREATE TABLE scores (
        round INTEGER NOT NULL REFERENCES rounds,
        arm INTEGER NOT NULL REFERENCES arms,
        score REAL, -- NULL where the evaluation failed and its arm was disqualified
        failure TEXT,
        PRIMARY KEY (round, arm)
    ) WITHOUT ROWID""",
    """CREATE TABLE eliminations (
        arm INTEGER PRIMARY KEY REFERENCES arms,
        round INTEGER NOT NULL,
        by INTEGER NOT NULL,
        margin REAL,
        weights TEXT -- of a combination of arms, as JSON
    )""",
)
TABLES = {"settings", "arms", "rounds", "scores", "eliminations"}


def open_store(store: str | Path | Store) -> Store:
    """The store given, or the SQLite file of this path."""
    if isinstance(store, str | Path):
        return SQLiteStore(store)
    for name in ("load", "create", "update", "save", "save_eliminations", "close"):
        if not hasattr(store, name) or inspect.isclass(store):
            raise TypeError(f"store must be the path of a file (or have a method {name}), got {store!r}")
    return store


class SQLiteStore:
    """An open file that takes the scores of one race; no other process can open it meanwhile."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            if self.path.is_dir() or not self.path.parent.is_dir():
                what = "is a folder" if self.path.is_dir() else "is in a folder that does not exist"
                raise StoreError(f"the race cannot be stored in {self.path}: it {what}")
            self.new = not (self.path.exists() and self.path.stat().st_size > 0)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        if not self.new:
            with _reading(self.path) as connection:  # before anything could be written to it
                self.new = _is_new(connection)
                if not self.new:
                    _check_whole(connection, self.path)
        self._connection = self._opened()

    def __str__(self) -> str:
        return str(self.path)

    def _opened(self) -> sqlite3.Connection:
        """A connection that keeps the file for itself until it is closed."""
        with _explaining(self.path):
            connection = sqlite3.connect(self.path.absolute(), isolation_level=None, timeout=0)
            try:
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("COMMIT")
            except sqlite3.Error:
                connection.close()
                raise
            return connection

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and on disk at the end."""
        connection = self._connection
        with _explaining(self.path):
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
        with self._transaction() as connection:
            connection.execute(f"PRAGMA application_id={APPLICATION}")
            connection.execute(f"PRAGMA user_version={VERSION}")
            for statement in SCHEMA:
                connection.execute(statement)
            _write_settings(connection, settings)
            connection.executemany("INSERT INTO arms VALUES (?, ?)", enumerate(arms))
        with _explaining(self.path):
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
        return None if self.new else _load(self._connection, self.path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _write_settings(connection: sqlite3.Connection, settings: dict[str, Any]) -> None:
    rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in settings.items()]
    connection.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)


def read_store(path: str | Path) -> StoredRace:
    """The race in a file, which is not changed."""
    path = Path(path)
    try:
        there = path.is_file()
    except OSError:
        there = False
    if not there:
        raise StoreError(f"there is no race in {path}: the file does not exist")
    with _reading(path) as connection:
        if _is_new(connection):
            raise StoreError(f"there is no race in {path}: the file is empty")
        _check_whole(connection, path)
        return _load(connection, path)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing.

    Without a write-ahead log nobody else is at work, and the file can be read as it is. With one, left by a
    process that is running or was killed, an index is made while reading.
    """
    if 0 < path.stat().st_size < SMALLEST:
        raise _no_race(path)
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    mode = "mode=ro" if log.exists() else "immutable=1"
    index_was_there = index.exists()
    with _explaining(path):
        connection = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, timeout=0)
        try:
            _check_size(connection, path)
            yield connection
        finally:
            connection.close()
            if not index_was_there:
                index.unlink(missing_ok=True)


def _check_size(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that was cut off within a page: SQLite would treat a short one as empty, and pad others.

    The file is not opened here: to close it again would give up the locks that this process may hold on it.
    """
    connection.execute("PRAGMA schema_version")  # reads the beginning: what is no database is refused as such
    page = connection.execute("PRAGMA page_size").fetchone()[0]
    if path.stat().st_size % page and not Path(f"{path}-wal").exists():  # with a log the file may be behind
        raise damaged(path, "it was cut off")


def _is_new(connection: sqlite3.Connection) -> bool:
    """Whether the file is empty, or was left empty by a process that was killed while creating it."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return bool(tables == 0 and connection.execute("PRAGMA application_id").fetchone()[0] == 0)


def _check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a race of this version of the schema, or is damaged."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise StoreError(f"{path} is a database, but not a race of bestarm: give another file")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise StoreError(f"the race in {path} has schema version {version}, this bestarm reads version {VERSION}")
    health = " ".join(connection.execute("PRAGMA quick_check(1)").fetchone()[0].split())
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if health == "ok" and not tables >= TABLES:
        health = f"there is no table {min(TABLES - tables)}"
    elif health == "ok" and connection.execute("PRAGMA foreign_key_check(eliminations)").fetchone() is not None:
        health = "there are eliminations without their arm"
    if health != "ok":
        raise damaged(path, health)


def _load(connection: sqlite3.Connection, path: Path) -> StoredRace:
    select = connection.execute
    with _explaining(path):
        try:
            settings = {name: json.loads(value) for name, value in select("SELECT name, value FROM settings")}
        except json.JSONDecodeError as error:
            raise damaged(path, str(error)) from error
        present = check_stored(path, settings)
        arms = select("SELECT arm, name FROM arms ORDER BY arm").fetchall()
        if [arm for arm, _ in arms] != list(range(len(arms))) or len(arms) < 2:
            raise damaged(path, "arms are missing")
        try:
            ahead = check_count("rounds_in_flight", present["rounds_in_flight"])
            record = read_record(connection, len(arms), ahead)
        except ValueError as error:  # also a RecordError
            raise damaged(path, str(error)) from error
    return StoredRace(settings, tuple(name for _, name in arms), record)


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """SQLite's errors, in terms of the file."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            why = f"{path} is in use by another process: wait until it has ended, or give another file"
            raise StoreError(why) from error
        if "not a database" in text:
            raise _no_race(path) from error
        if "malformed" in text or "corrupt" in text:
            raise damaged(path, text) from error
        raise _unwritable(path, error) from error


def _no_race(path: Path) -> StoreError:
    return StoreError(f"{path} is not a race of bestarm (or its beginning is damaged): the file was not changed")


def _unwritable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"the race cannot be stored in {path} ({error}): is the folder writable, and is there space left on the disk?"
    )
