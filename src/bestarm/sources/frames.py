"""Score tables in memory: NumPy arrays, data frames of every kind, mappings of columns and nested lists."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bestarm.algorithms.assumptions import warn_caller
from bestarm.errors import ParameterError, ParameterTypeError, TableWarning
from bestarm.sources.columns import ColumnChoice, Columns, check_names, choose, table_of_columns
from bestarm.sources.items import Groups, group_labels, race_arms
from bestarm.sources.tables import ScoreTable, table_of
from bestarm.text import first_repeated, first_ten_names, safe_str, short, short_repr, with_noun


def score_table(
    frame: Any,
    arms: Sequence[str] | None = None,
    groups: str | Groups | None = None,
    *,
    ignore: Sequence[str] | None = None,
    item_column: str | None = None,
    arm_column: str | None = None,
    score_column: str | None = None,
) -> ScoreTable:
    """The scores of a NumPy array, a data frame that narwhals knows, a mapping of columns, or nested lists.

    ``groups`` are the groups of the rows, or the name of the column that holds them. How columns are read is described
    in `bestarm.read_table`; what was found out about them is said in a `TableWarning`.
    """
    columns, index = _named_columns(frame)
    group = groups if isinstance(groups, str) else None
    if group is not None and group not in (columns or {}):
        have = "without names" if columns is None else first_ten_names([short(name) for name in columns])
        problem = f"must name a column of the table, got {short_repr(group)} (its columns: {have})"
        raise ParameterError("groups", problem, group)
    if columns is not None:
        choice = ColumnChoice(item_column, arm_column, score_column, group, arms, ignore, index)
        table = table_of_columns(columns, choice)
        say_notes(table)
    else:
        roles = {"item_column": item_column, "arm_column": arm_column, "score_column": score_column}
        table = _without_columns(frame, arms, ignore, roles)
    if groups is None or group is not None:
        return table
    return replace(table, groups=tuple(group_labels(table.items, groups)))


def say_notes(table: ScoreTable) -> None:
    """Warn of how a table was read, once, at the line outside of bestarm that reads it."""
    for note in table.notes:
        warn_caller(TableWarning(note))


def _without_columns(
    frame: Any, arms: Sequence[str] | None, ignore: Sequence[str] | None, columns: Mapping[str, str | None]
) -> ScoreTable:
    """The table of an array, or a table that has been read, which has arms to choose from but no columns."""
    for parameter, name in columns.items():
        if name is not None:
            raise ParameterError(parameter, "must be left out: there are no columns with names to choose from", name)
    check_names("ignore", ignore)
    if not isinstance(frame, ScoreTable):
        return choose(_of_array(frame, arms), None, ignore)
    check_names("arms", arms)
    return choose(frame, arms, ignore)


def _named_columns(frame: Any) -> tuple[Columns | None, str | None]:
    """The columns of a table by their names, if it has any, and which of them is the index of a pandas frame."""
    if isinstance(frame, ScoreTable):
        return None, None
    if isinstance(frame, str | Path):
        got = f"got the text {short_repr(str(frame))}: read a file with bestarm.read_table"
        raise ParameterTypeError("scores", f"must be a table, {got}", frame)
    if isinstance(frame, Mapping):
        return _by_name(frame), None
    if isinstance(frame, list | tuple | np.ndarray):
        return None, None
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        table = nw.from_native(frame, pass_through=True)
    except DuplicateError as error:
        why = " ".join(str(error).split())
        raise ValueError(f"the columns of the table must have different names: {short(why)}") from error
    if isinstance(table, nw.LazyFrame):
        got = f"got a {type(frame).__name__}: call its collect() first"
        raise ParameterTypeError("scores", f"must be a table in memory, {got}", frame)
    if isinstance(table, nw.DataFrame):
        levels = _index_of(table)
        columns = _by_name(levels | {name: table.get_column(name) for name in table.columns})
        return columns, safe_str(next(iter(levels))) if len(levels) == 1 else None
    if hasattr(frame, "columns") or hasattr(frame, "column_names"):
        got = f"got a {type(frame).__name__}"
        raise ParameterTypeError("scores", f"must be a data frame of pandas, polars, Arrow or the like, {got}", frame)
    return None, None


def _by_name(columns: Mapping[Any, Any]) -> Columns:
    """Columns by the texts of their names."""
    named = {safe_str(name): column for name, column in columns.items()}
    if len(named) < len(columns):
        twice = first_repeated(map(safe_str, columns)) or ""
        raise ValueError(
            f"the columns of the table must have different names, but {short(twice)!r} appears more than once"
        )
    return named


def _index_of(table: Any) -> Columns:
    """The levels of an index that has names, or one of texts, as `reset_index` would make columns of them."""
    import narwhals as nw

    index = nw.maybe_get_index(table)
    if index is None:
        return {}
    named = all(name is not None for name in index.names)
    if not named and (index.nlevels > 1 or not all(isinstance(label, str) for label in index)):
        return {}
    names = index.names if named else [""]
    return {
        name: index.get_level_values(k).to_list() for k, name in enumerate(names) if named or name not in table.columns
    }


def _of_array(array: Any, arms: Sequence[str] | None) -> ScoreTable:
    """The scores of an array or of nested lists."""
    names = None if arms is None else race_arms(arms).names
    try:
        cells = array if isinstance(array, np.ma.MaskedArray) else np.array(array)
        if cells.dtype.kind == "U":  # a text among numbers makes texts of all
            cells = np.array(array, dtype=object)
    except (TypeError, ValueError) as error:  # ragged
        raise ValueError(f"the scores must be a table of numbers: {error}") from error
    if cells.ndim != 2:
        raise ValueError(f"the scores must be a table with one row per item and one column per arm, got {cells.shape}")
    n_columns = cells.shape[1]
    if names is not None and len(names) != n_columns:
        raise ParameterError("arms", f"must name the {n_columns} columns, got {with_noun(len(names), 'name')}", arms)
    return table_of(dict(zip(names or range(n_columns), cells.T, strict=True)))
