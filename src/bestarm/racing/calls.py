"""Races in one call: of a function, of a recorded table, of programs."""

import operator
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, Game, Reason
from bestarm.algorithms.assumptions import MUCH_ROOM, warn_of_assumption
from bestarm.algorithms.game import Arm
from bestarm.checks import check_bounds, check_flag, check_path, check_seed
from bestarm.comparisons import Comparison
from bestarm.comparisons.evidence import Criterion
from bestarm.errors import AssumptionWarning, BestarmError, StoreError
from bestarm.racing.evaluation import Evaluation
from bestarm.racing.options import (
    CommandOptions,
    Options,
    TableOptions,
    choose_algorithm,
    known_options,
    race_settings,
    start_chosen_game,
)
from bestarm.racing.running import Execution, run_race
from bestarm.racing.state import RaceState
from bestarm.racing.summary import summarise
from bestarm.record.record import Failure, Record
from bestarm.record.replay import reward_transform
from bestarm.record.settings import OnError, RaceSettings, Target, start_game
from bestarm.record.sqlite import read_store
from bestarm.record.store import Store, StoredRace, check_cost
from bestarm.result.outcome import RaceOutcome
from bestarm.result.result import RaceResult
from bestarm.sources.frames import score_table
from bestarm.sources.items import LONGEST_TEXT, Groups, Items, RaceArms, digest, race_arms, shuffled
from bestarm.sources.programs import STOPS, TIMEOUT, Commands, Measure, Measured
from bestarm.sources.tables import (
    Missing,
    ScoreTable,
    by_group,
    check_n_columns,
    check_within,
    table_bounds,
    without_gaps,
)
from bestarm.text import file_name, one_line

SAME = 1e-12  # of their size: means that differ by less are equal up to rounding
ENDED_STREAM = (Reason.RAN_OUT_OF_ITEMS, "items exhausted")  # the second in files of earlier versions
# What settings and scores raise that no race has, though each of them is of the right kind.
NONSENSE = (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError, BestarmError)


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
    unit: str | None = None,
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
    target : what the answer is about, for a sequence of items. ``"population"``, unless given: the law that they are a
        random sample of; if the items run out first, the race is undecided. ``"items"``: the mean over them, of the
        scores as they come out here, which needs bounds or wins. ``result.for_population`` is there for both
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
    progress : show how the race stands while it runs: some lines in a terminal or notebook, gone at the end;
        elsewhere a line on standard error after 10 s, and further ones after pauses that grow to five minutes
    comparison : another test, such as `bestarm.comparisons.Portfolio`; the race gives it the bounds, the number of
        items, ``delta``, ``epsilon`` and the zone
    algorithm : another algorithm, with all its settings, for research; ``delta``, ``bounds`` and the like are then its
        own, and anything given here must agree with them
    jointly : `evaluate` takes all arms of a round at once
    min_rounds : without bounds, no arm is dropped before this round; 10 unless given
    shuffle_arms : evaluate the arms of each round in a random order (by the seed), where the order may matter to scores
    unit : of the scores, where they are shown, in at most 16 characters; ``"s"`` shows 0.00419 as 4.19 ms

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
        unit=unit,
    )
    evaluation = Evaluation(evaluate, jointly=jointly, retries=retries, shuffled=shuffle_arms)
    return run_race(Execution(evaluation, executor, progress), arms, items, options)


