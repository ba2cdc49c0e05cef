"""From columns to a table: which of them hold items, arms and scores, in wide and in long tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestarm.checks import check_text
from bestarm.errors import ParameterError, ParameterTypeError
from bestarm.files import check_size
from bestarm.sources.tables import (
    ScoreTable,
    as_list,
    column_scores,
    is_absent,
    is_flag,
    is_number,
    series_of,
    table_of,
)
from bestarm.text import first_repeated, first_ten_names, join_words, name_of, quoted, safe_str, short, short_repr

Columns = dict[str, Any]  # lists of cells, arrays, or columns of frames, by name
ITEM_NAMES = frozenset(
    ["item", "items", "question", "question_id", "id", "doc_id", "task", "example", "prompt_id", "instance"]
)
ARM_NAMES = frozenset(["model", "arm", "system", "method", "candidate"])
SCORE_NAMES = frozenset(["score", "correct", "value", "accuracy", "acc", "reward"])
INDEX_NAMES = ("", "index")  # of an index that was saved with a frame
COUNTED = 10  # rows: scores of a few items may happen to be 1, 2, 3
MARKS = "%‰$€£¥~<>± \t\N{NO-BREAK SPACE}"  # beside a number in a text
# Last words of names that are rarely those of candidates. A heuristic, as is the scale below.
NO_CANDIDATES = re.compile(
    r"(^|_)(tokens?|latency|time|duration|seconds|costs?|price|length|count|rank|ids|idx|index|seed|fold|timestamp)$"
)
FAR = 100.0  # times the size of scores in most columns


@dataclass(frozen=True)
class ColumnChoice:
    """What is known about columns: which hold items, arms, scores and groups; which arms to race, what to ignore.

    ``index`` is a column that was the index of a frame.
    """

    item: str | None = None
    arm: str | None = None
    score: str | None = None
    group: str | None = None
    arms: Sequence[str] | None = None
    ignore: Sequence[str] | None = None
    index: str | None = None

    def __post_init__(self) -> None:
        for parameter, name in self.roles.items():
            if name is not None:
                check_text(parameter, name)
        for parameter in ("arms", "ignore"):
            check_names(parameter, getattr(self, parameter))

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns by the parameters that name them."""
        names = {"item_column": self.item, "arm_column": self.arm, "score_column": self.score}
        return names | {"group_column": self.group}

    @property
    def named(self) -> list[str]:
        """The columns that were named for a role."""
        return [name for name in self.roles.values() if name is not None]


def check_names(parameter: str, names: Any) -> None:
    """Refuse what is not a list of different texts; None is no choice."""
    if names is None:
        return
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterTypeError(parameter, f"must be a list of names, got {short_repr(names)}", names)
    if (twice := first_repeated(names)) is not None:
        raise ParameterError(parameter, f"must be different names, but {short(twice)!r} appears more than once", names)


def choose(table: ScoreTable, arms: Sequence[str] | None, ignore: Sequence[str] | None) -> ScoreTable:
    """The table with these arms, in this order, and without those."""
    for parameter, names in (("arms", arms), ("ignore", ignore)):
        _check_known(parameter, names or (), table.arms, "arms")
    kept = [arm for arm in (table.arms if arms is None else arms) if arm not in set(ignore or ())]
    if kept == list(table.arms):
        return table
    places = [table.arms.index(arm) for arm in kept]
    return replace(table, arms=tuple(kept), scores=table.scores[:, places])


def _check_known(parameter: str, names: Sequence[str], known: Sequence[str], what: str) -> None:
    for name in names:
        if name not in known:
            have = f"its {what}: {first_ten_names(known)}"
            problem = f"must name {what} of the table, got {short_repr(name)} ({have})"
            raise ParameterError(parameter, problem, name)


