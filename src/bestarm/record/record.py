"""What was scored, round by round: as rows of a store, as columns in memory, and as rewards."""

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import check_in_flight
from bestarm.errors import BestarmError
from bestarm.text import with_noun

RoundRow = tuple[int, str, int]  # round, item as text, how many arms were asked
ScoreRow = tuple[int, int, float | None, str | None]  # round, arm, score or None, failure as text or None
Counted = Literal["", "worst", "time-out"]  # what took the place of a score, if anything did

RETRIED, COUNTED = r"retried (\d+) times?", r"counted as (worst|time-out)"
PREFIX = re.compile(f"(?:{RETRIED}, {COUNTED}|{RETRIED}|{COUNTED}): ")
UNKNOWN = "it failed"  # the reason where a store holds neither a score nor a text
CELLS_OF_BLOCK = 2**22  # of a table that is made at a time
ROWS_AT_A_TIME = 2**14  # that are read from a store


class Failure(NamedTuple):
    """A failed evaluation: why, how many attempts failed before the last one, and what it counts as.

    It counts as nothing, ``""``, where the evaluation succeeded in the end, and where it disqualified the arm.
    """

    text: str
    retried: int = 0
    counted: Counted = ""
    bare: bool = False  # a store holds the text alone, as the first versions wrote it


class ScoreWithNote(NamedTuple):
    """A score, and what failed on the way to it."""

    score: float
    note: Failure


Row = tuple[int, int, float | None, Failure | None]  # round, arm, score, failure: at least one of the two is there


def encode_failure(failure: Failure) -> str:
    """The text of a failure in a store; it begins with what followed: ``"retried 2 times, counted as worst: ..."``."""
    said = [f"retried {failure.retried} time{'s' * (failure.retried != 1)}"] if failure.retried else []
    said += [f"counted as {failure.counted}"] if failure.counted else []
    return f"{', '.join(said)}: {failure.text}" if said and not failure.bare else failure.text


def decode_failure(stored: str, scored: bool) -> Failure:
    """The inverse of `encode_failure` for a row that has a score or not; without one a failure counts as nothing."""
    found = PREFIX.match(stored)
    retried, as_what = (None, None) if found is None else (found[1] or found[3], found[2] or found[4])
    if found is None or (as_what and not scored):
        return Failure(stored, counted="worst", bare=True) if scored else Failure(stored)
    kind: Counted = "worst" if as_what == "worst" else "time-out" if as_what else ""
    return Failure(stored[found.end() :], int(retried or 0), kind)


class RecordError(BestarmError, ValueError):
    """Rows that no race can have written, and why."""


