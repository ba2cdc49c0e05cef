"""The races that are killed and interrupted, each in a process of its own: ``python victim.py RACE STORE``.

Every evaluation writes a line to the log as it begins and as it ends, every transaction one when it has returned. The
environment names the log (``VICTIM_LOG``) and the seconds of an evaluation (``VICTIM_SECONDS``).
"""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import bestarm
from bestarm.cli import app
from bestarm.record.sqlite import SQLiteStore

LEVEL = {"bad": 0.1, "fair": 0.3, "good": 0.45, "best": 0.6}
ARMS = list(LEVEL)
HERE = Path(__file__).resolve().parent
INTERRUPTED = 130


def score(arm: str, item: Any) -> float:
    """A function of the arm and the item alone, between 0 and 1."""
    number = int(item)
    return LEVEL[arm] + 0.25 * (number * 7919 % 101) / 101 + 0.1 * (number * (len(arm) + ord(arm[0])) % 37) / 37


def write(line: str) -> None:
    """One line to the end of the log, at once: it stays when the process is killed."""
    log = os.open(os.environ["VICTIM_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(log, f"{line}\n".encode())
    os.close(log)


def seconds() -> float:
    """How long an evaluation takes."""
    return float(os.environ.get("VICTIM_SECONDS", "0.005"))


def evaluate(arm: str, item: Any) -> float:
    """One evaluation, with its lines in the log."""
    write(f"begin {arm} {item}")
    time.sleep(seconds())
    write(f"end {arm} {item}")
    return score(arm, item)


async def awaited(arm: str, item: int) -> float:
    """In an event loop, where arms that do well take longer."""
    write(f"begin {arm} {item}")
    await asyncio.sleep(seconds() * (1 + score(arm, item)))
    write(f"end {arm} {item}")
    return score(arm, item)


def loss(arm: str, item: int) -> float:
    """Lower is better."""
    return -evaluate(arm, item)


def all_at_once(arms: Sequence[str], item: int) -> dict[str, float]:
    """All scores of a round."""
    return {arm: evaluate(arm, item) for arm in arms}


def failing(arm: str, item: int) -> float:
    """One arm cannot do some items."""
    value = evaluate(arm, item)
    if arm == "good" and item % 7 == 3:
        raise RuntimeError("out of memory")
    return value


def undefined(arm: str, item: int) -> float:
    """One arm has no score on some items."""
    value = evaluate(arm, item)
    return float("nan") if arm == "fair" and item % 5 == 2 else value


POOL: dict[str, Any] = {"items": range(300), "bounds": (0, 1)}
IN_FLIGHT = {"executor": ThreadPoolExecutor(4), "rounds_in_flight": 4}
PYTHON: dict[str, tuple[Any, dict[str, Any]]] = {
    "sequential": (evaluate, {"seed": 1}),
    "pool": (evaluate, POOL | {"seed": 2}),
    "stream": (loss, {"items": count(100), "lower_is_better": True}),
    "threads": (evaluate, IN_FLIGHT | {"seed": 4}),
    "awaited": (awaited, POOL | {"seed": 5}),
    "jointly": (all_at_once, {"jointly": True, "seed": 6}),
    "lucb": (evaluate, {"algorithm": bestarm.algorithms.LUCB(0.05, variances=0.01), "seed": 7}),
    "groups": (evaluate, POOL | {"groups": [k // 3 for k in range(300)], "seed": 8}),
    "drawn": (evaluate, POOL | {"items": range(20), "replace": True, "seed": 9}),
    "disqualify": (failing, POOL | {"on_error": "disqualify", "rounds_in_flight": 2, "seed": 10}),
    "worst": (undefined, POOL | {"on_error": "worst", "seed": 11}),
}
OF_FUNCTION = ["run", "victim:evaluate", "--arms", ",".join(ARMS)]
OF_PROGRAMS = ["commands", *(f"sh {HERE / 'program.sh'} {arm} {{item}}" for arm in ARMS), "--score", "stdout"]
COMMAND_LINE = {
    "run": OF_FUNCTION,
    "workers": [*OF_FUNCTION, "--workers", "2"],
    "commands": OF_PROGRAMS,
    "commands_worst": [*OF_PROGRAMS, "--on-error", "worst"],
    "commands_disqualify": [*OF_PROGRAMS, "--on-error", "disqualify"],
}


def log_transactions() -> None:
    """Write down what is stored when the transaction has returned."""
    save = SQLiteStore.save

    def logged(self: Any, rounds: Any, scores: Any) -> None:
        save(self, rounds, scores)
        for number, arm, *_ in scores:
            write(f"saved {number} {arm}")

    SQLiteStore.save = logged  # type: ignore[method-assign]


def main(name: str, store: str) -> None:
    """One race, to its end."""
    log_transactions()
    if name in COMMAND_LINE:
        where = ["--items", str(HERE / "items.txt"), "--bounds", "0,1", "--store", store, "--quiet"]
        app([*COMMAND_LINE[name], *where])
        return
    function, options = PYTHON[name]
    result = bestarm.race(function, arms=ARMS, store=store, **options)
    os._exit(INTERRUPTED if result.reason == "interrupted" else 0)  # threads of one's own may still run


if __name__ == "__main__":
    main(*sys.argv[1:])
