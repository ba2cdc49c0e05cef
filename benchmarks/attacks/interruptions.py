"""Races that get Ctrl-C or another signal at a random moment: no wrong answer, nothing left running, and they go on."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bestarm
from attacks import victim
from attacks.judging import Fault
from attacks.pool import Case
from attacks.running import Victim, uninterrupted
from killing import outcome

PATIENCE = 700.0
CHUNK = 1
LONG = 20.0  # seconds of an evaluation that nobody wants to wait for
SOON = 8.0  # within so many seconds a race must have ended, on a busy machine
RACES = ("sequential", "pool", "threads", "awaited", "jointly", "run", "workers", "workers", "commands", "commands_worst", "commands_disqualify")  # fmt: skip
SIGNALS = (signal.SIGINT,) * 6 + (signal.SIGTERM, signal.SIGHUP)


def prepare(folder: Path) -> Case:
    """Cases that interrupt a race once."""
    for number in set(SIGNALS):
        if signal.getsignal(number) is signal.SIG_IGN:  # under nohup, or in the background: races would inherit that
            signal.signal(number, signal.SIG_DFL)

    def case(luck: random.Random, note: Callable[[str], None]) -> str:
        place = folder / f"interruption-{luck.getrandbits(60):x}"
        try:
            return interrupted(luck, place, note)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    return case


def interrupted(luck: random.Random, folder: Path, note: Callable[[str], None]) -> str:
    """Interrupt a race while it evaluates, look at what it left, and let it go on to its end."""
    name, number = luck.choice(RACES), luck.choice(SIGNALS)
    to_all, long = luck.random() < 0.5, luck.random() < 0.3
    expected, seconds = uninterrupted(name)
    early = luck.random() < 0.25
    delay = luck.uniform(0.0, seconds if early else 0.3 if long else 0.8)
    whom, since = "the group" if to_all else "the process", "its start" if early else "the first evaluation"
    note(f"{name}, {number.name} to {whom}, {'long' if long else 'short'} evaluations, {delay:.3f} s after {since}")
    run = Victim(name, folder, LONG if long else 0.0)
    process = run.start()
    if not early:
        wait_for_evaluation(run, process)
    time.sleep(delay)
    if process.poll() is None:
        os.killpg(process.pid, number) if to_all else process.send_signal(number)
    what = f"{name} after {number.name} to {whom}"
    begun = time.monotonic()
    try:
        code = process.wait(SOON)
    except subprocess.TimeoutExpired:
        run.sweep(0.0)
        process.wait()
        raise Fault(f"{what}: it still runs after {SOON:g} s") from None
    took = time.monotonic() - begun
    if (left := run.sweep(1.0)) > 0:
        raise Fault(f"{what}: {left} processes were left running")
    when = "" if code == 128 + number else ended_by_itself(run, expected, code, number)
    if when is None:
        raise Fault(f"{what}: exit code {code} after {took:.1f} s: {run.said()}")
    check_rows(run, what)
    run.seconds = 0.0
    found = run.finish()
    if found != expected:
        raise Fault(f"{what}: it ended otherwise, with {found} and not with {expected}")
    return f"{name} {number.name}{when}"


def wait_for_evaluation(run: Victim, process: "subprocess.Popen[bytes]") -> None:
    """Until the first evaluation has begun."""
    until = time.monotonic() + 30.0
    while run.counted("begin") == 0 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    if run.counted("begin") == 0:
        run.sweep(0.0)
        raise Fault(f"{run.name}: nothing was evaluated: {run.said()}")


def ended_by_itself(run: Victim, expected: Any, code: int, number: signal.Signals) -> str | None:
    """When a race may end in another way than in order: before it began, or when it was over; None if neither is true.

    A signal that comes while Python imports, or as it exits, ends the process itself. So do signals other than Ctrl-C
    in a program of a user's own.
    """
    if code == 0:
        return ", too late"
    if code != -number:
        return None
    if number != signal.SIGINT and run.name in victim.PYTHON:
        return ", at once"
    if run.counted("begin") == 0 and (run.name in victim.PYTHON or not run.store.exists()):
        return ", before it began"
    over = bool(run.rows()) and outcome(bestarm.load_result(run.store)) == expected
    return ", too late" if over else None


def check_rows(run: Victim, what: str) -> None:
    """Every score that is stored is the true one, and nothing is stored as a failure."""
    rows = run.rows()
    if not rows:
        return
    failures = [failure for _, failure in rows.values() if failure is not None]
    if failures:
        raise Fault(f"{what}: the interruption was stored as a failure: {failures[0]}")
    known = {victim.score(arm, item) for word, arm, item in run.log() if word == "begin"}
    scores = [score for score, _ in rows.values()]
    false = [score for score in scores if score is None or not any(abs(score - true) < 1e-9 for true in known)]
    if false:
        raise Fault(f"{what}: a false score was stored: {false[0]}")
