"""The race in one call: evaluations started, collected, stored, counted, until the answer is there."""

import random
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from bestarm.algorithms import Algorithm
from bestarm.checks import check_count
from bestarm.racing.contest import Race, Round
from bestarm.racing.evaluation import (
    Evaluation,
    EvaluationError,
    Outcome,
    ProgramEndError,
    check_signature,
    failed_call,
    is_async,
)
from bestarm.racing.progress import Display, display
from bestarm.racing.result import RaceResult
from bestarm.racing.settings import FIRST_ROUNDS

USUAL_IN_FLIGHT = 4  # rounds ahead on an executor: keeps a few workers busy, and costs at most three rounds an arm
SAVE_AFTER = 0.5  # seconds for which a score may wait for the others of its round before it is stored

Task = tuple[int, tuple[int, ...]]  # the round, and the arms that one call evaluates
Batch = list[tuple[int, int, Outcome]]


def race(
    evaluate: Callable[..., Any],
    arms: Mapping[str, Any] | Iterable[Any],
    items: Iterable[Any] | None = None,
    *,
    delta: float = 0.05,
    bounds: tuple[float, float] | None = None,
    lower_is_better: bool = False,
    epsilon: float = 0.0,
    indifference_zone: float = 0.0,
    max_queries: int | None = None,
    executor: Executor | None = None,
    in_flight: int | None = None,
    retries: int = 0,
    on_error: str = "raise",
    store: str | Path | None = None,
    seed: int = 0,
    progress: bool = True,
    algorithm: Algorithm | None = None,
    jointly: bool = False,
    first_rounds: int = FIRST_ROUNDS,
    shuffle_arms: bool = False,
    source: dict[str, Any] | None = None,
) -> RaceResult:
    """Which arm is best? Evaluates all arms on the same items and drops those that are beaten.

    **Guarantee.** With probability at least ``1 - delta`` the best arm is never dropped, under the assumptions of the
    comparison: with ``bounds``, scores within them and items drawn independently or a pool in random order (`Betting`);
    without, jointly Gaussian scores of independent items (`StudentMixture`). With ``epsilon`` the arm returned is
    within epsilon of the best with that probability. Rounds are counted in the order asked, whatever time they take.

    Parameters
    ----------
    evaluate : ``evaluate(arm, item)`` returns one score, or with ``jointly=True`` ``evaluate(arms, item)`` those of all
        arms it is given (a sequence in their order, or a mapping); may be ``async def``
    arms : names or other objects, or a mapping of names to candidates, of which `evaluate` gets the candidate
    items : a sequence is a finite pool, shuffled by the seed and used without replacement; with bounds the answer is
        about the mean over it (without bounds its items are taken as a sample; what is exact when all are used is the
        mean over the pool). Any other iterable is a stream. None gives each round a fresh seed, below 2**32
    delta : the probability of error allowed
    bounds : the interval that scores lie in, if there is one: the guarantee then needs nothing else of their law
    lower_is_better : for times, costs and losses
    epsilon : the race also ends when the leader is shown to be within this of every candidate
    indifference_zone : a promise that the best leads by this much; the guarantee then holds under the promise only
    max_queries : the race ends with all candidates before it would ask for more evaluations
    executor : any `concurrent.futures.Executor`: threads, processes, Dask's ``Client.get_executor()``
    in_flight : how many rounds are evaluated at a time: the arms of round ``r`` are decided from the rounds up to
        ``r - in_flight``. 1 without an executor, 4 with one or ``async def``; a file that is continued keeps its own
    retries : how often an evaluation that failed is tried again, after 0.1, 0.2, 0.4, ... seconds
    on_error : of an evaluation that failed (an exception, or not a finite number within the bounds): ``"raise"``;
        ``"worst"``, it counts as the worst bound; ``"disqualify"``, the arm leaves, and the promise becomes that the
        best of all arms survives or was disqualified
    store : an SQLite file in which every score is durable before it counts; if it exists, its race is continued
    seed : of the order of a pool, or of the fresh seeds
    progress : show who is still in while the race runs (on a terminal's standard error)
    algorithm : any other algorithm; ``delta``, ``epsilon`` and ``indifference_zone`` are then its own
    first_rounds : without bounds, nobody is dropped before this round
    shuffle_arms : evaluate the arms of each round in a random order (by the seed), where the order may matter to scores
    source : kept in the store for `bestarm resume`

    Ctrl-C ends a race with all scores kept and a result that says what is known so far.

    Examples
    --------
    >>> import bestarm, random
    >>> def evaluate(arm, seed):  # a simulation: arms share the random numbers of a seed
    ...     luck = random.Random(seed)
    ...     return luck.gauss(0, 1) + 0.1 * luck.gauss(0, 1) * arm + 0.05 * arm
    >>> result = bestarm.race(evaluate, arms=[1, 2, 3])
    >>> result.best, result.reason
    (3, 'decided')

    """
    check_signature(evaluate, jointly)
    check_count("retries", retries, least=0)
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {executor!r}")
    awaited = is_async(evaluate)
    if awaited and executor is not None:
        raise ValueError("an async evaluate runs on an event loop of its own: leave executor out")
    contest = Race(
        arms,
        items,
        delta=delta,
        bounds=bounds,
        lower_is_better=lower_is_better,
        epsilon=epsilon,
        indifference_zone=indifference_zone,
        max_queries=max_queries,
        in_flight=in_flight,
        on_error=on_error,
        store=store,
        seed=seed,
        algorithm=algorithm,
        first_rounds=first_rounds,
        source=source,
        usual_in_flight=USUAL_IN_FLIGHT if awaited or executor is not None else 1,
    )
    evaluation = Evaluation(evaluate, jointly, contest.course.game.bounds, retries, shuffle_arms)
    with contest, display(contest, progress) as shown, _interruptible() as pausing:
        try:
            if awaited:
                from bestarm.racing.loop import LoopExecutor

                with LoopExecutor() as loop:
                    _on_executor(contest, evaluation, evaluation.on_loop, loop, shown, pausing)
            elif executor is not None:
                _on_executor(contest, evaluation, evaluation, executor, shown, pausing)
            else:
                _one_by_one(contest, evaluation, shown, pausing)
        except KeyboardInterrupt:
            pass  # the result says that the race was interrupted, and what is known
        return contest.result()


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


