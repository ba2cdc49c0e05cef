"""Cases run in worker processes: watched for hangs, memory and deaths, and each can be replayed alone."""

import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any

import numpy as np

import bestarm
from attacks.judging import Fault, pattern
from attacks.memory import Peak
from bestarm.algorithms import LUCB, ConvexBAI, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.comparisons import Betting, Portfolio

HANG = 10.0  # seconds that a case may take, unless its kind says otherwise
DEAD = 12.0  # so many seconds later the worker is killed: it is stuck where Python handles no signals
MEMORY = 1 << 30  # bytes that a case may add
ADDRESSES = 6 << 30  # bytes of address space: compiled code and libraries map a lot
CHUNK = 100  # cases that a worker takes at a time
LIFE = 20_000  # cases of one worker: memory that libraries keep is then given back

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
class Found:
    """A fault and what is needed to see it again."""

    kind: str
    seed: int
    case: int
    what: str
    given: str
    where: str = ""

    @property
    def pattern(self) -> str:
        """The fault without its particulars."""
        return pattern(self.what)

    def line(self) -> str:
        """As it is written to the file of faults."""
        replay = f"python benchmarks/faults.py {self.kind} --seed {self.seed} --only {self.case}"
        return json.dumps(asdict(self) | {"replay": replay}, ensure_ascii=True)


@dataclass
class Tally:
    """What came of the cases of one kind."""

    kind: str
    n_cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)  # seconds, case
    largest: tuple[int, int] = (0, -1)  # bytes, case
    seconds: float = 0.0
    rest: tuple[int, int] | None = None  # cases that a worker left to another one

    def add(self, other: "Tally") -> None:
        """Take in what another worker found."""
        self.n_cases += other.n_cases
        self.outcomes += other.outcomes
        self.found += other.found
        self.slowest = max(self.slowest, other.slowest)
        self.largest = max(self.largest, other.largest)

    def __str__(self) -> str:
        came = ", ".join(f"{name} {n:,}" for name, n in self.outcomes.most_common(8))
        return (
            f"{self.kind}: {self.n_cases:,} cases, {len(self.found):,} faults; slowest {self.slowest[0]:.1f} s "
            f"(case {self.slowest[1]}), largest {self.largest[0] / 2**20:,.0f} MB (case {self.largest[1]}), "
            f"{self.n_cases / max(self.seconds, 1e-9):,.0f} a second ({came})"
        )


def luck_of(kind: str, seed: int, case: int) -> random.Random:
    """The random numbers of a case, which are its own."""
    return random.Random(f"{kind} {seed} {case}")  # noqa: S311 - no secrets here


def prepared(kind: str, folder: Path) -> Case:
    """The cases of a kind, ready to run in a folder."""
    case: Case = import_module(f"attacks.{kind}").prepare(folder)
    return case


def said_by(kind: str, name: str, otherwise: Any) -> Any:
    """What a kind of attack says about its cases."""
    return getattr(import_module(f"attacks.{kind}"), name, otherwise)


def run_case(case: Case, kind: str, seed: int, number: int, peak: Peak) -> tuple[str | Found, float, int]:
    """One case: what came of it, the seconds, the memory."""
    given: list[str] = []
    patience = said_by(kind, "PATIENCE", HANG)
    peak.begin()
    begun = time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, patience)
    came: str | Found
    try:
        came = case(luck_of(kind, seed, number), given.append)
    except TooLongError:
        came = _found(kind, seed, number, f"took longer than {patience:g} seconds", given)
    except Fault as fault:
        came = _found(kind, seed, number, str(fault), given)
    except BaseException as error:
        came = _found(kind, seed, number, f"{type(error).__name__} escapes: {_said(error)}", given)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    seconds, grown = time.perf_counter() - begun, peak.grown()
    if grown > MEMORY and isinstance(came, str):
        came = _found(kind, seed, number, f"took {grown / 2**30:.1f} GB of memory", given)
    return came, seconds, grown


def _said(error: BaseException) -> str:
    try:
        return str(error)[:300]
    except Exception as worse:
        return f"(its text fails: {type(worse).__name__})"


def _found(kind: str, seed: int, number: int, what: str, given: list[str]) -> Found:
    lines = traceback.format_exc().splitlines()
    return Found(kind, seed, number, what, "; ".join(given)[:2000], "\n".join(lines[-30:])[-3000:])


