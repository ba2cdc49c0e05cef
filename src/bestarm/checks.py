"""Validation of parameters: errors name the parameter, the rule and the value.

`ParameterError` holds the name and the value, too, so that the command line can name its option instead.
"""

import math
import os
import sys
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.errors import ParameterError, ParameterTypeError
from bestarm.text import short_repr

# Squares and their sums over very many rounds stay finite, and above zero, for numbers in between.
LARGEST, SMALLEST = 1e150, 1e-150
LARGEST_STORED = 10**300  # whole numbers that are stored but never counted up to: seeds and budgets
LARGEST_COUNT = 2**62  # compiled code counts in 64 bits
MOST_ARMS = 10**7  # no memory holds a number for each pair of so many
MOST_IN_FLIGHT = 10_000  # rounds: all of them are in memory at once
LONGEST_TIMEOUT = 1e6  # seconds, 11 days: no system waits for much longer
FEWEST_BETWEEN = 1000  # numbers that floating point must tell apart between two bounds


def is_whole(value: object) -> bool:
    """Whether something is a whole number: no flag, and no time, which NumPy takes for one."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def is_real(value: object) -> bool:
    """Whether something is a number that a float can hold, and not a text or a flag."""
    if not is_whole(value) and not isinstance(value, float | np.float32):  # compiled code has no other
        return False
    return not isinstance(value, int) or abs(value) <= sys.float_info.max


def check_open_unit(name: str, value: float) -> None:
    """Refuse a probability outside the open interval (0, 1)."""
    if not (is_real(value) and 0.0 < value < 1.0):
        raise ParameterError(name, f"must lie strictly between 0 and 1, got {short_repr(value)}", value)


def check_share(name: str, value: float) -> None:
    """Refuse a share outside [0, 1)."""
    if not (is_real(value) and 0.0 <= value < 1.0):
        raise ParameterError(name, f"must be a number from 0 to below 1, got {short_repr(value)}", value)


def check_delta(delta: float) -> None:
    """Refuse a delta that is not between 0 and 1, with a hint if a comparison was given in its place."""
    if hasattr(delta, "evidence"):
        problem = f"must be a number, got {short_repr(delta)}: a comparison is given by name"
        raise ParameterError("delta", problem, delta)
    check_open_unit("delta", delta)


def check_positive(name: str, value: float) -> None:
    """Refuse what is not a finite number above zero."""
    if not (is_real(value) and math.isfinite(value) and value > 0):
        raise ParameterError(name, f"must be a finite number above 0, got {short_repr(value)}", value)


def check_timeout(name: str, seconds: float) -> None:
    """Refuse seconds that nobody can wait for."""
    check_positive(name, seconds)
    if float(seconds) > LONGEST_TIMEOUT:
        raise ParameterError(name, f"must be at most {LONGEST_TIMEOUT:,.0f} seconds, got {seconds!r}", seconds)


def check_at_least(name: str, value: float, least: float) -> None:
    """Refuse what is not a finite number of at least ``least``."""
    if not (is_real(value) and math.isfinite(value) and value >= least):
        raise ParameterError(name, f"must be a finite number of at least {least}, got {short_repr(value)}", value)


def check_difference(name: str, value: float) -> None:
    """Refuse what cannot be a difference of scores, or is too small or too large for floating point; 0 is one."""
    check_at_least(name, value, 0)
    if value and not SMALLEST <= float(value) <= LARGEST:
        raise ParameterError(name, f"must be 0, or a number from {SMALLEST:g} to {LARGEST:g}, got {value!r}", value)


def check_count(name: str, value: int, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """A whole number from ``least`` to ``most``, as an int; anything else is refused."""
    if not is_whole(value) or value < least:
        raise ParameterError(name, f"must be a whole number of at least {least}, got {short_repr(value)}", value)
    if value > most:
        limit = f"{most:,}" if most <= LARGEST_COUNT else f"{float(most):g}"
        raise ParameterError(name, f"must be a whole number of at most {limit}, got {short_repr(value)}", value)
    return int(value)


def check_seed(seed: int) -> int:
    """A seed, as an int."""
    return check_count("seed", seed, least=0, most=LARGEST_STORED)


def check_in_flight(value: int) -> int:
    """How many rounds may be in flight, as an int."""
    return check_count("rounds_in_flight", value, most=MOST_IN_FLIGHT)


def check_arm(arm: int, n_arms: int) -> int:
    """The number of an arm of a game, as an int."""
    return check_count("arm", arm, least=0, most=n_arms - 1)


def check_n_arms(n_arms: int) -> int:
    """The number of arms of a game, as an int: at least two, to be compared."""
    return check_count("n_arms", n_arms, least=2, most=MOST_ARMS)


def floats(name: str, values: ArrayLike, copy: bool = True) -> NDArray[np.float64]:
    """An array of floats of any shape; what cannot be one is refused by name."""
    try:
        return np.array(values, dtype=np.float64) if copy else np.asarray(values, dtype=np.float64)
    except OverflowError as error:
        raise ParameterError(name, f"must lie within ±{LARGEST:g}, got {short_repr(values)}", values) from error
    except (TypeError, ValueError) as error:
        kind = ParameterTypeError if isinstance(error, TypeError) else ParameterError
        raise kind(name, f"must be numbers, got {short_repr(values)}", values) from error


def finite_vector(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """A float64 vector of finite numbers, one per arm, of at least two arms."""
    vector = floats(name, values)
    if vector.ndim != 1:
        raise ParameterError(name, f"must be a vector with one entry per arm, got shape {vector.shape}", values)
    if vector.size < 2:
        raise ParameterError(name, f"must have at least two entries, one per arm, got {vector.size}", values)
    refuse_beyond(name, vector)
    return vector


def refuse_beyond(name: str, values: NDArray[np.float64]) -> None:
    """Refuse the first number that is not finite, or too large to be squared."""
    refuse_first(name, values, ~np.isfinite(values), "must be finite")
    refuse_first(name, values, np.abs(values) > LARGEST, f"must lie within ±{LARGEST:g}")


def refuse_first(name: str, values: NDArray[np.float64], bad: NDArray[np.bool_], rule: str) -> None:
    """Refuse the first entry marked as bad, naming its place and its value."""
    if bad.any():
        place = tuple(int(index) for index in np.argwhere(bad)[0])
        where = ", ".join(map(str, place))
        value = float(values[place])
        raise ParameterError(name, f"{rule}, got {name}[{where}] = {value!r}", value)


def whole_numbers(name: str, values: ArrayLike) -> NDArray[np.int64]:
    """A vector of whole numbers, at least one."""
    vector = np.array(values)
    if vector.ndim != 1 or vector.size == 0 or vector.dtype.kind not in "iu":
        raise ParameterError(name, f"must be a sequence of whole numbers, got {short_repr(values)}", values)
    return vector.astype(np.int64)


def check_arms(game: str, arms: NDArray[np.int64], n_arms: int) -> NDArray[np.int64]:
    """The arms that a game wants, refused if they are not different ones in increasing order."""
    vector = np.asarray(arms)
    whole = vector.ndim == 1 and vector.size > 0 and vector.dtype.kind in "iu"
    if not whole or vector[0] < 0 or vector[-1] >= n_arms or (np.diff(vector) <= 0).any():
        raise ValueError(
            f"{game}.next_arms() must return different arms from 0 to {n_arms - 1} in increasing order, got "
            f"{short_repr(arms)}"
        )
    return vector


def check_flag(name: str, value: bool) -> None:
    """Refuse what is neither True nor False: "no" would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterTypeError(name, f"must be True or False, got {short_repr(value)}", value)


