"""Three programs whose speeds differ by 2%, on a machine with a changing load: is the fastest found?

``python benchmarks/command_race.py`` races them twenty times with `bestarm.race_commands`; after each race it times the
programs one after the other, each as often as the race ran it, and takes the best mean, as people do by hand.
"""

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.racing.commands import Command, parsed_commands

SLOWER = 1.02
FASTEST = "fast"

# A process that is busy for a while and then is not: phases of 0.2 to 3 seconds.
LOAD = """
import random, time
luck = random.Random({seed})
while True:
    end = time.monotonic() + luck.uniform(0.2, 3.0)
    while time.monotonic() < end:
        sum(range(1000))
    time.sleep(luck.uniform(0.2, 3.0))
"""


@contextmanager
def changing_load(seed: int) -> Iterator[None]:
    """A second process that keeps the machine busy now and then."""
    process = subprocess.Popen([sys.executable, "-c", LOAD.format(seed=seed)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def programs(loops: int) -> dict[str, list[str]]:
    """Three programs that count, the second and third 2% and 4% slower than the first, interpreter included."""
    start, unit = measured(0), (measured(loops) - measured(0)) / loops
    total = start + unit * loops
    names = {FASTEST: 1.0, "2% slower": SLOWER, "4% slower": SLOWER**2}
    return {name: counting(round((total * factor - start) / unit)) for name, factor in names.items()}


def counting(loops: int) -> list[str]:
    """A program that counts so far; without site-packages it starts faster and more evenly."""
    return [sys.executable, "-I", "-S", "-c", f"for _ in range({loops}): pass"]


def measured(loops: int) -> float:
    """The shortest of some times, which is the one least disturbed."""
    command = Command(tuple(counting(loops)), "time", 60.0)
    return min(command(0) for _ in range(40))


def one_after_the_other(commands: dict[str, Command], counts: dict[str, int], luck: random.Random) -> str:
    """The program with the best mean when each is timed in a block of its own, in random order."""
    order = list(commands)
    luck.shuffle(order)
    means = {name: sum(commands[name](0) for _ in range(counts[name])) / counts[name] for name in order}
    return min(means, key=lambda name: means[name])


def main() -> None:
    """Race, time by hand, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=20)
    parser.add_argument("--loops", type=int, default=1_500_000)
    parser.add_argument("--delta", type=float, default=0.05)
    arguments = parser.parse_args()
    given = programs(arguments.loops)
    commands = parsed_commands(given, "time", 60.0, with_items=False)
    raced, by_hand, runs, begun = 0, 0, 0, time.monotonic()
    for seed in range(arguments.races):
        with changing_load(seed):
            result = bestarm.race_commands(given, delta=arguments.delta, seed=seed, progress=False)
            counts = dict(zip(result.arms, result.counts.tolist(), strict=True))
            simple = one_after_the_other(commands, counts, random.Random(seed))  # noqa: S311 - no secrets here
        raced += result.best == FASTEST
        by_hand += simple == FASTEST
        runs += result.n_queries
        print(
            f"race {seed + 1}: {result.best} after {result.n_queries} runs; one after the other: {simple}", flush=True
        )
    table = Table(title=f"{arguments.races} races, {runs:,} runs, {time.monotonic() - begun:,.0f} s")
    for heading in ("way", "fastest found", "asked"):
        table.add_column(heading)
    table.add_row("bestarm commands", f"{raced} of {arguments.races}", "19 of 20")
    table.add_row("one program after the other, as many runs", f"{by_hand} of {arguments.races}", "")
    Console().print(table)


if __name__ == "__main__":
    main()
