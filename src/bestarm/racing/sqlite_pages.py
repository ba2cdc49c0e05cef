"""The rounds and scores of a large SQLite file, out of its pages: ten times quicker than row by row through Python.

SQLite has checked the file before, and gives its pages as this connection sees them. Whatever is unusual in them is
left to SQLite, so that a file holds the same whichever way it is read.
"""

import sqlite3
from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestarm.racing.columns import Texts
from bestarm.racing.rows import RoundColumns, ScoreColumns

LARGE = 4 * 2**20  # bytes of a file, from which on it is worth it
SMALLEST_ROW = 4  # bytes that a row takes in a file, at least: more rows than that are none that were written
UNUSED, ENCODING, UTF_8 = 20, slice(56, 60), 1  # in the header: bytes at the end of pages, and how texts are written


class Pages(NamedTuple):
    """All pages of a file, how large they are, and how much of each is used."""

    content: NDArray[np.uint8]
    size: int
    usable: int


def columns_of(connection: sqlite3.Connection, on_disk: int) -> tuple[RoundColumns, ScoreColumns, bool] | None:
    """The rounds and scores, and whether there are failures; None if SQLite must say what the file holds.

    The pages are not asked for if they would take more than there is ``on_disk``, in the file and its log.
    """
    if (pages := _pages(connection, on_disk)) is None:
        return None
    roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'"))
    if type(roots["scores"]) is not int or type(roots["rounds"]) is not int:
        return None
    scores = _scores(pages, roots["scores"])
    rounds = None if scores is None else _rounds(pages, roots["rounds"])
    return None if rounds is None or scores is None else (rounds, *scores)


def _pages(connection: sqlite3.Connection, on_disk: int) -> Pages | None:
    """The pages of a large file, with those that are in its log only; None where they are not to be had."""
    n_pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if not LARGE <= n_pages * size <= on_disk or not hasattr(connection, "serialize"):
        return None
    content = connection.serialize()
    if len(content) != n_pages * size or int.from_bytes(content[ENCODING]) != UTF_8:
        return None
    return Pages(np.frombuffer(content, dtype=np.uint8), size, size - content[UNUSED])


def _cells(pages: Pages, root: int, in_index: bool) -> NDArray[np.int64] | None:
    """The places of the rows of the table that begins with a page."""
    from bestarm.kernels.pages import cells_in_order

    n = cells_in_order(*pages, root, in_index, np.empty(0, dtype=np.int64))
    if not 0 <= n <= pages.content.size // SMALLEST_ROW:
        return None
    cells = np.empty(n, dtype=np.int64)
    cells_in_order(*pages, root, in_index, cells)
    return cells


def _rounds(pages: Pages, root: int) -> RoundColumns | None:
    from bestarm.kernels.pages import join, read_rounds

    if (cells := _cells(pages, root, in_index=False)) is None:
        return None
    rounds, ends = RoundColumns.of_size(cells.size), array("q", [0]) * (cells.size + 1)
    columns = (np.frombuffer(rounds.numbers, np.int64), np.frombuffer(rounds.asked, np.intc))
    if read_rounds(*pages, cells, *columns, np.frombuffer(ends, np.int64)) < 0:
        return None
    joined = bytearray(ends[-1])
    join(pages.content, cells, np.frombuffer(ends, np.int64), np.frombuffer(joined, np.uint8))
    try:
        rounds.items = Texts.of_bytes(joined, ends)
    except UnicodeError:
        return None
    return rounds


def _scores(pages: Pages, root: int) -> tuple[ScoreColumns, bool] | None:
    """The scores, and whether any failed."""
    from bestarm.kernels.pages import read_scores

    if (cells := _cells(pages, root, in_index=True)) is None:
        return None
    scores = ScoreColumns.of_size(cells.size)
    numbers = (np.frombuffer(scores.rounds, np.int64), np.frombuffer(scores.arms, np.intc))
    failed = read_scores(*pages, cells, *numbers, np.frombuffer(scores.values, np.float64))
    return None if failed < 0 else (scores, failed > 0)
