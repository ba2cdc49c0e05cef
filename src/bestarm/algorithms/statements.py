"""What a game says: why it ended, who was beaten, who leads by how much, and what is guaranteed."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bestarm.comparisons.evidence import Criterion
from bestarm.values import equal_values, hash_of_values

Arm = TypeVar("Arm")


class Reason(StrEnum):
    """Why a game or a race has ended, or that it has not. The first three are answers."""

    DECIDED = "decided"  # one candidate is left
    WITHIN_EPSILON = "within epsilon"  # the leader is shown to be within epsilon of the best
    ALL_ITEMS_USED = "all items used"  # every item of the pool was used: the means over it are known
    BUDGET = "budget"  # the next round would exceed the budget
    RAN_OUT_OF_ITEMS = "ran out of items"  # the stream of items ended
    INTERRUPTED = "interrupted"  # by Ctrl-C, or by a signal that is taken for it
    OUTAGE = "outage"  # no candidate could be evaluated in a round
    RUNNING = "running"  # not ended yet

    @property
    def answers(self) -> bool:
        """Whether a race that ended for this reason has its answer."""
        return self in (Reason.DECIDED, Reason.WITHIN_EPSILON, Reason.ALL_ITEMS_USED)


class Lead(NamedTuple):
    """By how much one arm is ahead of another: as seen on the items that both share, and a confidence interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Elimination(Generic[Arm]):
    """An arm that was beaten: in which round, by whom, and by how much its boundary was exceeded.

    Arms are numbers in a game and labels in the result of a race. Where a convex combination of arms beat it,
    ``weights`` holds those above zero by arm, and ``by`` is the heaviest.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    round: int
    by: Arm
    margin: float
    weights: dict[Arm, float] | None = None


@dataclass(frozen=True, eq=False)
class Intervals:
    """Simultaneous confidence intervals: entry ``[a, b]`` is for ``mu_a - mu_b``, the lead of arm a over arm b."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    __eq__ = equal_values
    __hash__ = None  # type: ignore[assignment]


class Guarantee(NamedTuple):
    """What a game promises: with probability at least ``1 - delta`` the best arm stays, if the assumption holds.

    ``assumption`` completes the sentence "This assumes that ..."; ``delta`` is NaN where nothing is promised.
    ``epsilon`` is how far behind the best the answer may be; with an ``indifference_zone`` all holds only if the best
    leads by that much; with a ``pool`` the best is the arm with the largest mean over its items. With the ``criterion``
    "wins" the best is the arm that beats every other more often than it loses to it, and leads, epsilon and zone are
    shares of items: on which an arm is better minus on which it is worse. ``nearly_gaussian`` says that the assumption
    is about the shape of the differences, which can be looked at.
    """

    delta: float
    assumption: str
    epsilon: float = 0.0
    indifference_zone: float = 0.0
    pool: int | None = None
    criterion: Criterion = "mean"
    nearly_gaussian: bool = False


NO_GUARANTEE = Guarantee(math.nan, "")