def limit_this_process() -> None:
    """No more memory than a bad input may take."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def watch_the_clock() -> None:
    """A case that takes too long is interrupted."""

    def too_long(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, too_long)


def warm_up(case: Case, n: int) -> None:
    """Some cases that do not count: they import and compile what others need.

    First what must not be interrupted: a module that is half imported stays so.
    """
    scores = np.random.default_rng(0).random((12, 3))
    for algorithm in SOME:
        bestarm.race_table(scores, algorithm=algorithm).to_json()
    str(bestarm.race_table(scores, criterion="wins"))
    watch_the_clock()
    for k in range(n):
        signal.setitimer(signal.ITIMER_REAL, 5.0)
        try:
            case(random.Random(f"warm {k}"), lambda _: None)  # noqa: S311 - no secrets here
        except BaseException:  # noqa: S112 - it is looked at when it comes as a case
            continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)


def _work(kind: str, seed: int, folder: str, pipe: Any, current: Any) -> None:
    """A worker: takes ranges of cases, gives tallies."""
    os.chdir(folder)
    with open("worker.log", "wb") as log:  # noqa: PTH123 - what libraries print is for nobody
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    case = prepared(kind, Path(folder))
    watch_the_clock()
    limit_this_process()
    peak = Peak()
    pipe.send(Tally(kind))
    while (work := pipe.recv()) is not None:
        tally = Tally(kind)
        for number in range(*work):
            current[0], current[1] = float(number), time.monotonic()
            came, seconds, grown = run_case(case, kind, seed, number, peak)
            tally.n_cases += 1
            tally.slowest, tally.largest = max(tally.slowest, (seconds, number)), max(tally.largest, (grown, number))
            tally.outcomes["fault" if isinstance(came, Found) else came] += 1
            tally.found += [came] if isinstance(came, Found) else []
            if seconds > said_by(kind, "PATIENCE", HANG):  # what was interrupted may be half done: another one goes on
                tally.rest = (number + 1, work[1])
                break
        current[0] = -1.0
        pipe.send(tally)
        if tally.rest is not None:
            return


class Worker:
    """A process that runs cases, and what it is at."""

    def __init__(self, kind: str, seed: int) -> None:
        where = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a private folder in memory
        self.folder = tempfile.TemporaryDirectory(prefix="faults-", dir=where, ignore_cleanup_errors=True)
        context = get_context("spawn")
        self.pipe, other = context.Pipe()
        self.current = context.Array("d", [-1.0, time.monotonic()])
        arguments = (kind, seed, self.folder.name, other, self.current)
        self.process = context.Process(target=_work, args=arguments)
        self.process.start()
        other.close()
        self.work: tuple[int, int] | None = None
        self.done = 0
        self.patience = said_by(kind, "PATIENCE", HANG) + DEAD

    def give(self, work: tuple[int, int] | None) -> None:
        """Cases to run next."""
        self.work = work
        self.current[1] = time.monotonic()
        self.pipe.send(work)

    def stuck(self) -> bool:
        """Whether a case runs for much too long."""
        return bool(self.current[0] >= 0 and time.monotonic() - self.current[1] > self.patience)

    def end(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        self.folder.cleanup()


def attack(kind: str, n: int, seed: int, n_workers: int = 2, first: int = 0) -> Tally:
    """Run the cases of a kind on several workers."""
    total, begun = Tally(kind), time.perf_counter()
    chunk = said_by(kind, "CHUNK", CHUNK)
    todo = deque((start, min(start + chunk, first + n)) for start in range(first, first + n, chunk))
    workers = [Worker(kind, seed) for _ in range(min(n_workers, len(todo)))]
    while workers:
        connection.wait([worker.pipe for worker in workers], timeout=1.0)
        for worker in list(workers):
            try:
                if worker.pipe.poll():
                    came = worker.pipe.recv()
                    total.add(came)
                    worker.done += came.n_cases
                    worker.work = None
                    if came.rest is not None and came.rest[0] < came.rest[1]:
                        todo.appendleft(came.rest)
                    if worker.done < LIFE and todo and came.rest is None:
                        worker.give(todo.popleft())
                        continue
                elif not worker.stuck():
                    continue
            except (EOFError, OSError):
                pass  # it died
            if worker.work is not None:
                todo.extendleft(reversed(_of_the_dead(worker, total, seed)))
            worker.end()
            workers.remove(worker)
            if todo:
                workers.append(Worker(kind, seed))
        if sys.stderr.isatty():
            rate = total.n_cases / (time.perf_counter() - begun)
            sys.stderr.write(f"\r{kind} {total.n_cases:,} of {n:,}, {len(total.found)} faults, {rate:,.0f}/s ")
    total.seconds = time.perf_counter() - begun
    return total


def _of_the_dead(worker: Worker, total: Tally, seed: int) -> list[tuple[int, int]]:
    """Record the case that killed a worker; the other cases of its range, to be run again."""
    start, stop = worker.work or (0, 0)
    case = int(worker.current[0])
    if not start <= case < stop:
        raise RuntimeError(f"a worker of {total.kind} died before its first case: see --only {start}")
    worker.process.join(0.2)
    how = "was stuck and killed" if worker.process.exitcode is None else f"died with {worker.process.exitcode}"
    total.add(Tally(total.kind, 1, Counter(["fault"]), [Found(total.kind, seed, case, f"the process {how}", "")]))
    return [part for part in ((start, case), (case + 1, stop)) if part[0] < part[1]]


def replay(kind: str, seed: int, number: int) -> str | Found:
    """One case in this process."""
    with tempfile.TemporaryDirectory(prefix="faults-", ignore_cleanup_errors=True) as folder:
        back = Path.cwd()
        os.chdir(folder)
        case = prepared(kind, Path(folder))
        watch_the_clock()
        limit_this_process()
        try:
            came, seconds, grown = run_case(case, kind, seed, number, Peak())
        finally:
            os.chdir(back)
    sys.stderr.write(f"{seconds:.2f} seconds, {grown / 2**20:.0f} MB\n")
    return came