def check_text(name: str, value: str) -> None:
    """Refuse what is not a text."""
    if not isinstance(value, str):
        raise ParameterTypeError(name, f"must be a text, got {short_repr(value)}", value)


def check_path(name: str, value: object) -> None:
    """Refuse what is not a path."""
    if not isinstance(value, str | os.PathLike):
        raise ParameterTypeError(name, f"must be a path, as text or as a Path, got {short_repr(value)}", value)


def check_mapping(name: str, value: object, of_what: str) -> None:
    """Refuse what is not a mapping."""
    if not isinstance(value, Mapping):
        raise ParameterTypeError(name, f"must be a mapping of {of_what}, got {short_repr(value)}", value)


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a word that is not among the choices."""
    if value not in choices:
        raise ParameterError(name, f"must be one of {', '.join(map(repr, choices))}, got {short_repr(value)}", value)


def finite_tuple(name: str, values: ArrayLike) -> tuple[float, ...]:
    """The numbers as a tuple of floats, so that settings can be hashed; at least one, all finite."""
    vector = floats(name, values)
    if vector.ndim != 1 or vector.size == 0:
        raise ParameterError(name, f"must be a sequence of at least one number, got shape {vector.shape}", values)
    refuse_beyond(name, vector)
    return tuple(vector.tolist())


def normalised_weights(weights: ArrayLike, size: int) -> tuple[float, ...]:
    """Weights above zero, of this number, scaled to sum to one."""
    vector = np.array(finite_tuple("weights", weights))
    if vector.size != size:
        raise ParameterError("weights", f"must have {size} entries, got {vector.size}", weights)
    refuse_first("weights", vector, vector <= 0, "must be above 0")
    total = float(vector.sum())
    scaled = vector if abs(total - 1.0) <= 1e-12 else vector / total  # once scaled they stay as they are
    refuse_first("weights", vector, scaled < SMALLEST, "must not differ so much that one of them vanishes")
    return tuple(scaled.tolist())


BOUNDS_SLACK = 1e-9  # of the range: a score that is no further out of its bounds counts as the bound


def rounding_of(bounds: tuple[float, float]) -> tuple[float, float]:
    """The bounds, each moved outwards by what may be rounding."""
    slack = BOUNDS_SLACK * (bounds[1] - bounds[0])
    return bounds[0] - slack, bounds[1] + slack


def check_bounds(bounds: Sequence[float]) -> tuple[float, float]:
    """Two finite numbers, the lower one first."""
    try:
        pair = tuple(bounds)
    except TypeError:
        pair = ()
    if (
        len(pair) != 2
        or not all(is_real(bound) and math.isfinite(bound) for bound in pair)
        or not float(pair[0]) < float(pair[1])
    ):
        raise ParameterError(
            "bounds", f"must be two finite numbers, the lower one first, got {short_repr(bounds)}", bounds
        )
    low, high = float(pair[0]), float(pair[1])
    size = max(abs(low), abs(high))
    if size > LARGEST:
        raise ParameterError(
            "bounds", f"must lie within ±{LARGEST:g}, got ({low:g}, {high:g}): give scores in another unit", bounds
        )
    if high - low < max(SMALLEST, FEWEST_BETWEEN * sys.float_info.epsilon * size):
        raise ParameterError(
            "bounds",
            f"are too close together for floating point, got ({low!r}, {high!r}): give scores in another unit, or "
            "subtract what they have in common",
            bounds,
        )
    return low, high
