"""The races that are killed and interrupted, each in a process of its own: ``python victim.py RACE STORE``.

Every evaluation writes a line to the log as it begins and as it ends, every transaction one when it has returned. The
environment names the log (``VICTIM_LOG``) and the seconds of an evaluation (``VICTIM_SECONDS``).
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import bestarm
from bestarm.record import sqlite as sqlite_store

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


def sequential(store: str) -> bestarm.RaceResult[Any]:
    return bestarm.race(evaluate, arms=ARMS, store=store, seed=1)


def pool(store: str) -> bestarm.RaceResult[Any]:
    return bestarm.race(evaluate, arms=ARMS, items=range(300), bounds=(0, 1), store=store, seed=2)


def stream(store: str) -> bestarm.RaceResult[Any]:
    def loss(arm: str, item: int) -> float:
        return -evaluate(arm, item)

    return bestarm.race(loss, arms=ARMS, items=count(100), lower_is_better=True, store=store)


def threads(store: str) -> bestarm.RaceResult[Any]:
    executor = ThreadPoolExecutor(4)
    try:
        return bestarm.race(evaluate, arms=ARMS, executor=executor, rounds_in_flight=4, store=store, seed=4)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def awaited(store: str) -> bestarm.RaceResult[Any]:
    async def later(arm: str, item: int) -> float:
        write(f"begin {arm} {item}")
        await asyncio.sleep(seconds() * (1 + score(arm, item)))  # those that do well take longer
        write(f"end {arm} {item}")
        return score(arm, item)

    return bestarm.race(later, arms=ARMS, items=range(300), bounds=(0, 1), store=store, seed=5)


def jointly(store: str) -> bestarm.RaceResult[Any]:
    def all_at_once(arms: Sequence[str], item: int) -> dict[str, float]:
        return {arm: evaluate(arm, item) for arm in arms}

    return bestarm.race(all_at_once, arms=ARMS, jointly=True, store=store, seed=6)


def lucb(store: str) -> bestarm.RaceResult[Any]:
    algorithm = bestarm.algorithms.LUCB(0.05, variances=0.01)
    return bestarm.race(evaluate, arms=ARMS, algorithm=algorithm, store=store, seed=7)


def groups(store: str) -> bestarm.RaceResult[Any]:
    group = [k // 3 for k in range(300)]
    return bestarm.race(evaluate, arms=ARMS, items=range(300), groups=group, bounds=(0, 1), store=store, seed=8)


def drawn(store: str) -> bestarm.RaceResult[Any]:
    return bestarm.race(evaluate, arms=ARMS, items=range(20), replace=True, bounds=(0, 1), store=store, seed=9)


def disqualify(store: str) -> bestarm.RaceResult[Any]:
    def failing(arm: str, item: int) -> float:
        value = evaluate(arm, item)
        if arm == "good" and item % 7 == 3:
            raise RuntimeError("out of memory")
        return value

    options: dict[str, Any] = {"on_error": "disqualify", "rounds_in_flight": 2}
    return bestarm.race(failing, arms=ARMS, items=range(300), bounds=(0, 1), store=store, seed=10, **options)


def worst(store: str) -> bestarm.RaceResult[Any]:
    def failing(arm: str, item: int) -> float:
        value = evaluate(arm, item)
        return float("nan") if arm == "fair" and item % 5 == 2 else value

    return bestarm.race(failing, arms=ARMS, items=range(300), bounds=(0, 1), on_error="worst", store=store, seed=11)


def of_function(store: str, *options: str) -> None:
    """The same on the command line, which ends the program."""
    from bestarm.cli import app

    where = ["--items", str(HERE / "items.txt"), "--bounds", "0,1", "--store", store, "--quiet"]
    app(["run", "victim:evaluate", "--arms", ",".join(ARMS), *where, *options])


def of_programs(store: str, *options: str) -> None:
    """Programs that print what `score` gives; they log by themselves."""
    from bestarm.cli import app

    programs = [f"sh {HERE / 'program.sh'} {arm} {{item}}" for arm in ARMS]
    where = ["--items", str(HERE / "items.txt"), "--bounds", "0,1", "--store", store, "--quiet", "--score", "stdout"]
    app(["commands", *programs, *where, *options])


PYTHON: dict[str, Callable[[str], bestarm.RaceResult[Any]]] = {
    race.__name__: race
    for race in (sequential, pool, stream, threads, awaited, jointly, lucb, groups, drawn, disqualify, worst)
}
COMMAND_LINE: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "run": (of_function, ()),
    "workers": (of_function, ("--workers", "2")),
    "commands": (of_programs, ()),
    "commands_worst": (of_programs, ("--on-error", "worst")),
    "commands_disqualify": (of_programs, ("--on-error", "disqualify")),
}


def log_transactions() -> None:
    """Write down what is stored when the transaction has returned."""
    save = sqlite_store.SQLiteStore.save

    def logged(self: Any, rounds: Any, scores: Any) -> None:
        save(self, rounds, scores)
        for number, arm, *_ in scores:
            write(f"saved {number} {arm}")

    sqlite_store.SQLiteStore.save = logged  # type: ignore[method-assign]


def main(name: str, store: str) -> None:
    """One race, to its end."""
    log_transactions()
    if name in COMMAND_LINE:
        start, options = COMMAND_LINE[name]
        start(store, *options)
        return
    result = PYTHON[name](store)
    os._exit(INTERRUPTED if result.reason == "interrupted" else 0)  # threads of one's own may still run


if __name__ == "__main__":
    main(*sys.argv[1:])
