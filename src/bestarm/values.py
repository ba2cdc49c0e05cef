"""Arrays of numbers, settings that print as the shortest call that makes them, and how values are compared."""

from dataclasses import MISSING, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]  # numbers of arms, of rounds and the like


def shortest_call(self: Any) -> str:
    """Frozen settings as the shortest call that makes equal ones: what is not default, and nothing else.

    To be used as ``__repr__`` of a dataclass.
    """
    asked = [field for field in fields(self) if field.init]
    required = [field for field in asked if field.default is MISSING and field.default_factory is MISSING]
    given = {field.name: getattr(self, field.name) for field in required}
    for field in asked:
        if field not in required and getattr(type(self)(**given), field.name) != getattr(self, field.name):
            given[field.name] = getattr(self, field.name)
    by_place = {field.name for field in asked if not field.kw_only}
    parts = [repr(value) if name in by_place else f"{name}={value!r}" for name, value in given.items()]
    return f"{type(self).__name__}({', '.join(parts)})"


def equal_values(self: Any, other: Any) -> bool:
    """Whether two dataclasses hold the same values, arrays included; NaN equals NaN. To be used as ``__eq__``."""
    return type(self) is type(other) and all(
        _same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)
    )


def hash_of_values(self: Any) -> int:
    """The hash that goes with it, where all values have one. To be used as ``__hash__``."""
    return hash(tuple(getattr(self, field.name) for field in fields(self)))


def _same(one: Any, other: Any) -> bool:
    if hasattr(one, "dtype"):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if type(one) is tuple and type(other) is tuple:
        return len(one) == len(other) and all(map(_same, one, other))
    return one is other or bool(np.all(one == other))
