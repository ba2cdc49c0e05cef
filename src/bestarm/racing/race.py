"""The race as ask and tell: it gives rounds and takes scores, in whatever order they come."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, Unpack

from bestarm.algorithms import Reason
from bestarm.algorithms.game import Arm, warn_of_assumption
from bestarm.checks import check_mapping
from bestarm.errors import EvaluationError, OutOfBoundsError, StoreError
from bestarm.racing.evaluation import Outcome, is_failure, told_outcome
from bestarm.racing.options import Options, RaceOptions, known_options, race_settings, start_chosen_game
from bestarm.racing.state import OpenRound, RaceState, standing, summarise
from bestarm.record.record import Note, NotedScore, Record, RoundRow, ScoreRow
from bestarm.record.settings import FORMAT, RaceSettings, difference, find_unstorable, settings_to_continue
from bestarm.record.sqlite import open_store
from bestarm.record.store import Store, StoredRace, check_stored, one_line
from bestarm.result.failures import _stand_ins
from bestarm.result.live import Standing
from bestarm.result.result import RaceResult
from bestarm.sources.items import digest, items_in_order, race_arms
from bestarm.sources.programs import changed_measure
from bestarm.text import counted, described, first_names, short
from bestarm.values import equal_values, hash_of_values


@dataclass(frozen=True, eq=False)
class Round(Generic[Arm]):
    """A round to evaluate: its number, its item, and the arms whose scores are wanted."""

    __eq__ = equal_values
    __hash__ = hash_of_values

    number: int
    item: Any
    arms: tuple[Arm, ...]


Taken = tuple[OpenRound, int, float | None, str | None]  # the round, an arm, its score, its failure


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
        self._begin(arms, items, known_options("Race", options, RaceOptions))

    @classmethod
    def begun(cls, arms: Mapping[Arm, Any] | Iterable[Arm], items: Iterable[Any] | None, options: Options) -> Self:
        """A race from options that are known; for code that evaluates it."""
        race = cls.__new__(cls)
        race._begin(arms, items, options)
        return race

    def _begin(self, arms: Mapping[Arm, Any] | Iterable[Arm], items: Iterable[Any] | None, options: Options) -> None:
        self.entrants = race_arms(arms)
        given = items_in_order(items, options.seed, options.replace, options.groups)
        settings, n_arms = race_settings(options, given, digest(self.entrants.names)), len(self.entrants.names)
        usual = options.rounds_in_flight is None and settings.rounds_in_flight > 1
        if usual and not settings.algorithm.start(n_arms).works_ahead:
            settings = replace(settings, rounds_in_flight=1)
        self.state = RaceState(start_chosen_game(settings, n_arms, options), settings, given.order)
        self._store: Store | None = None
        if options.store is None:
            self.state.decide()
        else:
            self._keep_in(open_store(options.store), options)

    def __repr__(self) -> str:
        spent = f"{counted(self.state.game.n_rounds, 'round')}, {counted(self.state.spent, 'evaluation')}"
        return f"<Race of {len(self.arms)} arms: {spent}, {self.reason or Reason.RUNNING}>"

    @property
    def arms(self) -> tuple[Arm, ...]:
        """All arms, including those that have left."""
        return self.entrants.labels

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
        if self.finished:
            raise RuntimeError(f"the race has ended ({self.reason}): nothing to ask")
        labels, unasked = self.arms, self.state.unasked
        rounds = [
            Round(opened.number, opened.item, tuple([labels[arm] for arm in opened.wanted]))
            for opened in unasked
            if opened.wanted
        ]
        unasked.clear()
        if not rounds:
            self.state.check_items()
        return rounds

    def tell(self, asked: Round[Arm] | int, scores: Mapping[Arm, Any] | Mapping[str, Any]) -> None:
        """Take scores of a round, by arm, in one call or several. A refused call changes nothing.

        An exception in place of a score reports a failure, as does a value that is not a finite number: ``on_error``
        says what follows. A score out of bounds is an error. Scores after the end are kept in the store and not used.
        """
        opened = self.state.asked_round(asked.number if isinstance(asked, Round) else asked)
        check_mapping("scores", scores, "arms to scores")
        outcomes: dict[int, Outcome] = {}
        for label, value in scores.items():
            arm = self.entrants.find(label)
            name = self.entrants.names[arm]
            if arm not in opened.asked:
                raise ValueError(f"arm {described(name)} was not asked for in round {opened.number}")
            if arm not in opened.wanted or arm in outcomes:
                raise ValueError(f"the score of arm {described(name)} in round {opened.number} was already told")
            outcomes[arm] = told_outcome(value, self.state.game.bounds, name, opened.item)
        for arm, outcome in outcomes.items():
            if is_failure(outcome) and self._raises(outcome):
                raise self._located(outcome, opened, arm)
        self.take([(opened.number, arm, outcome) for arm, outcome in outcomes.items()])

    def take(self, outcomes: Sequence[tuple[int, int, Outcome]]) -> None:
        """Store checked outcomes (round, number of the arm, score or failure), then count what is complete.

        The good ones, and failures that count as something, are stored and counted; then the first of the others is
        raised, unless the race has ended before its round.
        """
        taken: list[Taken] = []
        first_failure: EvaluationError | None = None
        opened = None
        for number, arm, outcome in outcomes:
            if opened is None or opened.number != number:
                opened = self.state.find(number)
            if isinstance(outcome, float):
                taken.append((opened, arm, outcome, None))
            elif isinstance(outcome, NotedScore):
                taken.append((opened, arm, outcome.score, outcome.note.stored))
            elif self._raises(outcome):
                first_failure = first_failure or self._located(outcome, opened, arm)
            else:
                taken.append((opened, arm, *row_of_failure(outcome, self.state.settings, self.state.game.bounds)))
        if self._store is not None and taken:
            self._save(self._store, taken)
        fill = self.state.record.fill
        for opened, arm, score, failure in taken:
            if failure is None and score is not None:
                fill(opened.wanted.pop(arm), score)
            else:
                self.state.enter(opened, arm, score, failure)
        begun = self.state.game.n_rounds > 0
        self._absorb()
        if not begun and self.state.game.n_rounds > 0:
            warn_if_all_failed(self.state.record)
        if first_failure is not None and not self.finished:
            raise first_failure
        self.state.check_items()

    def _raises(self, failure: EvaluationError) -> bool:
        return self.state.settings.on_error == "raise" or isinstance(failure, OutOfBoundsError)

    def _located(self, failure: EvaluationError, opened: OpenRound, arm: int) -> EvaluationError:
        """A failure to raise: it says of which arm and item it is, and after how many attempts."""
        failure.arm, failure.item = self.arms[arm], opened.item
        failure.args = (f"{failure} ({failure.retried + 1} attempts)",) if failure.retried else failure.args
        return failure

    def _save(self, store: Store, taken: list[Taken]) -> None:
        """Write scores, and their rounds if they are the first of them."""
        new = {opened.number: opened for opened, *_ in taken if not opened.stored}
        rounds: list[RoundRow] = [(opened.number, opened.text, len(opened.asked)) for opened in new.values()]
        scores: list[ScoreRow] = [(opened.number, arm, score, failure) for opened, arm, score, failure in taken]
        store.save(rounds, scores)
        for opened in new.values():
            opened.stored = True

    def _absorb(self) -> None:
        """Count complete rounds; who is out, and why the race ended, is written for those who read the file."""
        if self._store is None:
            self.state.absorb()
            return
        candidates = self.state.game.candidates
        if self.state.absorb() and self.state.game.candidates != candidates:
            self._store.save_eliminations(self.state.game.eliminations)
        if self.finished:
            self._store.update({"reason": self.reason})

    def result(self) -> RaceResult[Arm]:
        """What is known so far; at the end, the answer."""
        return summarise(self.state, self.entrants)

    def standing(self) -> Standing:
        """Who is still in, the leader's lead, what is spent: what a display shows while the race runs."""
        return standing(self.state, self.entrants)

    def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep_in(self, store: Store, options: Options) -> None:
        """Begin a race in a store, or continue the one that is there."""
        self._store = store
        try:
            algorithm = self.state.settings.algorithm
            if (what := find_unstorable(algorithm)) is not None:
                raise TypeError(
                    f"{described(algorithm)} cannot be kept in a store: it must be a frozen dataclass of numbers, "
                    f"strings, tuples or dataclasses of them ({what})"
                )
            stored = store.load()
            if stored is not None:
                self._continue(store, stored, options)
                return
            settings = self.state.settings.to_plain()
            store.create(settings | {"format": FORMAT, "source": options.origin, "reason": None}, self.entrants.names)
            self.state.decide()
            if self.finished:  # a stream without items
                store.update({"reason": self.reason})
        except BaseException:
            self.close()
            raise

    def _continue(self, store: Store, stored: StoredRace, options: Options) -> None:
        before = check_stored(store, stored.settings)
        begun = settings_to_continue(
            self.state.settings,
            stored.settings,
            ahead_given=options.rounds_in_flight is not None,
            test_given=options.comparison is not None or options.algorithm is not None,
        )
        if begun.algorithm != self.state.settings.algorithm:
            self.state.game = start_chosen_game(begun, len(self.arms), options)
        self.state.settings = begun
        if self.state.settings.hashed_seeds and not before["hashed_seeds"]:
            self.state.use_seeds_in_progression()
        now = self.state.settings.to_plain()
        if stored.arms != self.entrants.names:
            arms = f"they were {first_names(stored.arms)} and are {first_names(self.entrants.names)} now"
            raise StoreError(f"{store} holds another race (give another file, or the same arms): {arms}")
        try:
            changed = changed_measure(before["source"], options.origin) or difference(before, now)
        except (ValueError, TypeError) as error:  # an algorithm that this version does not know
            raise StoreError(f"the race in {store} cannot be continued: {one_line(error)}") from error
        if changed is not None:
            raise StoreError(
                f"{store} holds another race (give another file, or the same settings): {one_line(changed)}"
            )
        try:
            self.state.restore(stored.record)
            self._recover(store)
        except StoreError as error:
            raise StoreError(f"the race in {store} cannot be continued: {one_line(error)}") from error
        store.update({"max_evaluations": now["max_evaluations"], "reason": self.reason})
        store.save_eliminations(self.state.game.eliminations)

    def _recover(self, store: Store) -> None:
        """Forget an outage: who failed in it, and in the rounds in flight then, is evaluated again."""
        if (outage := self.state.outage) is None:
            return
        if not hasattr(store, "drop_failures"):
            lost = f"no candidate could be evaluated in round {outage.round}"
            raise StoreError(f"{lost}, and this store has no method drop_failures to forget that")
        store.drop_failures(outage.round)
        self.state.open_again()


def row_of_failure(
    failure: EvaluationError, settings: RaceSettings, bounds: tuple[float, float] | None
) -> tuple[float | None, str]:
    """The score that a failure counts as, None for a disqualification, and the text to keep."""
    if settings.on_error == "worst" and bounds is not None:
        worst = bounds[1] if settings.lower_is_better else bounds[0]
        return worst, Note(str(failure), failure.retried, "worst").stored
    return None, Note(str(failure), failure.retried).stored


def warn_if_all_failed(record: Record) -> None:
    """Warn when every evaluation of the first round failed: most likely there is a mistake in the user's function."""
    failed = _stand_ins(record.first_rounds(1)) if 1 in record.failures else []
    if failed and len(failed) == len(record.arms(1)):
        first = f"every evaluation of the first round failed (the first: {short(failed[0].text)})"
        warn_of_assumption(f"{first}: the race goes on with the worst scores, so stop it if nothing works")
