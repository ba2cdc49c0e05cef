"""Evaluations started, collected, stored, counted, until the answer is there."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Thread
from typing import Any
from weakref import WeakSet

from bestarm.algorithms import Reason
from bestarm.algorithms.game import Arm
from bestarm.errors import EvaluationError, ParameterTypeError
from bestarm.racing.ask_tell import Race
from bestarm.racing.evaluation import (
    REAL,
    Call,
    Evaluation,
    EvaluationOutcome,
    ProgramEndError,
    call_text,
    failed_call,
    function_on_groups,
    outcome_of_error,
    score_or_failure,
)
from bestarm.racing.interruption import (
    Interruption,
    evaluating,
    find_exit,
    inside_evaluation,
    interruptible,
    reraise_exit,
)
from bestarm.racing.options import Options
from bestarm.racing.state import OpenRound
from bestarm.racing.summary import warn_of
from bestarm.record.record import ScoreWithNote
from bestarm.result.live import display
from bestarm.result.result import RaceResult
from bestarm.text import safe_str, short_repr

USUAL_IN_FLIGHT = 4  # rounds ahead on an executor: keeps a few workers busy, and costs at most three rounds per arm
SAVE_AFTER = 0.5  # seconds for which a score may wait for the others of its round before it is stored
GRACE = 0.5  # seconds that coroutines have to end when nobody waits for them
Batch = list[tuple[int, int, EvaluationOutcome]]  # round, arm, what came out


@dataclass(frozen=True)
class Execution:
    """Who evaluates, on what, and whether it is shown."""

    evaluation: Evaluation
    executor: Executor | None = None
    progress: bool = True

    def check(self) -> None:
        """Refuse what cannot be run."""
        self.evaluation.check()
        _check_executor(self.executor)
        if self.evaluation.awaited and self.executor is not None:
            raise ValueError("an async evaluate runs on an event loop of its own: leave executor out")


def _check_executor(executor: object) -> None:
    if executor is None or isinstance(executor, Executor):
        return
    problem = f"must be a concurrent.futures.Executor, got {short_repr(executor)}"
    if hasattr(type(executor), "get_executor"):  # a client of Dask
        problem += ": give executor=client.get_executor()"
    raise ParameterTypeError("executor", problem, executor)


def run_race(
    execution: Execution, arms: Mapping[Arm, Any] | Iterable[Arm], items: Iterable[Any] | None, options: Options
) -> RaceResult[Arm]:
    """Run a race to its end, or until Ctrl-C."""
    execution.check()
    ahead = USUAL_IN_FLIGHT if execution.evaluation.awaited or execution.executor is not None else 1
    race: Race[Arm] = Race.from_options(arms, items, replace(options, usual_in_flight=ahead))
    evaluation = replace(execution.evaluation, bounds=race.state.game.bounds)
    if options.groups is not None:
        evaluation = replace(evaluation, function=function_on_groups(evaluation))
    nested = inside_evaluation()
    with race, display(race.standing, execution.progress and not nested) as show, interruptible() as interruption:
        race.state.around_items = interruption
        runner = _RaceRunner(race, evaluation, show, interruption)
        try:
            with evaluating():
                runner.run(execution)
        except KeyboardInterrupt:
            interruption.shut()
            if nested:
                raise
            ended = replace(race.result(), reason=race.reason or Reason.INTERRUPTED)
            ended.keep_game(race.state.game)  # nobody plays it further
            return ended
        result = race.result()
    warn_of(result, race.state.game)
    return result


@dataclass(frozen=True)
class _RaceRunner:
    """A race with those who evaluate it and show it."""

    race: Race[Any]
    evaluation: Evaluation
    show: Callable[[], None] | None
    interruption: Interruption

    def run(self, execution: Execution) -> None:
        """Evaluate until the race has ended."""
        if self.evaluation.awaited:
            self._on_loop()
        elif execution.executor is not None:
            self._on_executor(execution.executor, self.evaluation)
        else:
            self._one_by_one()

    def _one_by_one(self) -> None:
        """Evaluate here, one call after the other."""
        state, rounds = self.race.state, deque[OpenRound]()
        while state.reason is None:
            if not rounds:
                rounds.extend(state.hand_out())
            self._evaluate(rounds.popleft())
            if self.show is not None:
                self.show()

    def _evaluate(self, todo: OpenRound) -> None:
        """Evaluate a round; it is stored as a whole unless it is slow or fails."""
        if self.evaluation.jointly or self.evaluation.retries:
            fill = partial(self._make_calls, self._calls(todo))
        else:
            fill = partial(self._call_once, todo, iter(self._in_order(todo)))
        batch: Batch = []  # is filled rather than returned, so that it is there when something is raised
        try:
            while fill(batch):
                done, batch = batch, []
                self.race.record_outcomes(done)
                if self.show is not None:
                    self.show()
        finally:  # the round is evaluated, or something was raised on the way: either way the rest is stored
            self.interruption.shut()
            self.race.record_outcomes(batch)

    def _call_once(self, todo: OpenRound, arms: Iterator[int], batch: Batch) -> bool:
        """Evaluate arms until there is something to store at once; False when all are evaluated.

        What `Evaluation.__call__` does, for one arm and one attempt, without a call of its own for each evaluation:
        it takes most of the time of races with quick functions. Both must treat errors and scores alike.
        """
        values, names, item = self.race.state.arms.values, self.race.state.arms.names, todo.item
        function, bounds, started = self.evaluation.function, self.evaluation.bounds, time.monotonic()
        low, high = bounds or REAL
        with self.interruption:
            for arm in arms:
                try:
                    outcome = function(values[arm], item)
                except BaseException as error:
                    reraise_exit(error, call_text(names[arm], item))
                    outcome = outcome_of_error(error, bounds, names[arm], item)
                else:
                    if not (type(outcome) is float and low <= outcome <= high):  # most often it is
                        outcome = score_or_failure(outcome, bounds, names[arm], item)
                if self.interruption.came:  # what was evaluated when Ctrl-C came is dropped, whatever came out
                    raise KeyboardInterrupt
                batch.append((todo.number, arm, outcome))
                if isinstance(outcome, EvaluationError) or time.monotonic() - started > SAVE_AFTER:
                    return True
        return False

    def _make_calls(self, calls: Iterator[Call], batch: Batch) -> bool:
        """Make calls, of several arms or with retries, until there is something to store at once; False at the end."""
        started = time.monotonic()
        with self.interruption:
            for call in calls:
                outcomes = self.evaluation(call)
                self.interruption.check()
                batch += [(call.number, arm, outcome) for arm, outcome in zip(call.arms, outcomes, strict=True)]
                failed = any(isinstance(outcome, EvaluationError) for outcome in outcomes)
                if failed or time.monotonic() - started > SAVE_AFTER:
                    return True
        return False

    def _in_order(self, todo: OpenRound) -> list[int]:
        """The arms of a round, in the order of their evaluation."""
        wanted = list(todo.wanted)
        if self.evaluation.shuffled:
            luck = random.Random(f"{self.race.state.settings.seed} {todo.number}")  # noqa: S311 - no secrets here
            luck.shuffle(wanted)
        return wanted

    def _calls(self, todo: OpenRound) -> Iterator[Call]:
        """The calls that a round takes, in their order."""
        arms, wanted = self.race.state.arms, self._in_order(todo)
        for together in [wanted] if self.evaluation.jointly else [[arm] for arm in wanted]:
            values, names = [arms.values[arm] for arm in together], [arms.names[arm] for arm in together]
            yield Call(todo.number, tuple(together), tuple(values), tuple(names), todo.item)

    def _on_loop(self) -> None:
        """Evaluate coroutines; those that are of no use any more are cancelled."""
        loop = LoopExecutor()
        try:
            try:
                self._on_executor(loop, self.evaluation.on_loop)
            finally:
                loop.check()
            with self.interruption:
                loop.shutdown()
        finally:
            loop.shutdown(wait=False)

    def _on_executor(self, executor: Executor, evaluate: Callable[[Call], Any]) -> None:
        """Start all that may be evaluated now, and take what is done, until the race has ended."""
        race, running = self.race, _SubmittedCalls(executor, evaluate)
        try:
            while not race.finished:
                for todo in race.state.hand_out():
                    for call in self._calls(todo):
                        self.interruption.check()
                        running.start(call)
                        if self.interruption.came:
                            running.drop_last()
                with self.interruption:
                    done, _ = wait(running.calls, return_when=FIRST_COMPLETED)
                race.record_outcomes(running.collect(done))
                if self.show is not None:
                    self.show()
        finally:
            self.interruption.shut()
            rest = running.stop()
            if self.interruption.came:  # whatever came out since then may have come out because of it
                rest = []
            elif not race.finished:  # what failed may have failed for the same reason
                rest = [one for one in rest if _is_score(one[2])]
            race.record_outcomes(rest)


@dataclass(frozen=True)
class _SubmittedCalls:
    """The calls that an executor was given."""

    executor: Executor
    evaluate: Callable[[Call], Any]
    calls: dict[Future[list[EvaluationOutcome]], Call] = field(default_factory=dict)  # that are not collected yet
    known: WeakSet[Future[list[EvaluationOutcome]]] = field(default_factory=WeakSet)
    lost: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)  # rounds and arms of calls given once more

    def start(self, call: Call) -> None:
        """Give a call to the executor, which must answer with a future of its own."""
        try:
            future = self.executor.submit(self.evaluate, call)
        except BaseException as error:
            reraise_exit(error, call.text)
            why = f"{type(error).__name__}: {safe_str(error)}"
            raise BrokenExecutor(f"the executor takes no evaluations in round {call.number}: {why}") from error
        if not isinstance(future, Future) or future in self.known:
            what = "the same future twice" if isinstance(future, Future) else short_repr(future)
            raise BrokenExecutor(f"the executor must give a new future for each evaluation, but its submit gave {what}")
        self.known.add(future)
        self.calls[future] = call

    def drop_last(self) -> None:
        """Forget the call that was started last if it has ended: it was evaluated here, when Ctrl-C came."""
        future, call = self.calls.popitem()
        if not future.done():
            self.calls[future] = call

    def collect(self, done: Iterable[Future[list[EvaluationOutcome]]]) -> Batch:
        """What came out of calls that have ended, in their order; nothing is taken if one of them ends the race."""
        for future in done:
            _raise_what_ends_race(future, self.calls[future])
        back = [future for future in done if not self._given_once_more(future)]
        ordered = sorted(back, key=lambda future: self.calls[future][:2])
        return _collected({future: self.calls.pop(future) for future in ordered})

    def _given_once_more(self, future: Future[list[EvaluationOutcome]]) -> bool:
        """Give a call that the executor has lost to it once more; whether that was done.

        Evaluations return what the user's function raises. An error of the future is one of the executor: Dask's, for
        one, may mistake a result for an error when a worker dies at that moment.
        """
        number, arms = self.calls[future][:2]
        if future.exception() is None or (number, arms) in self.lost:
            return False
        self.lost.add((number, arms))
        self.start(self.calls.pop(future))
        return True

    def stop(self) -> Batch:
        """Cancel what has not begun; what is done by now. What runs on the executor of the user goes on."""
        for future in self.calls:
            with suppress(Exception):  # some executors cannot cancel, and say so: then it goes on as well
                future.cancel()
        return _collected({future: call for future, call in self.calls.items() if _came_back(future, call)})


def _raise_what_ends_race(future: Future[list[EvaluationOutcome]], call: Call) -> None:
    """Raise errors that end the whole race, before the evaluations that are done are taken: they can still be kept."""
    number = call.number
    if future.cancelled():
        raise BrokenExecutor(f"the executor cancelled an evaluation of round {number}")
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        raise BrokenExecutor(f"the executor broke down while it evaluated round {number}: {error}") from error
    if isinstance(error, ProgramEndError) and error.__cause__ is not None:
        raise error.__cause__
    if error is not None and (end := find_exit(error)) is not None:
        raise end  # Ctrl-C reaches the processes of a pool too
    if error is None and not _came_back(future, call):
        what = f"does not hold what was evaluated, but {short_repr(future.result())}"
        raise BrokenExecutor(f"the executor gave a future for round {number} that {what}")


def _came_back(future: Future[list[EvaluationOutcome]], call: Call) -> bool:
    """Whether a future holds what its call returned: an outcome for each arm."""
    if not future.done() or future.cancelled() or future.exception() is not None:
        return False
    outcomes: Any = future.result()
    if not isinstance(outcomes, list) or len(outcomes) != len(call.arms):
        return False
    return all(isinstance(one, EvaluationOutcome) and one == one for one in outcomes)  # noqa: PLR0124 - NaN is no score


def _is_score(outcome: EvaluationOutcome) -> bool:
    """Whether an evaluation succeeded in the end: a time-out did not, though it counts as a score."""
    return isinstance(outcome, float) or (isinstance(outcome, ScoreWithNote) and not outcome.note.counted)


def _collected(done: dict[Future[list[EvaluationOutcome]], Call]) -> Batch:
    """The outcomes of calls that have ended; a call that did not come back twice is a failure of its arms."""
    batch: Batch = []
    for future, call in done.items():
        error = future.exception()
        for k, arm in enumerate(call.arms):
            failed = None if error is None else failed_call(call.names[k], call.item, error)
            batch.append((call.number, arm, failed or future.result()[k]))
    return batch


class LoopExecutor(Executor):
    """Coroutines on an event loop in a thread of its own, so that it works in notebooks too."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._ended: KeyboardInterrupt | SystemExit | None = None
        self._over = False
        self._thread = Thread(target=self._run, name="bestarm-evaluations", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        """Run the loop. A task that a coroutine has started may ask for the end of the program: all are cancelled."""
        while not self._over:
            try:
                self._loop.run_forever()
            except (KeyboardInterrupt, SystemExit) as end:
                self._ended = end
                for task in asyncio.all_tasks(self._loop):
                    task.cancel()

    def check(self) -> None:
        """Raise the wish to end of a task that was started by a coroutine."""
        if self._ended is not None:
            raise self._ended

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a coroutine function; its future can be cancelled."""
        self.check()
        return asyncio.run_coroutine_threadsafe(fn(*args, **kwargs), self._loop)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancel what still runs and end the loop.

        Without ``wait``, what does not let itself be cancelled within a moment is left to run, and the loop with it:
        its thread does not keep the program from ending.
        """
        if self._over:
            return
        cancelled = asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop)
        try:
            cancelled.result(None if wait else GRACE)
        except TimeoutError:
            return
        self._over = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