def _one_by_one(contest: Race, evaluation: Evaluation, shown: Display, pausing: Pausing) -> None:
    """Evaluate here, one call after the other; a round is stored as a whole unless it takes long or fails."""
    while not contest.finished:
        for todo in contest.ask():
            if contest.reason is not None:  # by the round before it
                return
            calls = _calls(contest, todo, evaluation)
            batch: Batch = []
            try:
                while _evaluate_some(calls, todo.number, evaluation, pausing, batch):
                    done, batch = batch, []
                    contest.take(done)
            finally:
                contest.take(batch)
            shown.update()


def _evaluate_some(
    calls: Iterator["Call"], number: int, evaluation: Evaluation, pausing: Pausing, batch: Batch
) -> bool:
    """Evaluate until there is something to store at once; False when there are no more calls."""
    begun = time.monotonic()
    with pausing:
        for arms, given in calls:
            failed = False
            for arm, outcome in zip(arms, evaluation(*given), strict=True):
                batch.append((number, arm, outcome))
                failed = failed or outcome.__class__ is EvaluationError
            if failed or time.monotonic() - begun > SAVE_AFTER:
                return True
    return False


Call = tuple[tuple[int, ...], tuple[Any, ...]]  # the arms of a call, and what `Evaluation` is given


def _calls(contest: Race, todo: Round, evaluation: Evaluation) -> Iterator[Call]:
    """The calls that a round takes, in their order."""
    opened = contest.course.find(todo.number)
    candidates, names = contest.entrants.candidates, contest.entrants.names
    wanted = [arm for arm in opened.asked if arm in opened.wanted]
    if evaluation.shuffled:
        random.Random(f"{contest.course.settings.seed} {todo.number}").shuffle(wanted)  # noqa: S311 - no secrets here
    if evaluation.jointly:
        given = [candidates[arm] for arm in wanted], [names[arm] for arm in wanted]
        yield tuple(wanted), (*given, todo.item, opened.label, todo.number)
        return
    for arm in wanted:
        yield (arm,), ((candidates[arm],), (names[arm],), todo.item, opened.label, todo.number)


def _on_executor(
    contest: Race,
    evaluation: Evaluation,
    call: Callable[..., Any],
    executor: Executor,
    shown: Display,
    pausing: Pausing,
) -> None:
    """Start all that may be evaluated now, and take what is done, until the race has ended."""
    running: dict[Future[list[Outcome]], Task] = {}
    try:
        while not contest.finished:
            for todo in contest.ask():
                for arms, given in _calls(contest, todo, evaluation):
                    running[executor.submit(call, *given)] = (todo.number, arms)
            with pausing:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                _refuse_the_end(future, running[future][0])
            ordered = sorted(done, key=lambda future: running[future])
            contest.take(_collected(contest, {future: running.pop(future) for future in ordered}))
            shown.update()
    finally:
        for future in running:
            future.cancel()
        kept = [future for future in running if future.done() and not future.cancelled() and not future.exception()]
        contest.take(_collected(contest, {future: running[future] for future in kept}))


def _refuse_the_end(future: Future[list[Outcome]], number: int) -> None:
    """Raise what ends the race as a whole, while all that is done is still to be kept."""
    error = future.exception()
    if isinstance(error, BrokenExecutor):
        raise BrokenExecutor(f"the executor broke down while it evaluated round {number}: {error}") from error
    if isinstance(error, ProgramEndError) and error.__cause__ is not None:
        raise error.__cause__
    if error is not None and not isinstance(error, Exception):
        raise error  # Ctrl-C reaches the processes of a pool too


def _collected(contest: Race, done: dict[Future[list[Outcome]], Task]) -> Batch:
    """The outcomes of calls that have ended; a call that never came back is a failure of its evaluations."""
    batch: Batch = []
    for future, (number, arms) in done.items():
        error = future.exception()
        label = contest.course.find(number).label
        for k, arm in enumerate(arms):
            name = contest.entrants.names[arm]
            batch.append((number, arm, future.result()[k] if error is None else failed_call(name, label, error)))  # type: ignore[arg-type]
    return batch
