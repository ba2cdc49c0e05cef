"""What was scored: the only form of scores in memory, and the same rows as on disk."""

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import check_in_flight
from bestarm.errors import BestarmError
from bestarm.text import counted

Counted = Literal["", "worst", "time-out"]  # what took the place of a score, if anything did
RETRIED, COUNTED = r"retried (\d+) times?", r"counted as (worst|time-out)"
BEGINNING = re.compile(f"(?:{RETRIED}, {COUNTED}|{RETRIED}|{COUNTED}): ")


class Note(NamedTuple):
    """A failure: why, how many attempts failed and were tried again, and what it counts as."""

    text: str
    retried: int = 0
    counted: Counted = ""

    @property
    def stored(self) -> str:
        """The text that a row holds."""
        said = [f"retried {self.retried} time{'s' * (self.retried != 1)}"] if self.retried else []
        said += [f"counted as {self.counted}"] if self.counted else []
        return f"{', '.join(said)}: {self.text}" if said else self.text


def note_of(stored: str, scored: bool) -> Note:
    """The note of a row, which has a score or not."""
    begun = BEGINNING.match(stored)
    if begun is None:
        return Note(stored, counted="worst" if scored else "")
    retried = int(begun[1] or begun[3] or 0)
    counted: Counted = (begun[2] or begun[4] or "") if scored else ""  # type: ignore[assignment]
    return Note(stored[begun.end() :], retried, counted)


class NotedScore(NamedTuple):
    """A score, and what failed on the way to it."""

    score: float
    note: Note


CONTINUES = 0b1100_0000, 0b1000_0000  # of a byte in UTF-8: bits that say whether it begins a character, and that not


class Texts:
    """Texts by number, in one piece of memory; None where there is none."""

    def __init__(self, texts: Iterable[str | None] = ()) -> None:
        self._bytes = bytearray()
        self._ends = array("q", [0])
        self._none: set[int] = set()
        for text in texts:
            self.append(text)

    @classmethod
    def of_bytes(cls, joined: bytearray, ends: "array[int]") -> Self:
        """Texts in UTF-8, one after the other, and where they end, after a 0; `UnicodeError` if one is no text."""
        if not joined.isascii():
            joined.decode()
            starts = np.frombuffer(ends, dtype=np.int64)[:-1]
            starts = starts[starts < len(joined)]
            if ((np.frombuffer(joined, dtype=np.uint8)[starts] & CONTINUES[0]) == CONTINUES[1]).any():
                raise UnicodeError("a text begins within a character")
        texts = cls()
        texts._bytes, texts._ends = joined, ends
        return texts

    def append(self, text: str | None) -> None:
        """Add a text, or that there is none."""
        if text is None:
            self._none.add(len(self))
        else:
            self._bytes += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._bytes))

    def extend(self, texts: Sequence[str]) -> None:
        """Add many texts."""
        joined = "".join(texts).encode("utf-8", "surrogatepass")
        sizes = map(len, texts) if joined.isascii() else (len(text.encode("utf-8", "surrogatepass")) for text in texts)
        self._ends.extend(accumulate(sizes, initial=len(self._bytes)))
        del self._ends[-len(texts) - 1]  # where they begin is where the others end
        self._bytes += joined

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> str | None:
        if place in self._none:
            return None
        return self._bytes[self._ends[place] : self._ends[place + 1]].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str | None]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return NotImplemented
        return (self._none, self._ends, self._bytes) == (other._none, other._ends, other._bytes)

    __hash__ = None  # type: ignore[assignment]

    def first(self, n: int) -> Self:
        """A copy of the first of them."""
        part = type(self)()
        part._ends = self._ends[: n + 1]
        part._bytes = self._bytes[: part._ends[-1]]
        part._none = {place for place in self._none if place < n}
        return part


