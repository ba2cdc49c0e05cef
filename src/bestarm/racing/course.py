"""The course of a race: rounds decided, scores entered, rounds absorbed in the order asked."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import LUCB, Game
from bestarm.racing.entrants import label_of
from bestarm.racing.evaluation import EvaluationError
from bestarm.racing.settings import RaceSettings
from bestarm.racing.store import Stored, StoreError

LABEL = 200  # characters of an item that are stored
END = object()


@dataclass(frozen=True)
class Failure:
    """An arm that was disqualified: in which round, and why."""

    arm: int
    round: int
    text: str


class OpenRound:
    """A round that was decided and is not absorbed yet."""

    __slots__ = ("asked", "failures", "item", "label", "number", "scores", "stored", "wanted")

    def __init__(self, number: int, item: Any, asked: list[int], scores: NDArray[np.float64]) -> None:
        self.number = number
        self.item = item
        self.label = label_of(item)[:LABEL]
        self.asked = asked
        self.wanted = set(asked)  # those without a score
        self.scores = scores  # by arm, NaN at first
        self.failures: dict[int, str] = {}
        self.stored = False


class Course:
    """The state of a race.

    The arms of round ``r`` are those that the game asks for when the rounds up to ``r - in_flight`` are absorbed; they
    count as spent from then on. Scores may come in any order, rounds are absorbed one after the other.
    """

    def __init__(self, game: Game, settings: RaceSettings, items: Iterator[Any]) -> None:
        self.game = game
        self.settings = settings
        self.spent = 0
        self.open: deque[OpenRound] = deque()
        self.unasked: deque[OpenRound] = deque()
        self.disqualified: list[Failure] = []
        self._items = items
        self._blank = np.full(game.n_arms, math.nan)
        self._ran_out: str | None = None
        self.n_decided = 0  # rounds asked, absorbed or open
        self._rows: list[NDArray[np.float64]] = []

    @property
    def reason(self) -> str | None:
        """Why the race has ended, or None while it goes on."""
        if self.game.finished:
            return self.game.reason
        return None if self.open else self._ran_out

    def find(self, number: int) -> OpenRound:
        """The open round of this number."""
        return self.open[number - self.open[0].number]

    def decide(self) -> None:
        """Decide rounds ahead of the one absorbed last, as many as may be in flight."""
        ahead = self.settings.in_flight
        while not self.game.finished and self._ran_out is None and self.n_decided < self.game.n_rounds + ahead:
            asked = self.game.ask().tolist()
            limit = self.settings.max_queries
            if limit is not None and self.spent + len(asked) > limit:
                self._ran_out = "budget"
            elif (item := next(self._items, END)) is END:
                self._ran_out = "pool exhausted" if self.settings.items == "pool" else "items exhausted"
            else:
                self._append(asked, item)

    def _append(self, asked: list[int], item: Any) -> None:
        self.n_decided += 1
        self.spent += len(asked)
        opened = OpenRound(self.n_decided, item, asked, self._blank.copy())
        self.open.append(opened)
        self.unasked.append(opened)

    def enter(self, opened: OpenRound, arm: int, score: float | None, failure: str | None) -> None:
        """Take one score of an open round, or the failure of an arm that is to be disqualified."""
        opened.wanted.discard(arm)
        if score is None:
            opened.failures[arm] = failure or "it failed"
        else:
            opened.scores[arm] = score

    def absorb(self) -> int:
        """Absorb the rounds that are complete, in their order, and decide as many new ones; how many there were."""
        absorbed = 0
        while not self.game.finished and self.open and not self.open[0].wanted:
            opened = self.open[0]
            if opened.failures and not self._disqualify(opened.number, opened.failures):
                break
            self.game.tell(self.rewards(opened.scores)[self.game.ask()])
            self._rows.append(opened.scores)
            self.open.popleft()
            absorbed += 1
            self.decide()
        return absorbed

    def _disqualify(self, number: int, failures: dict[int, str]) -> bool:
        """Take out the arms that failed in this round, before it is absorbed; whether the game goes on.

        Arms that were already out do not matter: they were asked while others were in flight.
        """
        if failures and not self.game.finished and set(self.game.candidates) <= set(failures):
            text = failures[self.game.candidates[0]]
            raise EvaluationError(f"no candidate is left that could be evaluated: {text}")
        for arm, text in sorted(failures.items()):
            if self.game.finished or arm not in self.game.ask():
                continue
            self.game.disqualify(arm)
            self.disqualified.append(Failure(arm, number, text))
        return not self.game.finished

    def rewards(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores as the game takes them: more is better. Bounded scores are reflected within their bounds."""
        if not self.settings.lower_is_better:
            return scores
        if self.game.bounds is None:
            return -scores
        low, high = self.game.bounds
        return np.clip(low + high - scores, low, high)

    def scores(self) -> NDArray[np.float64]:
        """The scores of the rounds absorbed, one row a round, NaN where an arm was not asked."""
        self._rows = [np.vstack(self._rows)] if self._rows else [np.empty((0, self.game.n_arms))]
        self._rows[0].setflags(write=False)
        return self._rows[0]

    def play_all(self, scores: NDArray[np.float64]) -> None:
        """Race to the end on scores that are all there already, one row an item; one round in flight."""
        if isinstance(self.settings.algorithm, LUCB):
            used = self._play_one_by_one(scores)
        else:
            self.play_until(len(scores), scores, {})
            used = scores[: self.game.n_rounds].copy()
            used[np.arange(len(used))[:, None] >= self.game.counts] = math.nan  # arms that left do not come back
        self._rows.append(used)
        self.spent = self.game.n_queries
        self._ran_out = "pool exhausted"

    def _play_one_by_one(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Play a game that asks for other arms in every round; the scores that it asked for."""
        used = np.full_like(scores, math.nan)
        for row, own in zip(scores, used, strict=True):
            if self.game.finished:
                break
            asked = self.game.ask()
            own[asked] = row[asked]
            self.game.tell(self.rewards(row)[asked])
        return used[: self.game.n_rounds]

    def restore(self, past: "Past") -> None:
        """Bring a new course to where a file ends: all but the last whole rounds at once, the rest as it was told."""
        whole = past.n_whole
        if past.n_rounds > whole + self.settings.in_flight:
            raise StoreError(f"it is damaged: scores of round {whole + 1} are missing")
        low, high = self.game.bounds or (-math.inf, math.inf)
        if not np.all(np.isnan(past.scores) | ((past.scores >= low) & (past.scores <= high))):
            raise StoreError("it is damaged: there are scores out of bounds")
        self._restore_block(past, max(0, whole - self.settings.in_flight))
        for number in range(self.n_decided + 1, whole + 1):
            self._append(past.arms(number), self._item(past, number))
        self.decide()
        more = True
        while more:
            for opened in self.open:
                if opened.number <= past.n_rounds:
                    self._fill(opened, past)
            more = self.absorb() > 0

    def _restore_block(self, past: "Past", n_rounds: int) -> None:
        """Play the first rounds all at once."""
        for number in range(1, n_rounds + 1):
            self._item(past, number)
        scores, given = past.scores[:n_rounds], past.given[:n_rounds]
        self.play_until(n_rounds, scores, past.failures)
        if self.game.n_rounds != n_rounds or (self.game.counts > given.sum(axis=0)).any():
            raise StoreError("it is damaged: scores are missing")
        self._rows.append(scores)
        self.n_decided = n_rounds
        self.spent += int(past.asked[:n_rounds].sum())

    def play_until(self, last: int, scores: NDArray[np.float64], failures: dict[int, dict[int, str]]) -> None:
        """Play the rounds up to ``last`` from all scores, between disqualifications all at once."""
        filler = 0.0 if self.game.bounds is None else self.game.bounds[0]  # for what the game will not read
        stops = sorted(number for number in failures if self.game.n_rounds < number <= last)
        for number in [*stops, last + 1]:
            if self.game.n_rounds < number - 1 and not self.game.finished:
                block = scores[self.game.n_rounds : number - 1]
                self.game.play(self.rewards(np.where(np.isnan(block), filler, block)))
            self._disqualify(number, failures.get(number, {}) if number <= last else {})

    def _item(self, past: "Past", number: int) -> Any:
        """The item of a round, which must be the one of the file."""
        item = next(self._items, END)
        if item is END:
            raise StoreError(f"it is a race on other items: there is none for its round {number} now")
        if (label := label_of(item)[:LABEL]) != past.items.get(number, label):
            raise StoreError(
                f"it is a race on other items: that of round {number} was {past.items[number]!r} and is {label!r} now"
            )
        return item

    def _fill(self, opened: OpenRound, past: "Past") -> None:
        """Enter what the file holds of an open round."""
        if past.items.get(opened.number, opened.label) != opened.label or not set(past.arms(opened.number)) <= set(
            opened.asked
        ):
            raise StoreError(f"it went another way in round {opened.number}: are the items the same?")
        opened.stored = opened.number in past.items
        failures = past.failures.get(opened.number, {})
        for arm in past.arms(opened.number):
            score = None if arm in failures else float(past.scores[opened.number - 1, arm])
            self.enter(opened, arm, score, failures.get(arm))


class Past:
    """The scores of a file by round and arm."""

    def __init__(self, stored: Stored, n_arms: int) -> None:
        self.n_rounds = stored.rounds[-1][0] if stored.rounds else 0
        self.items = {number: item for number, item, _ in stored.rounds}
        self.asked = np.zeros(self.n_rounds, dtype=np.int64)
        self.scores = np.full((self.n_rounds, n_arms), math.nan)
        self.given = np.zeros((self.n_rounds, n_arms), dtype=bool)
        self.failures: dict[int, dict[int, str]] = {}
        if stored.rounds:
            numbers, _, asked = zip(*stored.rounds, strict=True)
            if min(numbers) < 1:
                raise StoreError("it is damaged: rounds are numbered from 1")
            self.asked[np.array(numbers) - 1] = asked
        if stored.scores:
            rounds, arms, scores, _ = zip(*stored.scores, strict=True)
            if not all(score is None or (isinstance(score, float) and math.isfinite(score)) for score in scores):
                raise StoreError("it is damaged: there are scores that are no finite numbers")
            place = (np.array(rounds) - 1, np.array(arms))
            self.scores[place] = np.array(scores, dtype=np.float64)  # None becomes NaN
            self.given[place] = True
        for number, arm, score, failure in stored.scores:
            if score is None:
                self.failures.setdefault(number, {})[arm] = failure or "it failed"

    @property
    def n_whole(self) -> int:
        """How many rounds from the first on have all their scores."""
        whole = (self.given.sum(axis=1) == self.asked) & (self.asked > 0)
        return int(whole.argmin()) if not whole.all() else self.n_rounds

    def arms(self, number: int) -> list[int]:
        """The arms of a round that have a score or a failure."""
        return [int(arm) for arm in np.flatnonzero(self.given[number - 1])]