def race_table(  # noqa: PLR0913 - columns are chosen here as in a file
    frame: Any,
    *,
    arms: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    item_column: str | None = None,
    arm_column: str | None = None,
    score_column: str | None = None,
    bounds: tuple[float, float] | None = None,
    missing: Missing = "raise",
    groups: str | Groups | None = None,
    live: bool | None = None,
    **options: Unpack[TableOptions],
) -> RaceResult[str]:
    """Which columns of a recorded score table may be the best on items like its rows?

    All rows count: the result is a leaderboard with the mean of each column over all rows, the items that it won and
    lost against the leader, and who may still be the best on items like these. With probability at least ``1 - delta``
    the best column for the population that the rows are a random sample of is among the ``candidates``. That is decided
    by a race on the rows in random order; ``n_evaluations`` says how many scores this race would have asked for.
    Unless bounds are given, these are the smallest and the largest score of the table: the statement then assumes that
    other items keep within them.

    With ``live=True`` the result is that race, as it would have run, and shows only what it has seen; ``result.saved``
    is the share of scores that were not looked at.

    Parameters
    ----------
    frame : a NumPy array (then ``arms`` names its columns), a pandas, polars or Arrow table, or a mapping of columns;
        one row per item, one column per arm, at most 2,000 of them (with another ``algorithm``, as many as it can
        take); or one row per score. Columns are read as `bestarm.read_table` reads those of a file, and an index of
        names holds the items; dates, complex numbers and columns in which some cells are texts raise ValueError
    arms : the columns to race, or the arms of a table with one row per score; all others are left out
    ignore : columns or arms to leave out
    item_column, arm_column, score_column : the column of items; all three for a table with one row per score, unless
        they are named as usual
    bounds : the interval that all scores lie in; unless given, from the smallest to the largest score of the table
    missing : if cells are missing: ``"raise"`` an error; ``"worst"`` counts them as the worst score; ``"drop"`` uses
        only the rows without a missing cell
    groups : the group of each row (of one document, template or author), or the name of the column that holds it:
        items of one group are not independent of each other, so whole groups are drawn, as in `bestarm.race`
    live : show the race on the table in place of the leaderboard; unless given, only with ``max_evaluations``
    options : ``criterion``, ``delta``, ``lower_is_better``, ``epsilon``, ``indifference_zone``, ``target``,
        ``max_evaluations``, ``seed``, ``comparison``, ``algorithm``, ``min_rounds``: as in `bestarm.race`. With
        ``target="items"`` a leaderboard is exact: its means are those that the answer is about. A ``comparison`` that
        uses no bounds, such as `bestarm.comparisons.StudentMixture`, treats the rows as a sample of Gaussian scores

    Examples
    --------
    >>> import bestarm, numpy as np
    >>> scores = np.random.default_rng(0).random((500, 3)) * [0.5, 0.6, 1.0]
    >>> result = bestarm.race_table(scores, arms=["a", "b", "c"])
    >>> result.best, result.means.shape, result.n_evaluations < 1500
    ('c', (3,), True)

    """
    chosen = known_options("race_table", options, TableOptions)
    check_seed(chosen.seed)
    check_flag("lower_is_better", chosen.lower_is_better)
    columns = {"item_column": item_column, "arm_column": arm_column, "score_column": score_column}
    table = score_table(frame, arms, groups, ignore=ignore, **columns)
    if chosen.algorithm is None:
        check_n_columns(table)
    own = _bounds_of_test(table, chosen if bounds is None else replace(chosen, bounds=check_bounds(bounds)))
    table = check_within(table, own)
    whole = without_gaps(table, missing, own, chosen.lower_is_better)
    on_error: OnError = "worst" if missing == "worst" and own is not None else "raise"
    gaps = np.isnan(table.scores) if on_error == "worst" else np.zeros(whole.scores.shape, dtype=np.bool_)
    used = own if bounds is None else bounds
    own_range = bounds is None and chosen.algorithm is None and own == table_bounds(table)
    live = chosen.max_evaluations is not None if live is None else live
    check_flag("live", live)
    return _race(whole, gaps, replace(chosen, bounds=used, on_error=on_error, own_range=own_range), live)


def _race(table: ScoreTable, gaps: NDArray[np.bool_], options: Options, live: bool) -> RaceResult[str]:
    """Race on a table that is complete; its ``gaps`` are the cells that were missing."""
    n_items, (rounds, sizes) = len(table.items), by_group(table)
    if n_items < 2:
        raise ValueError(f"the table must have at least two rows, got {n_items}")
    order = shuffled(len(rounds.items), options.seed)
    in_order = None if sizes is None else tuple(sizes[row] for row in order)
    pool = Items("pool", iter(()), n_items, digest(table.items), in_order)
    settings = race_settings(options, pool, digest(table.arms))
    game = start_chosen_game(settings, len(table.arms), options)
    state = RaceState(game, settings, iter(()), race_arms(table.arms))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # what holds for the whole table is said at the end
        record = _play_table(game, rounds.scores[order], [rounds.items[row] for row in order], settings)
    if table.groups is None:
        _note_gaps(record, gaps[order])
    state.end_with(record)
    result = summarise(state)
    if result.bounds is not None and np.ptp(table.scores) > MUCH_ROOM * (result.bounds[1] - result.bounds[0]):
        result = replace(result, warnings=())  # there are no tighter bounds, whatever the first rows look like
        result.keep_game(game)
    for text in result.warnings:
        warn_of_assumption(text)
    return result if live else _leaderboard(result, table, rounds, order, gaps)


