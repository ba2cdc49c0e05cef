"""What was scored: the only form of scores in memory, and the same rows as on disk."""

import math
from array import array
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import BestarmError
from bestarm.inputs.texts import counted

# As a store takes and gives them.
RoundRow = tuple[int, str, int]  # round, item as text, how many arms were asked
ScoreRow = tuple[int, int, float | None, str | None]  # round, arm, score or None, failure or None


class RecordError(BestarmError, ValueError):
    """Rows that no race can have written, and why."""


class Record:
    """Rounds, one after the other, each with its item, the arms asked, and a score or a failure for each of them.

    In columns, as large as what was asked. Rounds are numbered from 1; a score is NaN where it is not there yet, or
    where its evaluation failed and the arm was disqualified. Rounds are only ever added, scores only ever filled in.
    """

    def __init__(self) -> None:
        self.items: list[str | None] = []  # by round; None where a file does not hold the round
        self.failures: dict[int, dict[int, str]] = {}  # by round and arm: also those that count as the worst score
        self._n_asked = array("q")  # by round; in a file more than there are scores where some were not told
        self._ends = array("q", [0])  # by round: where its rows end
        self._arms = array("q")
        self._scores = array("d")

    @classmethod
    def of_rows(cls, rounds: Sequence[RoundRow], scores: Sequence[ScoreRow], ahead: int) -> Self:
        """The record in a store, from its rows; at most ``ahead`` rounds, those in flight, may be without scores."""
        record, rounds = cls(), sorted(rounds)
        numbers, arms = (np.array([row[k] for row in scores], dtype=np.int64) for k in (0, 1))
        step = np.diff(numbers)
        if ((step < 0) | ((step == 0) & (np.diff(arms) < 0))).any():
            return cls.of_rows(rounds, sorted(scores, key=lambda row: row[:2]), ahead)
        last = rounds[-1][0] if rounds else 0
        if rounds and rounds[0][0] < 1:
            raise RecordError("rounds are numbered from 1")
        if last > len(rounds) + ahead:
            missing = next((k for k, (number, _, _) in enumerate(rounds, start=1) if number != k), last)
            raise RecordError(f"scores of round {missing} are missing")
        items: list[str | None] = [None] * last
        asked = np.zeros(last, dtype=np.int64)
        for number, item, n_asked in rounds:
            items[number - 1], asked[number - 1] = item, n_asked
        values = np.array([row[2] for row in scores], dtype=np.float64)  # None is NaN
        if any(scores[k][2] is not None for k in np.flatnonzero(~np.isfinite(values)).tolist()):
            raise RecordError("there are scores that are not finite numbers")
        for number, arm, score, failure in scores:
            if score is None or failure is not None:
                record.failures.setdefault(number, {})[arm] = failure or "it failed"
        record.items = items
        record._n_asked = array("q", asked.tobytes())
        record._ends = array("q", np.searchsorted(numbers, np.arange(last + 1), side="right").tobytes())
        record._arms = array("q", arms.tobytes())
        record._scores = array("d", values.tobytes())
        return record

    @classmethod
    def of_table(cls, scores: NDArray[np.float64], counts: NDArray[np.int64], items: Sequence[str]) -> Self:
        """The record of a complete table, of which each arm used its first rows: ``counts`` says how many."""
        record, n_rounds = cls(), len(scores)
        used = np.arange(n_rounds)[:, None] < counts
        n_asked = used.sum(axis=1)
        record.items = list(items)
        record._n_asked = array("q", n_asked.tobytes())
        record._ends = array("q", np.append(0, np.cumsum(n_asked)).tobytes())
        record._arms = array("q", np.nonzero(used)[1].tobytes())
        record._scores = array("d", scores[used].tobytes())
        return record

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        mine, others = (  # as bytes: what is not a number equals itself
            (
                one.items,
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
    def n_rounds(self) -> int:
        """Rounds asked, or held by a file."""
        return len(self.items)

    @property
    def n_whole(self) -> int:
        """How many rounds, counted from the first, are complete."""
        held = np.diff(np.array(self._ends))
        whole = (held == np.array(self._n_asked)) & (held > 0)
        return self.n_rounds if whole.all() else int(whole.argmin())

    def n_asked(self, last: int, sizes: Sequence[int] | None = None) -> int:
        """Evaluations asked for in the rounds up to the last; ``sizes`` are the items of each round, 1 unless given."""
        asked = self._n_asked[:last]
        return sum(asked) if sizes is None else sum(n * size for n, size in zip(asked, sizes, strict=False))

    def open(self, item: str, arms: Sequence[int]) -> int:
        """Add a round; returns the place of its first score."""
        first = len(self._scores)
        self.items.append(item)
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
        begin, end = self._ends[first - 1], self._ends[last]
        held = np.diff(np.array(self._ends[first - 1 : last + 1]))
        block = np.full((last - first + 1, n_arms), blank)
        scores = np.frombuffer(self._scores[begin:end])
        rows = np.repeat(np.arange(len(held)), held)
        block[rows, np.frombuffer(self._arms[begin:end], dtype=np.int64)] = np.where(np.isnan(scores), blank, scores)
        return block

    def counts(self, last: int, n_arms: int) -> NDArray[np.int64]:
        """How many scores or failures each arm has in the rounds up to the last."""
        return np.bincount(np.array(self._arms[: self._ends[last]], dtype=np.int64), minlength=n_arms)

    def all_of(self, n_arms: int) -> bool:
        """Whether every score is of one of ``n_arms`` arms."""
        arms = np.array(self._arms, dtype=np.int64)
        return bool(np.all((arms >= 0) & (arms < n_arms)))

    def all_within(self, bounds: tuple[float, float] | None) -> bool:
        """Whether every score lies in the bounds."""
        if bounds is None:
            return True
        scores = np.array(self._scores)
        return bool(np.all(np.isnan(scores) | ((scores >= bounds[0]) & (scores <= bounds[1]))))

    def first_rounds(self, last: int) -> "Record":
        """A copy of the rounds up to the last."""
        part, end = Record(), self._ends[last]
        part.items = self.items[:last]
        part.failures = {number: dict(failed) for number, failed in self.failures.items() if number <= last}
        part._n_asked = self._n_asked[:last]
        part._ends = self._ends[: last + 1]
        part._arms = self._arms[:end]
        part._scores = self._scores[:end]
        return part
