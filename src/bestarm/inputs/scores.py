"""What an evaluation gave: a score, or a failure with its arm, its item and why."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bestarm.errors import BestarmError, EvaluationError
from bestarm.inputs.items import item_text
from bestarm.inputs.texts import hashable, short

if TYPE_CHECKING:
    from typing_extensions import TypeIs


class PlainError(BestarmError):
    """A failure whose text says it all."""


Outcome = float | EvaluationError


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
    """What was told about an evaluation: a score, or an exception in place of one."""
    if isinstance(value, EvaluationError):
        return value
    if isinstance(value, Exception):
        return failed_call(name, item, value)
    return checked_score(value, bounds, name, item)


def failed_call(name: str, item: Any, error: Exception, tried: str = "") -> EvaluationError:
    """What went wrong, with the arm, the item and the exception."""
    if isinstance(error, PlainError):
        failure = EvaluationError(f"{short(name)!r} failed on {shown(item)}: {error}{tried}")
    else:
        failure = EvaluationError(f"{named(name, item)} failed: {type(error).__name__}: {error}{tried}")
    failure.__cause__ = error
    return failure


def checked_score(value: Any, bounds: tuple[float, float] | None, name: str, item: Any) -> Outcome:
    """The value as a float, or the failure that it is not a finite number within the bounds."""
    try:
        score = float(value) if not isinstance(value, str | bytes) else None
    except Exception:  # whatever the conversion of the user's type raises: it is no number
        score = None
    if score is None:
        return EvaluationError(f"{named(name, item)} returned {short(repr(value))}, which is not a number")
    if not math.isfinite(score):
        return EvaluationError(f"{named(name, item)} returned {score}: a score must be a finite number")
    if bounds is not None and not bounds[0] <= score <= bounds[1]:
        return EvaluationError(
            f"{named(name, item)} returned {score!r}, which is outside of bounds=({bounds[0]:g}, {bounds[1]:g})"
        )
    return score


def named(name: str, item: Any) -> str:
    """An evaluation, as messages call it."""
    return f"evaluate({short(name)!r}, {shown(item)})"


def shown(item: Any) -> str:
    """An item in a message: a text in quotes, a number or another object as it is."""
    text = short(item_text(item))
    return repr(text) if isinstance(item, str) else text
