"""One evaluation: called, tried again, checked; a score, or a failure with its arm, its item and why."""

import inspect
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np

from bestarm.checks import LARGEST, check_count, check_flag, rounding_of
from bestarm.errors import BestarmError, EvaluationError, OutOfBoundsError, ParameterTypeError
from bestarm.racing.interruption import asked_to_end, evaluating, reraise_exit
from bestarm.record.record import Failure, ScoreWithNote
from bestarm.sources.items import item_text
from bestarm.sources.programs import CommandError, TimedOutError
from bestarm.text import is_hashable, label_text, quoted, safe_str, sanitize, short, short_repr, with_noun

if TYPE_CHECKING:
    import asyncio

FIRST_PAUSE = 0.1  # seconds before the second attempt; doubled before each further one
LONGEST_PAUSE = 30.0
REAL = (-LARGEST, LARGEST)  # where scores lie that have no bounds
FINITE = "a score must be a finite number"

EvaluationOutcome = float | ScoreWithNote | EvaluationError
Bounds = tuple[float, float] | None


class ProgramEndError(BestarmError):
    """A coroutine asked for the end of the program: an event loop must not see that itself, it would hang."""


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
    def text(self) -> str:
        """The call, as messages name it."""
        return call_text(self.names[0] if len(self.names) == 1 else "arms", self.item)


@dataclass(frozen=True)
class Evaluation:
    """How arms are evaluated on an item; travels to other processes with the function."""

    function: Callable[..., Any]
    jointly: bool = False
    retries: int = 0
    shuffled: bool = False  # the arms of a round in random order
    bounds: Bounds = None
    token: str = field(default_factory=lambda: uuid4().hex)  # calls of other races differ too

    def check(self) -> None:
        """Refuse a function that cannot be called with what it will be given."""
        check_count("retries", self.retries, least=0)
        check_flag("jointly", self.jointly)
        check_flag("shuffle_arms", self.shuffled)
        given = "arms, item" if self.jointly else "arm, item"
        if not callable(self.function):
            raise ParameterTypeError(
                "evaluate", f"must be a function of ({given}), got {short_repr(self.function)}", self.function
            )
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

    def __call__(self, call: Call) -> list[EvaluationOutcome]:
        """The scores of the arms of a call, or what went wrong, after at most ``retries + 1`` attempts."""
        failed: list[list[EvaluationOutcome]] = []
        for attempt in range(self.retries + 1):
            try:
                with evaluating():
                    value = self.function(call.values if self.jointly else call.values[0], call.item)
            except BaseException as error:
                reraise_exit(error, call.text)
                outcomes = self._failed(call, error)
            else:
                outcomes = self._scores(value, call)
            if not self._again(outcomes, attempt) or asked_to_end():
                break
            failed.append(outcomes)
            time.sleep(pause(attempt))
        return _with_retries(outcomes, failed)

    async def on_loop(self, call: Call) -> list[EvaluationOutcome]:
        """Evaluate a call of a function that is awaited, with the same attempts."""
        import asyncio

        task = asyncio.current_task()
        failed: list[list[EvaluationOutcome]] = []
        for attempt in range(self.retries + 1):
            try:
                with evaluating():
                    value = await self.function(call.values if self.jointly else call.values[0], call.item)
            except BaseException as error:
                if _was_closed(task) or (task is not None and task.cancelling()):
                    raise  # by the race; what comes out of the function itself is a failure of its own
                _hide_exit(error, call)
                outcomes = self._failed(call, error)
            else:
                outcomes = self._scores(value, call)
            if not self._again(outcomes, attempt):
                break
            failed.append(outcomes)
            await asyncio.sleep(pause(attempt))
        return _with_retries(outcomes, failed)

    def _again(self, outcomes: list[EvaluationOutcome], attempt: int) -> bool:
        """Whether another attempt follows: none mends bounds that are wrong."""
        if attempt == self.retries or any(isinstance(outcome, OutOfBoundsError) for outcome in outcomes):
            return False
        return any(isinstance(outcome, EvaluationError) for outcome in outcomes)

    def _failed(self, call: Call, error: BaseException) -> list[EvaluationOutcome]:
        return [outcome_of_error(error, self.bounds, name, call.item) for name in call.names]

    def _scores(self, value: Any, call: Call) -> list[EvaluationOutcome]:
        if not self.jointly:
            return [score_or_failure(value, self.bounds, call.names[0], call.item)]
        try:
            values = scores_in_order(value, call.values, call.names)
        except BaseException as error:  # whatever a generator of the user does
            reraise_exit(error, call.text)
            return self._failed(call, error)
        if len(values) != len(call.arms):
            wanted = f"must return {with_noun(len(call.arms), 'score')}, one for each arm it is given"
            text = f"{call_text('arms', call.item)} {wanted}, got {short_repr(value)}"
            return [EvaluationError(text) for _ in call.arms]
        return [
            score_or_failure(part, self.bounds, name, call.item) for part, name in zip(values, call.names, strict=True)
        ]