def table_of_columns(columns: Columns, choice: ColumnChoice) -> ScoreTable:
    """The table in columns, as chosen; where nothing is, as their names and cells tell. What was told is in its notes.

    Recognising items and long tables by names and texts is a heuristic; which columns are scores never depends on
    numbers in them.
    """
    ignored = [name for name in choice.ignore or () if name in columns]
    left = {name: column for name, column in columns.items() if name not in ignored}
    arms = None if choice.arms is None else list(choice.arms)
    unused = [name for name in choice.ignore or () if name not in ignored]
    if len(set(choice.named)) < len(choice.named):
        raise ValueError(f"items, arms, scores and groups must be in different columns, got {short_repr(choice.named)}")
    if both := [name for name in choice.named if name in ignored]:
        raise ParameterError("ignore", f"must not hold a column that is named for something else: {both[0]!r}", both)
    for parameter, name in choice.roles.items():
        if name is not None:
            _check_known(parameter, [name], tuple(columns), "columns")
    roles, notes = _long_roles(left, choice)
    if roles is not None:
        return choose(replace(_long(left, *roles, choice.group), notes=notes), arms, unused)
    _check_known("ignore", unused, tuple(columns), "columns")
    _check_known("arms", arms or (), tuple(left), "columns")
    return _wide(left, choice)


# --- wide ------------------------------------------------------------------------------------------------------------


def _wide(columns: Columns, choice: ColumnChoice) -> ScoreTable:
    scores, arms = dict(columns), choice.arms
    if wrong := [name for name in arms or () if name in choice.named]:
        raise ParameterError("arms", f"must not hold a column that is named for something else: {wrong[0]!r}", arms)
    groups = None if choice.group is None else _cells(columns, choice.group)
    if choice.group is not None:
        del scores[choice.group]
    named_by = choice.item if choice.item is not None else _find_items(scores, arms or (), choice.index)
    items = None if named_by is None else list(map(safe_str, _cells(columns, named_by)))
    scores = {name: scores[name] for name in arms or scores if name != named_by}
    if arms is not None:
        return table_of(scores, items, groups)
    left_out = _leave_texts_out(scores)
    table = table_of(scores, items, groups)
    doubts = _doubts(table)
    if left_out and not doubts:
        left_out = [f"{left_out[0]}; raced as arms: {first_ten_names(table.arms)}"]
    if named_by is not None and named_by not in (choice.item, choice.index):
        left_out = [*_doubts_about_items(named_by, items or []), *left_out]
    return replace(table, notes=(*left_out, *doubts))


def _find_items(columns: Columns, arms: Sequence[str], index: str | None) -> str | None:
    """The column of the names of items: an index, or the first, if it looks like one, or the first of other texts."""
    if len(columns) < 2:
        return None
    if index in columns and index not in arms:
        return index
    first = next(iter(columns))
    if first not in arms and _are_items(first, columns[first]):
        return first
    texts = [name for name, column in columns.items() if name not in arms and is_text(column)]
    enough = len(columns) - len(texts) >= 2  # otherwise one of them may be meant as scores, and is refused as such
    return next((name for name in texts if enough and not _repeats(columns[name])), None)


def _are_items(name: str, column: Any) -> bool:
    """Whether the first column is named like one of items, holds no number at all, or only numbers the rows."""
    if not is_list(column):
        return False
    cells = as_list(column)
    if _plain_name(name) in ITEM_NAMES | {*INDEX_NAMES}:
        return True
    are_names = not any(is_number(cell) or is_flag(cell) for cell in cells)
    return (are_names and not all(is_absent(cell) or _is_marked(cell) for cell in cells)) or _counts_up(cells)


def _counts_up(cells: list[Any]) -> bool:
    """Whether a column only numbers its rows, whatever it is called: such numbers are no scores."""
    if len(cells) < COUNTED or not all(isinstance(cell, int | np.integer | str) for cell in cells):
        return False
    start = 0 if cells[0] in (0, "0") else 1
    return all(cell in (k, str(k)) for k, cell in enumerate(cells, start))


def _cells(columns: Columns, name: str) -> list[Any]:
    """The cells of a column that holds no scores."""
    if not is_list(columns[name]):
        raise ValueError(f"column {short(name)!r} must hold one cell for each row, got {short_repr(columns[name])}")
    return as_list(columns[name])


def is_list(column: Any) -> bool:
    """Whether cells can be looked at one by one, and again."""
    return (
        isinstance(column, list | tuple)
        or series_of(column) is not None
        or (isinstance(column, np.ndarray) and column.ndim == 1)
    )


