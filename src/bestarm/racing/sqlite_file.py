"""The SQLite file of a race: where it is, how it is opened, and that it holds our tables and nothing else.

The file may come from a stranger. SQL that is kept in a file (views, triggers, generated columns, checks) is code of
whoever made it, so nothing is read before its schema is the one below, to the letter. The settings of every connection
say the same to SQLite.
"""

import os
import shutil
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from bestarm.errors import StoreError
from bestarm.inputs.texts import short
from bestarm.racing.sqlite_limits import limit_work, on_disk
from bestarm.racing.store import damaged
from bestarm.shown import described, file_name, reason_of

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
        raise damaged(file, "it was cut off")


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
        raise damaged(file, f"there is no {missing[0][0]} {missing[0][1]}")


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
            raise damaged(file, text) from error
        if what == "read":
            raise StoreError(f"the race in {file} cannot be read ({text}): may you read the file?") from error
        raise unwritable(file, error) from error
    except UnicodeError as error:
        if what == "read":
            raise damaged(file, str(error)) from error
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