def _play_table(game: Game, scores: NDArray[np.float64], items: Sequence[str], settings: RaceSettings) -> Record:
    """Race on scores that are all there already, one row per round, to the end or until the budget is spent.

    The record of what was asked for.
    """
    budget = settings.max_evaluations
    told = reward_transform(settings, game).rewards(scores, 1)
    if game.shrinks and budget is None:
        used = game.play(told)
        return Record.of_table(scores[:used], game.counts, [item[:LONGEST_TEXT] for item in items[:used]])
    record, spent = Record(), 0
    for row, reward, item in zip(scores, told, items, strict=True):
        if game.finished:
            break
        asked = game.ask()
        spent += asked.size * settings.size_of(record.n_rounds + 1)
        if budget is not None and spent > budget:
            break
        record.append(item[:LONGEST_TEXT], asked.tolist(), row[asked].tolist())
        game.tell(reward[asked])
    return record


def _leaderboard(
    result: RaceResult[str], table: ScoreTable, rounds: ScoreTable, order: NDArray[np.int64], gaps: NDArray[np.bool_]
) -> RaceResult[str]:
    """The result of a race on a table with all scores in it, also those that the race had no need of."""
    n_rounds, n_arms = rounds.scores.shape
    counts = np.full(n_arms, n_rounds)
    record = Record.of_table(rounds.scores[order], counts, [rounds.items[row][:LONGEST_TEXT] for row in order])
    if table.groups is None:
        _note_gaps(record, gaps[order])
    like_these = result.target == "population"  # in which all groups count the same
    means = (rounds if like_these else table).scores.mean(axis=0)
    whole = replace(result, record=record, n_rounds=n_rounds, counts=counts, means=means, complete=True)
    if result.target == "items" and result.guarantee.criterion == "mean":
        whole = replace(whole, reason=Reason.ALL_ITEMS_USED, outcome=_exact_outcome(whole))
    whole.keep_game(result.game)
    return whole


def _exact_outcome(result: RaceResult[str]) -> RaceOutcome:
    """Who has the best mean over all rows of a table: nobody needs to be beaten for that."""
    rewards = -result.means if result.settings.lower_is_better else result.means
    ties = np.flatnonzero(rewards >= rewards.max() - SAME * float(np.abs(rewards).max()))
    return RaceOutcome(int(ties[0]), tuple(ties.tolist()), (), (), None)


def _note_gaps(record: Record, gaps: NDArray[np.bool_]) -> None:
    """Note the missing cells that were looked at as failures that count as the worst score."""
    for row in np.flatnonzero(gaps[: record.n_rounds].any(axis=1)).tolist():
        for arm in record.arms(row + 1):
            if gaps[row, arm]:
                record.add_failure(row + 1, arm, Failure("the cell is missing", counted="worst"))


def _bounds_of_test(table: ScoreTable, options: Options) -> tuple[float, float] | None:
    """The bounds that the test will use: given, its own, or those of the table; None if it uses none."""
    told = options if options.bounds is not None else replace(options, bounds=table_bounds(table))
    game = choose_algorithm(told, None).start(len(table.arms))
    return game.bounds if game.guarantee.criterion == "mean" else options.bounds


