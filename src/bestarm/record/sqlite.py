"""A race in one SQLite file that any SQL tool can read. The file may come from anybody: open, check, read, write."""

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

from bestarm.algorithms import Elimination
from bestarm.errors import StoreError
from bestarm.record.record import Record, RoundRow, ScoreRow
from bestarm.record.store import Store, StoredRace, check_stored, damage_error
from bestarm.text import file_name, reason_of, short, short_repr

VERSION = 1
APPLICATION = 0x62_41_52_4D  # "bARM", as `file` shows it
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
IN_SCHEMA = {("table", statement.split()[2], statement) for statement in SCHEMA} | {
    ("index", "sqlite_autoindex_arms_1", None)  # of the UNIQUE names
}
SAFE = ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0")
LONGEST_VALUE = 16 * 2**20  # bytes of one value; decoded JSON can take some twenty times as much memory
JOURNAL_HEADER = 28  # bytes, padded with zeros to a sector
LARGEST_SECTOR = 65536
STEPS = 100_000  # of SQLite's virtual machine, after which its work is checked (a "look")
LOOKS = 200  # that any file may take, whatever its size; an undamaged small file takes none
BYTES_A_LOOK = 1_000  # one more look is allowed for so many bytes: 100 steps a byte, far more than reading takes
NOT_WRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
OF_THE_DISK = (*NOT_WRITABLE, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM)


# --- open -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StorePath:
    """The path of a store: as it was given, which is what messages call it, and where that leads to.

    SQLite keeps its log beside the file that a link leads to.
    """

    given: Path
    real: Path

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "StorePath":
        """The file of this name, whatever it is: it is never an address or a name that SQLite knows."""
        name = os.fspath(path) if isinstance(path, str | os.PathLike) else path
        if not isinstance(name, str):
            raise TypeError(f"a race is in a file, given by its path as text or as a Path, got {short_repr(path)}")
        if not name or "\0" in name:
            raise StoreError(f"a race is in a file, and {short_repr(name)} is not the name of one")
        try:
            return cls(Path(name), Path(os.path.realpath(name)))
        except OSError as error:  # the current folder is gone
            raise StoreError(f"{file_name(name)} cannot be opened ({reason_of(error)})") from error

    def __str__(self) -> str:
        return file_name(self.given)

    def beside(self, suffix: str) -> Path:
        """One of the files that SQLite keeps beside this one."""
        return Path(f"{self.real}{suffix}")

    @property
    def log(self) -> Path:
        """The write-ahead log of SQLite."""
        return self.beside("-wal")

    def size(self, refusal: str = "there is no race in") -> int:
        """Its bytes, 0 if there is no such file; refused if it is no file: a pipe may be waited for for ever.

        Only the system is asked: to open the file and close it would give up the locks that this process may hold.
        """
        try:
            found = self.real.stat()
        except (FileNotFoundError, NotADirectoryError):
            return 0
        except OSError as error:
            raise StoreError(f"{refusal} {self} ({reason_of(error)}): check its name and its folder") from error
        if not stat.S_ISREG(found.st_mode):
            what = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe, a socket or a device"
            raise StoreError(f"{refusal} {self}: it is {what}, not a file")
        return found.st_size

    def identity(self) -> tuple[int, int] | None:
        """Which file it is, whatever its name; None if there is none, or nothing in it."""
        try:
            found = self.real.stat()
        except OSError:
            return None
        return (found.st_dev, found.st_ino) if found.st_size > 0 else None

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


