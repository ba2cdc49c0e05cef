"""The race as ask and tell: rounds out, scores in, in whatever order they come."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bestarm.algorithms import Algorithm
from bestarm.checks import check_count, check_flag
from bestarm.racing.course import Course, OpenRound, Past
from bestarm.racing.entrants import digest, entrants, items_in_order, short
from bestarm.racing.evaluation import EvaluationError, Outcome, checked_score, failed_call
from bestarm.racing.result import RaceResult, summarise
from bestarm.racing.settings import (
    FIRST_ROUNDS,
    RaceSettings,
    check_algorithm,
    check_settings,
    choose_algorithm,
    difference,
    missing_setting,
)
from bestarm.racing.store import RoundRow, ScoreRow, Store, StoreError, damaged


@dataclass(frozen=True)
class Round:
    """A round to evaluate: its number, its item, and the arms whose scores are wanted."""

    number: int
    item: Any
    arms: tuple[Any, ...]


class Race:
    """A race for people with their own loop: `ask` gives rounds, `tell` takes scores, in any order, in parts.

    The arms of round ``r`` are decided from the rounds up to ``r - in_flight``, and rounds are absorbed in the order
    asked: the course of a race is a function of its settings, its seed and the scores, never of the order in which
    these come. All rounds decided count as spent, also those still out when the race ends. Parameters as in
    `bestarm.race`; ``in_flight`` is 1 by default. Use it from one thread.

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
        arms: Mapping[str, Any] | Iterable[Any],
        items: Iterable[Any] | None = None,
        *,
        delta: float = 0.05,
        bounds: tuple[float, float] | None = None,
        lower_is_better: bool = False,
        epsilon: float = 0.0,
        indifference_zone: float = 0.0,
        max_queries: int | None = None,
        in_flight: int | None = None,
        on_error: str = "raise",
        store: str | Path | None = None,
        seed: int = 0,
        algorithm: Algorithm | None = None,
        first_rounds: int = FIRST_ROUNDS,
        source: dict[str, Any] | None = None,
        usual_in_flight: int = 1,
    ) -> None:
        self.entrants = entrants(arms)
        check_count("seed", seed, least=0)
        check_flag("lower_is_better", lower_is_better)
        given = items_in_order(items, seed)
        algorithm = choose_algorithm(algorithm, delta, bounds, epsilon, indifference_zone, first_rounds, given.n_items)
        settings = RaceSettings(
            algorithm=algorithm,
            lower_is_better=bool(lower_is_better),
            max_queries=None if max_queries is None else check_count("max_queries", max_queries),
            in_flight=check_count("in_flight", usual_in_flight if in_flight is None else in_flight),
            on_error=on_error,
            seed=int(seed),
            items=given.kind,
            n_items=given.n_items,
            items_digest=given.digest,
            arms_digest=digest(self.entrants.names),
        )
        game = algorithm.start(len(self.entrants.names))
        check_settings(settings, game.n_arms, game.bounds)
        check_algorithm(algorithm, game, bounds, given.n_items)
        self.course = Course(game, settings, given.order)
        self._store: Store | None = None
        if store is None:
            self.course.decide()
        else:
            self._open_store(Store(store), in_flight is None, source)

    @property
    def finished(self) -> bool:
        """Whether nothing more is to be evaluated; `reason` says why."""
        return self.course.reason is not None

    @property
    def reason(self) -> str | None:
        """Why the race has ended, or None while it goes on."""
        return self.course.reason

    def ask(self) -> list[Round]:
        """All rounds that may be evaluated now and were not asked before; none while others must come back first."""
        if self.finished:
            raise RuntimeError(f"the race has ended ({self.reason}): nothing to ask")
        labels, unasked = self.entrants.labels, self.course.unasked
        rounds = [
            Round(opened.number, opened.item, tuple([labels[arm] for arm in opened.asked if arm in opened.wanted]))
            for opened in unasked
            if opened.wanted
        ]
        unasked.clear()
        return rounds

    def tell(self, asked: Round | int, scores: Mapping[Any, Any]) -> None:
        """Take scores of a round, by arm, in one call or several. A refused call changes nothing.

        An exception in place of a score reports a failure, as does a value that is no finite number within the bounds:
        ``on_error`` says what follows. Scores that come after the end are kept in the store and not used.
        """
        opened = self._asked_round(asked.number if isinstance(asked, Round) else asked)
        if not isinstance(scores, Mapping):
            raise TypeError(f"scores must be a mapping of arms to scores, got {short(repr(scores))}")
        outcomes: list[tuple[int, int, Outcome]] = []
        for label, value in scores.items():
            arm = self.entrants.place(label)
            name = self.entrants.names[arm]
            if arm not in opened.asked:
                raise ValueError(f"arm {name!r} was not asked in round {opened.number}")
            if arm not in opened.wanted or any(arm == told for _, told, _ in outcomes):
                raise ValueError(f"the score of arm {name!r} in round {opened.number} was told before")
            outcomes.append((opened.number, arm, self._outcome(value, name, opened.label)))
        if self.course.settings.on_error == "raise":
            for _, _, outcome in outcomes:
                if isinstance(outcome, EvaluationError):
                    raise outcome
        self.take(outcomes)

    def _asked_round(self, number: int) -> OpenRound:
        """The round of this number, if it was asked and is not complete."""
        course = self.course
        if 1 <= number <= course.game.n_rounds:
            raise ValueError(f"round {number} is complete: all its scores were told before")
        if not course.open or number > course.open[-1].number or number < 1:
            raise ValueError(f"there is no round {number} to tell: call ask() first")
        opened = course.find(number)
        if opened in course.unasked:
            raise ValueError(f"round {number} has not been asked: call ask() first")
        return opened

    def _outcome(self, value: Any, name: str, label: str) -> Outcome:
        if isinstance(value, EvaluationError):
            return value
        if isinstance(value, Exception):
            return failed_call(name, label, value)
        return checked_score(value, self.course.game.bounds, name, label)

    def take(self, outcomes: Sequence[tuple[int, int, Outcome]]) -> None:
        """Store checked outcomes (round, number of the arm, score or failure), then count what is complete.

        With ``on_error="raise"`` the good ones are stored and counted, then the first failure is raised, unless the
        race has ended before its round.
        """
        taken: list[tuple[OpenRound, int, float | None, str | None]] = []
        failures: list[EvaluationError] = []
        opened = None
        for number, arm, outcome in outcomes:
            if opened is None or opened.number != number:
                opened = self.course.find(number)
            if not isinstance(outcome, EvaluationError):
                taken.append((opened, arm, outcome, None))
                continue
            failures.append(outcome)
            if self.course.settings.on_error != "raise":
                taken.append((opened, arm, self._score_of_failure(), str(outcome)))
        if self._store is not None and taken:
            self._save(self._store, taken)
        for opened, arm, score, failure in taken:
            self.course.enter(opened, arm, score, failure)
        self._absorb()
        if failures and self.course.settings.on_error == "raise" and not self.finished:
            raise failures[0]

    def _save(self, store: Store, taken: list[tuple[OpenRound, int, float | None, str | None]]) -> None:
        """Write scores, and their rounds if they are the first of them."""
        new = {opened.number: opened for opened, *_ in taken if not opened.stored}
        rounds: list[RoundRow] = [(opened.number, opened.label, len(opened.asked)) for opened in new.values()]
        scores: list[ScoreRow] = [(opened.number, arm, score, failure) for opened, arm, score, failure in taken]
        store.save(rounds, scores)
        for opened in new.values():
            opened.stored = True

    def _score_of_failure(self) -> float | None:
        bounds, settings = self.course.game.bounds, self.course.settings
        if settings.on_error == "worst" and bounds is not None:
            return bounds[1] if settings.lower_is_better else bounds[0]
        return None

    def _absorb(self) -> None:
        """Count complete rounds; who is out, and why the race ended, is written for those who read the file."""
        if self._store is None:
            self.course.absorb()
            return
        candidates = self.course.game.candidates
        if self.course.absorb() and self.course.game.candidates != candidates:
            self._store.save_eliminations(self.course.game.eliminations)
        if self.finished:
            self._store.update({"reason": self.reason})

    def result(self) -> RaceResult:
        """What is known so far; at the end, the answer."""
        return summarise(self.course, self.entrants.labels)

    def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_store(self, store: Store, any_in_flight: bool, source: dict[str, Any] | None) -> None:
        self._store = store
        try:
            if store.new:
                store.create(self.course.settings.to_json() | {"source": source, "reason": None}, self.entrants.names)
                self.course.decide()
                if self.finished:  # a stream without items
                    store.update({"reason": self.reason})
            else:
                self._continue(store, any_in_flight, source)
        except BaseException:
            self.close()
            raise

    def _continue(self, store: Store, any_in_flight: bool, source: dict[str, Any] | None) -> None:
        stored = store.load()
        if (lack := missing_setting(stored.settings)) is not None:
            raise damaged(store.path, lack)
        if any_in_flight:
            self.course.settings = replace(self.course.settings, in_flight=stored.settings["in_flight"])
        now = self.course.settings.to_json()
        if stored.arms != self.entrants.names:
            arms = f"its arms are {_list(stored.arms)}, now they are {_list(self.entrants.names)}"
            raise StoreError(f"{store.path} holds a race of other arms: {arms}")
        was, is_now = ((given or {}).get("score") for given in (stored.settings["source"], source))
        if was != is_now:
            raise StoreError(
                f"{store.path} holds a race with other settings: score is {was!r} there and {is_now!r} now"
            )
        if (changed := difference(stored.settings, now)) is not None:
            raise StoreError(f"{store.path} holds a race with other settings: {changed}")
        try:
            self.course.restore(Past(stored, self.course.game.n_arms))
        except StoreError as error:
            raise StoreError(f"the race in {store.path} cannot be continued, {error}") from error
        store.update({"max_queries": now["max_queries"], "reason": self.reason})
        store.save_eliminations(self.course.game.eliminations)


def _list(names: Sequence[str]) -> str:
    """The first names, for a message."""
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
