"""A race on recorded scores: who is best, and how few of the evaluations would have been enough."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

from bestarm.checks import check_choice, check_count, check_flag
from bestarm.inputs.arms import race_arms
from bestarm.inputs.items import Items, digest, shuffled
from bestarm.inputs.options import Options, TableOptions, choose_algorithm, known_options
from bestarm.inputs.tables import MISSING, OF_TABLE, ScoreTable, check_within, score_table, table_bounds, without_gaps
from bestarm.racing.replay import race_recorded
from bestarm.racing.result import RaceResult
from bestarm.racing.settings import race_settings, start_game
from bestarm.racing.state import RaceState
from bestarm.racing.summary import summarise


def race_table(
    frame: Any,
    *,
    arms: Sequence[str] | None = None,
    bounds: tuple[float, float] | str | None = OF_TABLE,
    missing: str = "refuse",
    **options: Unpack[TableOptions],
) -> RaceResult:
    """Which column of a recorded score table is best, and how few of its cells would have been enough?

    The rows are taken in random order, as the items of a race would be; ``result.saved`` is the share of cells that
    were not looked at. With bounds, with probability at least ``1 - delta`` over the order of the rows, the column with
    the best mean over the table is never dropped, whatever the scores: the table is the whole pool, and its smallest
    and largest score bound all others.

    Parameters
    ----------
    frame : a NumPy array (then ``arms`` names its columns), a pandas, polars or Arrow table, or a mapping of columns;
        one row per item, one column per arm
    bounds : the interval that scores lie in; by default ``"table"``, from the smallest to the largest score. None takes
        the rows for a sample of Gaussian scores
    missing : what to do about missing cells: ``"refuse"``; ``"worst"``, they count as the worst bound;
        ``"drop-items"``, only rows without a missing cell are used
    options : ``delta``, ``lower_is_better``, ``epsilon``, ``indifference_zone``, ``seed``, ``algorithm``,
        ``first_rounds``: as in `bestarm.race`

    Examples
    --------
    >>> import bestarm, numpy as np
    >>> scores = np.random.default_rng(0).random((500, 3)) * [0.5, 0.6, 1.0]
    >>> result = bestarm.race_table(scores, arms=["a", "b", "c"])
    >>> result.best, result.saved > 0.5
    ('c', True)

    """
    check_choice("missing", missing, MISSING)
    chosen = known_options("race_table", options, TableOptions)
    check_count("seed", chosen.seed, least=0)
    check_flag("lower_is_better", chosen.lower_is_better)
    table = score_table(frame, arms)
    limits = _limits(table, bounds, chosen)
    check_within(table, limits)
    table = without_gaps(table, missing, limits, chosen.lower_is_better)
    on_error = "worst" if missing == "worst" and limits is not None else "raise"
    return _race(table, replace(chosen, bounds=limits, on_error=on_error))


def _race(table: ScoreTable, options: Options) -> RaceResult:
    """Race on a table that is complete."""
    n_items = len(table.items)
    if n_items < 2:
        raise ValueError(f"the table must have at least two rows, got {n_items}")
    settings = race_settings(options, Items("pool", iter(()), n_items, digest(table.items)), digest(table.arms))
    state = RaceState(start_game(settings, len(table.arms), options.bounds), settings, iter(()))
    order = shuffled(n_items, settings.seed)
    items = [table.items[row] for row in order]
    state.record = race_recorded(state.game, table.scores[order], items, settings.lower_is_better)
    state.spent = state.game.n_queries
    state.ran_out = "pool exhausted"
    return summarise(state, race_arms(table.arms))


def _limits(
    table: ScoreTable, bounds: tuple[float, float] | str | None, options: Options
) -> tuple[float, float] | None:
    """The bounds to use: those given, those of the algorithm, or those of the table."""
    if options.algorithm is not None:
        own = choose_algorithm(options, None).start(len(table.arms)).bounds
        if bounds in (None, OF_TABLE) or table_bounds(table, bounds) == own:
            return own
        raise ValueError(f"bounds {bounds!r} are not those of the algorithm, {own}: give them in one place")
    return table_bounds(table, bounds)
