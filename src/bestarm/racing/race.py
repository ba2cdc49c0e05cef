"""The race in one call."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from bestarm.algorithms import Algorithm
from bestarm.algorithms.statements import Arm
from bestarm.comparisons import Comparison
from bestarm.comparisons.evidence import Criterion
from bestarm.inputs.groups import Groups
from bestarm.inputs.options import OnError, Options, Target
from bestarm.racing.evaluation import Evaluation
from bestarm.racing.execution import Execution, run_race
from bestarm.racing.result import RaceResult
from bestarm.racing.store import Store


def race(  # noqa: PLR0913 - the one place where all options are said and described
    evaluate: Callable[[Any, Any], Any],
    *,
    arms: Mapping[Arm, Any] | Iterable[Arm],
    items: Iterable[Any] | None = None,
    delta: float | None = None,
    bounds: tuple[float, float] | None = None,
    lower_is_better: bool = False,
    criterion: Criterion | None = None,
    epsilon: float | None = None,
    indifference_zone: float | None = None,
    target: Target | None = None,
    replace: bool | None = None,
    groups: Groups | None = None,
    max_evaluations: int | None = None,
    executor: Executor | None = None,
    rounds_in_flight: int | None = None,
    retries: int = 0,
    on_error: OnError = "raise",
    store: str | Path | Store | None = None,
    seed: int = 0,
    progress: bool = True,
    comparison: Comparison | None = None,
    algorithm: Algorithm | None = None,
    jointly: bool = False,
    min_rounds: int | None = None,
    shuffle_arms: bool = False,
) -> RaceResult[Arm]:
    """Which arm is best? Evaluates all arms on the same items and drops those that are beaten.

    **Guarantee.** With probability at least ``1 - delta`` the best arm is never dropped, under the assumptions of the
    test: with ``bounds``, scores within them and items drawn independently or a pool in random order
    (`bestarm.comparisons.LeaderBetting`); without, jointly Gaussian scores of independent items
    (`bestarm.comparisons.StudentMixture`); with ``criterion="wins"``, an arm that beats every other
    (`bestarm.comparisons.Wins`). ``target`` says for which items. With ``epsilon`` the arm returned is within epsilon
    of the best with that probability. Rounds are counted in the order asked, however long they take.

    Parameters
    ----------
    evaluate : ``evaluate(arm, item)`` returns one score, or with ``jointly=True`` ``evaluate(arms, item)`` those of all
        arms it is given (a sequence in their order, or a mapping); may be ``async def``
    arms : what to choose from: names or other objects; or a mapping of names to what `evaluate` is given for them
    items : a sequence is a finite pool, shuffled by the seed and used without replacement (unless ``replace``); an
        item that it holds twice counts twice. Any other iterable is a stream. None gives each round a fresh seed, below
        2**32
    delta : accepted probability of a wrong answer; 0.05 unless given
    bounds : the interval that all scores lie in, if there is one: the guarantee then needs no other assumption about
        their distribution
    lower_is_better : for times, costs and losses
    criterion : what the best arm is. ``"mean"``, unless given: that with the best mean score. ``"wins"``: the arm that
        is better than every other on more items than worse, however much. This assumes nothing about the scores;
        epsilon, zone and leads are then shares of items, won minus lost (`bestarm.comparisons.Wins`)
    epsilon : stop once the leader is shown to be at most this far from the best
    indifference_zone : assume that the best leads by at least this much; if it does not, nothing is guaranteed.
        Smaller leads are not told apart, so that races between equal arms end
    target : what the answer is about, for a sequence of items. ``"items"``: the mean over them, of the scores as they
        come out here; the default with bounds, which it needs. ``"population"``: the law that they are a random sample
        of; the default without bounds. If the items run out first, that is undecided. ``result.for_population`` is
        there for both
    replace : draw from the sequence with replacement, and evaluate an item anew each time: for scores that differ when
        an evaluation is repeated (sampled answers, times). The answer is about the expected scores on these items
    groups : where items of one document, template or author are not independent of each other: the group of each item
        (one label per item), or a mapping or a function from an item to it. A round then takes a whole group, and its
        score is the mean over the items of the group; if one of its items fails, the group does. For the mean over
        these items a group counts by its size; for the population, which is then one of groups, and by wins, all groups
        count the same
    max_evaluations : stop, undecided, before exceeding this many evaluations
    executor : any `concurrent.futures.Executor`: threads, processes, Dask's ``Client.get_executor()``
    rounds_in_flight : how many rounds are evaluated at a time: the arms of round ``r`` are decided from the rounds up
        to ``r - rounds_in_flight``. Unless given: 1 without an executor, 4 with one or ``async def`` (1 if the
        algorithm must see each round before the next); a race that is continued keeps its own
    retries : how often an evaluation that failed is tried again, after 0.1, 0.2, 0.4, ... seconds
    on_error : if an evaluation fails (an exception, or a value that is not a finite number): ``"raise"`` ends the race;
        ``"worst"`` counts it as the worst score, which needs bounds; ``"disqualify"`` takes the arm out, and the
        guarantee becomes that the best of all arms stays or was disqualified; if all candidates fail in one round, the
        race ends undecided (``"outage"``), and the same call evaluates that round again. ``result.failures`` counts
        them, and if more than half count as worst there is no answer (``result.breakdown``). Scores beyond ±1e150
        are failures too. A score out of bounds always ends the race (`bestarm.OutOfBoundsError`): the bounds are wrong
    store : an SQLite file in which every score is durable before it counts; if it exists, its race is continued. Or an
        object of your own that keeps races (`bestarm.racing.Store`)
    seed : for the order of a pool, or for the fresh seeds
    progress : show who is still in while the race runs (on a terminal's standard error)
    comparison : another test, such as `bestarm.comparisons.Portfolio`; the race gives it the bounds, the number of
        items, ``delta``, ``epsilon`` and the zone
    algorithm : another algorithm, with all its settings, for research; ``delta``, ``bounds`` and the like are then its
        own, and anything given here must agree with them
    jointly : `evaluate` takes all arms of a round at once
    min_rounds : without bounds, no arm is dropped before this round; 10 unless given
    shuffle_arms : evaluate the arms of each round in a random order (by the seed), where the order may matter to scores

    Ctrl-C ends a race with all scores kept and a result that says what is known so far. What was being evaluated is
    dropped, whatever came out of it, and evaluated again when the race is continued; a call that runs on an executor of
    yours is not waited for and goes on by itself. A race inside an evaluation of another one raises
    `KeyboardInterrupt`, so that both end. Other signals are left to your program, and ``sys.exit`` in `evaluate` or in
    the items ends it, with all scores kept: neither is a failure that ``on_error`` could count.

    Examples
    --------
    >>> import bestarm, random
    >>> def evaluate(arm, seed):  # a simulation: arms share the random numbers of a seed
    ...     luck = random.Random(seed)
    ...     return luck.gauss(0, 1) + 0.1 * luck.gauss(0, 1) * arm + 0.05 * arm
    >>> result = bestarm.race(evaluate, arms=[1, 2, 3])
    >>> result.best, str(result.reason)
    (3, 'decided')

    """
    options = Options(
        delta=delta,
        bounds=bounds,
        lower_is_better=lower_is_better,
        criterion=criterion,
        epsilon=epsilon,
        indifference_zone=indifference_zone,
        target=target,
        replace=replace,
        groups=groups,
        max_evaluations=max_evaluations,
        rounds_in_flight=rounds_in_flight,
        on_error=on_error,
        store=store,
        seed=seed,
        comparison=comparison,
        algorithm=algorithm,
        min_rounds=min_rounds,
    )
    evaluation = Evaluation(evaluate, jointly=jointly, retries=retries, shuffled=shuffle_arms)
    return run_race(Execution(evaluation, executor, progress), arms, items, options)