def is_text(column: Any) -> bool:
    """Whether a column holds texts alone, none of which is meant as a score: neither numbers nor flags."""
    series = series_of(column)
    if not is_list(column) or (series is not None and series.dtype.is_numeric()):
        return False
    known = (_is_word(cell) for cell in as_list(column) if not is_absent(cell))
    return next(known, False) and all(known)


def _is_word(cell: Any) -> bool:
    if not isinstance(cell, str) or is_flag(cell):
        return False
    return not is_number(cell.replace("_", "")) and not _is_marked(cell)


def _is_marked(cell: Any) -> bool:
    """Whether a text is a number with a mark beside it, such as 93% or $5: meant as a score, and refused."""
    bare = cell.strip(MARKS) if isinstance(cell, str) else ""
    return bare not in (cell, "") and is_number(bare.replace(",", "").replace(" ", ""))


def _leave_texts_out(scores: Columns) -> list[str]:
    """Take columns of texts out, and say so; with fewer than two columns left, the first is refused with its place."""
    texts = {name: column for name, column in scores.items() if is_text(column)}
    if not texts:
        return []
    if len(scores) - len(texts) < 2:
        name, column = next(iter(texts.items()))
        column_scores(column, name)
    for name in texts:
        del scores[name]
    examples = [f"{name_of(name)} ({quoted(_first_text(column))})" for name, column in texts.items()]
    return [f"left out, because they hold texts: {join_words(examples)}"]


def _first_text(column: Any) -> str:
    text = next(str(cell) for cell in as_list(column) if not is_absent(cell))
    return text if len(text) <= 20 else f"{text[:19]}…"


def _doubts_about_items(name: str, items: list[str]) -> list[str]:
    """What is to be said of a column that was taken for the items without a word."""
    if _plain_name(name) in ARM_NAMES:
        return [f"items are the rows of column {name_of(name)}: if these are the arms, transpose the table"]
    if _plain_name(name) not in ITEM_NAMES | {*INDEX_NAMES} and _counts_up(items):
        return [f"items from {name_of(name)}, which only numbers the rows"]
    return []


def _doubts(table: ScoreTable) -> list[str]:
    """Which columns were raced, where some look unlike candidates. A heuristic: they are raced all the same."""
    odd = [arm for arm in table.arms if NO_CANDIDATES.search(_plain_name(arm))]
    if len(odd) == len(table.arms):  # then they are candidates
        odd = []
    odd += [arm for arm in table.arms if _plain_name(arm) in ITEM_NAMES | ARM_NAMES | SCORE_NAMES and arm not in odd]
    odd += [arm for arm in _far_from_the_others(table) if arm not in odd]
    if not odd:
        return []
    names = ",".join(map(name_of, odd))
    return [f"raced as arms: {first_ten_names(table.arms)}; leave one out with --ignore {names} (ignore={odd!r})"]


def _far_from_the_others(table: ScoreTable) -> list[str]:
    """Arms whose scores are of another size than those of most: tokens beside accuracies."""
    sizes = np.nansum(np.abs(table.scores), axis=0) / np.maximum((~np.isnan(table.scores)).sum(axis=0), 1)
    usual = float(np.median(sizes))
    return [arm for arm, size in zip(table.arms, sizes.tolist(), strict=True) if usual > 0 and size > FAR * usual]


