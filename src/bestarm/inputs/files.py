"""Score tables from files: CSV, TSV, JSON lines and Parquet, wide or long."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bestarm.checks import check_path, check_text
from bestarm.inputs.cells import column_scores, is_absent, is_number, to_score
from bestarm.inputs.formats import READERS, Column, Columns
from bestarm.inputs.sizes import check_size
from bestarm.inputs.tables import ScoreTable
from bestarm.inputs.texts import first_names, legible, repeated, short
from bestarm.shown import described, file_name

ITEM_NAMES = ("", "item", "items", "id", "index", "instance")  # an index saved by pandas has no name
COUNTED = 10  # rows: scores of a few items may happen to be 1, 2, 3
LONG = " (one row per score? then name item_column, arm_column and score_column)"


def read_table(
    path: str | Path,
    *,
    item_column: str | None = None,
    arm_column: str | None = None,
    score_column: str | None = None,
    group_column: str | None = None,
) -> ScoreTable:
    """The scores in a file, by its ending: ``.csv``, ``.tsv``, ``.jsonl``/``.ndjson`` or ``.parquet``.

    Wide: one row per item, one column per arm; ``item_column`` names the column that holds the items. If it is left
    out, the first column is used if it is called item, id, index or instance, has no name, holds neither numbers nor
    missing cells alone, or only counts the rows (ten or more).

    Long: ``item_column``, ``arm_column`` and ``score_column`` name three columns; one row per score.

    ``group_column`` names the column that holds the groups of the items, where items belong together.

    What is no such table raises ValueError, with the place; a file that cannot be opened raises OSError. A file that
    stands for far more than it holds (a few bytes of Parquet for 10^9 rows, a long table in which hardly an item has
    scores of two arms) is refused: more than 10^7 cells only where there are ten times fewer scores or bytes.
    """
    check_path("path", path)
    path, item, arm, score = Path(path), item_column, arm_column, score_column
    chosen = [name for name in (item, arm, score, group_column) if name is not None]
    for name in chosen:
        check_text("the name of a column", name)
    header, columns = _read(path)
    twice = repeated(header)
    if twice is not None:
        raise ValueError(
            f"the columns of {file_name(path)} must have different names, but {short(twice)!r} appears more than once"
        )
    if not columns or not len(columns[0]):
        raise ValueError(f"{file_name(path)} has no rows: there must be one for each {'score' if arm else 'item'}")
    for name in chosen:
        if name not in header:
            have = first_names([legible(column) for column in header])
            raise ValueError(f"{file_name(path)} has no column {short(name)!r}: its columns are {have}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"items, arms, scores and groups must be in different columns, got {described(chosen)}")
    try:
        if arm is None and score is None:
            return _wide(header, columns, item, group_column)
        if item is not None and arm is not None and score is not None:
            table = _long(header, columns, item, arm, score)
            return table if group_column is None else _with_groups(table, header, columns, item, group_column)
    except ValueError as error:
        long = "" if arm or "must be a number" not in str(error) else LONG
        raise ValueError(f"{file_name(path)}: {error}{long}") from error
    raise ValueError("a long table needs the names of all its columns: item_column, arm_column and score_column")


def _read(path: Path) -> Columns:
    """The names of the columns, and the columns."""
    reader: Callable[[Path], Columns] | None = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{file_name(path)} must end in one of {', '.join(READERS)}, so that its format is known")
    try:
        return reader(path)
    except MemoryError as error:
        raise ValueError(f"{file_name(path)} is too large for the memory of this machine") from error


def _cells(column: Column) -> list[Any]:
    """The cells of a column, as Python's own objects."""
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def _wide(header: list[str], columns: list[Column], item: str | None, group: str | None) -> ScoreTable:
    groups = None
    if group is not None:
        at = header.index(group)
        groups = tuple(_cells(columns[at]))
        header, columns = [*header[:at], *header[at + 1 :]], [*columns[:at], *columns[at + 1 :]]
    n_rows = len(columns[0]) if columns else 0
    names_at = header.index(item) if item is not None else _names_at(header, columns)
    arms = [k for k in range(len(header)) if k != names_at]
    items = map(str, range(1, n_rows + 1)) if names_at is None else map(str, _cells(columns[names_at]))
    scores = np.empty((n_rows, len(arms)))
    for place, k in enumerate(arms):
        scores[:, place] = column_scores(columns[k], header[k])
    return ScoreTable(tuple(header[k] for k in arms), tuple(items), scores, groups)


def _names_at(header: list[str], columns: list[Column]) -> int | None:
    """The first column, if others are left and it is named like one of items or holds no number at all."""
    if len(header) < 2:
        return None
    cells = _cells(columns[0])
    names = not any(map(is_number, cells)) and not all(map(is_absent, cells))
    items = header[0].strip().lower() in ITEM_NAMES or names or _counts_up(cells)
    return 0 if items else None


def _counts_up(cells: list[Any]) -> bool:
    """Whether a column only numbers its rows, whatever it is called: such numbers are no scores."""
    start = 0 if str(cells[0]) == "0" else 1
    return len(cells) >= COUNTED and all(str(cell) == str(k) for k, cell in enumerate(cells, start))


def _long(header: list[str], columns: list[Column], item: str, arm: str, score: str) -> ScoreTable:
    of_item, of_arm, cells = (_cells(columns[header.index(name)]) for name in (item, arm, score))
    of_item, of_arm = [str(name) for name in of_item], [str(name) for name in of_arm]
    items = {name: k for k, name in enumerate(dict.fromkeys(of_item))}
    arms = {name: k for k, name in enumerate(dict.fromkeys(of_arm))}
    check_size(len(items), len(arms), len(cells), "scores")
    scores = np.full((len(items), len(arms)), np.nan)
    filled = np.zeros(scores.shape, dtype=bool)
    for number, (its_item, its_arm, cell) in enumerate(zip(of_item, of_arm, cells, strict=True), start=1):
        place = items[its_item], arms[its_arm]
        if filled[place]:
            where = f"arm {short(its_arm)!r} on item {short(its_item)!r}"
            raise ValueError(f"row {number} repeats the score of {where}")
        filled[place] = True
        scores[place] = to_score(cell, number, score)
    return ScoreTable(tuple(arms), tuple(items), scores)


def _with_groups(table: ScoreTable, header: list[str], columns: list[Column], item: str, group: str) -> ScoreTable:
    """A long table with the groups of its items, which must be the same in all rows of an item."""
    names, labels = (_cells(columns[header.index(name)]) for name in (item, group))
    groups: dict[str, Any] = {}
    for number, (name, label) in enumerate(zip(map(str, names), labels, strict=True), start=1):
        if groups.setdefault(name, label) != label:
            known, now = described(groups[name]), described(label)
            raise ValueError(f"row {number} puts item {short(name)!r} into group {now}, but it was in {known}")
    return ScoreTable(table.arms, table.items, table.scores, tuple(groups[name] for name in table.items))
