"""What an evaluation gave: a score, or a failure with its arm, its item and why."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bestarm.checks import LARGEST, rounding_of
from bestarm.errors import BestarmError, EvaluationError, OutOfBoundsError
from bestarm.inputs.ends import let_through
from bestarm.inputs.failures import Note, NotedScore
from bestarm.inputs.items import item_text
from bestarm.inputs.texts import hashable, quoted, short
from bestarm.shown import described, said, shown

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class PlainError(BestarmError):
    """A failure whose text says it all."""


class ScoredError(PlainError):
    """A failure that is a score all the same, such as a time-out: it is not tried again."""

    def __init__(self, text: str, score: float) -> None:
        super().__init__(text)
        self.score = score


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
