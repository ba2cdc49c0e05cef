"""Disks that are full, read-only or fail, files that vanish or are replaced, and a disk that forgets what was not synced."""

import ctypes
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import bestarm
from attacks.judging import Fault, judge
from attacks.pool import Case
from attacks.stores import LEVEL, share
from killing import outcome

Note = Callable[[str], None]
PATIENCE = 60.0
CHUNK = 10
ARMS = list(LEVEL)
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
SECTOR = 512
SIZE = 16 << 20  # bytes of the small disk
SQLITE_ERRORS = ("disk I/O error", "database or disk is full", "unable to open database file", "attempt to write a readonly database")  # fmt: skip
connect = sqlite3.connect


def mounted(*words: str) -> bool:
    """Whether a call of ``mount`` works."""
    return subprocess.run(["mount", *words], check=False, capture_output=True).returncode == 0


class Disk:
    """A folder; where it is allowed, on a small disk of its own that only this process sees."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "disk"
        self.folder.mkdir()
        self.own = os.geteuid() == 0 and ctypes.CDLL(None).unshare(NEW_MOUNTS) == 0 and self._mount()

    def _mount(self) -> bool:
        return mounted("--make-rprivate", "/") and mounted(
            "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(self.folder)
        )

    def read_only(self, wanted: bool) -> bool:
        """Make it read-only, or writable again; whether that worked."""
        return self.own and mounted("-o", f"remount,{'ro' if wanted else 'rw'}", str(self.folder))

    def clear(self) -> None:
        """Remove everything."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def run(store: Path | None, evaluate: Callable[[Any, Any], float] = share) -> bestarm.RaceResult[Any]:
    """A small race, with long names of items so that it fills pages."""
    items = [f"{k} {'x' * 150}" for k in range(60)]
    return bestarm.race(evaluate, arms=ARMS, items=items, bounds=(0, 1), store=store, delta=1e-9, progress=False)


def number_of(item: Any) -> int:
    """Which item it is."""
    return int(str(item).split()[0])


def full(disk: Disk, luck: random.Random, note: Note, expected: Any) -> str:
    """A disk that becomes full, or files that may not grow: refused in one sentence, and with space the race goes on."""
    store, filler, room = disk.folder / "race.sqlite", disk.folder / "filler", luck.randrange(0, 400_000)
    if disk.own and luck.random() < 0.7:
        filler.write_bytes(bytes(max(0, SIZE - room)))
        came = attempted(store, expected)
        filler.unlink()
    else:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            came = attempted(store, expected)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    note(f"room for {room} bytes: {came}")
    return goes_on(store, expected, came)


def attempted(store: Path, expected: Any, evaluate: Callable[[Any, Any], float] = share) -> str:
    """A race that may be refused, in one sentence; if it ends, then as expected."""
    try:
        result = run(store, evaluate)
    except Exception as error:
        return judge(error, (bestarm.StoreError,))
    if outcome(result) != expected:
        raise Fault(f"a wrong answer: {outcome(result)}")
    return "ended"


def goes_on(store: Path, expected: Any, came: str) -> str:
    """What was stored can be shown, and goes on to the same answer without evaluating it again."""
    known = scores_in(content(store))
    if known:
        bestarm.load_result(store)
    again: list[tuple[str, Any]] = []

    def evaluate(arm: Any, item: Any) -> float:
        again.append((arm, item))
        return share(arm, item)

    if outcome(run(store, evaluate)) != expected:
        raise Fault("continued, it ended otherwise")
    if twice := {(arm, number_of(item)) for arm, item in again} & known:
        raise Fault(f"stored and evaluated again: {sorted(twice)[:3]}")
    return came


def content(store: Path) -> dict[str, bytes]:
    """The bytes of a store, by the endings of its files."""
    return {file.name.removeprefix(store.name): file.read_bytes() for file in store.parent.glob(f"{store.name}*")}


def scores_in(files: dict[str, bytes]) -> set[tuple[str, int]]:
    """What the bytes of a store hold."""
    with tempfile.TemporaryDirectory() as folder:
        for end, data in files.items():
            (Path(folder) / f"race.sqlite{end}").write_bytes(data)
        try:
            with closing(connect(Path(folder) / "race.sqlite")) as connection:
                rows = connection.execute(
                    "SELECT name, item FROM scores JOIN rounds USING (round) JOIN arms USING (arm)"
                )
                return {(name, number_of(item)) for name, item in rows}
        except sqlite3.Error:
            return set()


def read_only(disk: Disk, luck: random.Random, note: Note, expected: Any) -> str:
    """A read-only disk: a race on it is shown as it is and cannot go on."""
    store = disk.folder / "race.sqlite"
    run(store)
    if not disk.read_only(True):
        return "not possible here"
    try:
        if outcome(bestarm.load_result(store)) != expected:
            raise Fault("shown otherwise on a read-only disk")
        attempted_new = attempted(disk.folder / "new.sqlite", expected)
        note(f"a new race: {attempted_new}")
        if attempted_new == "ended":
            raise Fault("a race was stored on a read-only disk")
    finally:
        disk.read_only(False)
    return "shown"


