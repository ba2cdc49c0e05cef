"""Evaluations started, collected, stored, counted, until the answer is there."""

import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from bestarm.algorithms import Reason
from bestarm.algorithms.statements import Arm
from bestarm.inputs.options import Options
from bestarm.inputs.scores import Outcome, failed_call, is_failure
from bestarm.racing.ask_tell import Race, Round
from bestarm.racing.evaluation import Call, Evaluation, ProgramEndError
from bestarm.racing.grouped import over_groups
from bestarm.racing.result import RaceResult
from bestarm.racing.summary import warn_of
from bestarm.report.live import display

USUAL_IN_FLIGHT = 4  # rounds ahead on an executor: keeps a few workers busy, and costs at most three rounds per arm
SAVE_AFTER = 0.5  # seconds for which a score may wait for the others of its round before it is stored

Batch = list[tuple[int, int, Outcome]]  # round, arm, what came out


@dataclass(frozen=True)
class Execution:
    """Who evaluates, on what, and whether it is shown."""

    evaluation: Evaluation
    executor: Executor | None = None
    progress: bool = True

    def check(self) -> None:
        """Refuse what cannot be run."""
        self.evaluation.check()
        if self.executor is not None and not isinstance(self.executor, Executor):
            raise TypeError(f"executor must be a concurrent.futures.Executor, got {self.executor!r}")
        if self.evaluation.awaited and self.executor is not None:
            raise ValueError("an async evaluate runs on an event loop of its own: leave executor out")


def run_race(
    execution: Execution, arms: Mapping[Arm, Any] | Iterable[Arm], items: Iterable[Any] | None, options: Options
) -> RaceResult[Arm]:
    """Run a race to its end, or until Ctrl-C."""
    execution.check()
    awaited = execution.evaluation.awaited
    ahead = USUAL_IN_FLIGHT if awaited or execution.executor is not None else 1
    race: Race[Arm] = Race.begun(arms, items, replace(options, usual_in_flight=ahead))
    evaluation = replace(execution.evaluation, bounds=race.state.game.bounds)
    if options.groups is not None:
        evaluation = replace(evaluation, function=over_groups(evaluation))
    with race, display(race.standing, execution.progress) as show, _interruptible() as pausing:
        runner = _Runner(race, evaluation, show, pausing)
        try:
            if awaited:
                from bestarm.racing.loop import LoopExecutor

                with LoopExecutor() as loop:
                    runner.on_executor(loop, evaluation.on_loop)
            elif execution.executor is not None:
                runner.on_executor(execution.executor, evaluation)
            else:
                runner.one_by_one()
        except KeyboardInterrupt:
            return replace(race.result(), reason=race.reason or Reason.INTERRUPTED)
        result = race.result()
    warn_of(result, race.state.game)
    return result


class Pausing:
    """Ctrl-C is let through only while evaluations run, so that no score is half counted."""

    def __init__(self) -> None:
        self.asked = False
        self._open = False

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """What Ctrl-C does."""
        self.asked = True
        if self._open:
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        self._open = True
        if self.asked:
            raise KeyboardInterrupt

    def __exit__(self, *_: object) -> None:
        self._open = False


