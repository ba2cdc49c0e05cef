"""Score tables from what people have: NumPy, pandas, polars, Arrow, mappings of columns, nested lists."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import LARGEST, check_choice, floats, rounding_of
from bestarm.errors import ParameterError
from bestarm.sources.items import Groups, full_text, group_labels, members, race_arms
from bestarm.text import counted, described, first_names, legible, short
from bestarm.values import equal_values

ABSENT = ("", "NA", "N/A", "<NA>", "null", "None", "NaN", "nan")
NUMBERS = frozenset({int, float, bool, type(None)})  # what NumPy converts as `to_score` would
FOREIGN = re.compile(r"[-+\N{MINUS SIGN}]?(\d+([.,]\d*)?|[.,]\d+)")  # a number as people write it, in any digits
LONGEST = 1000  # characters of a number
TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)
UNLIKE = (*TIMES, np.ndarray, np.complexfloating)  # no scores, though NumPy would find a number in some of them


def column_scores(values: Any, name: str) -> NDArray[np.float64]:
    """The numbers of a column, NaN where they are missing; anything else is refused with its column and row."""
    plain = _as_array(values) if hasattr(values, "to_numpy") else values
    if isinstance(plain, np.ma.MaskedArray):
        plain = unmasked(plain)
    if not isinstance(plain, np.ndarray):
        return _scores_of_cells(_cells(plain, name), name)
    if plain.ndim != 1:
        raise ValueError(f"column {short(name)!r} must hold one score for each row, got shape {plain.shape}")
    numbers = as_numbers(plain, f"column {short(name)!r} holds")
    return _scores_of_cells(plain.tolist(), name) if numbers is None else numbers


def _as_array(values: Any) -> Any:
    try:
        return values.to_numpy()
    except Exception:  # of Arrow, for a column of categories without any; of polars, for integers of 128 bits
        return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


def as_numbers(array: NDArray[Any], what_holds: str) -> NDArray[np.float64] | None:
    """An array of numbers or flags as float64; None where its cells have to be looked at one by one."""
    if array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # what is too large is infinite, and refused as such
            return array.astype(np.float64, copy=False)
    if array.dtype.kind in "mM":
        raise _no_scores(what_holds, "dates or times")
    if array.dtype.kind == "c":
        raise _no_scores(what_holds, "complex numbers")
    return None


def unmasked(array: "np.ma.MaskedArray[Any, Any]") -> NDArray[Any]:
    """An array with NaN where it was masked."""
    return np.where(np.ma.getmaskarray(array), np.nan, np.ma.getdata(array))


def to_score(cell: Any, row: int, column: str) -> float:
    """A cell as a number, NaN where it is missing; otherwise an error that names the place."""
    score = _number(cell)
    if score is not None:
        return score
    if is_absent(cell):
        return np.nan
    if isinstance(cell, TIMES):
        raise _no_scores(f"column {short(column)!r} holds", "dates or times")
    where = f"row {row}, column {short(column)!r}"
    raise ValueError(f"{where} must be a number, or empty if missing, got {described(cell)}{_hint(cell)}")


def is_number(cell: Any) -> bool:
    """Whether a cell is a number, or meant as one: written with a comma, another minus sign or other digits."""
    return _number(cell) is not None or _is_foreign(cell)


def is_absent(cell: Any) -> bool:
    """Whether a cell says that there is no score."""
    return cell is None or _text(cell) in ABSENT


def _cells(values: Any, name: str) -> Sequence[Any]:
    if isinstance(values, list):
        return values
    try:
        cells = None if isinstance(values, str | bytes | Mapping | set | frozenset) else list(values)
    except TypeError:
        cells = None
    if cells is None:
        raise ValueError(f"column {short(name)!r} must hold one score for each row, got {described(values)}")
    return cells


def _scores_of_cells(cells: Sequence[Any], name: str) -> NDArray[np.float64]:
    """The scores; all at once where Python reads them as `to_score` would, which is much faster."""
    try:
        if _are_plain_texts(cells):
            return np.fromiter(map(float, cells), np.float64, len(cells))
        if set(map(type, cells)) <= NUMBERS:
            return np.array(cells, dtype=np.float64)
    except (ValueError, OverflowError):  # a cell is missing or no number: below its place is named
        pass
    return np.array([to_score(cell, row, name) for row, cell in enumerate(cells, start=1)], dtype=np.float64)


def _are_plain_texts(cells: Sequence[Any]) -> bool:
    """Whether these are texts in which Python reads the numbers that everybody would.

    It also knows ``1_000``, and digits of other scripts.
    """
    try:
        text = "".join(cells)
    except TypeError:
        return False
    return text.isascii() and "_" not in text


def _number(cell: Any) -> float | None:
    """A cell as a number, if it is one."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    if isinstance(cell, str):
        if len(cell) > LONGEST or not _are_plain_texts([cell]):
            return None
    elif isinstance(cell, UNLIKE):
        return None
    try:
        return float(cell)
    except Exception:  # whatever the conversion of somebody's own type raises: it is no number
        return None


