"""What a game says: who was beaten, intervals for differences, and what is guaranteed."""

import math
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Arm = TypeVar("Arm")


@dataclass(frozen=True)
class Elimination(Generic[Arm]):
    """An arm that was beaten: in which round, by whom, and by how much its boundary was exceeded.

    Arms are numbers in a game and labels in the result of a race. Where a convex combination of arms beat it,
    ``weights`` holds those above zero by arm, and ``by`` is the heaviest.
    """

    arm: Arm
    round: int
    by: Arm
    margin: float
    weights: dict[Arm, float] | None = None


@dataclass(frozen=True)
class Intervals:
    """Simultaneous confidence intervals: entry ``[i, j]`` is for ``mu_j - mu_i``."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Guarantee(NamedTuple):
    """What a game promises: with probability at least ``1 - delta`` the best arm stays, if the assumption holds.

    ``delta`` is NaN where nothing is promised. ``epsilon`` is how far behind the best the answer may be; with an
    ``indifference_zone`` all holds only if the best leads by as much; with a ``pool`` the best is the arm with the
    largest mean over its so many items.
    """

    delta: float
    assumption: str
    epsilon: float = 0.0
    indifference_zone: float = 0.0
    pool: int | None = None


NO_GUARANTEE = Guarantee(math.nan, "Its algorithm states no guarantee.")
