"""A race on recorded scores: who is best, and how few of the evaluations would have been enough."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Reason
from bestarm.checks import check_bounds, check_flag, check_seed
from bestarm.inputs.arms import race_arms
from bestarm.inputs.failures import Note
from bestarm.inputs.groups import Groups
from bestarm.inputs.items import Items, digest, shuffled
from bestarm.inputs.options import OnError, Options, TableOptions, choose_algorithm, known_options
from bestarm.inputs.tables import (
    Missing,
    ScoreTable,
    by_group,
    check_n_columns,
    check_within,
    score_table,
    table_bounds,
    without_gaps,
)
from bestarm.racing.record import Record
from bestarm.racing.replay import race_recorded
from bestarm.racing.result import RaceResult
from bestarm.racing.settings import race_settings, start_game
from bestarm.racing.state import RaceState
from bestarm.racing.summary import summarise, warn_of


def race_table(
    frame: Any,
    *,
    arms: Sequence[str] | None = None,
    bounds: tuple[float, float] | None = None,
    missing: Missing = "raise",
    groups: str | Groups | None = None,
    **options: Unpack[TableOptions],
) -> RaceResult[str]:
    """Which column of a recorded score table is best, and how few of its cells would have been enough?

    The rows are taken in random order, as the items of a race would be; ``result.saved`` is the share of cells that
    were not looked at. With probability at least ``1 - delta`` over the order of the rows, the column with the best
    mean over the table is never dropped, whatever the scores: the table is the whole pool, and its smallest and largest
    score bound all others. Unless bounds are given these are read off all cells, also those that a live race would not
    have looked at: ``saved`` is then what somebody would have saved who knew them beforehand.

    Parameters
    ----------
    frame : a NumPy array (then ``arms`` names its columns), a pandas, polars or Arrow table, or a mapping of columns;
        one row per item, one column per arm, at most 2,000 of them (with another ``algorithm``, as many as it can
        take); dates, complex numbers and texts that are no plain numbers raise ValueError
    bounds : the interval that all scores lie in; unless given, from the smallest to the largest score of the table
    missing : if cells are missing: ``"raise"`` an error; ``"worst"`` counts them as the worst score; ``"drop"`` uses
        only the rows without a missing cell
    groups : the group of each row (of one document, template or author), or the name of the column that holds it:
        items of one group are not independent of each other, so whole groups are drawn, as in `bestarm.race`
    options : ``criterion``, ``delta``, ``lower_is_better``, ``epsilon``, ``indifference_zone``, ``target``,
        ``max_evaluations``, ``seed``, ``comparison``, ``algorithm``, ``min_rounds``: as in `bestarm.race`. A
        ``comparison`` that uses no bounds, such as `bestarm.comparisons.StudentMixture`, treats the rows as a sample of
        Gaussian scores

    Examples
    --------
    >>> import bestarm, numpy as np
    >>> scores = np.random.default_rng(0).random((500, 3)) * [0.5, 0.6, 1.0]
    >>> result = bestarm.race_table(scores, arms=["a", "b", "c"])
    >>> result.best, result.saved > 0.5
    ('c', True)

    """
    chosen = known_options("race_table", options, TableOptions)
    check_seed(chosen.seed)
    check_flag("lower_is_better", chosen.lower_is_better)
    table = score_table(frame, arms, groups)
    if chosen.algorithm is None:
        check_n_columns(table)
    own = _bounds_of_test(table, chosen if bounds is None else replace(chosen, bounds=check_bounds(bounds)))
    table = check_within(table, own)
    whole = without_gaps(table, missing, own, chosen.lower_is_better)
    on_error: OnError = "worst" if missing == "worst" and own is not None else "raise"
    gaps = np.isnan(table.scores) if on_error == "worst" else np.zeros(whole.scores.shape, dtype=np.bool_)
    used = own if bounds is None else bounds
    own_range = bounds is None and chosen.algorithm is None and own == table_bounds(table)
    return _race(whole, gaps, replace(chosen, bounds=used, on_error=on_error, own_range=own_range))


def _race(table: ScoreTable, gaps: NDArray[np.bool_], options: Options) -> RaceResult[str]:
    """Race on a table that is complete; its ``gaps`` are the cells that were missing."""
    n_items, (rounds, sizes) = len(table.items), by_group(table)
    if n_items < 2:
        raise ValueError(f"the table must have at least two rows, got {n_items}")
    order = shuffled(len(rounds.items), options.seed)
    in_order = None if sizes is None else tuple(sizes[row] for row in order)
    pool = Items("pool", iter(()), n_items, digest(table.items), in_order)
    settings = race_settings(options, pool, digest(table.arms))
    game = start_game(settings, len(table.arms), options)
    state = RaceState(game, settings, iter(()))
    state.record = race_recorded(game, rounds.scores[order], [rounds.items[row] for row in order], settings)
    if table.groups is None:
        _note_gaps(state.record, gaps[order])
    state.spent = state.record.n_asked(state.record.n_rounds, settings.group_sizes)
    state.ran_out = Reason.RAN_OUT_OF_ITEMS if game.n_rounds == settings.pool else Reason.BUDGET
    result = summarise(state, race_arms(table.arms))
    warn_of(result, game)
    return result


def _note_gaps(record: Record, gaps: NDArray[np.bool_]) -> None:
    """Note the missing cells that were looked at as failures that count as the worst score."""
    for row in np.flatnonzero(gaps[: record.n_rounds].any(axis=1)).tolist():
        for arm in record.arms(row + 1):
            if gaps[row, arm]:
                note = Note("the cell is missing", counted="worst")
                record.failures.setdefault(row + 1, {})[arm] = note.stored


def _bounds_of_test(table: ScoreTable, options: Options) -> tuple[float, float] | None:
    """The bounds that the test will use: given, its own, or those of the table; None if it uses none."""
    told = options if options.bounds is not None else replace(options, bounds=table_bounds(table))
    game = choose_algorithm(told, None).start(len(table.arms))
    return game.bounds if game.guarantee.criterion == "mean" else options.bounds
