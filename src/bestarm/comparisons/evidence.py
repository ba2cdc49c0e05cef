"""What a comparison is, and the evidence that it brings to a game."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np

from bestarm.checks import check_bounds, check_count, check_difference
from bestarm.kernels.state import Board, new_board
from bestarm.text import short_repr
from bestarm.values import Array, shortest_call

Role = Literal["pairs", "combinations"]
Criterion = Literal["mean", "wins"]


class Goal(NamedTuple):
    """What an algorithm wants of the evidence, in units of rewards; see `PairwiseBAI` and `ConvexBAI`."""

    delta: float
    keep: float = 1.0
    epsilon: float = 0.0
    indifference_zone: float = 0.0
    check_growth: float = 1.0


class Comparison(Protocol):
    """Settings of a comparison: who beats whom. Frozen and hashable, so that what it computes can be shared."""

    @property
    def role(self) -> Role:
        """What is compared with an arm: other arms one by one, or convex combinations of them."""
        ...

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval that rewards must lie in, if the comparison needs one."""
        ...

    @property
    def pool(self) -> int | None:
        """The number of items, where the target is the mean over a finite pool in random order."""
        ...

    @property
    def supports_epsilon(self) -> bool:
        """Whether it can show that the leader is within epsilon of the others."""
        ...

    @property
    def assumption(self) -> str:
        """What the guarantee rests on: it completes the sentence "This assumes that ..." for readers of a result."""
        ...

    def adapted(self, bounds: tuple[float, float] | None, pool: int | None) -> "Comparison":
        """Take over what a race knows: the bounds of its scores, and the number of its items where they are a pool.

        Either is None where there is none. What was set on the comparison itself stays as it is, and a
        comparison that has no use for bounds or a pool ignores them.
        """
        ...

    def __hash__(self) -> int: ...

    def evidence(self, n_arms: int, goal: Goal) -> "Evidence":
        """The evidence of a new game."""
        ...


class Evidence(ABC):
    """What a game has learned about its arms, on a board. A subclass defines how rounds are played."""

    no_disqualification: ClassVar[str | None] = None  # why an arm cannot be taken out, where it cannot

    keeps_pairs: ClassVar[bool] = True  # whether the board keeps squares of differences, and leads of those that left

    criterion: Criterion = "mean"  # what the best arm has most of: the unit of leads, epsilon and zone

    def __init__(self, n_arms: int) -> None:
        self.board: Board = new_board(n_arms, self.keeps_pairs)

    @abstractmethod
    def play(self, rows: Array) -> int:
        """Play rounds from whole rows until the end; the number of rows used."""

    def leader(self, candidates: Sequence[int]) -> int | None:
        """Which of the candidates leads; None where it is the one with the largest mean."""
        return None

    def lead(self, a: int, b: int) -> float | None:
        """The mean of arm a minus that of arm b over the rounds that the two shared.

        None where no statistics of differences are kept.
        """
        return None

    def lead_bound(self, a: int, b: int, simultaneous: bool) -> float | None:
        """A lower confidence bound for ``mu_a - mu_b`` from the rounds that the two shared.

        At the level of one test of the eliminations, or ``simultaneous`` with those of all pairs and both sides. None
        where no statistics of differences are kept.
        """
        return None

    def smallest_lead_bound(self, a: int, others: Sequence[int]) -> float | None:
        """A lower bound for the lead of arm a over the best arm, if that is one of the others: a regret bound, negated.

        It holds at all times, whichever arm a is, together with the eliminations. Here the smallest of the bounds for
        leads over the others, each at the level of one test.
        """
        bounds = [self.lead_bound(a, b, simultaneous=False) for b in others]
        known = [bound for bound in bounds if bound is not None]
        return min(known, default=np.inf) if len(known) == len(bounds) else None

    @abstractmethod
    def shares(self) -> Array:
        """By arm: the evidence that a candidate is not the best, as a share of what puts it out: `Game.evidence`."""

    def weights(self, arm: int) -> dict[int, float] | None:
        """The weights of the combination that beat an arm, where combinations are compared."""
        return None

    def diagnostics(self) -> dict[str, int]:
        """What the evidence counts besides queries."""
        return {}

    def note_withdrawn(self) -> None:  # noqa: B027 - an empty default
        """Hear that arms were withdrawn between two rounds: where some bets are on them, others must be chosen."""

    def discard_evidence(self, arm: int) -> None:  # noqa: B027 - an empty default
        """Drop the evidence that others are worse than this arm, which was disqualified in the round now asked.

        Nothing to drop where every test stands for itself: arms that are not queried beat nobody.
        """

    def rest(self) -> None:  # noqa: B027 - an empty default
        """Give back the memory that only further rounds would need: none is played from here on."""


