"""A race on recorded scores: who is best, and how few of the evaluations would have been enough."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import check_bounds, check_choice, check_count, check_flag
from bestarm.racing.arms import race_arms
from bestarm.racing.items import Items, digest, item_text, shuffled
from bestarm.racing.replay import race_recorded
from bestarm.racing.result import RaceResult
from bestarm.racing.settings import Options, TableOptions, choose_algorithm, known_options, race_settings, start_game
from bestarm.racing.state import RaceState
from bestarm.racing.summary import summarise

MISSING = ("refuse", "worst", "drop-items")
OF_TABLE = "table"
ABSENT = ("", "NA", "N/A", "<NA>", "null", "None", "NaN", "nan")


@dataclass(frozen=True)
class ScoreTable:
    """Recorded scores: one row per item, one column per arm; NaN where a score is missing."""

    arms: tuple[str, ...]
    items: tuple[str, ...]
    scores: NDArray[np.float64]

    def __post_init__(self) -> None:
        race_arms(self.arms)  # refuses empty, duplicated or single names
        if self.scores.shape != (len(self.items), len(self.arms)):
            shape = f"{len(self.items)} items and {len(self.arms)} arms"
            raise ValueError(
                f"scores must have one row per item and one column per arm, got {self.scores.shape} for {shape}"
            )
        if len(self.items) == 0:
            raise ValueError("the table has no rows: there must be one for each item")
        wrong = np.argwhere(np.isinf(self.scores))
        if wrong.size:
            row, column = (int(place) for place in wrong[0])
            raise ValueError(
                f"scores must be finite, got {self.scores[row, column]} in row {row + 1} ({self.items[row]}), column "
                f"{self.arms[column]!r}"
            )


def score_table(frame: Any, arms: Sequence[str] | None = None) -> ScoreTable:
    """The scores of a NumPy array, a pandas, polars or Arrow table, a mapping of columns, or nested lists."""
    if isinstance(frame, ScoreTable):
        if arms is not None:
            raise ValueError("arms are the columns of the table: name them there, not beside it")
        return frame
    names = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    if isinstance(frame, Mapping):
        names = list(frame)
    if names is None:
        return _of_array(frame, arms)
    if arms is not None:
        raise ValueError("arms are the columns of the table: name them there, not beside it")
    named = [str(name) for name in names]
    race_arms(named)
    columns = [_column(frame[name], str(name)) for name in names]
    if len({column.size for column in columns}) > 1:
        raise ValueError("all columns of the table must have the same number of rows")
    return ScoreTable(tuple(named), _numbered(columns[0].size), np.column_stack(columns))


def _of_array(array: Any, arms: Sequence[str] | None) -> ScoreTable:
    if isinstance(array, np.ma.MaskedArray):
        array = np.where(np.ma.getmaskarray(array), np.nan, np.ma.getdata(array))
    try:
        scores = np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        scores = _cell_by_cell(array, arms, error)
    if scores.ndim != 2:
        raise ValueError(f"the scores must be a table with one row per item and one column per arm, got {scores.shape}")
    names = [str(k) for k in range(scores.shape[1])] if arms is None else list(arms)
    if len(names) != scores.shape[1]:
        raise ValueError(f"arms must name the {scores.shape[1]} columns, got {len(names)} names")
    return ScoreTable(tuple(names), _numbered(len(scores)), scores)


def _cell_by_cell(array: Any, arms: Sequence[str] | None, error: Exception) -> NDArray[np.float64]:
    """The scores of nested lists in which a cell is missing or no number: its place can be named then."""
    rows = [list(row) for row in array]
    names = [str(k) for k in range(len(rows[0]))] if arms is None else list(arms)
    if {len(row) for row in rows} != {len(names)}:
        raise ValueError(f"the scores must be a table of numbers: {error}") from error
    return np.array(
        [
            [to_score(cell, number, name) for cell, name in zip(row, names, strict=True)]
            for number, row in enumerate(rows, start=1)
        ]
    )


def _column(values: Any, name: str) -> NDArray[np.float64]:
    """The numbers of a column, NaN where they are missing; text is refused with its place."""
    plain = values.to_numpy() if hasattr(values, "to_numpy") else values
    try:
        return np.asarray(plain, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        return np.array([to_score(value, k, name) for k, value in enumerate(np.asarray(plain, dtype=object), start=1)])


def to_score(value: Any, row: int, column: str) -> float:
    """A cell as a number, NaN where it is missing; otherwise an error that names the place."""
    if value is None or str(value).strip() in ABSENT:
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"row {row}, column {column!r} must be a number, got {value!r}") from error


def _numbered(n_items: int) -> tuple[str, ...]:
    return tuple(str(k) for k in range(1, n_items + 1))


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
    items = [item_text(table.items[row]) for row in order]
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
        if bounds is None or isinstance(bounds, str) or check_bounds(bounds) == own:
            return own
        raise ValueError(f"bounds {bounds!r} are not those of the algorithm, {own}: give them in one place")
    if bounds is None:
        return None
    if isinstance(bounds, str):
        if bounds != OF_TABLE:
            raise ValueError(f"bounds must be two numbers, None or {OF_TABLE!r}, got {bounds!r}")
        if np.isnan(table.scores).all():
            raise ValueError("the table has no score in it")
        low, high = float(np.nanmin(table.scores)), float(np.nanmax(table.scores))
        if low == high:
            raise ValueError(f"all scores of the table are {low:g}: there is nothing to tell the arms apart")
        return low, high
    return check_bounds(bounds)


def without_gaps(
    table: ScoreTable, missing: str, bounds: tuple[float, float] | None, lower_is_better: bool
) -> ScoreTable:
    """The table with its missing cells dealt with."""
    gaps = np.isnan(table.scores)
    if not gaps.any():
        return table
    if missing == "drop-items":
        whole = np.flatnonzero(~gaps.any(axis=1))
        if whole.size == 0:
            raise ValueError("every row of the table has a missing cell: no items are left to compare on")
        return ScoreTable(table.arms, tuple(table.items[row] for row in whole), table.scores[whole])
    if missing == "worst":
        if bounds is None:
            raise ValueError("missing='worst' needs bounds: without them there is no worst score")
        worst = bounds[1] if lower_is_better else bounds[0]
        return ScoreTable(table.arms, table.items, np.where(gaps, worst, table.scores))
    row, column = (int(place) for place in np.argwhere(gaps)[0])
    raise ValueError(
        f"{int(gaps.sum()):,} of {gaps.size:,} cells are missing (the first in row {row + 1}, column "
        f"{table.arms[column]!r}): count them as the worst score with missing='worst', or use only the "
        f"{int((~gaps.any(axis=1)).sum()):,} complete rows with missing='drop-items'"
    )


def check_within(table: ScoreTable, bounds: tuple[float, float] | None) -> None:
    """Refuse scores outside of the bounds, with the place of the first."""
    if bounds is None:
        return
    outside = np.argwhere((table.scores < bounds[0]) | (table.scores > bounds[1]))
    if outside.size:
        row, column = (int(place) for place in outside[0])
        raise ValueError(
            f"{len(outside):,} scores lie outside of the bounds [{bounds[0]:g}, {bounds[1]:g}], the first in row "
            f"{row + 1}, column {table.arms[column]!r}: {table.scores[row, column]:g}"
        )
