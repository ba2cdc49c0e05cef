"""Cases run in worker processes: watched for hangs, memory and deaths, and each can be replayed alone."""

import faulthandler
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import bestarm
from attacks.judging import Fault
from bestarm.algorithms import LUCB, ConvexBAI, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.comparisons import Betting, Portfolio

HANG = 10.0  # seconds that a case may take, unless its kind says otherwise
DEAD = 12.0  # so many seconds later the worker is killed: it is stuck where Python handles no signals
MEMORY = 1 << 30  # bytes that a case may add
ADDRESSES = 6 << 30  # bytes of address space: compiled code and libraries map a lot
CHUNK = 5_000  # cases of one worker: memory that libraries keep is then given back

SOME = (
    PairwiseBAI(0.1),
    PairwiseBAI(0.1, comparison=Betting()),
    ConvexBAI(0.1, comparison=Portfolio(bounds=(0.0, 1.0))),
    HoeffdingRace(0.1, variances=0.1),
    LUCB(0.1, variances=0.1),
    VarianceRace(0.1),
    KimNelson(0.1, indifference_zone=0.1),
)

Case = Callable[[random.Random, Callable[[str], None]], str]


class TooLongError(BaseException):
    """A case took longer than it may; no handler of errors takes this for one of its own."""


@dataclass
class Ran:
    """One case: what came of it and what it took; of a fault, what is wrong, what was given and where it happened."""

    case: int
    came: str
    seconds: float = 0.0
    memory: int = 0  # bytes by which it raised the largest memory of its process
    fault: str | None = None
    given: str = ""
    where: str = ""


def prepared(kind: str, folder: Path) -> Case:
    """The cases of a kind, ready to run in a folder."""
    case: Case = import_module(f"attacks.{kind}").prepare(folder)
    return case


def said_by(kind: str, name: str, otherwise: Any) -> Any:
    """What a kind of attack says about its cases."""
    return getattr(import_module(f"attacks.{kind}"), name, otherwise)


def largest_memory() -> int:
    """The largest resident memory of this process so far, in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def run_case(case: Case, kind: str, seed: int, number: int) -> Ran:
    """One case, with random numbers of its own."""
    ran, given = Ran(number, "fault"), list[str]()
    patience = said_by(kind, "PATIENCE", HANG)
    luck = random.Random(f"{kind} {seed} {number}")  # noqa: S311 - no secrets here
    before, begun = largest_memory(), time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, patience)
    try:
        ran.came = case(luck, given.append)
        if (grown := largest_memory() - before) > MEMORY:
            raise Fault(f"took {grown / 2**30:.1f} GB of memory")
    except BaseException as error:
        ran.came, ran.fault, ran.given = "fault", _wrong(error, patience), "; ".join(given)[:2000]
        ran.where = traceback.format_exc()[-3000:]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    ran.seconds, ran.memory = time.perf_counter() - begun, largest_memory() - before
    return ran


def _wrong(error: BaseException, patience: float) -> str:
    """What the end of a case says."""
    if isinstance(error, TooLongError):
        return f"took longer than {patience:g} seconds"
    if isinstance(error, Fault):
        return str(error)
    try:
        return f"{type(error).__name__} escapes: {str(error)[:300]}"
    except Exception as worse:
        return f"{type(error).__name__} escapes (its text fails: {type(worse).__name__})"


def limit_this_process() -> None:
    """No more memory than a bad input may take, and a case that takes too long is interrupted."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watch_the_clock()


def watch_the_clock() -> None:
    """Let a timer that runs out raise `TooLongError`."""

    def too_long(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, too_long)


def wait_for_nothing() -> None:
    """Let nobody wait before an evaluation is tried again."""
    for name, module in list(sys.modules.items()):
        if name.startswith("bestarm.") and hasattr(module, "FIRST_PAUSE"):
            module.FIRST_PAUSE = 0.0  # type: ignore[attr-defined]


def warm_up(case: Case, n: int) -> None:
    """Some cases that do not count: they import and compile what others need.

    First what must not be interrupted: a module that is half imported stays so.
    """
    scores = np.random.default_rng(0).random((12, 3))
    for algorithm in SOME:
        bestarm.race_table(scores, algorithm=algorithm).to_json()
    for options in ({"criterion": "wins"}, {"bounds": (0, 1)}, {"bounds": (0, 1), "target": "population"}):
        str(bestarm.race_table(scores, **options))
    watch_the_clock()
    for k in range(n):
        run_case(case, "pool", 0, k)  # what is wrong is looked at when it comes as a case


def serve(kind: str, seed: int, start: int, stop: int) -> None:
    """In a process of its own: run cases, and write what came of each as a line of JSON to what was standard output."""
    with os.fdopen(os.dup(1), "w") as answers, open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)  # what libraries print is for nobody
        case = prepared(kind, Path.cwd())
        limit_this_process()
        for number in range(start, stop):
            patience = said_by(kind, "PATIENCE", HANG)
            faulthandler.dump_traceback_later(patience + DEAD, exit=True)  # stuck where Python handles no signals
            ran = run_case(case, kind, seed, number)
            answers.write(json.dumps(asdict(ran)) + "\n")
            answers.flush()
            if ran.seconds > patience:  # what was interrupted may be half done: another process goes on
                return


def run_range(kind: str, seed: int, start: int, stop: int) -> list[Ran]:
    """Run cases in a process of their own, and in another one after a case that ended it."""
    found: list[Ran] = []
    path = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a private folder in memory
    while start < stop:
        with tempfile.TemporaryDirectory(prefix="faults-", dir=where, ignore_cleanup_errors=True) as folder:
            program = f"from attacks.pool import serve; serve({kind!r}, {seed}, {start}, {stop})"
            done = subprocess.run(
                [sys.executable, "-c", program],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": path},
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
        came = [Ran(**json.loads(line)) for line in done.stdout.splitlines()]
        if done.returncode == 1:  # an exception, and those of cases are caught
            raise RuntimeError(f"the cases of {kind} cannot be prepared: see --only {start}")
        if done.returncode != 0:
            died = start + len(came)
            came.append(Ran(died, "fault", fault=f"the process was stuck or died, with exit code {done.returncode}"))
        found += came
        start += len(came)
    return found


def attack(kind: str, n: int, seed: int, n_workers: int = 2, first: int = 0) -> list[Ran]:
    """Run the cases of a kind on several workers."""
    chunk = min(said_by(kind, "CHUNK", CHUNK), -(-n // n_workers))
    starts = range(first, first + n, chunk)
    ends = [min(start + chunk, first + n) for start in starts]
    with ThreadPoolExecutor(n_workers) as pool:
        parts = pool.map(lambda start, stop: run_range(kind, seed, start, stop), starts, ends)
        return [ran for part in parts for ran in part]


def replay(kind: str, seed: int, number: int) -> Ran:
    """One case in this process."""
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        back = Path.cwd()
        os.chdir(folder)
        case = prepared(kind, Path(folder))
        limit_this_process()
        try:
            return run_case(case, kind, seed, number)
        finally:
            os.chdir(back)