def vanishing(disk: Disk, luck: random.Random, note: Note, expected: Any) -> str:
    """A store that is deleted, moved or replaced while its race runs: nobody may think that it is still kept."""
    store, at = disk.folder / "race.sqlite", luck.randrange(1, 40)
    how = luck.choice(("deleted", "all deleted", "moved", "replaced", "emptied"))
    note(f"{how} at evaluation {at}")
    calls = 0

    def evaluate(arm: Any, item: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == at:
            strike(store, how)
        return share(arm, item)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        came = attempted(store, expected, evaluate)
    if how == "replaced" and store.exists() and store.read_bytes() != b"mine":
        raise Fault("a file that took the place of the store was overwritten")
    warned = any(store.name in str(one.message) for one in said)
    if came == "ended" and not warned and len(scores_in(content(store))) < sum(expected["counts"]):
        raise Fault(f"the store was {how}, and nobody said so")
    return f"{how} {came}"


def strike(store: Path, how: str) -> None:
    """Do something to a store behind the back of its race."""
    if how == "emptied":
        os.truncate(store, 0)
    elif how == "moved":
        store.rename(store.parent / "elsewhere")
    elif how == "replaced":
        (store.parent / "mine").write_bytes(b"mine")
        (store.parent / "mine").replace(store)
    else:
        for file in store.parent.glob(f"{store.name}*" if how == "all deleted" else store.name):
            file.unlink()


def io_errors(disk: Disk, luck: random.Random, note: Note, expected: Any) -> str:
    """A statement that fails, now and then or from then on."""
    at, once = luck.randrange(1, 300), luck.random() < 0.5
    words = luck.choice(SQLITE_ERRORS)
    note(f"{words} at statement {at}{' once' if once else ''}")
    calls = [0]

    class Failing(sqlite3.Connection):
        def _count(self) -> None:
            calls[0] += 1
            if calls[0] == at or (calls[0] > at and not once):
                raise sqlite3.OperationalError(words)

        def execute(self, *args: Any) -> sqlite3.Cursor:
            self._count()
            return super().execute(*args)

        def executemany(self, *args: Any) -> sqlite3.Cursor:
            self._count()
            return super().executemany(*args)

    sqlite3.connect = lambda *args, **kwargs: connect(*args, **kwargs, factory=Failing)  # type: ignore[assignment]
    try:
        came = attempted(disk.folder / "race.sqlite", expected)
    finally:
        sqlite3.connect = connect
    return goes_on(disk.folder / "race.sqlite", expected, came)


def forgetful(disk: Disk, luck: random.Random, note: Note, expected: Any) -> str:
    """A power cut: what was synced stays, of what was written since then any sectors do.

    An evaluation begins after the transactions before it have returned: what the files hold then is durable. Of what
    the log gains until the next evaluation, some sectors are lost.
    """
    store, moments = disk.folder / "race.sqlite", list[dict[str, bytes]]()

    def evaluate(arm: Any, item: Any) -> float:
        moments.append({end: data for end, data in content(store).items() if end in ("", "-wal")})
        return share(arm, item)

    run(store, evaluate)
    disk.clear()
    at = luck.randrange(len(moments) - 1)
    note(f"power cut at evaluation {at}")
    files = moments[at]
    after = next((later for later in moments[at + 1 :] if later != files), files)
    durable = scores_in(files)
    if files.get("") == after.get(""):
        files = files | {"-wal": torn(files.get("-wal", b""), after.get("-wal", b""), luck)}
    for end, data in files.items():
        Path(f"{store}{end}").write_bytes(data)
    if lost := durable - scores_in(content(store)):
        raise Fault(f"durable and then lost: {sorted(lost)[:3]}")
    return goes_on(store, expected, "power cut")


def torn(before: bytes, after: bytes, luck: random.Random) -> bytes:
    """The log with all that was synced, and some sectors of what was written later."""
    if after[: len(before)] != before:
        return before
    made = bytearray(before)
    for start in range(len(before), len(after), SECTOR):
        part = after[start : start + SECTOR]
        made += part if luck.random() < 0.6 else luck.choice((bytes(len(part)), luck.randbytes(len(part))))
    return bytes(made[: luck.choice((len(made), luck.randint(len(before), len(made))))])


ATTACKS = (full, full, full, read_only, vanishing, vanishing, io_errors, io_errors, forgetful, forgetful)


def prepare(folder: Path) -> Case:
    """Cases of one fault of the disk each."""
    warnings.simplefilter("ignore")
    disk = Disk(folder)
    expected = outcome(run(None))

    def case(luck: random.Random, note: Note) -> str:
        attack = luck.choice(ATTACKS)
        note(attack.__name__)
        disk.clear()
        return f"{attack.__name__} {attack(disk, luck, note, expected)}"

    return case