def _was_closed(task: "asyncio.Task[Any] | None") -> bool:
    """Whether a coroutine is ended from outside of its task: its loop is gone, and there is nothing to go on with."""
    import asyncio

    try:
        return asyncio.current_task() is not task
    except RuntimeError:  # no loop runs here
        return True


def _hide_exit(error: BaseException, call: Call) -> None:
    """Raise a wish to end the program as an error that an event loop can see."""
    try:
        reraise_exit(error, call.text)
    except (KeyboardInterrupt, SystemExit) as end:
        raise ProgramEndError from end


def _with_retries(outcomes: list[EvaluationOutcome], failed: list[list[EvaluationOutcome]]) -> list[EvaluationOutcome]:
    """The outcomes of the last attempt; each arm's own failures in the attempts before it are noted."""
    if not failed:
        return outcomes
    before = zip(*failed, strict=True)
    return [
        _after_retries(outcome, [attempt for attempt in attempts if isinstance(attempt, EvaluationError)])
        for outcome, attempts in zip(outcomes, before, strict=True)
    ]


def _after_retries(outcome: EvaluationOutcome, failed: Sequence[EvaluationError]) -> EvaluationOutcome:
    """The outcome of the last attempt, with the attempts that failed before it."""
    if not failed:
        return outcome
    if isinstance(outcome, EvaluationError):
        outcome.retried = len(failed)
        return outcome
    if isinstance(outcome, ScoreWithNote):
        return outcome._replace(note=outcome.note._replace(retried=len(failed)))
    return ScoreWithNote(outcome, Failure(str(failed[-1]), retried=len(failed)))


def pause(attempt: int) -> float:
    """Seconds to wait after an attempt that failed, counted from 0."""
    return min(FIRST_PAUSE * 2.0 ** min(attempt, 64), LONGEST_PAUSE)


@dataclass(frozen=True)
class FunctionOnGroups:
    """The user's function of an arm (or of all arms, ``jointly``) and an item, called on all items of a group."""

    function: Callable[..., Any]
    jointly: bool = False
    bounds: Bounds = None

    def __call__(self, arm: Any, items: Sequence[Any]) -> Any:
        """The mean over the items, for each arm where there are several."""
        values = []
        for item in items:
            with self._naming(arm, item):
                values.append(self.function(arm, item))
        return self._mean(arm, items, values)

    @contextmanager
    def _naming(self, arm: Any, item: Any) -> Iterator[None]:
        """Name the item of the group on which something goes wrong."""
        try:
            yield
        except Exception as error:
            raise failed_call("arms" if self.jointly else label_text(arm), item, error) from error

    def _mean(self, arm: Any, items: Sequence[Any], values: list[Any]) -> Any:
        if not self.jointly:
            return float(np.mean([self._score(arm, item, value) for item, value in zip(items, values, strict=True)]))
        names = list(map(label_text, arm))
        rows = [
            [self._score(one, item, score) for one, score in zip(arm, scores_in_order(value, arm, names), strict=True)]
            for item, value in zip(items, values, strict=True)
        ]
        return np.mean(rows, axis=0).tolist()

    def _score(self, arm: Any, item: Any, value: Any) -> float:
        """One score, checked by itself: a mean can hide one that is out of bounds."""
        score = score_or_failure(value, self.bounds, label_text(arm), item)
        if isinstance(score, EvaluationError):
            raise score
        return score