def _plain_name(name: str) -> str:
    """A name in small letters and underscores: prompt_tokens for promptTokens and Prompt Tokens."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\W_]+", "_", words).lower()


# --- long ------------------------------------------------------------------------------------------------------------


def _long_roles(columns: Columns, choice: ColumnChoice) -> tuple[tuple[str, str, str] | None, tuple[str, ...]]:
    """The columns of items, arms and scores of a long table, given or found, and what is to be said."""
    item, arm, score = choice.item, choice.arm, choice.score
    if item is not None and arm is not None and score is not None:
        return (item, arm, score), ()
    if arm is not None or score is not None:
        absent = "item_column" if item is None else "arm_column" if arm is None else "score_column"
        raise ParameterError(absent, "must be given, too: a long table needs the names of all its columns", None)
    found = None if _chosen_are_columns(columns, choice) else _find_roles(columns, choice)
    if found is None:
        return None, ()
    said = "items from {}, arms from {}, scores from {}".format(*map(name_of, found))
    return found, (f"read as a long table: {said}",)


def _chosen_are_columns(columns: Columns, choice: ColumnChoice) -> bool:
    return choice.arms is not None and all(name in columns for name in choice.arms)


def _find_roles(columns: Columns, choice: ColumnChoice) -> tuple[str, str, str] | None:
    """The columns of a long table that are named as usual, or of items as chosen, if exactly three are.

    A column of texts that is named like one of arms, in which names come again, makes it long: a wide table has none.
    If it is not clear then which columns hold the rest, the table is refused; as a wide one, it would be a race between
    its scores and other numbers.
    """
    others = {name: column for name, column in columns.items() if name not in choice.named and is_list(column)}
    arms = [name for name in _named_like(others, ARM_NAMES) if is_text(columns[name])]
    arms = [name for name in arms if _repeats(columns[name])]
    if not arms:
        return None
    items = [name for name in _named_like(others, ITEM_NAMES) if _repeats(columns[name])]
    items = items if choice.item is None else [choice.item]
    scores = _named_like(others, SCORE_NAMES)
    if len(items) == len(arms) == len(scores) == 1:
        return items[0], arms[0], scores[0]
    found = {"items": items, "arms": arms, "scores": scores}
    unclear = "; ".join(_where(role, names) for role, names in found.items() if len(names) != 1)
    column = short(arms[0])
    long = f"names come again in column {column!r} as if there were one row per score, but {unclear}"
    braced = long.replace("{", "{{").replace("}", "}}")
    problem = f"must be given, and {{item_column}} and {{score_column}}: {braced} (or leave it out with {{ignore}})"
    raise ParameterError(
        "arm_column", problem, None, {name: name for name in ("item_column", "score_column", "ignore")}
    )


def _where(role: str, names: Sequence[str]) -> str:
    if not names:
        return f"which column holds the {role}?"
    return f"the {role} could be in {join_words([name_of(name) for name in names], 'or')}"


def _named_like(columns: Columns, usual: frozenset[str]) -> list[str]:
    return [name for name in columns if _plain_name(name) in usual]


def _repeats(column: Any) -> bool:
    cells = list(map(safe_str, as_list(column)))
    return len(set(cells)) < len(cells)


def _long(columns: Columns, item: str, arm: str, score: str, group: str | None) -> ScoreTable:
    of_item, of_arm = (list(map(safe_str, _cells(columns, column))) for column in (item, arm))
    numbers = column_scores(columns[score], score)
    if not len(of_item) == len(of_arm) == len(numbers):
        raise ValueError("all columns of the table must have the same number of rows")
    items = {name: k for k, name in enumerate(dict.fromkeys(of_item))}
    arms = {name: k for k, name in enumerate(dict.fromkeys(of_arm))}
    check_size(len(items), len(arms), len(numbers), "scores")
    scores = np.full((len(items), len(arms)), np.nan)
    filled = np.zeros(scores.shape, dtype=bool)
    for row, (its_item, its_arm, number) in enumerate(zip(of_item, of_arm, numbers, strict=True), start=1):
        place = items[its_item], arms[its_arm]
        if filled[place]:
            raise ValueError(f"row {row} repeats the score of arm {short(its_arm)!r} on item {short(its_item)!r}")
        filled[place], scores[place] = True, number
    groups = None if group is None else _groups_of(of_item, _cells(columns, group))
    return ScoreTable(tuple(arms), tuple(items), scores, groups)


def _groups_of(of_item: list[str], labels: list[Any]) -> tuple[Any, ...]:
    """The groups of the items of a long table, which must be the same in all rows of an item."""
    groups: dict[str, Any] = {}
    for row, (item, label) in enumerate(zip(of_item, labels, strict=True), start=1):
        if groups.setdefault(item, label) != label:
            known, now = short_repr(groups[item]), short_repr(label)
            raise ValueError(f"row {row} puts item {short(item)!r} into group {now}, but it was in {known}")
    return tuple(groups.values())