def _text(cell: Any) -> str | None:
    """A cell as text, without the blanks around it; None if it has none."""
    try:
        return (cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)).strip()
    except Exception:  # as above; and the text of a huge integer is refused by Python
        return None


def _is_foreign(cell: Any) -> bool:
    return isinstance(cell, str) and len(cell) <= LONGEST and FOREIGN.fullmatch(cell.strip()) is not None


def _hint(cell: Any) -> str:
    """What to do about a number that is written in another way."""
    if not isinstance(cell, str) or not _is_foreign(cell.replace("_", "")):
        return ""
    return " (write it with a point for decimals, a plain minus sign and the digits 0 to 9 alone, such as -1234.5)"


def _no_scores(what_holds: str, what: str) -> ValueError:
    return ValueError(f"{what_holds} {what}, which are no scores: leave them out, or give numbers")


Missing = Literal["raise", "worst", "drop"]
MOST_ARMS = 2000  # every pair of them is compared: the memory for it grows as their square


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable:
    """Recorded scores: one row per item, one column per arm; NaN where a score is missing.

    ``groups`` holds the group of each item, where items belong together.
    """

    arms: tuple[str, ...]
    items: tuple[str, ...]
    scores: NDArray[np.float64]
    groups: tuple[Any, ...] | None = None

    __eq__ = equal_values
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<scores of {counted(len(self.arms), 'arm')} on {counted(len(self.items), 'item')}>"

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", race_arms(self.arms).names)  # refuses empty, duplicated or single names
        object.__setattr__(self, "items", tuple(map(full_text, self.items)))
        numbers = as_numbers(np.asarray(self.scores), "scores hold")
        scores = floats("scores", self.scores) if numbers is None else numbers
        object.__setattr__(self, "scores", scores)
        if self.groups is not None:
            object.__setattr__(self, "groups", tuple(group_labels(self.items, self.groups)))
        if self.scores.shape != (len(self.items), len(self.arms)):
            shape = f"{len(self.items)} items and {len(self.arms)} arms"
            raise ValueError(
                f"scores must have one row per item and one column per arm, got {self.scores.shape} for {shape}"
            )
        if len(self.items) == 0:
            raise ValueError("the table has no rows: there must be one for each item")
        wrong = np.argwhere(np.abs(self.scores) > LARGEST)
        if wrong.size:
            row, column = (int(place) for place in wrong[0])
            score, item, arm = self.scores[row, column], legible(self.items[row]), short(self.arms[column])
            rule = f"lie within ±{LARGEST:g}" if np.isfinite(score) else "be finite"
            raise ValueError(f"scores must {rule}, got {score} in row {row + 1} ({item}), column {described(arm)}")


def score_table(frame: Any, arms: Sequence[str] | None = None, groups: str | Groups | None = None) -> ScoreTable:
    """The scores of a NumPy array, a pandas, polars or Arrow table, a mapping of columns, or nested lists.

    ``groups`` are the groups of the rows, or the name of the column that holds them.
    """
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        raise TypeError(f"scores must be a table in memory, got a {type(frame).__name__}: call its collect() first")
    if groups is None:
        return _ungrouped(frame, arms)
    if not isinstance(groups, str):
        table = _ungrouped(frame, arms)
        return ScoreTable(table.arms, table.items, table.scores, tuple(group_labels(table.items, groups)))
    names = _column_names(frame)
    if isinstance(frame, ScoreTable) or names is None or groups not in names:
        have = "without names" if names is None else first_names([legible(str(name)) for name in names])
        raise ValueError(f"groups must name a column of the table, got {described(groups)} (its columns: {have})")
    labels = frame[names[names.index(groups)]]
    table = _ungrouped({name: frame[name] for name in names if name != groups}, arms)
    plain = labels.to_pylist() if hasattr(labels, "to_pylist") else list(labels)
    return ScoreTable(table.arms, table.items, table.scores, tuple(plain))


def _column_names(frame: Any) -> list[Any] | None:
    """The names of the columns of a table, if it has any."""
    if isinstance(frame, Mapping):
        return list(frame)
    names = getattr(frame, "column_names", None)
    names = getattr(frame, "columns", None) if names is None else names
    return None if names is None else list(names)