class AwaitedFunctionOnGroups(FunctionOnGroups):
    """A `FunctionOnGroups` of a function that is awaited."""

    async def __call__(self, arm: Any, items: Sequence[Any]) -> Any:
        """The mean over the items, one after the other."""
        values = []
        for item in items:
            with self._naming(arm, item):
                values.append(await self.function(arm, item))
        return self._mean(arm, items, values)


def function_on_groups(evaluation: Evaluation) -> FunctionOnGroups:
    """The function of an evaluation as one of an arm and a group, whose score is the mean over its items."""
    kind = AwaitedFunctionOnGroups if evaluation.awaited else FunctionOnGroups
    return kind(evaluation.function, evaluation.jointly, evaluation.bounds)


def scores_in_order(value: Any, arms: Sequence[Any], names: Sequence[str]) -> list[Any]:
    """What a function that takes all arms returned, in their order; nothing if it is not a collection."""
    if isinstance(value, Mapping):
        return [
            value[arm] if is_hashable(arm) and arm in value else value.get(name)
            for arm, name in zip(arms, names, strict=True)
        ]
    return list(value) if hasattr(value, "__iter__") or hasattr(value, "__getitem__") else []


def told_outcome(value: Any, bounds: Bounds, name: str, item: Any) -> EvaluationOutcome:
    """What was told about an evaluation: a score, or an exception in place of one; a wish to end is raised."""
    if isinstance(value, EvaluationError):
        return value
    if isinstance(value, BaseException):
        reraise_exit(value, call_text(name, item))
        return outcome_of_error(value, bounds, name, item)
    return score_or_failure(value, bounds, name, item)


def outcome_of_error(error: BaseException, bounds: Bounds, name: str, item: Any) -> EvaluationOutcome:
    """What an exception means: a failure, or the score that it counts as."""
    if isinstance(error, EvaluationError):  # of one item of a group
        return error
    failure = failed_call(name, item, error)
    if not isinstance(error, TimedOutError):
        return failure
    score = score_or_failure(error.score, bounds, name, item)
    return ScoreWithNote(score, Failure(str(failure), counted="time-out")) if isinstance(score, float) else score


def failed_call(name: str, item: Any, error: BaseException) -> EvaluationError:
    """What went wrong, with the arm, the item and the exception."""
    if isinstance(error, CommandError):
        text = f"{quoted(name)} failed on {item_in_message(item)}: {error}"
    else:
        text = f"{call_text(name, item)} failed: {type(error).__name__}: {safe_str(error)}"
    failure = EvaluationError(sanitize(text, "failure"))
    failure.__cause__ = error
    return failure


def score_or_failure(value: Any, bounds: Bounds, name: str, item: Any) -> float | EvaluationError:
    """The value as a float, or the failure that it is not a finite number within the bounds.

    What is out of bounds by no more than rounding counts as the bound.
    """
    try:
        score = float(value) if not isinstance(value, str | bytes) else None
    except OverflowError:
        return EvaluationError(f"{call_text(name, item)} returned a number too large for a float: {FINITE}")
    except Exception:  # whatever the conversion of the user's type raises: it is no number
        score = None
    low, high = REAL if bounds is None else rounding_of(bounds)
    if score is not None and low <= score <= high and abs(score) <= LARGEST:
        return score if bounds is None else min(max(score, bounds[0]), bounds[1])
    what = f"{call_text(name, item)} returned"
    if score is None:
        return EvaluationError(f"{what} {short_repr(value)}, which is not a number")
    if not math.isfinite(score):
        return EvaluationError(f"{what} {score}: {FINITE}")
    if bounds is None or abs(score) > LARGEST:
        return EvaluationError(f"{what} {score!r}: a score must lie within ±{LARGEST:g} (give scores in another unit)")
    interval = f"({bounds[0]:g}, {bounds[1]:g})"
    return OutOfBoundsError(
        f"{what} {score!r}, which is outside of bounds={interval}: give wider bounds and start again"
    )


def call_text(name: str, item: Any) -> str:
    """An evaluation, as messages call it."""
    return f"evaluate({quoted(name)}, {item_in_message(item)})"


def item_in_message(item: Any) -> str:
    """An item in a message: a text in quotes, a number or another object as it is."""
    text = item_text(item)
    return quoted(text) if isinstance(item, str) else short(text)
