"""The last place at which a falling function is not below zero, by a bisection that mostly knows what it would find."""

from collections.abc import Callable

MARGIN = 1e-8  # of a logarithm of wealth: beyond what the rounding of millions of rounds makes of it
STEPS = 40


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
    """Two places, close together, at which the function is above and below zero beyond doubt; infinite if there is none.

    By secants, with the weight of an end that stays halved (the Illinois rule).
    """
    above, below = quick(low), quick(high)
    if not (above > MARGIN and below < -MARGIN):
        return (low if above > MARGIN else -float("inf")), (high if below < -MARGIN else float("inf"))
    for _ in range(STEPS):
        share = above / (above - below) if above < float("inf") and below > -float("inf") else 0.5
        x = low + (high - low) * min(max(share, 1e-3), 1.0 - 1e-3)
        value = quick(x)
        if abs(value) <= MARGIN or high - low <= width:
            return _close(quick, x, low, high, width)
        if value > 0.0:
            low, above, below = x, value, below / 2.0
        else:
            high, below, above = x, value, above / 2.0
    return low, high


def _close(quick: Callable[[float], float], root: float, low: float, high: float, width: float) -> tuple[float, float]:
    """Places close to a root that was found, one on each side, if there they are beyond doubt."""
    for near in (2 * width, 100 * width):
        if low < root - near and quick(root - near) > MARGIN:
            low = root - near
            break
    for near in (2 * width, 100 * width):
        if root + near < high and quick(root + near) < -MARGIN:
            high = root + near
            break
    return low, high