@contextmanager
def _interruptible() -> Iterator[Pausing]:
    """Handle Ctrl-C while a race runs; only the main thread of a program gets it."""
    pausing = Pausing()
    if threading.current_thread() is not threading.main_thread():
        yield pausing
        return
    before = signal.signal(signal.SIGINT, pausing.interrupt)
    try:
        yield pausing
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True)
class _Runner:
    """A race with those who evaluate it and show it."""

    race: Race[Any]
    evaluation: Evaluation
    show: Callable[[], None]
    pausing: Pausing

    def one_by_one(self) -> None:
        """Evaluate here, one call after the other; a round is stored as a whole unless it is slow or fails."""
        race = self.race
        while not race.finished:
            for todo in race.ask():
                if race.reason is not None:  # by the round before it
                    return
                outcomes = self._outcomes(todo)
                batch: Batch = []
                try:
                    while self._evaluate_some(outcomes, batch):
                        done, batch = batch, []
                        race.take(done)
                finally:
                    race.take(batch)
                self.show()

    def _evaluate_some(self, outcomes: Iterator[Batch], batch: Batch) -> bool:
        """Evaluate until there is something to store at once; False when the round is evaluated."""
        begun = time.monotonic()
        with self.pausing:
            for made in outcomes:
                batch += made
                failed = False
                for _, _, outcome in made:
                    failed = failed or is_failure(outcome)
                if failed or time.monotonic() - begun > SAVE_AFTER:
                    return True
        return False

    def _outcomes(self, todo: Round[Any]) -> Iterator[Batch]:
        """Evaluate a round call by call."""
        evaluation, number = self.evaluation, todo.number
        if evaluation.jointly or evaluation.retries:
            for call in self._calls(todo):
                yield [(number, arm, outcome) for arm, outcome in zip(call.arms, evaluation(call), strict=True)]
            return
        arms, item = self.race.entrants, todo.item
        for arm in self._wanted(number):
            yield [(number, arm, evaluation.once(arms.values[arm], item, arms.names[arm]))]

    def _wanted(self, number: int) -> list[int]:
        """The arms of a round, in the order of their evaluation."""
        wanted = list(self.race.state.find(number).wanted)
        if self.evaluation.shuffled:
            luck = random.Random(f"{self.race.state.settings.seed} {number}")  # noqa: S311 - no secrets here
            luck.shuffle(wanted)
        return wanted

    def _calls(self, todo: Round[Any]) -> Iterator[Call]:
        """The calls that a round takes, in their order."""
        values, names, wanted = self.race.entrants.values, self.race.entrants.names, self._wanted(todo.number)
        number, item = todo.number, todo.item
        if self.evaluation.jointly:
            given, called = tuple([values[arm] for arm in wanted]), tuple([names[arm] for arm in wanted])
            yield Call(number, tuple(wanted), given, called, item)
            return
        for arm in wanted:
            yield Call(number, (arm,), (values[arm],), (names[arm],), item)

    def on_executor(self, executor: Executor, evaluate: Callable[[Call], Any]) -> None:
        """Start all that may be evaluated now, and take what is done, until the race has ended."""
        race, running = self.race, dict[Future[list[Outcome]], Call]()
        try:
            while not race.finished:
                for todo in race.ask():
                    for call in self._calls(todo):
                        running[executor.submit(evaluate, call)] = call
                with self.pausing:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    _refuse_the_end(future, running[future].number)
                ordered = sorted(done, key=lambda future: running[future][:2])
                race.take(_collected({future: running.pop(future) for future in ordered}))
                self.show()
        finally:
            for future in running:
                future.cancel()
            kept = [future for future in running if future.done() and not future.cancelled() and not future.exception()]
            race.take(_collected({future: running[future] for future in kept}))


def _refuse_the_end(future: Future[list[Outcome]], number: int) -> None:
    """Raise errors that end the whole race, before the evaluations that are done are taken: they can still be kept."""
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        raise BrokenExecutor(f"the executor broke down while it evaluated round {number}: {error}") from error
    if isinstance(error, ProgramEndError) and error.__cause__ is not None:
        raise error.__cause__
    if error is not None and not isinstance(error, Exception):
        raise error  # Ctrl-C reaches the processes of a pool too


def _collected(done: dict[Future[list[Outcome]], Call]) -> Batch:
    """The outcomes of calls that have ended; a call that never came back is a failure of its evaluations."""
    batch: Batch = []
    for future, call in done.items():
        error = future.exception()
        for k, arm in enumerate(call.arms):
            failed = None if error is None else failed_call(call.names[k], call.item, error)  # type: ignore[arg-type]
            batch.append((call.number, arm, failed or future.result()[k]))
    return batch
