"""One evaluation: called, tried again, checked; a score, or a failure with its arm, its item and why."""

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np

from bestarm.checks import LARGEST, check_count, check_flag, rounding_of
from bestarm.errors import BestarmError, EvaluationError, OutOfBoundsError
from bestarm.racing.interruption import asked_to_end, evaluating, let_through
from bestarm.record.record import Note, NotedScore
from bestarm.sources.items import item_text
from bestarm.sources.programs import PlainError, ScoredError
from bestarm.text import counted, described, hashable, label_text, quoted, said, short, shown

if TYPE_CHECKING:
    from typing_extensions import TypeIs


Outcome = float | NotedScore | EvaluationError
FINITE = "a score must be a finite number"


def listed(value: Any, arms: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """What a function that takes all arms returned, in their order; nothing if it is not a collection."""
    if isinstance(value, Mapping):
        return [
            value[arm] if hashable(arm) and arm in value else value.get(name)
            for arm, name in zip(arms, names, strict=True)
        ]
    return list(value) if hasattr(value, "__iter__") or hasattr(value, "__getitem__") else []


def is_failure(outcome: Outcome) -> "TypeIs[EvaluationError]":
    """Whether an evaluation failed."""
    return isinstance(outcome, EvaluationError)


def told_outcome(value: Any, bounds: tuple[float, float] | None, name: str, item: Any) -> Outcome:
    """What was told about an evaluation: a score, or an exception in place of one; a wish to end is raised."""
    if isinstance(value, EvaluationError):
        return value
    if isinstance(value, BaseException):
        let_through(value, named(name, item))
        return raised_outcome(value, bounds, name, item)
    return checked_score(value, bounds, name, item)


def raised_outcome(error: BaseException, bounds: tuple[float, float] | None, name: str, item: Any) -> Outcome:
    """What an exception means: a failure, or the score that it counts as."""
    if isinstance(error, EvaluationError):  # of one item of a group
        return error
    failure = failed_call(name, item, error)
    if not isinstance(error, ScoredError):
        return failure
    score = checked_score(error.score, bounds, name, item)
    return NotedScore(score, Note(str(failure), counted="time-out")) if isinstance(score, float) else score


def after_retries(outcome: Outcome, failed: Sequence[EvaluationError]) -> Outcome:
    """The outcome of the last attempt, with the attempts that failed before it."""
    if not failed:
        return outcome
    if is_failure(outcome):
        outcome.retried = len(failed)
        return outcome
    if isinstance(outcome, NotedScore):
        return outcome._replace(note=outcome.note._replace(retried=len(failed)))
    return NotedScore(outcome, Note(str(failed[-1]), retried=len(failed)))


def failed_call(name: str, item: Any, error: BaseException) -> EvaluationError:
    """What went wrong, with the arm, the item and the exception."""
    if isinstance(error, PlainError):
        text = f"{quoted(name)} failed on {item_in_message(item)}: {error}"
    else:
        text = f"{named(name, item)} failed: {type(error).__name__}: {said(error)}"
    failure = EvaluationError(shown(text, "failure"))
    failure.__cause__ = error
    return failure


def checked_score(value: Any, bounds: tuple[float, float] | None, name: str, item: Any) -> float | EvaluationError:
    """The value as a float, or the failure that it is not a finite number within the bounds.

    What is out of bounds by no more than rounding counts as the bound.
    """
    try:
        score = float(value) if not isinstance(value, str | bytes) else None
    except OverflowError:
        return EvaluationError(f"{named(name, item)} returned a number too large for a float: {FINITE}")
    except Exception:  # whatever the conversion of the user's type raises: it is no number
        score = None
    if score is None:
        return EvaluationError(f"{named(name, item)} returned {described(value)}, which is not a number")
    if not math.isfinite(score):
        return EvaluationError(f"{named(name, item)} returned {score}: {FINITE}")
    if abs(score) > LARGEST:
        beyond = f"a score must lie within ±{LARGEST:g} (give scores in another unit)"
        return EvaluationError(f"{named(name, item)} returned {score!r}: {beyond}")
    return score if bounds is None or bounds[0] <= score <= bounds[1] else _beyond(score, bounds, name, item)


def _beyond(score: float, bounds: tuple[float, float], name: str, item: Any) -> float | EvaluationError:
    """The bound, if a score beyond it is so by rounding alone; else the error that the bounds are wrong."""
    low, high = rounding_of(bounds)
    if low <= score <= high:
        return min(max(score, bounds[0]), bounds[1])
    return OutOfBoundsError(
        f"{named(name, item)} returned {score!r}, which is outside of bounds=({bounds[0]:g}, {bounds[1]:g}): give "
        "wider bounds and start again"
    )


def named(name: str, item: Any) -> str:
    """An evaluation, as messages call it."""
    return f"evaluate({quoted(name)}, {item_in_message(item)})"


def item_in_message(item: Any) -> str:
    """An item in a message: a text in quotes, a number or another object as it is."""
    text = item_text(item)
    return quoted(text) if isinstance(item, str) else short(text)


FIRST_PAUSE = 0.1  # seconds before the second attempt; doubled before each further one
LONGEST_PAUSE = 30.0
REAL = (-LARGEST, LARGEST)


class ProgramEndError(BestarmError):
    """A coroutine asked for the end of the program: an event loop must not see that itself: it would hang."""


class Call(NamedTuple):
    """What one call evaluates: some arms of a round, by number, value and name, on its item.

    The number of the round makes calls on equal items differ: Dask would make equal calls only once.
    """

    number: int
    arms: tuple[int, ...]
    values: tuple[Any, ...]
    names: tuple[str, ...]
    item: Any

    @property
    def named(self) -> str:
        """The call, as messages name it."""
        return named(self.names[0] if len(self.names) == 1 else "arms", self.item)


@dataclass(frozen=True)
class Evaluation:
    """How arms are evaluated on an item; travels to other processes with the function."""

    function: Callable[..., Any]
    jointly: bool = False
    retries: int = 0
    shuffled: bool = False  # the arms of a round in random order
    bounds: tuple[float, float] | None = None
    token: str = field(default_factory=lambda: uuid4().hex)  # calls of other races differ too

    def check(self) -> None:
        """Refuse a function that cannot be called with what it will be given."""
        check_count("retries", self.retries, least=0)
        check_flag("jointly", self.jointly)
        check_flag("shuffle_arms", self.shuffled)
        given = "arms, item" if self.jointly else "arm, item"
        if not callable(self.function):
            raise TypeError(f"evaluate must be a function of ({given}), got {described(self.function)}")
        try:
            signature = inspect.signature(self.function)
        except ValueError:  # some builtins tell nothing about themselves
            return
        try:
            signature.bind(None, None)
        except TypeError as error:
            name = getattr(self.function, "__name__", "evaluate")
            raise TypeError(
                f"evaluate is called as {name}({given}), but its signature is {name}{signature}: {error}"
            ) from error

    @property
    def awaited(self) -> bool:
        """Whether calling the function gives something to await."""
        called = getattr(self.function, "__call__", None)  # noqa: B004
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(called)

    def once(self, arm: Any, item: Any, name: str) -> Outcome:
        """The score of one arm, or what went wrong, in one attempt."""
        try:
            value = self.function(arm, item)
        except BaseException as error:
            let_through(error, named(name, item))
            return raised_outcome(error, self.bounds, name, item)
        low, high = self.bounds or REAL
        if type(value) is float and low <= value <= high:
            return value  # the common case, without further calls
        return checked_score(value, self.bounds, name, item)

    def __call__(self, call: Call) -> list[Outcome]:
        """The scores of the arms of a call, or what went wrong, after at most ``retries + 1`` attempts."""
        failed: list[list[Outcome]] = []
        for attempt in range(self.retries + 1):
            try:
                with evaluating():
                    value = self.function(call.values if self.jointly else call.values[0], call.item)
            except BaseException as error:
                let_through(error, call.named)
                outcomes = self._failed(call, error)
            else:
                outcomes = self._scores(value, call)
            if not self._again(outcomes, attempt) or asked_to_end():
                break
            failed.append(outcomes)
            time.sleep(pause(attempt))
        return _in_the_end(outcomes, failed)

    async def on_loop(self, call: Call) -> list[Outcome]:
        """The same for a function that is awaited."""
        import asyncio

        failed: list[list[Outcome]] = []
        for attempt in range(self.retries + 1):
            try:
                with evaluating():
                    value = await self.function(call.values if self.jointly else call.values[0], call.item)
            except GeneratorExit:  # the loop is gone
                raise
            except BaseException as error:
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise  # by the race; a cancellation that comes out of the function is a failure of its own
                _refuse_to_end(error, call)
                outcomes = self._failed(call, error)
            else:
                outcomes = self._scores(value, call)
            if not self._again(outcomes, attempt):
                break
            failed.append(outcomes)
            await asyncio.sleep(pause(attempt))
        return _in_the_end(outcomes, failed)

    def _again(self, outcomes: list[Outcome], attempt: int) -> bool:
        """Whether another attempt follows: none mends bounds that are wrong."""
        if attempt == self.retries or any(isinstance(outcome, OutOfBoundsError) for outcome in outcomes):
            return False
        return any(map(is_failure, outcomes))

    def _failed(self, call: Call, error: BaseException) -> list[Outcome]:
        return [raised_outcome(error, self.bounds, name, call.item) for name in call.names]

    def _scores(self, value: Any, call: Call) -> list[Outcome]:
        if not self.jointly:
            return [checked_score(value, self.bounds, call.names[0], call.item)]
        try:
            values = listed(value, call.values, call.names)
        except BaseException as error:  # whatever a generator of the user does
            let_through(error, call.named)
            return self._failed(call, error)
        if len(values) != len(call.arms):
            wanted = f"must return {counted(len(call.arms), 'score')}, one for each arm it is given"
            text = f"{named('arms', call.item)} {wanted}, got {described(value)}"
            return [EvaluationError(text) for _ in call.arms]
        return [
            checked_score(part, self.bounds, name, call.item) for part, name in zip(values, call.names, strict=True)
        ]


def _refuse_to_end(error: BaseException, call: Call) -> None:
    """Raise a wish to end the program as an error that an event loop can see."""
    try:
        let_through(error, call.named)
    except (KeyboardInterrupt, SystemExit) as end:
        raise ProgramEndError from end


def _in_the_end(outcomes: list[Outcome], failed: list[list[Outcome]]) -> list[Outcome]:
    """The outcomes of the last attempt; each arm's own failures in the attempts before it are noted."""
    if not failed:
        return outcomes
    before = zip(*failed, strict=True)
    return [
        after_retries(outcome, [attempt for attempt in attempts if is_failure(attempt)])
        for outcome, attempts in zip(outcomes, before, strict=True)
    ]


def pause(attempt: int) -> float:
    """Seconds to wait after an attempt that failed, counted from 0."""
    return min(FIRST_PAUSE * 2.0 ** min(attempt, 64), LONGEST_PAUSE)


@dataclass(frozen=True)
class OverGroup:
    """A function of an arm (or of all arms, ``jointly``) and an item, evaluated on all items of a group."""

    function: Callable[..., Any]
    jointly: bool = False
    bounds: tuple[float, float] | None = None

    def __call__(self, arm: Any, items: Sequence[Any]) -> Any:
        """The mean over the items, for each arm where there are several."""
        values = []
        for item in items:
            try:
                values.append(self.function(arm, item))
            except Exception as error:
                raise self._failed(arm, item, error) from error
        return self._mean(arm, items, values)

    def _failed(self, arm: Any, item: Any, error: Exception) -> EvaluationError:
        """What went wrong, with the item of the group on which it did."""
        return failed_call("arms" if self.jointly else label_text(arm), item, error)

    def _mean(self, arm: Any, items: Sequence[Any], values: list[Any]) -> Any:
        if not self.jointly:
            return float(np.mean([self._score(arm, item, value) for item, value in zip(items, values, strict=True)]))
        names = list(map(label_text, arm))
        rows = [
            [self._score(one, item, score) for one, score in zip(arm, listed(value, arm, names), strict=True)]
            for item, value in zip(items, values, strict=True)
        ]
        return np.mean(rows, axis=0).tolist()

    def _score(self, arm: Any, item: Any, value: Any) -> float:
        """One score, checked by itself: a mean can hide one that is out of bounds."""
        score = checked_score(value, self.bounds, label_text(arm), item)
        if is_failure(score):
            raise score
        return score


class OverGroupAwaited(OverGroup):
    """The same for a function that is awaited."""

    async def __call__(self, arm: Any, items: Sequence[Any]) -> Any:
        """The mean over the items, one after the other."""
        values = []
        for item in items:
            try:
                values.append(await self.function(arm, item))
            except Exception as error:
                raise self._failed(arm, item, error) from error
        return self._mean(arm, items, values)


def over_groups(evaluation: Evaluation) -> OverGroup:
    """The function of an evaluation as one of groups."""
    kind = OverGroupAwaited if evaluation.awaited else OverGroup
    return kind(evaluation.function, evaluation.jointly, evaluation.bounds)
