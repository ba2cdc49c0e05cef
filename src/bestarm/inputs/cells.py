"""The cells of a table as scores: what is a number, what is missing, and what is refused."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.inputs.texts import short
from bestarm.shown import described

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
