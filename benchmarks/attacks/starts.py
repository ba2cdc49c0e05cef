"""Processes killed in the very moment in which they start a program: it ends with them all the same."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from attacks.judging import Fault
from attacks.pool import Case
from attacks.running import MARK, Victim
from bestarm.sources.processes import LIFELINE, run_program

PATIENCE = 60.0
CHUNK = 10
LATEST = 0.003  # seconds after which a program runs, and its group is known
GRACE = 5.0  # seconds for the guard to end what is left, on a busy machine
PROGRAMS = {
    "sleeps": ("sleep", "1000"),
    "has a child": ("sh", "-c", "sleep 1000 & sleep 1000"),
    "prints elsewhere": ("sh", "-c", "exec >/dev/null; sleep 1000"),
    "complains elsewhere": ("sh", "-c", "exec 2>/dev/null; sleep 1000"),
    "prints nowhere": ("sh", "-c", "exec >/dev/null 2>&1; sleep 1000"),
    "ignores signals": ("sh", "-c", "trap '' HUP INT TERM; sleep 1000"),
}


def prepare(folder: Path) -> Case:
    """Cases of one kill each."""

    def case(luck: random.Random, note: Callable[[str], None]) -> str:
        name, moment = luck.choice(list(PROGRAMS)), luck.uniform(0.0, LATEST)
        note(f"a program that {name}, killed after {moment * 1e6:.0f} microseconds")
        run = Victim(name, folder)
        started(run, PROGRAMS[name], moment)
        if (left := run.sweep(GRACE)) > 0:
            raise Fault(f"a program that {name}: {left} processes were left running")
        return name

    return case


def started(run: Victim, words: tuple[str, ...], moment: float) -> None:
    """Start a program from a copy of this process, which is killed so many seconds after it began to."""
    reading, writing = os.pipe()
    copy = os.fork()
    if copy == 0:
        os.environ[MARK] = run.mark
        LIFELINE.prepare()
        os.write(writing, b"now")
        run_program(words, 1000.0, None)
        os._exit(0)
    os.close(writing)
    os.read(reading, 3)
    os.close(reading)
    until = time.perf_counter() + moment
    while time.perf_counter() < until:
        pass  # no sleep is as short
    os.kill(copy, signal.SIGKILL)
    os.waitpid(copy, 0)