def race_commands(
    commands: Commands,
    *,
    items: Iterable[Any] | None = None,
    score: Measured = "time",
    timeout: float = TIMEOUT,
    folder: str | Path | None = None,
    lower_is_better: bool | None = None,
    retries: int = 0,
    progress: bool = True,
    **options: Unpack[CommandOptions],
) -> RaceResult[str]:
    """Which program is best? Runs them on the same items, one after the other, in a random order inside each round.

    What disturbs a machine for a while disturbs all programs of a round, and cancels in their differences. The
    guarantee is that of `bestarm.race`. Times are compared by wins: the best program is faster than every other on more
    runs than slower, whatever the outliers of the machine. ``criterion="mean"`` asks for the smallest mean time (times
    above the time-out count as that), and assumes nearly Gaussian differences. Programs that are equally fast are never
    told apart: give ``epsilon`` or ``max_evaluations``.

    Parameters
    ----------
    commands : such as ``"prog --fast {item}"``, split into words and run without a shell; or a mapping of names to
        commands, as text or as lists of words
    items : each takes the place of ``{item}``. Times differ whenever a run is repeated, so for them a sequence is drawn
        from with replacement, as long as the race lasts; otherwise as in `bestarm.race`
    score : ``"time"``, the wall time in seconds, less is better; or ``"stdout"``, the last word printed, as `float`
        reads it: ``1,234``, ``93%`` and ``0.93.`` are refused. Only the last 64 kB of an output are kept
    timeout : seconds after which a program is killed. With ``score="time"`` the run then counts as this time, else as
        failed. A run lasts until the program has exited and nothing holds its output open. Whatever it started that is
        still in its group of processes is killed then, and also when the race is interrupted or killed. A run during
        which the race itself was stopped (Ctrl-Z, then ``fg``) has no time, and is made again
    folder : where the programs run; by default the current folder
    lower_is_better : by default True for times, False otherwise
    retries, progress : as in `bestarm.race`
    options : ``criterion``, ``delta``, ``bounds``, ``epsilon``, ``indifference_zone``, ``target``, ``replace``,
        ``max_evaluations``, ``on_error``, ``store``, ``seed``, ``comparison``, ``algorithm``, ``min_rounds``: as in
        `bestarm.race`

    """
    if folder is not None:
        check_path("folder", folder)
    measure = Measure(score, timeout, None if folder is None else str(folder))
    less = score == "time" if lower_is_better is None else lower_is_better
    chosen = known_options("race_commands", options, CommandOptions)
    chosen = replace(chosen, lower_is_better=less, origin={"score": score, "timeout": float(timeout)})
    return run_commands(commands, items, measure, chosen, retries, progress)


def run_commands(
    commands: Commands, items: Iterable[Any] | None, measure: Measure, options: Options, retries: int, progress: bool
) -> RaceResult[str]:
    """Race programs in a random order inside each round, times on items drawn with replacement."""
    parsed = measure.of(commands, items is not None)
    timed = measure.score == "time"
    if timed and options.criterion is None and options.comparison is None and options.algorithm is None:
        options = replace(options, criterion="wins")
    if timed:
        options = replace(options, unit="s")
    if options.replace is None:
        options = replace(options, replace=timed and hasattr(items, "__len__"))
    evaluation = Evaluation(operator.call, retries=retries, shuffled=True)  # calls a command with an item
    with STOPS.counted():
        return run_race(Execution(evaluation, progress=progress), parsed, items, options)


def load_result(path: str | os.PathLike[str], *, large: bool = False) -> RaceResult[str]:
    """The result of a saved race, finished or not; its file is not changed.

    Nothing that the file names is imported or run, whoever made it. A race with so many arms that it would take more
    than 1 GiB of memory, or minutes, is shown with ``large=True`` only. Raises `StoreError` for what is not a race, or
    is damaged.
    """
    stored = read_store(path)
    try:
        state = _restored(stored, large)
        del stored  # its record is as large as the race
        result = summarise(state)
        result.keep_game(state.game)
        return result
    except NONSENSE as error:
        raise StoreError(f"the race in {file_name(path)} cannot be shown: {one_line(error)}") from error


def _restored(stored: StoredRace, large: bool) -> RaceState:
    """The state of a race where its file ends."""
    settings, record, n_arms = RaceSettings.from_plain(stored.settings), stored.record, len(stored.arms)
    if not large:
        check_cost(settings.algorithm, n_arms, record.n_rounds)
    more = () if stored.settings.get("reason") in ENDED_STREAM else repeat("")

    def items_after(n_rounds: int) -> Iterator[str]:
        if settings.pool is not None and n_rounds > settings.pool:
            raise StoreError(f"its items were different: there is no item for round {settings.pool + 1} now")
        left = [record.item(number) or "" for number in range(n_rounds + 1, record.n_rounds + 1)]
        return islice(chain(left, more), None if settings.pool is None else settings.pool - n_rounds)

    names = RaceArms(stored.arms, stored.arms, stored.arms)
    state = RaceState(start_game(settings, n_arms), settings, iter(()), names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # they are in the result
        state.restore(record, items_after)
    return state
