"""Races killed with SIGKILL at random moments, several times in a row, and continued to their end."""

import random
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from attacks.judging import Fault
from attacks.pool import Case
from attacks.running import Victim, uninterrupted

PATIENCE = 900.0
CHUNK = 1
PER_CASE = 5  # kills

# How many evaluations are in flight at most: those of the rounds that are evaluated at a time.
ONE_ROUND = ("sequential", "pool", "stream", "jointly", "lucb", "drawn", "worst", "run", "commands")
IN_FLIGHT = dict.fromkeys(ONE_ROUND, 4) | {"disqualify": 8, "groups": 12, "threads": 16, "awaited": 16, "workers": 16}
PER_SCORE = {"groups": 3}  # evaluations that one stored score is made of


def prepare(folder: Path) -> Case:
    """Cases that kill a race five times."""
    names = list(IN_FLIGHT)

    def case(luck: random.Random, note: Callable[[str], None]) -> str:
        place = folder / f"kills-{luck.getrandbits(60):x}"
        try:
            return killed(luck.choice(names), PER_CASE, luck, place, note)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    return case


def killed(name: str, kills: int, luck: random.Random, folder: Path, note: Callable[[str], None]) -> str:
    """Kill a race so often, then let it end: as if nothing had happened, nothing lost, nothing run twice for nothing."""
    expected, seconds = uninterrupted(name)
    done, attempt = 0, 0
    note(name)
    while True:
        run = Victim(name, folder / str(attempt))
        finished = False
        while done < kills and not finished:
            moment = seconds * (luck.random() if luck.random() < 0.2 else luck.uniform(0.35, 1.0))
            note(f"kill after {moment:.3f} s")
            begun_before, rows_before = run.counted("begin"), run.rows()
            finished = not strike(run, moment)
            done += not finished
            check_start(run, rows_before, begun_before)
        attempt += 1
        rows, begun = run.rows(), run.counted("begin")
        found = run.finish()
        check_start(run, rows, begun)
        if found != expected:
            raise Fault(f"{name}: it ended otherwise, with {found} and not with {expected}")
        if done >= kills:
            return f"{name} killed"


def strike(run: Victim, moment: float) -> bool:
    """Start a race and kill its process after so many seconds; False if it had ended before."""
    process = run.start()
    try:
        code = process.wait(moment)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        code = None
    if (left := run.sweep(3.0)) > 0:
        raise Fault(f"{run.name}: {left} processes were left running after the race was killed")
    if code not in (None, 0):
        raise Fault(f"{run.name}: it ended with exit code {code}: {run.said()}")
    return code is None


def check_start(run: Victim, rows_before: Mapping[tuple[int, int], object], begun_before: int) -> None:
    """Nothing that was stored is lost or changed, and no more was evaluated in vain than what was in flight."""
    rows = run.rows()
    lost = {key for key, row in rows_before.items() if rows.get(key, ()) != row}
    if lost:
        raise Fault(f"{run.name}: stored and then lost or changed: {sorted(lost)[:5]}")
    saved = {(int(first), int(second)) for word, first, second in run.log() if word == "saved"}
    if not saved <= set(rows):
        raise Fault(f"{run.name}: the transaction had returned, and it is not there: {sorted(saved - set(rows))[:5]}")
    in_vain = run.counted("begin") - begun_before - PER_SCORE.get(run.name, 1) * (len(rows) - len(rows_before))
    if in_vain > IN_FLIGHT[run.name]:
        raise Fault(f"{run.name}: {in_vain} evaluations were begun in vain, {IN_FLIGHT[run.name]} were in flight")