@contextmanager
def open_read_only(path: StorePath) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing.

    Without a write-ahead log nobody else is at work, and the file can be read as it is. With one, left by a
    process that is running or was killed, an index is made while reading: beside the file, or where nothing can be
    written there, beside a copy.
    """
    with translate_errors(path, reading=True), ExitStack() as stack:
        if not path.log.exists():
            connection = stack.enter_context(_snapshot(path, "mode=ro&immutable=1"))
        else:
            try:
                connection = stack.enter_context(_snapshot(path, "mode=ro"))
            except sqlite3.OperationalError as error:
                if _code(error) not in NOT_WRITABLE:
                    raise
                connection = stack.enter_context(_snapshot(stack.enter_context(_copy(path)), "mode=ro"))
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        if path.size() % page and not path.log.exists():  # with a log the file may be behind
            raise damage_error(path, "it was cut off")  # SQLite would treat a short file as empty, and pad others
        yield connection


@contextmanager
def _snapshot(path: StorePath, mode: str) -> Iterator[sqlite3.Connection]:
    """The file as it is now; the index that this takes is removed again."""
    index = path.beside("-shm")
    was_there = index.exists()
    connection = path.connect(mode)
    limit_work(connection, sum(part.stat().st_size for part in (path.real, path.log) if part.exists()))
    try:
        connection.execute("BEGIN")
        connection.execute("PRAGMA schema_version")  # reads the beginning: what is no database is refused as such
        yield connection
    finally:
        connection.close()
        if not was_there and index.exists():
            index.unlink()


def limit_work(connection: sqlite3.Connection, size: int) -> None:
    """Let a connection do no more than a file of this size can need; beyond that its statements are interrupted.

    Signals of the process are handled at each look, too: without one nothing ends SQLite.
    """
    looks, most = count(1), LOOKS + size // BYTES_A_LOOK
    connection.set_progress_handler(lambda: next(looks) > most, STEPS)


@contextmanager
def _copy(path: StorePath) -> Iterator[StorePath]:
    """A copy with its log in a folder that can be written; refused where somebody writes to the file meanwhile."""
    parts = [path.real, path.log]
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(TemporaryDirectory(prefix="bestarm-"))
            before = [(part.stat().st_mtime_ns, part.stat().st_size) for part in parts]
            for part in parts:
                shutil.copyfile(part, Path(folder, part.name))
            after = [(part.stat().st_mtime_ns, part.stat().st_size) for part in parts]
        except OSError as error:
            why = "neither beside it nor in the folder for temporary files an index of its log can be made"
            raise StoreError(f"the race in {path} cannot be read, because {why}: {reason_of(error)}") from error
        if before != after:
            raise _in_use_error(path)
        yield StorePath(path.given, Path(folder, path.real.name))


# --- errors -----------------------------------------------------------------------------------------------------------


@contextmanager
def translate_errors(path: StorePath, reading: bool = False) -> Iterator[None]:
    """Raise StoreError for an error of SQLite, in terms of the file that was to be read or written."""
    try:
        yield
    except sqlite3.Error as error:
        code, text = _code(error), str(error).replace("interrupted", "there is no end to its pages")
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise _in_use_error(path) from error
        if code == sqlite3.SQLITE_NOTADB:
            text = f"{path} is not a race of bestarm (or its beginning is damaged): the file was not changed"
            raise StoreError(text) from error
        if code == sqlite3.SQLITE_CORRUPT or (reading and code not in OF_THE_DISK):
            raise damage_error(path, text) from error
        if reading:
            raise StoreError(f"the race in {path} cannot be read ({text}): may you read the file?") from error
        asked = "is the folder writable, and is there space left on the disk?"
        raise StoreError(f"the race cannot be stored in {path} ({text}): {asked}") from error
    except UnicodeError as error:
        if reading:
            raise damage_error(path, str(error)) from error
        raise StoreError(f"a name cannot be stored in {path}, because it is not text in UTF-8: {error}") from error


def _code(error: sqlite3.Error) -> int:
    """The primary code of an error; 0 where it was not SQLite but Python that could not make sense of a value."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _in_use_error(path: StorePath) -> StoreError:
    return StoreError(f"{path} is in use by another process: wait until it has ended, or give another file")


# --- check ------------------------------------------------------------------------------------------------------------


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether the file is empty, or was left empty by a process that was killed while creating it."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return bool(tables == 0 and connection.execute("PRAGMA application_id").fetchone()[0] == 0)


