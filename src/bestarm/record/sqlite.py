"""A saved race: one SQLite file that any SQL tool can read."""

import inspect
import json
import os
import shutil
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import numpy as np

from bestarm.algorithms import Elimination
from bestarm.errors import StoreError
from bestarm.record.record import Record, RecordError, RoundColumns, RoundRow, ScoreColumns, ScoreRow
from bestarm.record.store import Store, StoredRace, check_stored, damage_error
from bestarm.text import described, file_name, reason_of, short

STEPS = 100_000  # of SQLite's virtual machine between two looks
LOOKS = 200  # that any file may take; a sound one of no size at all needs none
BYTES_A_LOOK = 1_000  # of a file: each may cost a hundred steps, far more than to read it several times


def on_disk(*parts: Path) -> int:
    """The bytes of a file and its log, if there is one."""
    return sum(part.stat().st_size for part in parts if part.exists())


def limit_work(connection: sqlite3.Connection, size: int) -> None:
    """Let a connection do no more than a file of this size can need; beyond that its statements are interrupted.

    Signals of the process are handled at each look, too: without one nothing ends SQLite.
    """
    looks, most = count(1), LOOKS + size // BYTES_A_LOOK
    connection.set_progress_handler(lambda: next(looks) > most, STEPS)


ROUNDS = "SELECT round, item, asked FROM rounds ORDER BY round"
SCORES = "SELECT round, arm, score FROM scores ORDER BY round, arm"
FAILURES = "SELECT round, arm, score, failure FROM scores WHERE failure IS NOT NULL OR score IS NULL"
TOGETHER = 20_000  # rows that are fetched at a time


def read_record(connection: sqlite3.Connection, n_arms: int, ahead: int) -> Record:
    """The record in a file with so many arms; at most ``ahead`` rounds, those in flight, may be missing in it.

    RecordError if no race can have written it. What SQLite would take minutes to find in a long race (scores without
    their round or arm, scores that are no numbers) is found in the columns.
    """
    rounds, scores = RoundColumns(), ScoreColumns()
    for rows in _parts(connection, ROUNDS):
        rounds.add(rows)
    for rows in _parts(connection, SCORES):
        scores.add(rows)
    arms, asked = (np.frombuffer(column, dtype=np.intc) for column in (scores.arms, rounds.asked))
    if arms.size and (arms.min() < 0 or arms.max() >= n_arms):
        raise RecordError("there are scores without their round or arm")
    if asked.size and asked.max() > n_arms:
        raise RecordError(f"there is a round that asked for {asked.max()} arms, and there are {n_arms}")
    del arms, asked
    failures = [row for rows in _parts(connection, FAILURES) for row in rows]
    if any(not isinstance(row[3], str | None) for row in failures):
        raise RecordError("there are failures that are no text")
    return Record.of_columns(rounds, scores, failures, ahead)


def _parts(connection: sqlite3.Connection, query: str) -> Iterator[Sequence[Any]]:
    """The rows of a table, many at a time."""
    found = connection.execute(query)
    while rows := found.fetchmany(TOGETHER):
        yield rows


