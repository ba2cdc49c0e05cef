"""A race in a process of its own: started, struck, looked at, started again."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import bestarm
from attacks import victim
from attacks.judging import Fault
from killing import outcome

MARK = "VICTIM_MARK"  # in the environment of everything that a race starts
HERE = Path(victim.__file__).resolve().parent
# Evaluations in a row of races that do not have about a hundred.
EVALUATIONS = {"sequential": 40, "stream": 40, "jointly": 40, "disqualify": 59, "lucb": 172, "groups": 294, "threads": 13, "awaited": 12, "workers": 60}  # fmt: skip
COMPILED = 10.0  # seconds: a race that takes longer has compiled its kernels
CONNECTED = 300.0  # seconds after which a race that should end is given up; its kernels may have to be compiled


@dataclass
class Victim:
    """One race, which may be started many times."""

    name: str
    folder: Path
    seconds: float = 0.0  # of an evaluation; 0 means those that make the race last about a second
    mark: str = field(default_factory=lambda: f"{os.getpid()}-{time.monotonic_ns()}")

    @property
    def store(self) -> Path:
        """Where it is kept."""
        return self.folder / "race.sqlite"

    def start(self) -> "subprocess.Popen[bytes]":
        """Start or continue it, in a session of its own."""
        self.folder.mkdir(exist_ok=True, parents=True)
        seconds = self.seconds or 1.0 / EVALUATIONS.get(self.name, 100)
        own = {"VICTIM_LOG": str(self.folder / "log.txt"), "VICTIM_SECONDS": f"{seconds:.4f}", MARK: self.mark}
        state = {"HOME": str(self.folder), "COLUMNS": "120"}
        paths = os.pathsep.join([str(Path(bestarm.__file__).parent.parent), str(HERE)])
        with (self.folder / "output.txt").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, str(HERE / "victim.py"), self.name, str(self.store)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=HERE,
                env=os.environ | own | state | {"PYTHONPATH": paths},
                start_new_session=True,
            )

    def finish(self) -> dict[str, Any]:
        """Let it run to its end: what it found."""
        process = self.start()
        try:
            code = process.wait(CONNECTED)
        except subprocess.TimeoutExpired:
            self.sweep(0.0)
            raise Fault(f"{self.name}: a race that was continued does not end") from None
        if code != 0:
            raise Fault(f"{self.name}: a race that was continued ends with exit code {code}: {self.said()}")
        return outcome(bestarm.load_result(self.store))

    def said(self) -> str:
        """The end of what it printed."""
        return (self.folder / "output.txt").read_text(errors="replace")[-400:]

    def log(self) -> list[tuple[str, str, str]]:
        """All complete lines: what happened, and of which arm and item."""
        path = self.folder / "log.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(word, first, second) for word, first, second in (line.split() for line in lines)]

    def counted(self, word: str) -> int:
        """How many lines of a kind there are."""
        return sum(line[0] == word for line in self.log())

    def rows(self) -> dict[tuple[int, int], tuple[float | None, str | None]]:
        """What is stored, read from a copy: the race goes on from what was left, not from a repair."""
        with tempfile.TemporaryDirectory() as scratch:
            for file in self.folder.glob("race.sqlite*"):
                shutil.copy(file, scratch)
            copy = Path(scratch) / "race.sqlite"
            if not copy.exists():
                return {}
            with closing(sqlite3.connect(copy)) as connection:
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                    return {}
                rows = connection.execute("SELECT round, arm, score, failure FROM scores").fetchall()
        return {(number, arm): (score, failure) for number, arm, score, failure in rows}

    def alive(self) -> list[int]:
        """The processes that belong to it."""
        found, wanted = [], f"{MARK}={self.mark}".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or is not ours
                is_zombie = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
                if not is_zombie and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
        return found

    def sweep(self, grace: float) -> int:
        """Wait until nothing of it runs; how many processes were left, which are ended here."""
        until = time.monotonic() + grace
        while (left := self.alive()) and time.monotonic() < until:
            time.sleep(0.02)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while self.alive():
            time.sleep(0.01)
        return len(left)


@cache
def uninterrupted(name: str) -> tuple[dict[str, Any], float]:
    """What a race finds when nothing happens to it, and how long it takes."""
    with tempfile.TemporaryDirectory() as folder:
        for attempt in ("compiles", "is compiled"):
            begun = time.monotonic()
            found = Victim(name, Path(folder) / attempt).finish()
            seconds = time.monotonic() - begun
            if seconds < COMPILED:
                break
    return found, seconds