def check_schema(connection: sqlite3.Connection, path: StorePath) -> None:
    """Refuse a file that is not a race of this version, or has anything in it beside the five tables of a race."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise StoreError(f"{path} is a database, but not a race of bestarm: give another file")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise StoreError(f"the race in {path} has schema version {version}, this bestarm reads version {VERSION}")
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master LIMIT ?", [len(IN_SCHEMA) + 1])
    held = Counter(rows)  # a row that is there twice is one too many
    if strange := sorted(held - Counter(IN_SCHEMA), key=str):
        kind, name, _ = strange[0]
        what = f"the {short(str(kind))} {short_repr(name)} in it is not as a race has it"
        raise StoreError(f"{path} is not opened: {what}; only the five tables of a race may be in its file")
    if missing := sorted(IN_SCHEMA - set(held), key=str):
        raise damage_error(path, f"there is no {missing[0][0]} {missing[0][1]}")


def holds_race(connection: sqlite3.Connection, path: StorePath) -> bool:
    """Whether there is a race in a file, not an empty one; refused if it holds something else, or is damaged."""
    if is_empty(connection):
        return False
    check_schema(connection, path)
    health = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if health != "ok":
        raise damage_error(path, health)
    return True


# --- read -------------------------------------------------------------------------------------------------------------


def read_store(path: str | os.PathLike[str]) -> StoredRace:
    """The race in a file, which is not changed."""
    store = StorePath.of(path)
    if store.size() == 0:
        what = "is empty" if store.real.exists() else "does not exist; check its name and its folder"
        raise StoreError(f"there is no race in {store}: the file {what}")
    with open_read_only(store) as connection:
        if not holds_race(connection, store):
            raise StoreError(f"there is no race in {store}: the file is empty")
        return _read_race(connection, store)


def _read_race(connection: sqlite3.Connection, path: StorePath) -> StoredRace:
    with translate_errors(path, reading=True):
        settings = _read_settings(connection, path)
        present = check_stored(path, settings)
        arms = _read_arms(connection, path)
        rounds = connection.execute("SELECT round, item, asked FROM rounds ORDER BY round")
        scores = connection.execute("SELECT round, arm, score, failure FROM scores ORDER BY round, arm")
        try:
            record = Record.of_rows(rounds, scores, present["rounds_in_flight"], len(arms))
        except (ValueError, TypeError, OverflowError) as error:  # also a RecordError
            raise damage_error(path, str(error)) from error
    return StoredRace(settings, arms, record)


def _read_settings(connection: sqlite3.Connection, path: StorePath) -> dict[str, Any]:
    """The settings as plain values; refused before they take much memory, whatever they are."""
    settings: dict[str, Any] = {}
    room = LONGEST_VALUE
    for name, value in connection.execute("SELECT name, value FROM settings"):
        if not isinstance(name, str) or not isinstance(value, str):
            raise damage_error(path, "there are settings that are not text")
        room -= len(name) + len(value) + 512  # also many short ones take room
        if room < 0:
            raise damage_error(path, "its settings are longer than those of any race")
        try:
            settings[name] = json.loads(value)
        except (ValueError, RecursionError) as error:  # also numbers of thousands of digits, a thousand brackets
            raise damage_error(path, f"the setting {short(name)} is not valid JSON: {error}") from error
    return settings


def _read_arms(connection: sqlite3.Connection, path: StorePath) -> tuple[str, ...]:
    rows = connection.execute("SELECT arm, name FROM arms ORDER BY arm").fetchall()
    names = tuple(name for _, name in rows)
    if [arm for arm, _ in rows] != list(range(len(rows))) or len(rows) < 2:
        raise damage_error(path, "arms are missing")
    if not all(isinstance(name, str) and name.strip() for name in names) or len(set(names)) < len(names):
        raise damage_error(path, "there are arms without a name of their own")
    if sum(map(len, names)) > LONGEST_VALUE:
        raise damage_error(path, "the names of its arms are longer than those of any race")
    return names


# --- write ------------------------------------------------------------------------------------------------------------


def open_store(store: str | os.PathLike[str] | Store) -> Store:
    """The store given, or the SQLite file of this path."""
    if isinstance(store, str | os.PathLike):
        return SQLiteStore(store)
    methods = ("load", "create", "update", "save", "save_eliminations", "close")
    missing = [name for name in methods if not hasattr(store, name)]
    if inspect.isclass(store):
        raise TypeError(f"store must be an object, got the class {short_repr(store)}: call it to make one")
    if len(missing) == len(methods):
        raise TypeError(f"store must be the path of a file, or an object that keeps races, got {short_repr(store)}")
    if missing:
        wanted = "store must have the methods of bestarm.racing.Store"
        raise TypeError(f"{wanted}, but {short_repr(store)} has no {missing[0]}")
    return store


class SQLiteStore:
    """An open file that takes the scores of one race; no other process can open it meanwhile."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = StorePath.of(path)
        size = self.path.size("the race cannot be stored in")
        if not self.path.real.parent.is_dir():
            raise StoreError(f"the race cannot be stored in {self.path}: it is in a folder that does not exist")
        self._new = size == 0
        if not self._new:
            with open_read_only(self.path) as connection:  # before anything could be written to it
                self._new = not holds_race(connection, self.path)
        self._connection = self._open_alone()
        self._identity = self.path.identity()
        self._lost: StoreError | None = None

    def __str__(self) -> str:
        return str(self.path)

    def _open_alone(self) -> sqlite3.Connection:
        """A connection that keeps the file for itself until it is closed."""
        with translate_errors(self.path):
            connection = self.path.connect("mode=rwc")
            try:
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("BEGIN EXCLUSIVE")
                if not self._new:  # from here on nobody else can change it
                    check_schema(connection, self.path)
                elif not is_empty(connection):  # somebody has just begun a race in it
                    raise _in_use_error(self.path)
                connection.execute("COMMIT")
            except (sqlite3.Error, StoreError):
                connection.close()
                raise
            return connection

    def load(self) -> StoredRace | None:
        """All that is in the file."""
        return None if self._new else _read_race(self._connection, self.path)

    def create(self, settings: dict[str, Any], arms: Sequence[str]) -> None:
        """Write the settings and arms of a new race."""
        with self._transaction() as connection:
            connection.execute(f"PRAGMA application_id={APPLICATION}")
            connection.execute(f"PRAGMA user_version={VERSION}")
            for statement in SCHEMA:
                connection.execute(statement)
            _write_settings(connection, settings)
            connection.executemany("INSERT INTO arms VALUES (?, ?)", enumerate(arms))
        with translate_errors(self.path):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the file alone says what it is
        self._new = False

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

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and on disk at the end."""
        connection = self._connection
        if self._lost is not None or self.path.identity() != self._identity:
            raise self._note_loss()
        with translate_errors(self.path):
            connection.execute("BEGIN")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _note_loss(self) -> StoreError:
        """What to raise where the file was deleted, moved, replaced or emptied: nobody would find what is written."""
        if self._lost is None:
            happened = f"{self.path} was deleted, moved, replaced or emptied while its race was running"
            copy = self._rescue()
            then = (
                "what was scored so far could not be saved elsewhere"
                if copy is None
                else f"all that was stored is now in {file_name(copy)}: continue the race from there"
            )
            self._lost = StoreError(f"{happened}; {then}")
        return self._lost

    def _rescue(self) -> Path | None:
        """Copy all that the connection holds to a new file beside the one that is gone; None if that cannot be done.

        Of a file that was emptied, parts may be missing: that is no copy.
        """
        real = self.path.real
        names = (f"{real.stem}-rescued{number or ''}{real.suffix}" for number in range(100))
        place = next((path for name in names if not (path := real.with_name(name)).exists()), None)
        if place is None:
            return None
        try:
            with closing(sqlite3.connect(place)) as copy:
                self._connection.backup(copy)
                if copy.execute("PRAGMA quick_check").fetchone() == ("ok",):
                    return place
        except sqlite3.Error:
            pass
        with suppress(OSError):
            place.unlink(missing_ok=True)
        return None


def _write_settings(connection: sqlite3.Connection, settings: dict[str, Any]) -> None:
    rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in settings.items()]
    connection.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", rows)
