"""The race as ask and tell: it gives rounds and takes scores, in whatever order they come."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, Unpack

from bestarm.algorithms import Reason
from bestarm.algorithms.assumptions import warn_of_assumption
from bestarm.algorithms.game import Arm
from bestarm.checks import check_mapping
from bestarm.errors import EvaluationError, OutOfBoundsError, StoreError
from bestarm.racing.evaluation import REAL, EvaluationOutcome, told_outcome
from bestarm.racing.options import (
    Options,
    RaceOptions,
    known_options,
    race_settings,
    start_chosen_game,
)
from bestarm.racing.state import OpenRound, RaceState
from bestarm.racing.summary import standing, summarise
from bestarm.record.record import Failure, Record, RoundRow, Row, ScoreRow, ScoreWithNote, encode_failure
from bestarm.record.settings import FORMAT, difference, find_unstorable, settings_to_continue, was_about_items
from bestarm.record.sqlite import open_store
from bestarm.record.store import Store, StoredRace, check_stored, load_race
from bestarm.result.live import Standing
from bestarm.result.result import RaceResult
from bestarm.sources.items import Items, digest, items_in_order, race_arms, seeds_in_progression
from bestarm.sources.programs import changed_measure
from bestarm.text import first_ten_names, is_hashable, one_line, short, short_repr, with_noun
from bestarm.values import equal_values, hash_of_values

ON_FAILURE = ("retries", "on_error")  # what says how a race that evaluates goes on after a failure


@dataclass(frozen=True, eq=False)
class Round(Generic[Arm]):
    """A round to evaluate: its number, its item, and the arms whose scores are wanted."""

    __eq__ = equal_values
    __hash__ = hash_of_values

    number: int
    item: Any
    arms: tuple[Arm, ...]


class Race(Generic[Arm]):
    """A race for people with their own loop: `ask` gives rounds, `tell` takes scores, in any order, in parts.

    The arms of round ``r`` are decided from the rounds up to ``r - rounds_in_flight``, and rounds are absorbed in the
    order asked: the course of a race is a function of its settings, its seed and the scores, never of the order in
    which these come. All rounds decided count as spent, also those in flight when the race ends. Options as in
    `bestarm.race`; ``rounds_in_flight`` is 1 by default. Use it from one thread.

    Examples
    --------
    >>> import bestarm
    >>> race = bestarm.Race(["worse", "better"], items=range(1000), bounds=(0, 1))
    >>> while not race.finished:
    ...     for todo in race.ask():
    ...         race.tell(todo, {arm: 0.5 + 0.2 * (arm == "better") for arm in todo.arms})
    >>> race.result().best
    'better'

    """

    def __init__(
        self,
        arms: Mapping[Arm, Any] | Iterable[Arm],
        *,
        items: Iterable[Any] | None = None,
        **options: Unpack[RaceOptions],
    ) -> None:
        self._start(arms, items, known_options("Race", options, RaceOptions))

    @classmethod
    def from_options(
        cls, arms: Mapping[Arm, Any] | Iterable[Arm], items: Iterable[Any] | None, options: Options
    ) -> Self:
        """A race from options that are known; for code that evaluates it."""
        race = cls.__new__(cls)
        race._start(arms, items, options)
        return race

    def _start(self, arms: Mapping[Arm, Any] | Iterable[Arm], items: Iterable[Any] | None, options: Options) -> None:
        named = race_arms(arms)
        given = items_in_order(items, options.seed, options.replace, options.groups)
        settings, n_arms = race_settings(options, given, digest(named.names)), len(named.names)
        usual = options.rounds_in_flight is None and settings.rounds_in_flight > 1
        if usual and not settings.algorithm.start(n_arms).works_ahead:
            settings = replace(settings, rounds_in_flight=1)
        self.state = RaceState(start_chosen_game(settings, n_arms, options), settings, given.order, named)
        self._numbers = {(type(label), label): arm for arm, label in enumerate(named.labels) if is_hashable(label)}
        self._store: Store | None = None
        self._stored_candidates = self.state.game.candidates  # as those who read the store know them
        if options.store is None:
            self.state.open_rounds()
        else:
            self._keep_in(open_store(options.store), options, given)

    def __repr__(self) -> str:
        spent = f"{with_noun(self.state.game.n_rounds, 'round')}, {with_noun(self.state.spent, 'evaluation')}"
        return f"<Race of {len(self.arms)} arms: {spent}, {self.reason or Reason.RUNNING}>"

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All arms, including those that have left."""
        return self.state.arms.labels

    @property
    def finished(self) -> bool:
        """Whether nothing more is to be evaluated; `reason` says why."""
        return self.state.reason is not None

    @property
    def reason(self) -> Reason | None:
        """Why the race has ended, or None while it goes on."""
        return self.state.reason

    def ask(self) -> list[Round[Arm]]:
        """All rounds that may be evaluated now and were not asked before; none while others must come back first."""
        if (reason := self.state.reason) is not None:
            raise RuntimeError(f"the race has ended ({reason}): nothing to ask")
        label = self.state.arms.labels.__getitem__
        opened = self.state.hand_out()
        return [Round(one.number, one.item, tuple(map(label, one.wanted))) for one in opened]

    def tell(self, asked: Round[Arm] | int, scores: Mapping[Arm, Any] | Mapping[str, Any]) -> None:
        """Take scores of a round, by arm, in one call or several. A refused call changes nothing.

        An exception in place of a score reports a failure, as does a value that is not a finite number: ``on_error``
        says what follows. A score out of bounds is an error. Scores after the end are kept in the store and not used.
        """
        opened = self.state.asked_round(asked.number if isinstance(asked, Round) else asked)
        check_mapping("scores", scores, "arms to scores")
        bounds = self.state.game.bounds
        low, high = bounds or REAL
        outcomes: dict[int, EvaluationOutcome] = {}
        for label, value in scores.items():
            arm = self._numbers.get((type(label), label), -1)
            arm = self.state.arms.find(label) if arm < 0 else arm
            name = self.state.arms.names[arm]
            if arm not in opened.scores:
                raise ValueError(f"arm {short_repr(name)} was not asked for in round {opened.number}")
            if opened.scores[arm] is not None or arm in outcomes:
                raise ValueError(f"the score of arm {short_repr(name)} in round {opened.number} was already told")
            plain = type(value) is float and low <= value <= high
            outcomes[arm] = value if plain else told_outcome(value, bounds, name, opened.item)
        for arm, outcome in outcomes.items():
            if isinstance(outcome, EvaluationError) and self._raises(outcome):
                raise self._located(outcome, opened, arm, ("on_error",))
        self.record_outcomes([(opened.number, arm, outcome) for arm, outcome in outcomes.items()])

    def record_outcomes(self, outcomes: Sequence[tuple[int, int, EvaluationOutcome]]) -> None:
        """Store what was evaluated (round, number of the arm, score or failure), then count what is complete.

        Scores, and failures that count as something, are stored and counted; then the first of the other failures is
        raised, unless the race has ended before its round.
        """
        state = self.state
        rows: list[Row] = []
        first_failure: EvaluationError | None = None
        for number, arm, outcome in outcomes:
            if isinstance(outcome, float):
                rows.append((number, arm, outcome, None))
            elif isinstance(outcome, ScoreWithNote):
                rows.append((number, arm, outcome.score, outcome.note))
            elif self._raises(outcome):
                first_failure = first_failure or self._located(outcome, state.find(number), arm, ON_FAILURE)
            elif state.settings.on_error == "worst":
                failure = Failure(str(outcome), outcome.retried, "worst")
                rows.append((number, arm, state.transform.worst, failure))
            else:
                rows.append((number, arm, None, Failure(str(outcome), outcome.retried)))
        if self._store is not None and rows:
            self._save(self._store, rows)
        began = state.game.n_rounds > 0
        state.enter(rows)
        if state.absorb() and self._store is not None and state.game.candidates != self._stored_candidates:
            self._save_eliminations(self._store)
        if self._store is not None and (reason := state.reason) is not None:
            self._store.update({"reason": reason})
        if not began and state.game.n_rounds > 0:
            warn_if_all_failed(state.record)
        if first_failure is not None and not self.finished:
            raise first_failure
        if state.broken is not None:
            state.check_items()

    def _raises(self, failure: EvaluationError) -> bool:
        return self.state.settings.on_error == "raise" or isinstance(failure, OutOfBoundsError)

    def _located(
        self, failure: EvaluationError, opened: OpenRound, arm: int, remedies: tuple[str, ...]
    ) -> EvaluationError:
        """A failure to raise: it says of which arm and item it is, after how many attempts, and what can be done."""
        failure.arm, failure.item = self.arms[arm], opened.item
        if not isinstance(failure, OutOfBoundsError):  # nothing mends bounds that are wrong
            failure.remedies = remedies
        return failure

    def _save(self, store: Store, rows: list[Row]) -> None:
        """Write scores, and their rounds if they are the first of them; failures become text here."""
        new: dict[int, OpenRound] = {}
        rounds: list[RoundRow] = []
        scores: list[ScoreRow] = []
        opened: OpenRound | None = None
        for number, arm, score, failure in rows:
            if opened is None or opened.number != number:
                opened = self.state.find(number)
            if not opened.stored and number not in new:
                new[number] = opened
                rounds.append((number, opened.text, len(opened.arms)))
            scores.append((number, arm, score, None if failure is None else encode_failure(failure)))
        store.save(rounds, scores)
        for opened in new.values():
            opened.stored = True

    def _save_eliminations(self, store: Store) -> None:
        """Write who is out, for those who read the store."""
        self._stored_candidates = self.state.game.candidates
        store.save_eliminations(self.state.game.eliminations)

    def result(self) -> RaceResult[Arm]:
        """What is known so far; at the end, the answer."""
        return summarise(self.state)

    def standing(self) -> Standing:
        """Who is still in, the leader's lead, what is spent: what a display shows while the race runs."""
        return standing(self.state)

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep_in(self, store: Store, options: Options, items: Items) -> None:
        """Begin a race in a store, or continue the one that is there."""
        self._store = store
        state = self.state
        try:
            if (what := find_unstorable(state.settings.algorithm)) is not None:
                raise TypeError(
                    f"{short_repr(state.settings.algorithm)} cannot be kept in a store: it must be a frozen dataclass "
                    f"of numbers, strings, tuples or dataclasses of them ({what})"
                )
            stored = load_race(store)
            if stored is not None:
                self._continue(store, stored, options, items)
            else:
                about = {"format": FORMAT, "source": options.origin, "reason": None}
                store.create(state.settings.to_plain() | about, state.arms.names)
                state.open_rounds()
                if self.finished:  # a stream without items
                    store.update({"reason": self.reason})
        except BaseException:
            self.close()
            raise

    def _continue(self, store: Store, stored: StoredRace, options: Options, given: Items) -> None:
        """Go on with a race that a store holds, after a check that it is the one that was asked for."""
        asked, before = self.state, check_stored(store, stored.settings)
        wanted = asked.settings
        if options.target is None and options.algorithm is None and was_about_items(stored.settings):
            options = replace(options, target="items")
            wanted = race_settings(options, given, wanted.arms_digest)
        settings = settings_to_continue(
            wanted,
            stored.settings,
            ahead_given=options.rounds_in_flight is not None,
            test_given=options.comparison is not None or options.algorithm is not None,
        )
        now = settings.to_plain()
        if tuple(stored.arms) != asked.arms.names:
            arms = f"they were {first_ten_names(stored.arms)} and are {first_ten_names(asked.arms.names)} now"
            raise StoreError(f"{store} holds another race (give another file, or the same arms): {arms}")
        try:
            changed = changed_measure(before["source"], options.origin) or difference(before, now)
        except (ValueError, TypeError) as error:  # an algorithm that this version does not know
            raise StoreError(f"the race in {store} cannot be continued: {one_line(error)}") from error
        if changed is not None:
            raise StoreError(
                f"{store} holds another race (give another file, or the same settings): {one_line(changed)}"
            )
        game, items = asked.game, asked.items
        if settings.algorithm != asked.settings.algorithm:
            game = start_chosen_game(settings, len(self.arms), options)
        if settings.hashed_seeds != asked.settings.hashed_seeds:
            items = seeds_in_progression(settings.seed)
        self.state = RaceState(game, settings, items, asked.arms)
        try:
            self.state.restore(stored.record)
            self._recover(store)
        except StoreError as error:
            raise StoreError(f"the race in {store} cannot be continued: {one_line(error)}") from error
        store.update({name: now[name] for name in ("max_evaluations", "unit")} | {"reason": self.reason})
        self._save_eliminations(store)

    def _recover(self, store: Store) -> None:
        """Forget an outage: who failed in it, and in the rounds in flight then, is evaluated again."""
        if (outage := self.state.outage) is None:
            return
        if not hasattr(store, "drop_failures"):
            lost = f"no candidate could be evaluated in round {outage.round}"
            raise StoreError(f"{lost}, and this store has no method drop_failures to forget that")
        store.drop_failures(outage.round)
        self.state.open_again()


def warn_if_all_failed(record: Record) -> None:
    """Warn when every evaluation of the first round failed: most likely there is a mistake in the user's function."""
    failed = [failure for _, _, _, failure in record.rows_of(1) if failure is not None and failure.counted]
    if failed and len(failed) == len(record.arms(1)):
        first = f"every evaluation of the first round failed (the first: {short(failed[0].text)})"
        text = f"{first}: the race goes on with the worst scores, so stop it if nothing works"
        warn_of_assumption(text, in_result=False)