class ByArm:
    """The scores of a record arm by arm, each with its round, numbered from 0; scores that are missing are left out."""

    def __init__(self, rounds: NDArray[np.int32], arms: NDArray[np.int32], scores: NDArray[np.float64], n_arms: int):
        there = ~np.isnan(scores)
        if not there.all():
            rounds, arms, scores = rounds[there], arms[there], scores[there]
        if arms.size % n_arms == 0 and (arms.reshape(-1, n_arms) == np.arange(n_arms)).all():  # nobody has left
            self._rounds, self._scores = rounds.reshape(-1, n_arms).T.ravel(), scores.reshape(-1, n_arms).T.ravel()
        else:
            kind = np.uint16 if n_arms <= 2**16 else np.int32  # the sort of short numbers is far quicker
            order = np.argsort(arms.astype(kind), kind="stable")
            self._rounds, self._scores = rounds[order], scores[order]
        self._ends = np.append(0, np.cumsum(np.bincount(arms, minlength=n_arms)))

    def of(self, arm: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The rounds and scores of an arm."""
        part = slice(self._ends[arm], self._ends[arm + 1])
        return self._rounds[part], self._scores[part]

    def shared(self, a: int, b: int) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """The rounds in which both arms have scores, and these scores."""
        (rounds_a, scores_a), (rounds_b, scores_b) = self.of(a), self.of(b)
        n = min(rounds_a.size, rounds_b.size)
        if np.array_equal(rounds_a[:n], rounds_b[:n]):  # one left before the other, as a rule
            return rounds_a[:n], scores_a[:n], scores_b[:n]
        both, in_a, in_b = np.intersect1d(rounds_a, rounds_b, assume_unique=True, return_indices=True)
        return both, scores_a[in_a], scores_b[in_b]

    def table(self, a: int, b: int, last: int) -> NDArray[np.float64]:
        """The scores that two arms share in the rounds up to the last, a row for each."""
        rounds, scores_a, scores_b = self.shared(a, b)
        n = int(np.searchsorted(rounds, last))
        return np.column_stack([scores_a[:n], scores_b[:n]])


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


CELLS = 2**22  # of a table that is made at a time
TOGETHER = 2**16  # rounds that are compared at a time


class Record:
    """Rounds, one after the other, each with its item, the arms asked, and a score or a failure for each of them.

    In columns, as large as what was asked: twelve bytes a score, twenty and its item a round. Rounds are numbered
    from 1; a score is NaN where it is not there yet, or where its evaluation failed and the arm was disqualified.
    Rounds are only ever added, scores only ever filled in.
    """

    def __init__(self) -> None:
        self.failures: dict[int, dict[int, str]] = {}  # by round and arm: also those that count as the worst score
        self._items = Texts()  # by round; None where a file does not hold the round
        self._n_asked = array("i")  # by round; in a file more than there are scores where some were not told
        self._ends = array("q", [0])  # by round: where its rows end
        self._arms = array("i")
        self._scores = array("d")

    @classmethod
    def of_rows(cls, rounds: Sequence[RoundRow], scores: Sequence[ScoreRow], ahead: int) -> Self:
        """The record in a store, from its rows; at most ``ahead`` rounds, those in flight, may be without scores."""
        of_rounds, of_scores = RoundColumns(), ScoreColumns()
        of_rounds.add(in_order(rounds, 3, "rounds"))
        told = in_order(scores, 4, "scores")
        of_scores.add([row[:3] for row in told])
        failures = [row for row in told if row[2] is None or row[3] is not None]
        return cls.of_columns(of_rounds, of_scores, failures, check_in_flight(ahead))

    @classmethod
    def of_columns(cls, rounds: RoundColumns, scores: ScoreColumns, failures: Iterable[ScoreRow], ahead: int) -> Self:
        """The same from columns in the order of rounds and arms; ``failures`` are the rows that have one, or no score.

        Nothing here is larger than what was read and ``ahead``.
        """
        record = cls()
        numbers = np.frombuffer(rounds.numbers, dtype=np.int64)
        last = int(numbers[-1]) if numbers.size else 0
        if numbers.size and numbers[0] < 1:
            raise RecordError("rounds are numbered from 1")
        if last > numbers.size + ahead:
            gaps = np.flatnonzero(numbers != np.arange(1, numbers.size + 1))
            raise RecordError(f"scores of round {gaps[0] + 1 if gaps.size else last} are missing")
        scored = np.frombuffer(scores.rounds, dtype=np.int64)
        if (np.diff(numbers) <= 0).any() or (np.diff(scored) < 0).any():
            raise RecordError("its rounds or scores are not in their order")
        places = np.searchsorted(numbers, scored)
        if scored.size and (places[-1] == numbers.size or (numbers[places] != scored).any()):
            raise RecordError("there are scores without their round")
        for number, arm, _, failure in failures:
            record.failures.setdefault(number, {})[arm] = failure or "it failed"
        record._items, record._n_asked = rounds.items, rounds.asked
        if last > numbers.size:  # some are in flight and not in the file
            places_of = dict(zip(rounds.numbers, range(numbers.size), strict=True))
            record._items = Texts(rounds.items[places_of[k]] if k in places_of else None for k in range(1, last + 1))
            asked = np.zeros(last, dtype=np.intc)
            asked[numbers - 1] = np.frombuffer(rounds.asked, dtype=np.intc)
            record._n_asked = array("i", asked.tobytes())
        record._ends = array("q", np.searchsorted(scored, np.arange(last + 1), side="right").tobytes())
        record._arms, record._scores = scores.arms, scores.values
        return record

    @classmethod
    def of_table(cls, scores: NDArray[np.float64], counts: NDArray[np.int64], items: Sequence[str]) -> Self:
        """The record of a complete table, of which each arm used its first rows: ``counts`` says how many."""
        record, n_rounds = cls(), len(scores)
        used = np.arange(n_rounds)[:, None] < counts
        n_asked = used.sum(axis=1)
        record._items.extend(items)
        record._n_asked = array("i", n_asked.astype(np.intc).tobytes())
        record._ends = array("q", np.append(0, np.cumsum(n_asked)).tobytes())
        record._arms = array("i", np.nonzero(used)[1].astype(np.intc).tobytes())
        record._scores = array("d", scores[used].tobytes())
        return record

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        mine, others = (  # as bytes: what is not a number equals itself
            (
                one._items,
                one.failures,
                *(column.tobytes() for column in (one._n_asked, one._ends, one._arms, one._scores)),
            )
            for one in (self, other)
        )
        return mine == others

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<record of {counted(self.n_rounds, 'round')}, {counted(len(self._scores), 'evaluation')}>"

    @property
    def items(self) -> list[str | None]:
        """The items by round, as text; None where a file does not hold the round. A list of its own each time."""
        return list(self._items)

    def item(self, number: int) -> str | None:
        """The item of a round."""
        return self._items[number - 1]

    @property
    def n_rounds(self) -> int:
        """Rounds asked, or held by a file."""
        return len(self._items)

    @property
    def n_whole(self) -> int:
        """How many rounds, counted from the first, are complete."""
        held = np.diff(np.frombuffer(self._ends, dtype=np.int64))
        whole = (held == np.frombuffer(self._n_asked, dtype=np.intc)) & (held > 0)
        return self.n_rounds if whole.all() else int(whole.argmin())

    def n_asked(self, last: int, sizes: Sequence[int] | None = None) -> int:
        """Evaluations asked for in the rounds up to the last; ``sizes`` are the items of each round, 1 unless given."""
        asked = self._n_asked[:last]
        return sum(asked) if sizes is None else sum(n * size for n, size in zip(asked, sizes, strict=False))

    def n_rows(self, last: int) -> int:
        """How many scores and failures there are in the rounds up to the last."""
        return self._ends[last]

    def open(self, item: str, arms: Sequence[int]) -> int:
        """Add a round; returns the place of its first score."""
        first = len(self._scores)
        self._items.append(item)
        self._n_asked.append(len(arms))
        self._arms.extend(arms)
        self._scores.extend([math.nan] * len(arms))
        self._ends.append(len(self._scores))
        return first

    def fill(self, place: int, score: float) -> None:
        """Put a score in its place."""
        self._scores[place] = score

    def arms(self, number: int) -> list[int]:
        """The arms of a round; of a file, those that have a score or failed."""
        return self._arms[self._ends[number - 1] : self._ends[number]].tolist()

    def scores(self, number: int) -> NDArray[np.float64]:
        """The scores of a round, in the order of its arms."""
        return np.frombuffer(self._scores[self._ends[number - 1] : self._ends[number]])

    def rows(self) -> Iterator[ScoreRow]:
        """All scores and failures, as a store holds them."""
        for number in range(1, self.n_rounds + 1):
            failures = self.failures.get(number, {})
            for arm, score in zip(self.arms(number), self.scores(number).tolist(), strict=True):
                if arm in failures or not math.isnan(score):
                    yield number, arm, None if math.isnan(score) else score, failures.get(arm)

    def disqualifying(self, number: int) -> dict[int, str]:
        """The arms of a round that failed and have no score, and why."""
        failures = self.failures.get(number)
        if not failures:
            return {}
        scores = dict(zip(self.arms(number), self.scores(number).tolist(), strict=True))
        return {arm: text for arm, text in failures.items() if math.isnan(scores[arm])}

    def all_disqualifying(self) -> dict[int, dict[int, str]]:
        """The arms of each round that failed and have no score, and why, by round."""
        by_round = {number: self.disqualifying(number) for number in self.failures}
        return {number: failures for number, failures in by_round.items() if failures}

    def dense(self, first: int, last: int, n_arms: int, blank: float = math.nan) -> NDArray[np.float64]:
        """The scores of rounds ``first`` to ``last``, one row per round and one column per arm."""
        return self._table(first, last, np.arange(n_arms), blank)

    def _table(self, first: int, last: int, arms: NDArray[np.integer], blank: float) -> NDArray[np.float64]:
        """The scores of these arms, which must be all that have rows, in rounds ``first`` to ``last``."""
        begin, end = self._ends[first - 1], self._ends[last]
        scores, columns = np.frombuffer(self._scores)[begin:end], np.frombuffer(self._arms, dtype=np.intc)[begin:end]
        shape = (last - first + 1, arms.size)
        if scores.size == shape[0] * shape[1] and (columns.reshape(shape) == arms).all():  # nobody has left
            return np.where(np.isnan(scores), blank, scores).reshape(shape)
        held = np.diff(np.frombuffer(self._ends, dtype=np.int64)[first - 1 : last + 1])
        block, rows = np.full(shape, blank), np.repeat(np.arange(len(held)), held)
        block[rows, np.searchsorted(arms, columns)] = np.where(np.isnan(scores), blank, scores)
        return block

    def by_arm(self, last: int, n_arms: int) -> ByArm:
        """The scores of the rounds up to the last, arm by arm."""
        end, held = self._ends[last], np.diff(np.frombuffer(self._ends, dtype=np.int64)[: last + 1])
        rounds = np.repeat(np.arange(last, dtype=np.int32), held)
        arms, scores = np.frombuffer(self._arms, dtype=np.intc)[:end], np.frombuffer(self._scores)[:end]
        return ByArm(rounds, arms, scores, n_arms)

    def blocks(self, last: int) -> Iterator[tuple[NDArray[np.intc], NDArray[np.float64]]]:
        """The rounds up to the last in blocks of limited size: the arms that have rows there, and their table."""
        first = 1
        while first <= last:
            end = last
            there = self._arms_of(first, end)
            while end > first and (end - first + 1) * there.size > CELLS:
                end = first + (end - first) // 2
                there = self._arms_of(first, end)
            yield there, self._table(first, end, there, math.nan)
            first = end + 1

    def _arms_of(self, first: int, last: int) -> NDArray[np.intc]:
        """The arms that have rows in these rounds."""
        rows = slice(self._ends[first - 1], self._ends[last])
        return np.flatnonzero(np.bincount(np.frombuffer(self._arms, dtype=np.intc)[rows])).astype(np.intc)

    def changes(self) -> list[int]:
        """The rounds whose arms are others than those of the round before."""
        ends, arms = np.frombuffer(self._ends, dtype=np.int64), np.frombuffer(self._arms, dtype=np.intc)
        found: list[int] = []
        for begun in range(1, self.n_rounds, TOGETHER):
            widths = np.diff(ends[begun - 1 : begun + TOGETHER + 1])  # from the round before the first of these on
            before, widths = widths[:-1], widths[1:]
            rows = np.arange(ends[begun], ends[begun + widths.size])
            others = arms[rows] != arms[rows - np.repeat(before, widths)]
            differ = np.bincount(np.repeat(np.arange(widths.size), widths), weights=others, minlength=widths.size)
            found += (begun + 1 + np.flatnonzero((widths != before) | (differ > 0))).tolist()
        return found

    def counts(self, last: int, n_arms: int) -> NDArray[np.int64]:
        """How many scores or failures each arm has in the rounds up to the last."""
        return np.bincount(np.frombuffer(self._arms, dtype=np.intc)[: self._ends[last]], minlength=n_arms)

    def all_of(self, n_arms: int) -> bool:
        """Whether every score is of one of ``n_arms`` arms."""
        arms = np.frombuffer(self._arms, dtype=np.intc)
        return bool(np.all((arms >= 0) & (arms < n_arms)))

    def all_within(self, bounds: tuple[float, float] | None) -> bool:
        """Whether every score lies in the bounds."""
        if bounds is None:
            return True
        scores = np.frombuffer(self._scores)
        return bool(np.all(np.isnan(scores) | ((scores >= bounds[0]) & (scores <= bounds[1]))))

    def first_rounds(self, last: int) -> "Record":
        """A copy of the rounds up to the last."""
        part, end = Record(), self._ends[last]
        part._items = self._items.first(last)
        part.failures = {number: dict(failed) for number, failed in self.failures.items() if number <= last}
        part._n_asked = self._n_asked[:last]
        part._ends = self._ends[: last + 1]
        part._arms = self._arms[:end]
        part._scores = self._scores[:end]
        return part