@dataclass(frozen=True)
class RewardTransform:
    """How the scores of a race become rewards of its game, and mean rewards become mean scores again.

    More reward is better: scores are reflected, within their bounds if there are any, where lower ones are better. A
    round counts by its weight, at most 1, where rounds have one: rewards are weighed down towards the lower bound.
    """

    lower_is_better: bool = False
    bounds: tuple[float, float] | None = None
    weights: NDArray[np.float64] | None = None

    @property
    def worst(self) -> float | None:
        """The worst score that there can be; None without bounds."""
        return None if self.bounds is None else self.bounds[1 if self.lower_is_better else 0]

    def rewards(self, scores: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """The rewards of rounds from the first on, one row per round, or of one round."""
        low, high = self.bounds or (0.0, 0.0)
        if self.lower_is_better:
            scores = -scores if self.bounds is None else np.clip(low + high - scores, low, high)
        if self.weights is None:
            return scores
        if scores.ndim == 1:
            return np.asarray(low + self.weights[first - 1] * (scores - low))
        return np.asarray(low + self.weights[first - 1 : first - 1 + len(scores), None] * (scores - low))

    def mean_scores(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean scores behind mean rewards of rounds that all have the same weight."""
        if not self.lower_is_better:
            return rewards
        return -rewards if self.bounds is None else sum(self.bounds) - rewards


class ByArm:
    """The scores of a record arm by arm, each with its round, numbered from 0; scores that are missing are left out."""

    def __init__(self, rounds: NDArray[np.int32], arms: NDArray[np.int32], scores: NDArray[np.float64], n_arms: int):
        there = ~np.isnan(scores)
        if not there.all():
            rounds, arms, scores = rounds[there], arms[there], scores[there]
        order = np.argsort(arms, kind="stable")
        self._rounds, self._scores = rounds[order], scores[order]
        self._ends = np.append(0, np.cumsum(np.bincount(arms, minlength=n_arms)))

    def of(self, arm: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The rounds and scores of an arm."""
        part = slice(self._ends[arm], self._ends[arm + 1])
        return self._rounds[part], self._scores[part]

    def shared(self, a: int, b: int) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """The rounds in which both arms have scores, and these scores."""
        (rounds_a, scores_a), (rounds_b, scores_b) = self.of(a), self.of(b)
        both, in_a, in_b = np.intersect1d(rounds_a, rounds_b, assume_unique=True, return_indices=True)
        return both, scores_a[in_a], scores_b[in_b]

    def table(self, a: int, b: int, last: int) -> NDArray[np.float64]:
        """The scores that two arms share in the rounds up to the last, a row for each."""
        rounds, scores_a, scores_b = self.shared(a, b)
        n = int(np.searchsorted(rounds, last))
        return np.column_stack([scores_a[:n], scores_b[:n]])


class Record:
    """Rounds, one after the other, each with its item, the arms asked, and a score or a failure for each of them.

    Rounds are numbered from 1 and only ever appended. A score is NaN where its evaluation failed and the arm was
    disqualified. The record of a store may also hold rounds that are not complete.
    """

    def __init__(self) -> None:
        self._items: list[str | None] = []  # by round; None where a store does not hold the round
        self._n_asked = array("i")  # by round; in a store more than there are scores where some were not told
        self._ends = array("q", [0])  # by round: where its scores end
        self._arms = array("i")
        self._scores = array("d")
        self._failures: dict[int, dict[int, Failure]] = {}  # by round and arm: also of evaluations that have a score

    @classmethod
    def of_rows(
        cls, rounds: Iterable[RoundRow], scores: Iterable[ScoreRow], ahead: int, n_arms: int | None = None
    ) -> Self:
        """The record in a store, from its rows; at most ``ahead`` rounds, those in flight, may be without scores.

        The rows may come from iterators: some thousands are held at a time, beside the columns that they become. With
        ``n_arms``, rows of arms that do not exist are refused.
        """
        record = cls()
        numbers = record._read_rounds(rounds, check_in_flight(ahead), n_arms)
        record._read_scores(scores, numbers, n_arms)
        return record

    def _read_rounds(self, rows: Iterable[RoundRow], ahead: int, n_arms: int | None) -> NDArray[np.int64]:
        """Fill in items and how many arms were asked; returns the numbers of the rounds that are there."""
        column, items, n_asked = array("q"), list[str](), array("i")
        for numbers, texts, asked in _chunks(rows, 3, "rounds"):
            column.extend(_whole_numbers("q", numbers, "the number of a round"))
            n_asked.extend(_whole_numbers("i", asked, "the number of arms asked in a round"))
            items.extend(texts)
            if min(asked) < 0:
                raise RecordError("the number of arms asked in a round is negative")
            if n_arms is not None and max(asked) > n_arms:
                raise RecordError(f"there is a round that asked for {max(asked)} arms, and there are {n_arms}")
            if not all(isinstance(text, str) for text in texts):
                raise RecordError("there are items that are no text")
        found = np.sort(np.frombuffer(column, dtype=np.int64))
        last = int(found[-1]) if found.size else 0
        if found.size and found[0] < 1:
            raise RecordError("rounds are numbered from 1")
        if (np.diff(found) == 0).any():
            raise RecordError("a round is there twice")
        if last > found.size + ahead:
            gaps = np.flatnonzero(found != np.arange(1, found.size + 1))
            raise RecordError(f"scores of round {gaps[0] + 1 if gaps.size else last} are missing")
        self._items, asked_by_round = [None] * last, np.zeros(last, dtype=np.intc)
        for number, item in zip(column, items, strict=True):
            self._items[number - 1] = item
        asked_by_round[np.frombuffer(column, dtype=np.int64) - 1] = n_asked
        self._n_asked = array("i", asked_by_round.tobytes())
        return found

    def _read_scores(self, rows: Iterable[ScoreRow], numbers: NDArray[np.int64], n_arms: int | None) -> None:
        """Fill in scores and failures; ``numbers`` are those of the rounds that are there."""
        column = array("q")
        for rounds, arms, scores, failures in _chunks(rows, 4, "scores"):
            column.extend(_whole_numbers("q", rounds, "the round of a score"))
            self._arms.extend(_whole_numbers("i", arms, "the arm of a score"))
            self._scores.extend(_finite_scores(scores))
            if n_arms is not None and not 0 <= min(arms) <= max(arms) < n_arms:
                raise RecordError("there are scores without their round or arm")
            if None in scores or failures.count(None) < len(failures):
                self._read_failures(zip(rounds, arms, scores, failures, strict=True))
        found, arms_found = np.frombuffer(column, dtype=np.int64), np.frombuffer(self._arms, dtype=np.intc)
        steps = np.diff(found)
        if (steps < 0).any() or ((steps == 0) & (np.diff(arms_found) < 0)).any():
            order = np.lexsort((arms_found, found))
            found, arms_found = found[order], arms_found[order]
            self._scores = array("d", np.frombuffer(self._scores)[order].tobytes())
            self._arms = array("i", arms_found.tobytes())
        if not np.isin(found, numbers).all():
            raise RecordError("there are scores without their round")
        if ((np.diff(found) == 0) & (np.diff(arms_found) == 0)).any():
            raise RecordError("an arm has two scores in a round")
        self._ends = array("q", np.searchsorted(found, np.arange(self.n_rounds + 1), side="right").tobytes())

    def _read_failures(self, rows: Iterable[ScoreRow]) -> None:
        for number, arm, score, failure in rows:
            if not isinstance(failure, str | None):
                raise RecordError("there are failures that are no text")
            if failure == "" and score is not None:
                raise RecordError(
                    f"the failure beside the score of round {number} is an empty text: None is no failure"
                )
            if score is None or failure is not None:
                self.add_failure(number, arm, decode_failure(failure or UNKNOWN, scored=score is not None))

    @classmethod
    def of_table(cls, scores: NDArray[np.float64], counts: NDArray[np.int64], items: Sequence[str]) -> Self:
        """The record of a complete table, of which each arm used its first rows: ``counts`` says how many."""
        record, n_rounds = cls(), len(scores)
        used = np.arange(n_rounds)[:, None] < counts
        n_asked = used.sum(axis=1)
        record._items = list(items)
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
                one._failures,
                *(column.tobytes() for column in (one._n_asked, one._ends, one._arms, one._scores)),
            )
            for one in (self, other)
        )
        return mine == others

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<record of {with_noun(self.n_rounds, 'round')}, {with_noun(len(self._scores), 'evaluation')}>"

    @property
    def items(self) -> list[str | None]:
        """The items by round, as text; None where a store does not hold the round."""
        return list(self._items)

    @property
    def failures(self) -> dict[int, dict[int, str]]:
        """What failed, by round and arm, as the texts that a store holds: also of evaluations that have a score."""
        return {
            number: {arm: encode_failure(failure) for arm, failure in failed.items()}
            for number, failed in self._failures.items()
        }

    def item(self, number: int) -> str | None:
        """The item of a round."""
        return self._items[number - 1]

    @property
    def n_rounds(self) -> int:
        """Rounds asked, or held by a store."""
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

    def append(
        self, item: str, arms: Sequence[int], scores: Iterable[float], failures: Mapping[int, Failure] | None = None
    ) -> None:
        """Add a round: the arms asked, the score of each, and what failed, by arm."""
        self._items.append(item)
        self._n_asked.append(len(arms))
        self._arms.extend(arms)
        self._scores.extend(scores)
        self._ends.append(len(self._scores))
        if failures:
            self._failures[len(self._items)] = dict(failures)

    def add_failure(self, number: int, arm: int, failure: Failure) -> None:
        """Note a failure of a row."""
        self._failures.setdefault(number, {})[arm] = failure

    def arms(self, number: int) -> list[int]:
        """The arms of a round; of a store, those that have a score or failed."""
        return self._arms[self._ends[number - 1] : self._ends[number]].tolist()

    def scores(self, number: int) -> NDArray[np.float64]:
        """The scores of a round, in the order of its arms."""
        return np.frombuffer(self._scores[self._ends[number - 1] : self._ends[number]])

    def rows(self) -> Iterator[ScoreRow]:
        """All scores and failures, as a store holds them."""
        for number in range(1, self.n_rounds + 1):
            for _, arm, score, failure in self.rows_of(number):
                yield number, arm, score, None if failure is None else encode_failure(failure)

    def rows_of(self, number: int) -> list[Row]:
        """The scores and failures of a round."""
        failures = self._failures.get(number, {})
        return [
            (number, arm, None if math.isnan(score) else score, failures.get(arm))
            for arm, score in zip(self.arms(number), self.scores(number).tolist(), strict=True)
            if arm in failures or not math.isnan(score)
        ]

    def failed_rows(self) -> Iterator[Row]:
        """All rows that have a failure, in the order of rounds and arms."""
        for number in sorted(self._failures):
            yield from (row for row in self.rows_of(number) if row[3] is not None)

    def disqualifying(self) -> dict[int, dict[int, Failure]]:
        """The failures without a score, by round and arm: they disqualify the arm."""
        found: dict[int, dict[int, Failure]] = {}
        for number, arm, score, failure in self.failed_rows():
            if score is None and failure is not None:
                found.setdefault(number, {})[arm] = failure
        return found

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
        n_rounds = max(1, CELLS_OF_BLOCK // max(1, self._arms_of(1, last).size))
        for first in range(1, last + 1, n_rounds):
            end = min(first + n_rounds - 1, last)
            there = self._arms_of(first, end)
            yield there, self._table(first, end, there, math.nan)

    def _arms_of(self, first: int, last: int) -> NDArray[np.intc]:
        """The arms that have rows in these rounds."""
        rows = slice(self._ends[first - 1], self._ends[last])
        return np.flatnonzero(np.bincount(np.frombuffer(self._arms, dtype=np.intc)[rows])).astype(np.intc)

    def changes(self) -> list[int]:
        """The rounds whose arms are others than those of the round before."""
        arms = map(self.arms, range(1, self.n_rounds + 1))
        return [number for number, (before, now) in enumerate(pairwise(arms), start=2) if before != now]

    def counts(self, last: int, n_arms: int) -> NDArray[np.int64]:
        """How many scores or failures each arm has in the rounds up to the last."""
        return np.bincount(np.frombuffer(self._arms, dtype=np.intc)[: self._ends[last]], minlength=n_arms)

    def n_scores(self, last: int, n_arms: int) -> NDArray[np.int64]:
        """How many scores each arm has in the rounds up to the last."""
        end = self._ends[last]
        there = ~np.isnan(np.frombuffer(self._scores)[:end])
        return np.bincount(np.frombuffer(self._arms, dtype=np.intc)[:end][there], minlength=n_arms)

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
        part._items = self._items[:last]
        part._failures = {number: dict(failed) for number, failed in self._failures.items() if number <= last}
        part._n_asked = self._n_asked[:last]
        part._ends = self._ends[: last + 1]
        part._arms = self._arms[:end]
        part._scores = self._scores[:end]
        return part


def _chunks(rows: Iterable[Any], width: int, what: str) -> Iterator[list[tuple[Any, ...]]]:
    """The columns of rows of a store, many rows at a time."""
    wrong = RecordError(f"{what} must be rows of {width} values, and begin with numbers")
    if not isinstance(rows, Iterable):
        raise wrong
    left = iter(rows)
    while chunk := list(islice(left, ROWS_AT_A_TIME)):
        try:
            columns = list(zip(*chunk, strict=True))
        except (TypeError, ValueError):  # a row is no collection, or has another width
            raise wrong from None
        if len(columns) != width:
            raise wrong
        yield columns


def _whole_numbers(kind: str, values: Sequence[Any], what: str) -> "array[int]":
    """Whole numbers; texts and fractions are refused."""
    try:
        return array(kind, values)
    except (TypeError, OverflowError):
        raise RecordError(f"{what} is no whole number, or too large") from None


def _finite_scores(values: Sequence[Any]) -> "array[float]":
    """Scores as numbers, NaN for None; texts and what is not finite are refused."""
    missing = values.count(None)
    try:
        scores = array("d", values if not missing else [math.nan if one is None else one for one in values])
    except (TypeError, OverflowError):
        scores = array("d", [math.inf])
    if np.count_nonzero(~np.isfinite(np.frombuffer(scores))) != missing or (missing and math.inf in scores):
        raise RecordError("there are scores that are not finite numbers")
    return scores
