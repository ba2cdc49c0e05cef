"""One evaluation: called, tried again, checked."""

import inspect
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from bestarm.racing.entrants import hashable, short

FIRST_PAUSE = 0.1  # seconds before the second attempt; doubled before each further one
LONGEST_PAUSE = 30.0
REAL = (-sys.float_info.max, sys.float_info.max)


class EvaluationError(Exception):
    """An evaluation that failed, with its arm and item, and why."""


class ProgramEndError(Exception):
    """A coroutine asked for the end of the program: an event loop must not see that itself, it would hang."""


class PlainError(Exception):
    """A failure whose text says it all."""


Outcome = float | EvaluationError


@dataclass(frozen=True)
class Evaluation:
    """How arms are evaluated on an item; travels to other processes with the function."""

    function: Callable[..., Any]
    jointly: bool
    bounds: tuple[float, float] | None
    retries: int
    shuffled: bool = False  # the arms of a round in random order
    token: str = field(default_factory=lambda: uuid4().hex)  # calls of other races differ too

    def __call__(self, arms: Sequence[Any], names: Sequence[str], item: Any, label: str, number: int) -> list[Outcome]:
        """The scores of these arms on an item, or what went wrong, after so many attempts.

        The number of the round makes calls on equal items differ: Dask would make equal calls only once.
        """
        for attempt in range(self.retries + 1):
            try:
                value = self.function(tuple(arms) if self.jointly else arms[0], item)
            except Exception as error:
                outcomes = self._failed(names, label, error, attempt)
            else:
                low, high = self.bounds or REAL
                if type(value) is float and not self.jointly and low <= value <= high:
                    return [value]  # the common case, without further calls
                outcomes = self._scores(value, arms, names, label)
            if not self._again(outcomes, attempt):
                break
            time.sleep(pause(attempt))
        return outcomes

    async def on_loop(
        self, arms: Sequence[Any], names: Sequence[str], item: Any, label: str, number: int
    ) -> list[Outcome]:
        """The same for a function that is awaited."""
        import asyncio

        for attempt in range(self.retries + 1):
            try:
                value = await self.function(tuple(arms) if self.jointly else arms[0], item)
            except (KeyboardInterrupt, SystemExit) as error:
                raise ProgramEndError from error
            except Exception as error:
                outcomes = self._failed(names, label, error, attempt)
            else:
                outcomes = self._scores(value, arms, names, label)
            if not self._again(outcomes, attempt):
                break
            await asyncio.sleep(pause(attempt))
        return outcomes

    def _again(self, outcomes: list[Outcome], attempt: int) -> bool:
        return attempt < self.retries and any(isinstance(outcome, EvaluationError) for outcome in outcomes)

    def _failed(self, names: Sequence[str], label: str, error: Exception, attempt: int) -> list[Outcome]:
        tried = f" ({attempt + 1} attempts)" if attempt else ""
        return [failed_call(name, label, error, tried) for name in names]

    def _scores(self, value: Any, arms: Sequence[Any], names: Sequence[str], label: str) -> list[Outcome]:
        if not self.jointly:
            return [checked_score(value, self.bounds, names[0], label)]
        if isinstance(value, Mapping):
            values = [
                value[arm] if hashable(arm) and arm in value else value.get(name)
                for arm, name in zip(arms, names, strict=True)
            ]
        else:
            try:
                values = list(value)
            except TypeError:
                values = []
            except Exception as error:  # whatever a generator of the user does
                return [failed_call(name, label, error) for name in names]
        if len(values) != len(arms):
            text = f"{_call('arms', label)} must return {len(arms)} scores, one for each arm it is given, got {value!r}"
            return [EvaluationError(text) for _ in arms]
        return [checked_score(part, self.bounds, name, label) for part, name in zip(values, names, strict=True)]


def failed_call(name: str, label: str, error: Exception, tried: str = "") -> EvaluationError:
    """What went wrong, with the arm, the item and the exception."""
    if isinstance(error, PlainError):
        failure = EvaluationError(f"{short(name)!r} failed on {short(label)!r}: {error}{tried}")
    else:
        failure = EvaluationError(f"{_call(name, label)} failed: {type(error).__name__}: {error}{tried}")
    failure.__cause__ = error
    return failure


def checked_score(value: Any, bounds: tuple[float, float] | None, name: str, label: str) -> Outcome:
    """The value as a float, or the failure that it is no finite number within the bounds."""
    try:
        score = float(value) if not isinstance(value, str | bytes) else None
    except Exception:  # whatever the conversion of the user's type raises: it is no number
        score = None
    if score is None:
        return EvaluationError(f"{_call(name, label)} returned {short(repr(value))}, which is not a number")
    if not math.isfinite(score):
        return EvaluationError(f"{_call(name, label)} returned {score}: a score must be a finite number")
    if bounds is not None and not bounds[0] <= score <= bounds[1]:
        return EvaluationError(
            f"{_call(name, label)} returned {score!r}: by bounds= every score lies in [{bounds[0]:g}, {bounds[1]:g}]"
        )
    return score


def pause(attempt: int) -> float:
    """Seconds to wait after an attempt that failed, counted from 0."""
    return min(FIRST_PAUSE * 2.0 ** min(attempt, 64), LONGEST_PAUSE)


def _call(name: str, label: str) -> str:
    return f"evaluate({short(name)!r}, {short(label)!r})"


def check_signature(evaluate: Callable[..., Any], jointly: bool) -> None:
    """Refuse a function that cannot be called with what it will be given."""
    given = "arms, item" if jointly else "arm, item"
    if not callable(evaluate):
        raise TypeError(f"evaluate must be a function of ({given}), got {evaluate!r}")
    try:
        signature = inspect.signature(evaluate)
    except ValueError:  # some builtins tell nothing about themselves
        return
    try:
        signature.bind(None, None)
    except TypeError as error:
        name = getattr(evaluate, "__name__", "evaluate")
        raise TypeError(f"evaluate is called as {name}({given}), but it is {name}{signature}: {error}") from error


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling the function gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