def shared_rounds(board: Board, a: int, b: int) -> int:
    """The number of rounds in which both arms were queried."""
    return int(min(board.last_round[a], board.last_round[b], board.n_rounds))


# --- what comparisons assume ------------------------------------------------------------------------------------------

UNIT = (0.0, 1.0)  # the bounds of a comparison that was told no others
GAUSSIAN = (
    "the items are independent of each other and the differences between scores are nearly Gaussian (strongly "
    "skewed or discrete scores weaken the guarantee)"
)
SYMMETRIC = (
    "the items are independent of each other and the differences between scores are symmetric about their means: good "
    "luck and bad luck of the same size are equally likely (skewed differences void the guarantee)"
)


def bounded(bounds: tuple[float, float], pool: int | None = None) -> str:
    """The assumption of a test that needs bounds and nothing else."""
    return f"all scores lie in [{bounds[0]:g}, {bounds[1]:g}] and {items_assumption(pool)}"


def items_assumption(pool: int | None, items: str = "the items") -> str:
    """What every test of rounds assumes of the items, or of what else the rounds of a race are."""
    return f"{items} {'come in random order' if pool else 'are independent of each other'}"


@dataclass(frozen=True, repr=False)
class BoundedComparison:
    """What comparisons of bounded rewards share. In a race bounds and pool come from the race, unless they are set."""

    bounds: tuple[float, float] = UNIT
    _: KW_ONLY
    pool: int | None = None

    supports_epsilon: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", check_bounds(self.bounds))
        if self.pool is not None:
            check_count("pool", self.pool, least=2)

    __repr__ = shortest_call

    def adapted(self, bounds: tuple[float, float] | None, pool: int | None) -> Self:
        """The comparison with the bounds and the pool of a race; what was set here stays."""
        own = self.bounds if bounds is None or self.bounds != UNIT else bounds
        return replace(self, bounds=own, pool=self.pool or pool)

    @property
    def assumption(self) -> str:
        """What the guarantee rests on."""
        return bounded(self.bounds, self.pool)


# --- checks -----------------------------------------------------------------------------------------------------------


def check_role(algorithm: str, role: Role, comparison: Comparison) -> None:
    """Refuse a comparison that says nothing about what the algorithm asks."""
    own = getattr(comparison, "role", None)
    if own not in _WHAT or isinstance(comparison, type):
        raise TypeError(f"{algorithm} needs a comparison such as {_SUCH_AS[role]}, got {short_repr(comparison)}")
    if own == role:
        return
    other = "ConvexBAI" if own == "combinations" else "PairwiseBAI"
    raise ValueError(
        f"{algorithm} compares an arm with {_WHAT[role]}, but {comparison!r} is a test of {_WHAT[own]}: "
        f"use it with {other}"
    )


def require_comparison(comparison: Comparison) -> None:
    """Refuse what is not a comparison, or is the class of one."""
    if getattr(comparison, "role", None) not in _WHAT or isinstance(comparison, type):
        raise TypeError(
            f"comparison must be a comparison such as {_SUCH_AS['pairs']} (with brackets), got {short_repr(comparison)}"
        )


def check_adapts(comparison: Comparison) -> None:
    """Refuse a comparison of a user's own that a race cannot tell anything."""
    if not hasattr(comparison, "adapted"):
        name = type(comparison).__name__
        raise TypeError(f"{name} needs a method adapted(bounds, pool) to be raced with, as PairBoundary has one")


def check_epsilon(epsilon: float, comparison: Comparison) -> None:
    """Refuse a tolerance that is below 0, or that the comparison cannot show."""
    check_difference("epsilon", epsilon)
    if epsilon > 0 and not comparison.supports_epsilon:
        raise ValueError(
            f"epsilon needs a comparison that supports it, got epsilon={epsilon!r} with {short_repr(comparison)}"
        )


def check_zone(zone: float, comparison: Comparison) -> None:
    """Refuse an indifference zone that is below 0, or for which the comparison has no proof.

    A zone moves the boundary, as epsilon does: unless a comparison says otherwise in ``supports_zone``, it has the
    proof for both or for none.
    """
    check_difference("indifference_zone", zone)
    if zone > 0 and not getattr(comparison, "supports_zone", comparison.supports_epsilon):
        raise ValueError(
            "indifference_zone needs a comparison that supports epsilon, got "
            f"indifference_zone={zone!r} with {short_repr(comparison)}"
        )


_WHAT: dict[Role, str] = {"pairs": "single arms", "combinations": "combinations of arms"}
_SUCH_AS: dict[Role, str] = {
    "pairs": "bestarm.comparisons.StudentMixture()",
    "combinations": "bestarm.comparisons.Portfolio()",
}
