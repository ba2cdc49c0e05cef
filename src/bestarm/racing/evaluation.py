"""One evaluation: called, tried again, checked."""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

from bestarm.checks import LARGEST, check_count, check_flag
from bestarm.errors import BestarmError, EvaluationError, OutOfBoundsError
from bestarm.inputs.ends import let_through
from bestarm.inputs.scores import Outcome, after_retries, checked_score, is_failure, listed, named, raised_outcome
from bestarm.inputs.texts import counted
from bestarm.racing.interruption import asked_to_end, evaluating
from bestarm.shown import described

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
