"""Score tables: what cells and columns are as scores, and what a race makes of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import LARGEST, check_choice, floats, rounding_of
from bestarm.errors import ParameterError
from bestarm.sources.items import full_text, group_labels, members, race_arms
from bestarm.text import short, short_repr, with_noun
from bestarm.values import equal_values

Missing = Literal["raise", "worst", "drop"]
MOST_ARMS = 2000  # every pair of them is compared: the memory for it grows as their square
ABSENT = ("", "NA", "N/A", "<NA>", "null", "None", "NaN", "nan")
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)
FLAGS = {"True": 1.0, "true": 1.0, "TRUE": 1.0, "False": 0.0, "false": 0.0, "FALSE": 0.0}
NO_NUMBERS = (*TIMES, bytes, np.ndarray, np.complexfloating)  # though `float` would find a number in some of them


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable:
    """Recorded scores: one row per item, one column per arm; NaN where a score is missing.

    ``groups`` holds the group of each item, where items belong together; ``notes`` how the table was read, where
    there was a choice.
    """

    arms: tuple[str, ...]
    items: tuple[str, ...]
    scores: NDArray[np.float64]
    groups: tuple[Any, ...] | None = None
    notes: tuple[str, ...] = ()

    __eq__ = equal_values
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<scores of {with_noun(len(self.arms), 'arm')} on {with_noun(len(self.items), 'item')}>"

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", race_arms(self.arms).names)  # refuses empty, duplicated or single names
        object.__setattr__(self, "items", tuple(map(full_text, self.items)))
        numbers = _as_numbers(np.asarray(self.scores), "scores hold")
        object.__setattr__(self, "scores", floats("scores", self.scores) if numbers is None else numbers)
        if self.groups is not None:
            object.__setattr__(self, "groups", tuple(group_labels(self.items, self.groups)))
        if self.scores.shape != (len(self.items), len(self.arms)):
            shape = f"{len(self.items)} items and {len(self.arms)} arms"
            raise ParameterError(
                "scores",
                f"must have one row per item and one column per arm, got {self.scores.shape} for {shape}",
                self.scores,
            )
        if len(self.items) == 0:
            raise ValueError("the table has no rows: there must be one for each item")
        wrong = np.argwhere(np.abs(self.scores) > LARGEST)
        if wrong.size:
            row, column = (int(place) for place in wrong[0])
            score, item, arm = self.scores[row, column], short(self.items[row]), short(self.arms[column])
            rule = f"lie within ±{LARGEST:g}" if np.isfinite(score) else "be finite"
            where = f"row {row + 1} ({item}), column {short_repr(arm)}"
            raise ParameterError("scores", f"must {rule}, got {score} in {where}", score)


def table_of(
    columns: Mapping[Any, Any], items: Sequence[Any] | None = None, groups: Sequence[Any] | None = None
) -> ScoreTable:
    """The table of columns of scores, by the names of the arms; without items its rows are numbered."""
    arms = race_arms(tuple(map(str, columns))).names
    scores = [column_scores(column, arm) for arm, column in zip(arms, columns.values(), strict=True)]
    if len({column.size for column in scores}) > 1:
        raise ValueError("all columns of the table must have the same number of rows")
    names = range(1, scores[0].size + 1) if items is None else items
    return ScoreTable(arms, tuple(map(str, names)), np.column_stack(scores), None if groups is None else tuple(groups))


# --- columns and cells -----------------------------------------------------------------------------------------------


def column_scores(values: Any, name: str) -> NDArray[np.float64]:
    """The numbers of a column, NaN where they are missing; anything else is refused with its column and row."""
    column = _plain(values)
    if isinstance(column, np.ma.MaskedArray):
        column = np.where(np.ma.getmaskarray(column), np.nan, np.ma.getdata(column))
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise ValueError(f"column {short(name)!r} must hold one score for each row, got shape {column.shape}")
        numbers = _as_numbers(column, f"column {short(name)!r} holds")
        if numbers is not None:
            return numbers
        column = column.tolist()
    elif isinstance(column, str | bytes | Mapping | set | frozenset) or not hasattr(column, "__iter__"):
        raise ValueError(f"column {short(name)!r} must hold one score for each row, got {short_repr(values)}")
    cells = as_list(column)
    flags = scores_of_booleans(cells)
    if flags is not None:
        return flags
    if any(map(is_flag, cells)):  # then a cell that is neither a flag nor a number is named first
        for row, cell in enumerate(cells, start=1):
            if not is_flag(cell):
                _to_score(cell, row, name)
    return np.array([_to_score(cell, row, name) for row, cell in enumerate(cells, start=1)], dtype=np.float64)


def scores_of_booleans(cells: Sequence[Any]) -> NDArray[np.float64] | None:
    """The scores 1 and 0 of a column of True and False, as texts or not; NaN where they are missing.

    None if any cell is something else.
    """
    if not all(is_flag(cell) or is_absent(cell) for cell in cells):
        return None
    flags = [FLAGS.get(cell.strip()) if isinstance(cell, str) else cell for cell in cells]
    return np.array([float(flag) if isinstance(flag, bool | float) else np.nan for flag in flags], dtype=np.float64)


def is_flag(cell: Any) -> bool:
    """Whether a cell is True or False, also as a text."""
    return isinstance(cell, bool) or (isinstance(cell, str) and cell.strip() in FLAGS)


def _plain(column: Any) -> Any:
    """A column of a data frame as an array, if it holds numbers that NumPy has, or as a list; others as they are."""
    series = series_of(column)
    if series is None:
        return column
    is_number = series.dtype.is_float() or series.dtype.is_integer()
    return series.to_numpy() if is_number and "128" not in str(series.dtype) else series.to_list()


def as_list(column: Any) -> list[Any]:
    """The cells of a column, as Python's own objects."""
    series = series_of(column)
    return column if isinstance(column, list) else list(column) if series is None else series.to_list()