VERSION = 1
SMALLEST = 512  # bytes of a page, the least that a database has
APPLICATION = 0x62_41_52_4D  # "bARM", as `file` shows it
LONGEST_VALUE = 16 * 2**20  # bytes of one value, in memory some twenty times as much where it is JSON
SCHEMA = (  # files hold these words: they never change within a version
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
JOURNAL_HEADER = 28  # bytes, padded with zeros to a sector
LARGEST_SECTOR = 65536
IN_SCHEMA = {("table", statement.split()[2], statement) for statement in SCHEMA} | {
    ("index", "sqlite_autoindex_arms_1", None)  # of the UNIQUE names
}
SAFE = ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0")
NO_PLACE_FOR_INDEX = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
OF_THE_DISK = (
    *NO_PLACE_FOR_INDEX,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_NOMEM,
)


@dataclass(frozen=True)
class RaceFile:
    """The file of a race: as it was given, which is what messages call it, and where that leads to.

    SQLite keeps its log beside the file that a link leads to.
    """

    given: Path
    real: Path

    def __str__(self) -> str:
        return file_name(self.given)

    def beside(self, suffix: str) -> Path:
        """One of the files that SQLite keeps beside this one."""
        return Path(f"{self.real}{suffix}")

    def size(self, refusal: str = "the race cannot be stored in") -> int | None:
        """Its bytes, None if there is no such file yet; refused if it is no file: a pipe may be waited for for ever."""
        try:
            found = self.real.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(found.st_mode):
            what = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe, a socket or a device"
            raise StoreError(f"{refusal} {self}: it is {what}, not a file")
        return found.st_size

    def connect(self, mode: str) -> sqlite3.Connection:
        """A connection that trusts nothing in the file. The name is given as an address: `:memory:` is a file too."""
        self._check_beside()
        place = self.real.as_posix()
        address = f"file://{'' if place.startswith('/') else '/'}{quote(os.fsencode(place))}?{mode}"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        try:
            for setting in SAFE:
                connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _check_beside(self) -> None:
        """Refuse what SQLite would follow, wait for or roll back: a race has a log and its index beside it, no more.

        While a file is made there is a journal for a moment, of no pages and no names. SQLite would write the pages of
        any other back, and delete the file of a name in it.
        """
        for suffix in ("-wal", "-shm", "-journal"):
            beside = self.beside(suffix)
            try:
                found = beside.lstat()
                plain = stat.S_ISREG(found.st_mode)
                if plain and suffix == "-journal":
                    plain = found.st_size <= LARGEST_SECTOR and not any(beside.read_bytes()[JOURNAL_HEADER:])
            except OSError:  # most often there is none
                continue
            if not plain:
                raise StoreError(
                    f"{self} is not opened: beside it is {file_name(beside.name)}, which no race has written there; "
                    "move it away if it is not yours"
                )


def race_file(path: str | os.PathLike[str]) -> RaceFile:
    """The file of this name, whatever it is: it is never an address or a name that SQLite knows."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else path
    if not isinstance(name, str):
        raise TypeError(f"a race is in a file, given by its path as text or as a Path, got {described(path)}")
    if not name or "\0" in name:
        raise StoreError(f"a race is in a file, and {described(name)} is not the name of one")
    try:
        return RaceFile(Path(name), Path(os.path.realpath(name)))
    except OSError as error:  # the current folder is gone
        raise StoreError(f"{file_name(name)} cannot be opened ({reason_of(error)})") from error


@contextmanager
def reading(file: RaceFile) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing.

    Without a write-ahead log nobody else is at work, and the file can be read as it is. With one, left by a
    process that is running or was killed, an index is made while reading: beside the file, or where nothing can be
    written there, beside a copy.
    """
    if 0 < (file.size() or 0) < SMALLEST:
        raise no_race(file)
    with explaining(file, "read"), ExitStack() as stack:
        if not file.beside("-wal").exists():
            connection = stack.enter_context(_snapshot(file, "mode=ro&immutable=1"))
        else:
            try:
                connection = stack.enter_context(_snapshot(file, "mode=ro"))
            except sqlite3.OperationalError as error:
                if _code(error) not in NO_PLACE_FOR_INDEX:
                    raise
                copy = stack.enter_context(_copied(file))
                connection = stack.enter_context(_snapshot(copy, "mode=ro"))
        _check_size(connection, file)
        yield connection


@contextmanager
def _snapshot(file: RaceFile, mode: str) -> Iterator[sqlite3.Connection]:
    """The file as it is now; the index that this takes is removed again."""
    index = file.beside("-shm")
    was_there = index.exists()
    connection, log = file.connect(mode), file.beside("-wal")
    limit_work(connection, on_disk(file.real, log))
    try:
        connection.execute("BEGIN")
        connection.execute("PRAGMA schema_version")  # reads the beginning: what is no database is refused as such
        yield connection
    finally:
        connection.close()
        if not was_there and index.exists():
            index.unlink()


@contextmanager
def _copied(file: RaceFile) -> Iterator[RaceFile]:
    """A copy with its log in a folder that can be written; refused where somebody writes to the file meanwhile."""
    parts = [file.real, file.beside("-wal")]
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(TemporaryDirectory(prefix="bestarm-"))
            before = [(part.stat().st_mtime_ns, part.stat().st_size) for part in parts]
            for part in parts:
                shutil.copyfile(part, Path(folder, part.name))
            after = [(part.stat().st_mtime_ns, part.stat().st_size) for part in parts]
        except OSError as error:
            why = "neither beside it nor in the folder for temporary files an index of its log can be made"
            raise StoreError(f"the race in {file} cannot be read, because {why}: {reason_of(error)}") from error
        if before != after:
            raise in_use(file)
        yield RaceFile(file.given, Path(folder, file.real.name))


def _check_size(connection: sqlite3.Connection, file: RaceFile) -> None:
    """Refuse a file that was cut off within a page: SQLite would treat a short one as empty, and pad others.

    The file is not opened here: to close it again would give up the locks that this process may hold on it.
    """
    page = connection.execute("PRAGMA page_size").fetchone()[0]
    if (file.size() or 0) % page and not file.beside("-wal").exists():  # with a log the file may be behind
        raise damage_error(file, "it was cut off")


def is_new(connection: sqlite3.Connection) -> bool:
    """Whether the file is empty, or was left empty by a process that was killed while creating it."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return bool(tables == 0 and connection.execute("PRAGMA application_id").fetchone()[0] == 0)


def check_schema(connection: sqlite3.Connection, file: RaceFile) -> None:
    """Refuse a file that is not a race of this version, or has anything in it beside the five tables of a race."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise StoreError(f"{file} is a database, but not a race of bestarm: give another file")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise StoreError(f"the race in {file} has schema version {version}, this bestarm reads version {VERSION}")
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT ?", [len(IN_SCHEMA) + 1])
    held = Counter(rows)  # a row that is there twice is one too many
    if strange := sorted(held - Counter(IN_SCHEMA), key=str):
        kind, name, _ = strange[0]
        what = f"the {short(str(kind))} {described(name)} in it is not as a race has it"
        raise StoreError(f"{file} is not opened: {what}; only the five tables of a race may be in its file")
    if missing := sorted(IN_SCHEMA - set(held), key=str):
        raise damage_error(file, f"there is no {missing[0][0]} {missing[0][1]}")


def rescued(connection: sqlite3.Connection, file: RaceFile) -> Path | None:
    """Copy all that a connection holds to a new file beside the one that is gone; None if that cannot be done.

    Of a file that was emptied, parts may be missing: that is no copy.
    """
    names = (f"{file.real.stem}-rescued{number or ''}{file.real.suffix}" for number in range(100))
    place = next((path for name in names if not (path := file.real.with_name(name)).exists()), None)
    if place is None:
        return None
    try:
        with closing(sqlite3.connect(place)) as copy:
            connection.backup(copy)
            if copy.execute("PRAGMA quick_check").fetchone() == ("ok",):
                return place
    except sqlite3.Error:
        pass
    with suppress(OSError):
        place.unlink(missing_ok=True)
    return None


@contextmanager
def explaining(file: RaceFile, what: str = "stored") -> Iterator[None]:
    """SQLite's errors, in terms of the file that was to be stored or read."""
    try:
        yield
    except sqlite3.Error as error:
        code, text = _code(error), " ".join(str(error).split()).replace("interrupted", "there is no end to its pages")
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise in_use(file) from error
        if code == sqlite3.SQLITE_NOTADB:
            raise no_race(file) from error
        if code == sqlite3.SQLITE_CORRUPT or (what == "read" and code not in OF_THE_DISK):
            raise damage_error(file, text) from error
        if what == "read":
            raise StoreError(f"the race in {file} cannot be read ({text}): may you read the file?") from error
        raise unwritable(file, error) from error
    except UnicodeError as error:
        if what == "read":
            raise damage_error(file, str(error)) from error
        raise StoreError(f"a name cannot be stored in {file}, because it is not text in UTF-8: {error}") from error


def _code(error: sqlite3.Error) -> int:
    """The primary code of an error; 0 where it was not SQLite but Python that could not make sense of a value."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def in_use(file: RaceFile) -> StoreError:
    """The error of a file that is locked."""
    return StoreError(f"{file} is in use by another process: wait until it has ended, or give another file")


def no_race(file: RaceFile) -> StoreError:
    """The error of a file that is no database."""
    return StoreError(f"{file} is not a race of bestarm (or its beginning is damaged): the file was not changed")


def unwritable(file: RaceFile, error: Exception) -> StoreError:
    """The error of a file that takes nothing."""
    asked = "is the folder writable, and is there space left on the disk?"
    return StoreError(f"the race cannot be stored in {file} ({reason_of(error)}): {asked}")


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
        raise damage_error(file, health)


def _load(connection: sqlite3.Connection, file: RaceFile) -> StoredRace:
    with explaining(file, "read"):
        settings = _read_settings(connection, file)
        present = check_stored(file, settings)
        arms = _read_arms(connection, file)
        try:
            record = read_record(connection, len(arms), present["rounds_in_flight"])
        except (ValueError, TypeError, OverflowError) as error:  # also a RecordError
            raise damage_error(file, str(error)) from error
    return StoredRace(settings, arms, record)


def _read_settings(connection: sqlite3.Connection, file: RaceFile) -> dict[str, Any]:
    """The settings as plain values; refused before they take much memory, whatever they are."""
    texts: dict[str, str] = {}
    room = LONGEST_VALUE
    for name, value in connection.execute("SELECT name, value FROM settings"):
        if not isinstance(name, str) or not isinstance(value, str):
            raise damage_error(file, "there are settings that are not text")
        texts[name] = value
        room -= len(name) + len(value) + SMALLEST
        if room < 0:
            raise damage_error(file, "its settings are longer than those of any race")
    try:
        return {name: json.loads(text) for name, text in texts.items()}
    except (ValueError, RecursionError) as error:  # no JSON, numbers of thousands of digits, a thousand brackets
        raise damage_error(file, str(error)) from error


def _read_arms(connection: sqlite3.Connection, file: RaceFile) -> tuple[str, ...]:
    rows = connection.execute("SELECT arm, name FROM arms ORDER BY arm").fetchall()
    names = tuple(name for _, name in rows)
    if [arm for arm, _ in rows] != list(range(len(rows))) or len(rows) < 2:
        raise damage_error(file, "arms are missing")
    if not all(isinstance(name, str) and name.strip() for name in names) or len(set(names)) < len(names):
        raise damage_error(file, "there are arms without a name of their own")
    if sum(map(len, names)) > LONGEST_VALUE:
        raise damage_error(file, "the names of its arms are longer than those of any race")
    return names
