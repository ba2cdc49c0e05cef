"""The race in one call."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from bestarm.algorithms import Algorithm
from bestarm.inputs.options import FIRST_ROUNDS, Options
from bestarm.racing.evaluation import Evaluation
from bestarm.racing.execution import Execution, run_race
from bestarm.racing.result import RaceResult
from bestarm.racing.store import Store


def race(  # noqa: PLR0913 - the one place where all options are said and described
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
    store: str | Path | Store | None = None,
    seed: int = 0,
    progress: bool = True,
    algorithm: Algorithm | None = None,
    jointly: bool = False,
    first_rounds: int = FIRST_ROUNDS,
    shuffle_arms: bool = False,
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
    store : an SQLite file in which every score is durable before it counts; if it exists, its race is continued. Or an
        object of your own that keeps races (`bestarm.Store`)
    seed : of the order of a pool, or of the fresh seeds
    progress : show who is still in while the race runs (on a terminal's standard error)
    algorithm : any other algorithm; ``delta``, ``epsilon`` and ``indifference_zone`` are then its own
    first_rounds : without bounds, nobody is dropped before this round
    shuffle_arms : evaluate the arms of each round in a random order (by the seed), where the order may matter to scores

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
    options = Options(
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
    )
    evaluation = Evaluation(evaluate, jointly=jointly, retries=retries, shuffled=shuffle_arms)
    return run_race(Execution(evaluation, executor, progress), arms, items, options)
