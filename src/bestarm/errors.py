"""What bestarm raises and warns of. Arguments that are refused are a ValueError or a TypeError, as everywhere."""

from typing import Any


class BestarmError(Exception):
    """What all errors of bestarm's own have in common: catch it to catch any of them."""


class EvaluationError(BestarmError):
    """An evaluation that failed: the text says why, `arm` and `item` say which one.

    Both are None where the failure belongs to no single evaluation.
    """

    arm: Any = None
    item: Any = None


class StoreError(BestarmError):
    """A saved race that cannot be opened, read or continued, and why."""


class AssumptionWarning(UserWarning):
    """The scores do not look like what the test assumes. What was warned of is also in ``result.warnings``."""
