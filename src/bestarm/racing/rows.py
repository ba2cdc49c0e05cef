"""The rows of a store, as they are taken and given, and read into columns: nothing there is what it is not."""

import math
from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, Self

import numpy as np

from bestarm.errors import BestarmError
from bestarm.racing.columns import Texts

RoundRow = tuple[int, str, int]  # round, item as text, how many arms were asked
ScoreRow = tuple[int, int, float | None, str | None]  # round, arm, score or None, failure or None


class RecordError(BestarmError, ValueError):
    """Rows that no race can have written, and why."""


def in_order(rows: Iterable[Any], width: int, what: str) -> list[Any]:
    """The rows of a store in the order of rounds and arms, where most stores have them already."""
    try:
        tuples = [tuple(row) for row in rows]
        if any(len(row) != width for row in tuples):
            raise TypeError
        sort = any(one[:2] > other[:2] for one, other in pairwise(tuples))
        return sorted(tuples, key=itemgetter(0, 1)) if sort else tuples
    except (TypeError, ValueError) as error:  # no rows, or what cannot be compared
        raise RecordError(f"{what} must be rows of {width} values, and begin with numbers") from error


class RoundColumns:
    """Rounds, in their order: number, item, how many arms were asked."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.items = Texts()
        self.asked = array("i")

    def add(self, rows: Sequence[RoundRow]) -> None:
        """Read further rows."""
        if not rows:
            return
        numbers, items, asked = zip(*rows, strict=True)
        self.numbers.extend(_whole_numbers("q", numbers, "the number of a round"))
        self.asked.extend(_whole_numbers("i", asked, "the number of arms asked in a round"))
        if min(asked) < 0:
            raise RecordError("the number of arms asked in a round is negative")
        try:
            self.items.extend(items)
        except TypeError:
            raise RecordError("there are items that are no text") from None

    @classmethod
    def of_size(cls, n: int) -> Self:
        """Numbers of so many rounds, all 0, to be filled in; their items are still to come."""
        columns = cls()
        columns.numbers, columns.asked = array("q", [0]) * n, array("i", [0]) * n
        return columns


class ScoreColumns:
    """Scores, in the order of rounds and arms; NaN where there is none."""

    def __init__(self) -> None:
        self.rounds = array("q")
        self.arms = array("i")
        self.values = array("d")

    def add(self, rows: Sequence[tuple[int, int, float | None]]) -> None:
        """Read further rows: round, arm, score."""
        if not rows:
            return
        rounds, arms, scores = zip(*rows, strict=True)
        self.rounds.extend(_whole_numbers("q", rounds, "the round of a score"))
        self.arms.extend(_whole_numbers("i", arms, "the arm of a score"))
        self.values.extend(_scores(scores))

    @classmethod
    def of_size(cls, n: int) -> Self:
        """So many scores, all 0, to be filled in."""
        columns = cls()
        columns.rounds, columns.arms, columns.values = array("q", [0]) * n, array("i", [0]) * n, array("d", [0.0]) * n
        return columns


def _whole_numbers(kind: str, values: Sequence[Any], what: str) -> "array[int]":
    """Whole numbers, one after the other; texts and fractions are refused."""
    try:
        return array(kind, values)
    except (TypeError, OverflowError):
        raise RecordError(f"{what} is no whole number, or too large") from None


def _scores(values: Sequence[Any]) -> "array[float]":
    """Scores as numbers, NaN for None; texts and what is not finite are refused."""
    missing = values.count(None)
    try:
        scores = array("d", values if not missing else [math.nan if one is None else one for one in values])
    except (TypeError, OverflowError):
        scores = array("d", [math.inf])
    if np.count_nonzero(~np.isfinite(np.frombuffer(scores))) != missing or (missing and math.inf in scores):
        raise RecordError("there are scores that are not finite numbers")
    return scores
