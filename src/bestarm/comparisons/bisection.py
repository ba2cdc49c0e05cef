"""The last place at which a falling function is not below zero, by a bisection that mostly knows what it would find."""

import math
from collections.abc import Callable

MARGIN = 1e-8  # of a logarithm of wealth: beyond what the rounding of millions of rounds makes of it
STEPS = 25  # of the search for a root; a function with jumps may take more, and is bisected
HUGE = 1e9


def last_not_below(
    exact: Callable[[float], float], quick: Callable[[float], float], low: float, high: float, width: float
) -> float:
    """The result of bisecting ``exact(x) >= 0`` between low and high down to the width, to the last bit.

    ``quick`` is the same function up to a small part of the margin. Both fall, so one value beyond the margin decides
    for all places on its side; the exact function is asked only where no quick value does.
    """
    around = _bracket(quick, low, high, width)

    def not_below(x: float) -> bool:
        if x <= around[0]:
            return True
        if x >= around[1]:
            return False
        value = quick(x)
        return value > 0.0 if abs(value) > MARGIN else exact(x) >= 0.0

    if not not_below(low):
        return low
    while high - low > width:
        middle = (low + high) / 2.0
        if not_below(middle):
            low = middle
        else:
            high = middle
    return low


def _bracket(quick: Callable[[float], float], low: float, high: float, width: float) -> tuple[float, float]:
    """Two places, close together where a root is found, at which the function is above and below zero beyond doubt."""
    from scipy.optimize import brentq

    if not quick(low) > MARGIN:
        return -math.inf, high if quick(high) < -MARGIN else math.inf
    if not quick(high) < -MARGIN:
        return low, math.inf

    def finite(x: float) -> float:
        return min(max(quick(x), -HUGE), HUGE)

    root = brentq(finite, low, high, xtol=width, maxiter=STEPS, disp=False)
    below, above = low, high
    for near in (4 * width, 256 * width):
        if below == low and low < root - near and quick(root - near) > MARGIN:
            below = root - near
        if above == high and root + near < high and quick(root + near) < -MARGIN:
            above = root + near
    return below, above