def series_of(column: Any) -> Any:
    """A column of a data frame of any library, as a narwhals.Series; None if it is something else."""
    if isinstance(column, list | tuple | np.ndarray):
        return None
    import narwhals as nw

    series = nw.from_native(column, series_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def _as_numbers(array: NDArray[Any], what_holds: str) -> NDArray[np.float64] | None:
    """An array of numbers or flags as float64; None where its cells have to be looked at one by one."""
    if array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # what is too large is infinite, and refused as such
            return array.astype(np.float64, copy=False)
    if array.dtype.kind in "mM":
        raise _no_scores(what_holds, "dates or times")
    if array.dtype.kind == "c":
        raise _no_scores(what_holds, "complex numbers")
    return None


def _to_score(cell: Any, row: int, column: str) -> float:
    """A cell as a number, NaN where it is missing; otherwise an error that names the place."""
    score = _number(cell)
    if score is not None:
        return score
    if is_absent(cell):
        return np.nan
    if isinstance(cell, TIMES):
        raise _no_scores(f"column {short(column)!r} holds", "dates or times")
    where = f"row {row}, column {short(column)!r}"
    unusual = isinstance(cell, str) and is_number(cell.replace("_", ""))
    hint = " (write it with a point for decimals, a plain minus sign and the digits 0 to 9 alone, such as -1234.5)"
    if is_flag(cell):
        unusual, hint = True, " (True and False are scores in a column that holds nothing else)"
    raise ValueError(f"{where} must be a number, or empty if missing, got {short_repr(cell)}{hint if unusual else ''}")


def _number(cell: Any) -> float | None:
    """A cell as a number, if it is one: what `float` reads, but for ``1_000`` and digits of other scripts."""
    if isinstance(cell, NO_NUMBERS) or (isinstance(cell, str) and ("_" in cell or not cell.isascii())):
        return None
    try:
        return float(cell)
    except Exception:  # whatever the conversion of somebody's own type raises: it is no number
        return None


def is_number(cell: Any) -> bool:
    """Whether a cell is a number, or meant as one: written with a comma, another minus sign or other digits."""
    if _number(cell) is not None:
        return True
    if not isinstance(cell, str) or "_" in cell:
        return False
    try:
        return bool(np.isfinite(float(cell.replace(",", ".").replace("\N{MINUS SIGN}", "-"))))
    except ValueError:
        return False


def is_absent(cell: Any) -> bool:
    """Whether a cell says that there is no score."""
    try:
        return cell is None or str(cell).strip() in ABSENT
    except Exception:  # of a type whose texts fail; and the text of a huge integer is refused by Python
        return False


def _no_scores(what_holds: str, what: str) -> ValueError:
    return ValueError(f"{what_holds} {what}, which are no scores: leave them out, or give numbers")


# --- what a race makes of a table ------------------------------------------------------------------------------------


def by_group(table: ScoreTable) -> tuple[ScoreTable, tuple[int, ...] | None]:
    """A table with one row per group, the mean over its items, and the sizes of the groups, if there are any."""
    if table.groups is None:
        return table, None
    places = members(table.groups)
    parts = [table.scores[part] for part in places.values()]
    means = np.array([np.clip(part.mean(axis=0), part.min(axis=0), part.max(axis=0)) for part in parts])  # not beyond
    sizes = tuple(len(part) for part in places.values())
    return ScoreTable(table.arms, tuple(map(str, places)), means), sizes


def table_bounds(table: ScoreTable) -> tuple[float, float]:
    """The range of the scores in a table."""
    if np.isnan(table.scores).all():
        raise ValueError("the table has no score in it")
    low, high = float(np.nanmin(table.scores)), float(np.nanmax(table.scores))
    if low == high:
        raise ValueError(f"all scores of the table are {low:g}: there is nothing to tell the arms apart")
    return low, high


def without_gaps(
    table: ScoreTable, missing: Missing, bounds: tuple[float, float] | None, lower_is_better: bool
) -> ScoreTable:
    """The table with its missing cells dealt with."""
    check_choice("missing", missing, get_args(Missing))
    gaps = np.isnan(table.scores)
    if not gaps.any():
        return table
    if missing == "drop":
        whole = np.flatnonzero(~gaps.any(axis=1))
        if whole.size == 0:
            raise ValueError("every row of the table has a missing cell: no items are left to compare on")
        groups = None if table.groups is None else tuple(table.groups[row] for row in whole)
        return ScoreTable(table.arms, tuple(table.items[row] for row in whole), table.scores[whole], groups)
    if missing == "worst":
        if bounds is None:
            problem = "cannot be 'worst' without {bounds}: there is no worst score then"
            raise ParameterError("missing", problem, missing, {"bounds": "bounds=(low, high)"})
        worst = bounds[1] if lower_is_better else bounds[0]
        return replace(table, scores=np.where(gaps, worst, table.scores))
    row, column = (int(place) for place in np.argwhere(gaps)[0])
    complete = with_noun(int((~gaps.any(axis=1)).sum()), "complete row")
    raise ParameterError(
        "missing",
        f"must be 'worst', to count empty cells as the worst score, or 'drop', to use only the {complete}: "
        f"{int(gaps.sum()):,} of {gaps.size:,} cells are empty (the first in row {row + 1}, column "
        f"{short(table.arms[column])!r})",
        missing,
    )


def check_n_columns(table: ScoreTable) -> None:
    """Refuse more arms than all pairs of them can be compared of."""
    if len(table.arms) > MOST_ARMS:
        raise ValueError(f"a table may have at most {MOST_ARMS:,} arms to compare, got {len(table.arms):,}")


def check_within(table: ScoreTable, bounds: tuple[float, float] | None) -> ScoreTable:
    """The table with scores that are out of bounds by rounding alone moved to the bound; others are refused."""
    if bounds is None:
        return table
    low, high = rounding_of(bounds)
    outside = np.argwhere((table.scores < low) | (table.scores > high))
    if outside.size:
        row, column = (int(place) for place in outside[0])
        first = f"row {row + 1}, column {short(table.arms[column])!r}: {float(table.scores[row, column])!r}"
        problem = f"must be wider than ({bounds[0]:g}, {bounds[1]:g}): {with_noun(len(outside), 'score')} outside"
        raise ParameterError("bounds", f"{problem} (the first in {first})", bounds)
    return replace(table, scores=np.clip(table.scores, *bounds))
