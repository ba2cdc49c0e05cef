"""How much work SQLite may do on a file: pages that point at each other could keep it busy for ever."""

import sqlite3
from itertools import count
from pathlib import Path

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
