"""The state of a race: rounds opened, scores entered, rounds absorbed in the order asked."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from bestarm.algorithms import Game, Reason
from bestarm.checks import is_whole
from bestarm.errors import StoreError
from bestarm.record.record import Failure, Record, Row, encode_failure
from bestarm.record.replay import (
    SCORES_MISSING,
    DisqualifiedArm,
    Outage,
    disqualify,
    nobody_left,
    replay,
    reward_transform,
    tell_round,
)
from bestarm.record.settings import RaceSettings
from bestarm.sources.items import Group, RaceArms, item_text
from bestarm.text import short_repr

END = object()
REASONS_OF_GAMES = (Reason.DECIDED, Reason.WITHIN_EPSILON, Reason.ALL_ITEMS_USED, Reason.BUDGET)


class OpenRound:
    """A round that was opened and is not absorbed yet: its item, and what is known of the arms asked."""

    __slots__ = ("arms", "failures", "item", "n_missing", "number", "scores", "stored", "text")

    def __init__(self, number: int, item: Any, text: str, arms: list[int]) -> None:
        self.number = number
        self.item = item
        self.text = text  # of the item
        self.arms = arms  # never changed: `RaceState.absorb` knows it again by its identity
        self.scores: dict[int, float | None] = dict.fromkeys(arms)  # None: not told yet; NaN: failed without a score
        self.failures: dict[int, Failure] = {}
        self.n_missing = len(arms)
        self.stored = False

    @property
    def wanted(self) -> list[int]:
        """The arms that are not told yet: `arms` itself while that is all of them, so do not change what you get."""
        if self.n_missing == len(self.arms):
            return self.arms
        return [arm for arm, score in self.scores.items() if score is None]

    @property
    def disqualifying(self) -> dict[int, Failure]:
        """The failures without a score, by arm."""
        return {arm: failure for arm, failure in self.failures.items() if math.isnan(self.scores[arm] or 0.0)}


class RaceState:
    """A game, the record of what it was told, and the rounds in flight.

    The arms of round ``r`` are those that the game asks for when the rounds up to ``r - rounds_in_flight`` are
    absorbed; they count as spent from then on. Scores may come in any order, rounds are absorbed one after the other.
    """

    def __init__(self, game: Game, settings: RaceSettings, items: Iterator[Any], arms: RaceArms) -> None:
        self.game = game
        self.settings = settings
        self.arms = arms
        self.transform = reward_transform(settings, game)
        self.record = Record()  # of the rounds that are absorbed
        self.n_opened = 0  # rounds, absorbed ones included
        self.spent = 0  # evaluations of all rounds opened
        self.open: deque[OpenRound] = deque()
        self.unasked: list[OpenRound] = []
        self.disqualified: list[DisqualifiedArm] = []
        self.ran_out: Reason | None = None  # why no more rounds are opened
        self.outage: Outage | None = None
        self.broken: BaseException | None = None  # what came out of the items in place of one
        self.around_items: AbstractContextManager[None] = nullcontext()  # is entered while an item is drawn
        self.items = items
        self._pool = settings.pool
        self._next_arms: list[int] | None = None  # as the game gave them; None since it was told something

    @property
    def reason(self) -> Reason | None:
        """Why the race has ended, or None while it goes on."""
        if (why := self.game.reason) is not None:
            return known_reason(self.game, why)
        if self.outage is not None:
            return Reason.OUTAGE
        return None if self.open else self.ran_out

    def find(self, number: int) -> OpenRound:
        """The open round of this number."""
        return self.open[number - self.open[0].number]

    def asked_round(self, number: int) -> OpenRound:
        """The round of this number, if it was asked and is not complete."""
        if type(number) is not int and not is_whole(number):
            raise TypeError(f"a round is one that ask() gave, or its number, got {short_repr(number)}")
        if 1 <= number <= self.game.n_rounds:
            raise ValueError(f"round {number} is complete: all its scores have already been told")
        if not self.open or number > self.open[-1].number or number < 1:
            raise ValueError(f"there is no round {number} to tell: call ask() first")
        opened = self.find(number)
        if opened in self.unasked:
            raise ValueError(f"round {number} has not been asked: call ask() first")
        return opened

    def hand_out(self) -> list[OpenRound]:
        """All rounds that may be evaluated now and were not handed out before."""
        rounds, self.unasked = self.unasked, []
        if not rounds:
            self.check_items()
        return rounds

    def open_rounds(self) -> None:
        """Open rounds ahead of the one absorbed last, as many as may be in flight."""
        game, limit, ahead = self.game, self.settings.max_evaluations, self.settings.rounds_in_flight
        sizes = self.settings.group_sizes
        while self.ran_out is None and self.broken is None and self.n_opened < game.n_rounds + ahead:
            if game.reason is not None:
                return
            if self._next_arms is None:
                self._next_arms = game.ask().tolist()
            used_up = self.n_opened == self._pool
            cost = 0 if used_up else len(self._next_arms) * (1 if sizes is None else sizes[self.n_opened])
            if limit is not None and self.spent + cost > limit:
                self.ran_out = Reason.BUDGET
            elif (item := self._drawn()) is END:
                self.ran_out = None if self.broken else Reason.RAN_OUT_OF_ITEMS
            else:
                self._append(self._next_arms, item, cost)

    def _drawn(self) -> Any:
        """The next item, or the end. Errors are kept until all that is known is counted: `check_items` raises them.

        An iterator that raised may say next that it has ended: that is not the end of the items.
        """
        try:
            with self.around_items:
                return next(self.items, END)
        except BaseException as error:
            self.broken = error
            return END

    def check_items(self) -> None:
        """Raise what came out of the items in place of one, unless the race has ended without it."""
        if self.broken is not None and self.game.reason is None:
            raise self.broken

    def _append(self, arms: list[int], item: Any, cost: int) -> None:
        """Open a round of so many evaluations."""
        self.spent += cost
        self.n_opened += 1
        given = item.items if isinstance(item, Group) else item
        opened = OpenRound(self.n_opened, given, item_text(item), arms)
        self.open.append(opened)
        self.unasked.append(opened)

    def enter(self, rows: Iterable[Row]) -> None:
        """Take checked rows of open rounds; `absorb` counts what is complete then."""
        opened = None
        for number, arm, score, failure in rows:
            if opened is None or opened.number != number:
                opened = self.find(number)
            opened.scores[arm] = math.nan if score is None else score
            opened.n_missing -= 1
            if failure is not None:
                opened.failures[arm] = failure

    def absorb(self) -> int:
        """Absorb the complete rounds in order and open new ones; returns how many were absorbed."""
        absorbed = 0
        while self.open and not self.open[0].n_missing and self.outage is None and self.game.reason is None:
            opened = self.open[0]
            if (opened.failures or self.disqualified) and not self._goes_on_after_failures(opened):
                break
            scores: list[Any] = list(opened.scores.values())  # all are there
            # The very list that the game gave, not an equal one: it was told nothing since, so it wants these arms.
            if opened.arms is self._next_arms and not self.disqualified:
                self.game.tell(self.transform.rewards(np.array(scores), opened.number))
            else:  # the game may want less than was asked
                gone = {out.arm for out in self.disqualified}
                tell_round(self.game, opened.arms, np.array(scores), self.transform, gone)
            self._next_arms = None
            self.record.append(opened.text, opened.arms, scores, opened.failures)
            self.open.popleft()
            absorbed += 1
            self.open_rounds()
        return absorbed

    def end_with(self, record: Record) -> None:
        """Take over the record of a game that was played elsewhere, up to its end or that of its items or budget."""
        self.record = record
        self.spent = record.n_asked(record.n_rounds, self.settings.group_sizes)
        self.ran_out = Reason.RAN_OUT_OF_ITEMS if record.n_rounds == self._pool else Reason.BUDGET

    def _goes_on_after_failures(self, opened: OpenRound) -> bool:
        """Disqualify the arms that failed in a round; whether the round can be absorbed after that.

        If those who failed leave nobody, the race ends before the round, with all candidates that it had.
        """
        failed, gone = opened.disqualifying, {out.arm for out in self.disqualified}
        if nobody_left(self.game, opened.arms, failed, gone):
            why = "all arms of the round were disqualified in another"
            self.outage = Outage(opened.number, opened.text, encode_failure(failed[min(failed)]) if failed else why)
            return False
        if out := disqualify(self.game, opened.number, failed):
            self.disqualified += out
            self._next_arms = None
        return self.game.reason is None

    def open_again(self) -> None:
        """Want the evaluations again that failed in rounds that are not absorbed: they were lost in an outage."""
        self.outage = None
        for opened in self.open:
            for arm in opened.disqualifying:
                del opened.failures[arm]
                opened.scores[arm] = None
                opened.n_missing += 1
        self.unasked = [opened for opened in self.open if opened.n_missing]

    def restore(self, past: Record, items_after: Callable[[int], Iterator[Any]] | None = None) -> None:
        """Bring a new race to where a record ends.

        All whole rounds except the last ``rounds_in_flight`` are replayed at once. Those are opened and told again one
        by one, because the arms of the rounds still in flight were chosen while these were.

        The items must be those of the record. They are not compared if ``items_after`` gives those after so many
        rounds, from the record itself.
        """
        whole = past.n_whole
        if past.n_rounds > whole + self.settings.rounds_in_flight:
            raise StoreError(f"it is damaged: scores of round {whole + 1} are missing")
        if not past.all_of(self.game.n_arms):
            raise StoreError("it is damaged: there are scores of arms that do not exist")
        if not past.all_within(self.game.bounds):
            raise StoreError("it is damaged: there are scores out of bounds")
        if self.settings.on_error != "disqualify" and (lost := past.disqualifying()):
            number = min(lost)
            where = f"round {number} has no score of arm {self.arms.names[min(lost[number])]}"
            raise StoreError(f"it is damaged: {where}, and it was run with on_error={self.settings.on_error!r}")
        n_rounds = max(0, whole - self.settings.rounds_in_flight)
        if items_after is None:
            for number in range(1, n_rounds + 1):
                self._next_item(past, number)
        else:
            self.items = items_after(n_rounds)
        self._replay(past, n_rounds)
        for number in range(n_rounds + 1, whole + 1):
            arms = past.arms(number)
            self._append(arms, self._next_item(past, number), len(arms) * self.settings.size_of(number))
        self.open_rounds()
        more = True
        while more:
            for opened in self.open:
                if opened.number <= past.n_rounds:
                    self._fill(opened, past)
            more = self.absorb() > 0
        self.unasked = [opened for opened in self.open if opened.n_missing]

    def _replay(self, past: Record, n_rounds: int) -> None:
        """Play the first rounds all at once."""
        self.disqualified += replay(self.game, past, past.disqualifying(), n_rounds, self.transform)
        if self.game.n_rounds != n_rounds or (self.game.counts > past.counts(n_rounds, self.game.n_arms)).any():
            raise StoreError(SCORES_MISSING)
        self.record = past.first_rounds(n_rounds)
        self.n_opened = n_rounds
        self.spent = past.n_asked(n_rounds, self.settings.group_sizes)

    def _next_item(self, past: Record, number: int) -> Any:
        """The item of a round, which must be the one of the record."""
        item = next(self.items, END)
        if item is END:
            raise StoreError(f"its items were different: there is no item for round {number} now")
        before = past.item(number)
        if before is not None and (text := item_text(item)) != before:
            raise StoreError(
                f"its items were different: the item of round {number} was {short_repr(before)} and is "
                f"{short_repr(text)} now"
            )
        return item

    def _fill(self, opened: OpenRound, past: Record) -> None:
        """Enter what the record holds of a round that is open again."""
        before, rows = past.item(opened.number), past.rows_of(opened.number)
        if (before is not None and before != opened.text) or not {row[1] for row in rows} <= set(opened.arms):
            raise StoreError(f"it does not match the saved race from round {opened.number} on: are the items the same?")
        opened.stored = before is not None
        self.enter(row for row in rows if opened.scores[row[1]] is None)


def known_reason(game: Game, why: str) -> Reason:
    """The reason why a game ended; a game of your own must use one of those that results have words for."""
    if why not in REASONS_OF_GAMES:
        known = ", ".join(repr(str(reason)) for reason in REASONS_OF_GAMES)
        raise ValueError(f"{type(game).__name__}.reason must be one of {known}, got {short_repr(why)}")
    return Reason(why)