def by_group(table: ScoreTable) -> tuple[ScoreTable, tuple[int, ...] | None]:
    """A table with one row per group, the mean over its items, and the sizes of the groups, if there are any."""
    if table.groups is None:
        return table, None
    places = members(table.groups)
    means = np.array([table.scores[part].mean(axis=0) for part in places.values()])
    sizes = tuple(len(part) for part in places.values())
    return ScoreTable(table.arms, tuple(map(str, places)), means), sizes


def _ungrouped(frame: Any, arms: Sequence[str] | None) -> ScoreTable:
    """The scores alone."""
    if isinstance(frame, str | Path):
        raise TypeError(
            f"scores must be a table, got the text {described(str(frame))}: read a file with bestarm.read_table"
        )
    if isinstance(frame, ScoreTable):
        if arms is not None:
            raise ValueError("this table already has column names: leave arms= out")
        return frame
    names = _column_names(frame)
    if names is None:
        return _of_array(frame, arms)
    if arms is not None:
        raise ValueError("this table already has column names: leave arms= out")
    named = [str(name) for name in names]
    race_arms(named)
    columns = [column_scores(frame[name], str(name)) for name in names]
    if len({column.size for column in columns}) > 1:
        raise ValueError("all columns of the table must have the same number of rows")
    return ScoreTable(tuple(named), _numbered(columns[0].size), np.column_stack(columns))


def _of_array(array: Any, arms: Sequence[str] | None) -> ScoreTable:
    named = None if arms is None else race_arms(arms).names
    scores = _scores_of_array(array, named)
    names = tuple(str(k) for k in range(scores.shape[1])) if named is None else named
    if len(names) != scores.shape[1]:
        raise ValueError(f"arms must name the {scores.shape[1]} columns, got {counted(len(names), 'name')}")
    return ScoreTable(names, _numbered(len(scores)), scores)


def _scores_of_array(array: Any, arms: Sequence[str] | None) -> NDArray[np.float64]:
    """The scores of an array or of nested lists; cell by cell where one is missing or no number, to name its place."""
    if isinstance(array, np.ma.MaskedArray):
        array = unmasked(array)
    try:
        cells = np.array(array)
        if cells.dtype.kind == "U":  # a text among numbers makes texts of all
            cells = np.array(array, dtype=object)
    except (TypeError, ValueError) as error:  # ragged
        raise ValueError(f"the scores must be a table of numbers: {error}") from error
    if cells.ndim != 2:
        raise ValueError(f"the scores must be a table with one row per item and one column per arm, got {cells.shape}")
    numbers = as_numbers(cells, "the table holds")
    if numbers is not None:
        return numbers
    named = arms if arms is not None and len(arms) == cells.shape[1] else [str(k) for k in range(cells.shape[1])]
    scores = np.empty(cells.shape)
    for k, column in enumerate(cells.T):
        scores[:, k] = column_scores(column, named[k])
    return scores


def _numbered(n_items: int) -> tuple[str, ...]:
    return tuple(str(k) for k in range(1, n_items + 1))


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
        kept = None if table.groups is None else tuple(table.groups[row] for row in whole)
        return ScoreTable(table.arms, tuple(table.items[row] for row in whole), table.scores[whole], kept)
    if missing == "worst":
        if bounds is None:
            raise ParameterError(
                "missing",
                "cannot be 'worst' without {bounds}: there is no worst score then",
                missing,
                {"bounds": "bounds=(low, high)"},
            )
        worst = bounds[1] if lower_is_better else bounds[0]
        return ScoreTable(table.arms, table.items, np.where(gaps, worst, table.scores), table.groups)
    row, column = (int(place) for place in np.argwhere(gaps)[0])
    raise ValueError(
        f"cells are missing: {int(gaps.sum()):,} of {gaps.size:,} (the first in row {row + 1}, column "
        f"{short(table.arms[column])!r}): count them as the worst score with missing='worst', or use only the "
        f"{counted(int((~gaps.any(axis=1)).sum()), 'complete row')} with missing='drop'"
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
        raise ValueError(
            f"{counted(len(outside), 'score')} outside of bounds=({bounds[0]:g}, {bounds[1]:g}) (the first in row "
            f"{row + 1}, column {short(table.arms[column])!r}: {float(table.scores[row, column])!r}): give wider bounds"
        )
    return ScoreTable(table.arms, table.items, np.clip(table.scores, *bounds), table.groups)
