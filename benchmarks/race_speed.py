"""Speed of the race: ``make bench``.

Every figure is a median over several turns, because machines are noisy, and what is compared is measured in turns. The
files are on the disk of the temporary folder (``TMPDIR`` names another one).
"""

import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.record.record import RoundRow, ScoreRow
from bestarm.record.sqlite import SCHEMA, SQLiteStore
from bestarm.sources.items import items_in_order

TURNS = 7
N_ARMS = 10
N_ROUNDS = 2000  # of a race without a store
STORED_ROUNDS = 200  # of a race with one
SCORES = 100_000  # in a file that is continued
BOUNDS = (0.0, 1.0)

Clock = Callable[[], float]
Row = tuple[str, str, str, str]  # what, measured, target, ok


def coin(arm: int, seed: int) -> float:
    """A score at once: bits of the seed of a round, equal arms, so that no race is decided."""
    return (0.0, 1.0)[seed >> 2 * arm & 1]


def seconds(work: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    """Time of one call."""
    start = clock()
    work()
    return clock() - start


def in_turns(*works: Callable[[], object]) -> list[float]:
    """The median time of each piece of work, measured in turns."""
    times = [[seconds(work) for work in works] for _ in range(TURNS)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def below(what: str, measured: float, limit: float, form: str) -> Row:
    """A line of the table whose figure must stay below a limit."""
    return what, format(measured, form), f"< {limit:g}", _answer(measured < limit)


def at_most(what: str, measured: float, limit: float, form: str) -> Row:
    """A line of the table whose figure must not exceed a limit."""
    return what, format(measured, form), f"≤ {limit:g}", _answer(measured <= limit)


def _answer(ok: bool) -> str:
    return "yes" if ok else "[bold red]no[/bold red]"


def for_information(what: str, measured: float, form: str) -> Row:
    """A line of the table that asks for nothing."""
    return what, format(measured, form), "", ""


def named(bounds: tuple[float, float] | None) -> str:
    """With or without bounds, in words."""
    return "no bounds" if bounds is None else "bounds"


def long_race(n_rounds: int, bounds: tuple[float, float] | None, **options: Any) -> None:
    """A race that goes on until its budget is spent."""
    queries = N_ARMS * n_rounds
    result = bestarm.race(coin, arms=range(N_ARMS), bounds=bounds, max_evaluations=queries, progress=False, **options)
    if (result.reason, result.n_rounds) != ("budget", n_rounds):
        raise RuntimeError(f"a race of equal arms ended in round {result.n_rounds}: {result.reason}")


def overheads() -> Iterator[Row]:
    """What a round costs besides its evaluations."""
    for bounds in (None, BOUNDS):
        long_race(N_ROUNDS, bounds)  # compiled

        def alone(bounds: tuple[float, float] | None = bounds) -> None:
            long_race(N_ROUNDS, bounds)

        def on_threads(bounds: tuple[float, float] | None = bounds) -> None:
            with ThreadPoolExecutor(4) as pool:
                long_race(N_ROUNDS // 10, bounds, executor=pool, rounds_in_flight=4)

        wall, threads = in_turns(alone, on_threads)
        processor = statistics.median(seconds(alone, time.process_time) for _ in range(TURNS))
        what = f"round of a race, K = {N_ARMS}, {named(bounds)}"
        yield below(f"{what}, µs", 1e6 * wall / N_ROUNDS, 100, ".0f")
        yield for_information(f"{what}, µs of processor time", 1e6 * processor / N_ROUNDS, ".0f")
        yield for_information(f"{what}, four in flight on four threads, µs", 1e7 * threads / N_ROUNDS, ".0f")


def rows_of(number: int, seed: int, n_arms: int) -> tuple[RoundRow, list[ScoreRow]]:
    """A round as a file holds it."""
    return (number, str(seed), n_arms), [(number, arm, coin(arm, seed), None) for arm in range(n_arms)]


def bare_file(path: Path) -> sqlite3.Connection:
    """A file with the same tables and settings as a store, and nothing of ours in between."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")
    connection.executescript(";".join(SCHEMA))
    connection.executemany("INSERT INTO arms VALUES (?, ?)", ((arm, str(arm)) for arm in range(N_ARMS)))
    return connection


def bare_transaction(connection: sqlite3.Connection, new: RoundRow, scores: list[ScoreRow]) -> None:
    """A round and its scores, durable, as one would write it by hand."""
    connection.execute("BEGIN")
    connection.execute("INSERT INTO rounds VALUES (?, ?, ?)", new)
    connection.executemany("INSERT INTO scores VALUES (?, ?, ?, ?)", scores)
    connection.execute("COMMIT")


def new_store(path: Path, n_arms: int, bounds: tuple[float, float] | None) -> SQLiteStore:
    """The file of a race that has not begun."""
    bestarm.Race(range(n_arms), bounds=bounds, store=path).close()
    return SQLiteStore(path)


def storing(folder: Path) -> Iterator[Row]:
    """What it costs to store a round, against a bare transaction with the same rows."""
    seeds = items_in_order(None, 0).order
    with closing(bare_file(folder / "bare.sqlite")) as bare, closing(new_store(folder / "own.sqlite", 10, None)) as own:
        times = []
        for number in range(1, TURNS * STORED_ROUNDS + 1):
            new, scores = rows_of(number, next(seeds), N_ARMS)
            works = [lambda: bare_transaction(bare, new, scores), lambda: own.save([new], scores)]  # noqa: B023
            order = (0, 1) if number % 2 else (1, 0)
            taken = {k: seconds(works[k]) for k in order}
            times.append((taken[0], taken[1]))
    by_hand, ours = (statistics.median(column) for column in zip(*times, strict=True))
    yield for_information("bare SQLite transaction, 1 round and 10 scores, µs", 1e6 * by_hand, ".0f")
    yield at_most("storing a round / bare transaction", ours / by_hand, 1.5, ".2f")

    counter = iter(range(1000))

    def by_hand_alone() -> None:
        with closing(bare_file(folder / f"bare{next(counter)}.sqlite")) as bare:
            for number, seed in enumerate(islice(items_in_order(None, 0).order, STORED_ROUNDS), start=1):
                bare_transaction(bare, *rows_of(number, seed, N_ARMS))

    without, stored, bare_alone = in_turns(
        lambda: long_race(STORED_ROUNDS, None),
        lambda: long_race(STORED_ROUNDS, None, store=folder / f"race{next(counter)}.sqlite"),
        by_hand_alone,
    )
    what = f"race of {STORED_ROUNDS} rounds"
    yield at_most(
        f"{what}: (stored - not stored) / as many bare transactions", (stored - without) / bare_alone, 1.5, ".2f"
    )
    yield for_information(f"{what}: stored / not stored", stored / without, ".1f")


def fill(path: Path, n_arms: int, bounds: tuple[float, float] | None) -> int:
    """A file of 100,000 scores; its number of rounds."""
    n_rounds = SCORES // n_arms
    seeds = islice(items_in_order(None, 0).order, n_rounds)
    filled = [rows_of(number, seed, n_arms) for number, seed in enumerate(seeds, start=1)]
    with closing(new_store(path, n_arms, bounds)) as store:
        store.save([new for new, _ in filled], [score for _, scores in filled for score in scores])
    return n_rounds


RESUME = """
import sys
import bestarm
path, n_arms, n_rounds, bounded = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "bounds"
race = bestarm.Race(range(n_arms), bounds=(0.0, 1.0) if bounded else None, store=path)
assert race.state.game.n_rounds == n_rounds and not race.finished
"""


def resuming(folder: Path) -> Iterator[Row]:
    """How long it takes to continue a file of 100,000 scores, here and in a process of its own."""
    for n_arms in (N_ARMS, 2):
        for bounds in (None, BOUNDS):
            path = folder / f"{n_arms} {named(bounds)}.sqlite"
            n_rounds = fill(path, n_arms, bounds)
            command = [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                RESUME,
                str(path),
                str(n_arms),
                str(n_rounds),
                named(bounds),
            ]

            def here(
                path: Path = path, n_arms: int = n_arms, bounds: tuple[float, float] | None = bounds, n: int = n_rounds
            ) -> None:
                with bestarm.Race(range(n_arms), bounds=bounds, store=path) as race:
                    if race.finished or race.state.game.n_rounds != n:
                        raise RuntimeError(f"a file of {n} rounds was continued from {race.state.game.n_rounds}")

            def elsewhere(command: list[str] = command) -> None:
                subprocess.run(command, check=True, capture_output=True)

            here()  # compiled
            elsewhere()
            warm, fresh = in_turns(here, elsewhere)
            what = f"resume of {SCORES:,} scores, K = {n_arms}, {named(bounds)}"
            yield below(f"{what}, seconds", warm, 2, ".2f")
            yield below(f"{what}, fresh process with imports, seconds", fresh, 2, ".2f")


def race_speed() -> Table:
    """Everything in one table."""
    table = Table(title=f"The race, medians of {TURNS} turns")
    for heading in ("what", "measured", "target", "ok"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    with tempfile.TemporaryDirectory() as folder:
        for measure in (overheads, lambda: storing(Path(folder)), lambda: resuming(Path(folder))):
            for row in measure():
                table.add_row(*row)
            table.add_section()
    return table


if __name__ == "__main__":
    warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # coins are coins
    Console().print(race_speed())
