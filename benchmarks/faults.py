"""Attacks on bestarm: kills, interruptions, disk faults, broken executors, hostile files and calls.

    python benchmarks/faults.py all --scale 0.01        # a hundredth of everything
    python benchmarks/faults.py kills --n 1000 --seed 1
    python benchmarks/faults.py stores --seed 1 --only 1234   # one case again, with its traceback

Every case is made from its seed and number alone. A line per kind says how many faults were found, the slowest case and
the largest memory; the faults are written to a file with what is needed to see each of them again. Exits with 1 if
there are any.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from attacks import pool
from attacks.pool import Ran

FEW = 10  # faults of a kind that are printed
# How many kills, interruptions, courses of state machines and so on "all" runs.
FULL = {
    "kills": 1_000,
    "starts": 1_000,
    "interruptions": 300,
    "disk": 400,
    "executors": 400,
    "machines": 2_000,
    "tables": 400_000,
    "stores": 300_000,
    "lines": 100_000,
    "calls": 200_000,
}


def main() -> None:
    """Run one kind of attack, or all."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # of the workers: the cores are kept busy by cases
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*FULL, "all"])
    parser.add_argument("--n", type=int, help="number of cases; of kills, or of courses of state machines")
    parser.add_argument("--scale", type=float, default=1.0, help="with all: a share of the full numbers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="run this case alone, here, and show what came of it")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--found", type=Path, default=Path("faults"), help="folder for the faults found")
    given = parser.parse_args()
    if given.only is not None:
        ran = pool.replay(given.kind, given.seed, given.only)
        print(f"{ran.came}, {ran.seconds:.2f} seconds, {ran.memory / 2**20:.0f} MB")
        print(*filter(None, (ran.fault, ran.given, ran.where)), sep="\n")
        sys.exit(ran.fault is not None)
    faulty = [kind for kind in (FULL if given.kind == "all" else [given.kind]) if attack(kind, given)]
    sys.exit(bool(faulty))


def attack(kind: str, given: argparse.Namespace) -> bool:
    """Run the cases of one kind, print what came of them; whether there were faults."""
    n = given.n if given.n is not None else max(1, round(FULL[kind] * given.scale))
    begun = time.perf_counter()
    cases = -(-n // pool.said_by(kind, "PER_CASE", 1))
    found = pool.attack(kind, cases, given.seed, given.workers, given.first)
    faults = [ran for ran in found if ran.fault is not None]
    came = ", ".join(f"{name} {times:,}" for name, times in Counter(ran.came for ran in found).most_common(8))
    slowest, largest = max(found, key=lambda ran: ran.seconds), max(found, key=lambda ran: ran.memory)
    print(
        f"{kind}: {len(found):,} cases, {len(faults):,} faults; slowest {slowest.seconds:.1f} s (case {slowest.case}), "
        f"largest {largest.memory / 2**20:,.0f} MB (case {largest.case}), "
        f"{len(found) / (time.perf_counter() - begun):,.0f} a second ({came})",
        flush=True,
    )
    report(faults, given.found / f"{kind}.jsonl", f"python benchmarks/faults.py {kind} --seed {given.seed} --only")
    return bool(faults)


def report(faults: list[Ran], target: Path, replay: str) -> None:
    """Print the first faults, and write all of them to a file; that of an earlier run goes."""
    target.unlink(missing_ok=True)
    for one in faults[:FEW]:
        print(f"  case {one.case}: {ascii(one.fault)[1:300]}", flush=True)
    if faults:
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(asdict(one) | {"replay": f"{replay} {one.case}"}) for one in faults)
        target.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"  all of them, with how to replay them: {target}", flush=True)


if __name__ == "__main__":
    main()
