"""Errors and warnings."""

from typing import Any

from bestarm.text import shown


class BestarmError(Exception):
    """The base class of bestarm's own errors: catch it to catch any of them."""

    def __str__(self) -> str:
        return shown(super().__str__(), "message")  # with names, paths and texts of exceptions and programs in it


class EvaluationError(BestarmError):
    """An evaluation that failed: the text says why, `arm` and `item` say which one.

    Both are None where the failure belongs to no single evaluation. `retried` is how many attempts had failed before.
    """

    arm: Any = None
    item: Any = None
    retried: int = 0


class OutOfBoundsError(EvaluationError):
    """A score outside of the bounds: whatever ``on_error`` says, the race stops, and ``retries`` does not try again.

    The bounds are what the guarantee rests on, and they are wrong: give wider ones and start again.
    """


class StoreError(BestarmError):
    """A saved race that cannot be opened, read or continued, and why."""


class AssumptionWarning(UserWarning):
    """The scores do not look like what the test assumes: also in ``result.warnings``.

    Or the first ones all failed, or a file of items repeats some.
    """
