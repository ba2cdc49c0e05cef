"""How a race stands: as a whole (arms by number), and for each arm (by label)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal

from bestarm.algorithms import Elimination, Reason
from bestarm.algorithms.statements import Arm
from bestarm.racing.replay import Failure
from bestarm.values import equal_values, hash_of_values

Status = Literal["best", "within epsilon", "tied", "leader", "candidate", "out", "disqualified"]


TIE = 1e-12  # means over a whole pool that differ by no more are equal up to rounding


@dataclass(frozen=True)
class Outcome:
    """How a race stands, by the numbers of its arms."""

    leader: int | None
    candidates: tuple[int, ...]  # the leader first, then by their means
    eliminations: tuple[Elimination[int], ...]
    failures: tuple[Failure, ...]  # those that disqualified an arm
    contradiction: Elimination[int] | None

    def elimination(self, arm: int) -> Elimination[int] | None:
        """How an arm was beaten, if it was."""
        return next((out for out in self.eliminations if out.arm == arm), None)

    def failure(self, arm: int) -> Failure | None:
        """How an arm was disqualified, if it was."""
        return next((failure for failure in self.failures if failure.arm == arm), None)

    def status(self, arm: int, reason: Reason) -> Status:
        """What an arm is in a race that ended for this reason: gone, a candidate, or the answer."""
        if arm not in self.candidates:
            return "disqualified" if self.failure(arm) and not self.elimination(arm) else "out"
        if reason is Reason.ALL_ITEMS_USED and len(self.candidates) > 1:
            return "tied"
        if arm != self.leader:
            return "candidate"
        if reason is Reason.WITHIN_EPSILON:
            return "within epsilon"
        return "best" if reason.answers else "leader"


@dataclass(frozen=True, eq=False)
class Disqualification(Generic[Arm]):
    """An arm that could not be evaluated: in which round, why, and whom it had eliminated before."""

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    round: int
    failure: str
    had_eliminated: tuple[Arm, ...]


def disqualifications(arms: Sequence[Arm], outcome: Outcome) -> tuple[Disqualification[Arm], ...]:
    """Who could not be evaluated, and why, by label."""
    return tuple(
        Disqualification(
            arms[failure.arm],
            failure.round,
            failure.text,
            tuple(arms[out.arm] for out in outcome.eliminations if out.by == failure.arm),
        )
        for failure in outcome.failures
    )


@dataclass(frozen=True, eq=False)
class ArmRecord(Generic[Arm]):
    """What a race knows about one arm.

    ``status`` is ``"best"`` (or ``"within epsilon"``, ``"tied"``) for the answer, ``"leader"`` and ``"candidate"``
    while there is none, ``"out"`` or ``"disqualified"`` for arms that left. ``mean`` is over the ``n_items`` that the
    arm was evaluated on; ``behind`` is how far it is behind the leader on the items that both share.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    status: Status
    mean: float
    n_items: int
    behind: float
    left_in_round: int | None
    beaten_by: Arm | None
    margin: float | None
    failure: str | None
