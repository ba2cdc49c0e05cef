"""The state of a race: rounds decided, scores entered, rounds absorbed in the order asked, and its summary."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Game, Reason
from bestarm.algorithms.game import warn_of_assumption
from bestarm.checks import is_whole
from bestarm.errors import BestarmError, StoreError
from bestarm.record.record import Record
from bestarm.record.replay import Failure, Outage, disqualify, nobody_left, reading_of, replay, tell_round
from bestarm.record.settings import RaceSettings, unit_of
from bestarm.result.live import Standing
from bestarm.result.result import Outcome, RaceResult, Shape, shape_warning, shapes_of
from bestarm.sources.items import Group, RaceArms, item_text, seeds_in_progression
from bestarm.text import described

END = object()
TOGETHER = 10_000  # items that are compared at a time
OF_GAMES = (Reason.DECIDED, Reason.WITHIN_EPSILON, Reason.ALL_ITEMS_USED, Reason.BUDGET)


class OpenRound:
    """A round that was decided and is not absorbed yet."""

    __slots__ = ("asked", "first", "item", "number", "stored", "text", "wanted")

    def __init__(self, number: int, item: Any, text: str, asked: list[int], first: int) -> None:
        self.number = number
        self.item = item
        self.text = text
        self.asked = asked
        self.first = first  # the place of its first score
        self.wanted = dict(zip(asked, range(first, first + len(asked)), strict=True))  # where each score will be
        self.stored = False


class RaceState:
    """A game, the record of what it was told, and the rounds in flight.

    The arms of round ``r`` are those that the game asks for when the rounds up to ``r - rounds_in_flight`` are
    absorbed; they count as spent from then on. Scores may come in any order, rounds are absorbed one after the other.
    """

    def __init__(self, game: Game, settings: RaceSettings, items: Iterator[Any]) -> None:
        self.game = game
        self.settings = settings
        self.record = Record()
        self.spent = 0
        self.open: deque[OpenRound] = deque()
        self.unasked: deque[OpenRound] = deque()
        self.disqualified: list[Failure] = []
        self.ran_out: Reason | None = None  # why no more rounds are decided
        self.outage: Outage | None = None
        self.broken: BaseException | None = None  # what came out of the items in place of one
        self.drawing: AbstractContextManager[None] = nullcontext()  # around the code that gives items
        self._items = items
        self._reading = reading_of(settings, game)

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
        if not is_whole(number):
            raise TypeError(f"a round is one that ask() gave, or its number, got {described(number)}")
        if 1 <= number <= self.game.n_rounds:
            raise ValueError(f"round {number} is complete: all its scores have already been told")
        if not self.open or number > self.open[-1].number or number < 1:
            raise ValueError(f"there is no round {number} to tell: call ask() first")
        opened = self.find(number)
        if opened in self.unasked:
            raise ValueError(f"round {number} has not been asked: call ask() first")
        return opened

    def decide(self) -> None:
        """Decide rounds ahead of the one absorbed last, as many as may be in flight."""
        limit, ahead = self.settings.max_evaluations, self.settings.rounds_in_flight
        while not self.game.finished and self.ran_out is None and self.record.n_rounds < self.game.n_rounds + ahead:
            if self.broken is not None:
                return
            asked = self.game.ask().tolist()
            used_up = self.record.n_rounds == self.settings.pool
            cost = 0 if used_up else len(asked) * self.settings.size_of(self.record.n_rounds + 1)
            if limit is not None and self.spent + cost > limit:
                self.ran_out = Reason.BUDGET
            elif (item := self._drawn()) is END:
                self.ran_out = None if self.broken else Reason.RAN_OUT_OF_ITEMS
            else:
                self._append(asked, item)

    def _drawn(self) -> Any:
        """The next item, or the end. Errors are kept until all that is known is counted: `check_items` raises them.

        An iterator that raised may say next that it has ended: that is not the end of the items.
        """
        try:
            with self.drawing:
                return next(self._items, END)
        except BaseException as error:
            self.broken = error
            return END

    def check_items(self) -> None:
        """Raise what came out of the items in place of one, unless the race has ended without it."""
        if self.broken is not None and not self.game.finished:
            raise self.broken

    def _append(self, asked: list[int], item: Any) -> None:
        text = item_text(item)
        first = self.record.open(text, asked)
        self.spent += len(asked) * self.settings.size_of(self.record.n_rounds)
        shown = item.items if isinstance(item, Group) else item
        opened = OpenRound(self.record.n_rounds, shown, text, asked, first)
        self.open.append(opened)
        self.unasked.append(opened)

    def enter(self, opened: OpenRound, arm: int, score: float | None, failure: str | None) -> None:
        """Take one score of an open round, or the failure of an arm that is to be disqualified."""
        place = opened.wanted.pop(arm)
        if score is not None:
            self.record.fill(place, score)
        if score is None or failure is not None:
            self.record.failures.setdefault(opened.number, {})[arm] = failure or "it failed"

    def absorb(self) -> int:
        """Absorb the complete rounds in order and decide new ones; returns how many were absorbed.

        If those who failed in a round leave nobody, the race ends before it, with all candidates that it had.
        """
        absorbed = 0
        while not self.game.finished and self.outage is None and self.open and not self.open[0].wanted:
            opened = self.open[0]
            failed, gone = self.record.disqualifying(opened.number), {failure.arm for failure in self.disqualified}
            if nobody_left(self.game, opened.asked, failed, gone):
                why = failed[min(failed)] if failed else "all arms of the round were disqualified in another"
                self.outage = Outage(opened.number, opened.text, why)
                break
            out = disqualify(self.game, opened.number, failed)
            self.disqualified += out
            if self.game.reason is not None:  # by the disqualification
                break
            gone |= {failure.arm for failure in out}
            scores = self.record.scores(opened.number)
            tell_round(self.game, opened.asked, scores, self._reading, gone)
            self.open.popleft()
            absorbed += 1
            self.decide()
        return absorbed

    def open_again(self) -> None:
        """Want the evaluations again that failed in rounds that are not absorbed: they were lost in an outage."""
        self.outage = None
        for opened in self.open:
            failed = self.record.disqualifying(opened.number)
            for arm in failed:
                del self.record.failures[opened.number][arm]
            places = enumerate(opened.asked, start=opened.first)
            opened.wanted = {arm: place for place, arm in places if arm in opened.wanted or arm in failed}

    def use_seeds_in_progression(self) -> None:
        """Take the seeds that a race of an earlier version was begun with."""
        self.settings = replace(self.settings, hashed_seeds=False)
        self._items = seeds_in_progression(self.settings.seed)

    def restore(self, past: Record, items_after: Callable[[int], Iterator[Any]] | None = None) -> None:
        """Bring a new race to where a record ends: all but the last whole rounds at once, the rest as it was told.

        Its items must be those of the record. They are not compared if ``items_after`` gives those after so many
        rounds, from the record itself.
        """
        whole = past.n_whole
        if past.n_rounds > whole + self.settings.rounds_in_flight:
            raise StoreError(f"it is damaged: scores of round {whole + 1} are missing")
        if not past.all_of(self.game.n_arms):
            raise StoreError("it is damaged: there are scores of arms that do not exist")
        if not past.all_within(self.game.bounds):
            raise StoreError("it is damaged: there are scores out of bounds")
        n_rounds = max(0, whole - self.settings.rounds_in_flight)
        if items_after is None:
            self._pass_items(past, n_rounds)
        else:
            self._items = items_after(n_rounds)
        self._replay(past, n_rounds)
        for number in range(self.record.n_rounds + 1, whole + 1):
            self._append(past.arms(number), self._next_item(past, number))
        self.decide()
        more = True
        while more:
            for opened in self.open:
                if opened.number <= past.n_rounds:
                    self._fill(opened, past)
            more = self.absorb() > 0

    def _replay(self, past: Record, n_rounds: int) -> None:
        """Play the first rounds all at once."""
        self.disqualified += replay(self.game, past, past.all_disqualifying(), n_rounds, self._reading)
        if self.game.n_rounds != n_rounds or (self.game.counts > past.counts(n_rounds, self.game.n_arms)).any():
            raise StoreError("it is damaged: scores are missing")
        self.record = past.first_rounds(n_rounds)
        self.spent = past.n_asked(n_rounds, self.settings.group_sizes)

    def _pass_items(self, past: Record, n_rounds: int) -> None:
        """Take the items of the first rounds, which must be those of the record; many are compared at a time."""
        for done in range(0, n_rounds, TOGETHER):
            numbers = range(done + 1, min(done + TOGETHER, n_rounds) + 1)
            items = list(islice(self._items, len(numbers)))
            if [item_text(item) for item in items] != [past.item(number) for number in numbers]:
                self._items = chain(items, self._items)
                for number in numbers:
                    self._next_item(past, number)

    def _next_item(self, past: Record, number: int) -> Any:
        """The item of a round, which must be the one of the record."""
        item = next(self._items, END)
        if item is END:
            raise StoreError(f"its items were different: there is no item for round {number} now")
        before = past.item(number)
        if before is not None and (text := item_text(item)) != before:
            raise StoreError(
                f"its items were different: the item of round {number} was {described(before)} and is "
                f"{described(text)} now"
            )
        return item

    def _fill(self, opened: OpenRound, past: Record) -> None:
        """Enter what the record holds of a round that is open again."""
        before = past.item(opened.number)
        arms = past.arms(opened.number)
        if (before is not None and before != opened.text) or not set(arms) <= set(opened.asked):
            raise StoreError(f"it does not match the saved race from round {opened.number} on: are the items the same?")
        opened.stored = before is not None
        failures = past.failures.get(opened.number, {})
        for arm, score in zip(arms, past.scores(opened.number).tolist(), strict=True):
            if arm in opened.wanted:
                self.enter(opened, arm, None if np.isnan(score) else score, failures.get(arm))


def known_reason(game: Game, why: str) -> Reason:
    """The reason why a game ended; a game of your own must use one of those that results have words for."""
    known = {str(reason): reason for reason in OF_GAMES}
    if why not in known:
        raise ValueError(
            f"{type(game).__name__}.reason must be one of {', '.join(map(repr, known))}, got {described(why)}"
        )
    return known[why]


def summarise(state: RaceState, arms: RaceArms) -> RaceResult[Any]:
    """The result of a race as it stands."""
    game, settings = state.game, state.settings
    outcome = _outcome(state)
    shapes = _shapes(state, arms, outcome)
    wrong = shape_warning(shapes)
    return RaceResult(
        arms=arms.labels,
        reason=state.reason or Reason.RUNNING,
        n_evaluations=state.spent,
        n_rounds=game.n_rounds,
        means=_means(state),
        counts=game.counts,
        outcome=outcome,
        settings=settings,
        bounds=game.bounds,
        guarantee=game.guarantee,
        record=state.record.first_rounds(game.n_rounds),
        warnings=tuple(game.warnings) if wrong is None else (wrong,),  # of the pairs concerned
        shapes=shapes,
        outage=state.outage,
    )


def _means(state: RaceState) -> NDArray[np.float64]:
    """The mean score of each arm over the items that it was evaluated on."""
    game, settings = state.game, state.settings
    if unit_of(settings, game.guarantee) != 1.0:  # groups of several sizes
        return _means_of_items(state)
    if not settings.lower_is_better:
        return game.means
    return -game.means if game.bounds is None else sum(game.bounds) - game.means


def _means_of_items(state: RaceState) -> NDArray[np.float64]:
    """The same where rounds have several sizes."""
    game, sizes = state.game, np.array(state.settings.group_sizes)
    known, means = state.record.by_arm(game.n_rounds, game.n_arms), np.full(game.n_arms, np.nan)
    for arm, count in enumerate(game.counts.tolist()):
        rounds, scores = (column[:count] for column in known.of(arm))  # those in flight when it left do not count
        if count > 0:
            means[arm] = np.cumsum(scores * sizes[rounds])[-1] / sizes[rounds].sum()  # one after the other
    return means


def _shapes(state: RaceState, arms: RaceArms, outcome: Outcome) -> tuple[Shape[Any], ...]:
    """How the differences look of the arms that left, and of the leader and its closest rival at the end."""
    n_rounds = state.game.n_rounds
    if not state.game.guarantee.nearly_gaussian or n_rounds == 0:
        return ()
    scores = state.record.by_arm(n_rounds, state.game.n_arms)
    return shapes_of(outcome.compared(n_rounds), scores.table, lambda arm: arms.labels[arm])


def warn_of(result: RaceResult[Any], game: Game) -> None:
    """Warn of what looks wrong at the end of a race and was not said while it ran."""
    for text in result.warnings:
        if text not in game.warnings:
            warn_of_assumption(text)


def _outcome(state: RaceState) -> Outcome:
    game = state.game
    candidates = list(game.candidates)
    leader = _leader(game, candidates)
    means = game.means
    candidates.sort(key=lambda arm: (arm != leader, -means[arm] if game.n_rounds else 0.0))
    return Outcome(
        leader=leader,
        candidates=tuple(candidates),
        eliminations=tuple(game.eliminations),
        failures=tuple(state.disqualified),
        contradiction=None if game.n_rounds == 0 else game.contradiction,
    )


def _leader(game: Game, candidates: list[int]) -> int | None:
    if game.n_rounds > 0:
        return game.best
    return candidates[0] if len(candidates) == 1 else None  # all others were disqualified in the first round


def standing(state: RaceState, arms: RaceArms) -> Standing:
    """How a race stands now."""
    game, everything = state.game, state.settings.everything
    unit, order = unit_of(state.settings, game.guarantee), _order(game)
    first_two = (order[0], order[1]) if len(order) > 1 else None
    bound = None if first_two is None else game.regret_bound
    return Standing(
        n_rounds=game.n_rounds,
        n_arms=game.n_arms,
        n_evaluations=state.spent,
        everything=None if everything is None else everything * game.n_arms,
        saved=game.n_arms * _items_so_far(state) - state.spent,
        candidates=tuple(arms.names[arm] for arm in order),
        lead=None if first_two is None else game.lead_seen(*first_two) * unit,
        regret_bound=None if bound is None else bound * unit,
    )


def _order(game: Game) -> list[int]:
    """The candidates, the leader first, then those that are closest to it."""
    if game.n_rounds == 0:
        return []
    best = game.best
    return [best, *sorted(set(game.candidates) - {best}, key=lambda arm: game.lead_seen(best, arm))]


def _items_so_far(state: RaceState) -> int:
    sizes, n_rounds = state.settings.group_sizes, state.record.n_rounds
    return n_rounds if sizes is None else sum(sizes[:n_rounds])


ENDED_STREAM = (Reason.RAN_OUT_OF_ITEMS, "items exhausted")  # the second in files of earlier versions
# What settings and scores raise that no race has, though each of them is of the right kind.
NONSENSE = (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError, BestarmError)
