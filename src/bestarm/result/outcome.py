"""The parts of a result: leader, candidates, eliminations and disqualifications, and what is known about each arm."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal

from bestarm.algorithms import Elimination, Reason
from bestarm.algorithms.game import Arm
from bestarm.record.record import Failure
from bestarm.record.replay import DisqualifiedArm
from bestarm.text import is_hashable, label_text
from bestarm.values import equal_values, hash_of_values

Status = Literal["best", "within epsilon", "tied", "leader", "candidate", "out", "disqualified"]


@dataclass(frozen=True)
class RaceOutcome:
    """How a race stands, by the numbers of its arms."""

    leader: int | None
    candidates: tuple[int, ...]  # the leader first, then by their means
    eliminations: tuple[Elimination[int], ...]
    failures: tuple[DisqualifiedArm, ...]  # those that disqualified an arm
    contradiction: Elimination[int] | None

    def elimination(self, arm: int) -> Elimination[int] | None:
        """How an arm was beaten, if it was."""
        return next((out for out in self.eliminations if out.arm == arm), None)

    def failure(self, arm: int) -> DisqualifiedArm | None:
        """How an arm was disqualified, if it was."""
        return next((failure for failure in self.failures if failure.arm == arm), None)

    @property
    def disqualifying(self) -> dict[int, dict[int, Failure]]:
        """By round and arm: the failures that disqualified somebody."""
        failures: dict[int, dict[int, Failure]] = {}
        for out in self.failures:
            failures.setdefault(out.round, {})[out.arm] = out.failure
        return failures

    def compared(self, n_rounds: int) -> list[tuple[int, int, int]]:
        """The pairs that decided something: who left, against whom, in which round; at the end the closest rival."""
        pairs = [(out.arm, out.by, out.round) for out in self.eliminations]
        if self.leader is not None and len(self.candidates) > 1:
            pairs.append((self.candidates[1], self.leader, n_rounds))
        return pairs

    def status(self, arm: int, reason: Reason, answered: bool) -> Status:
        """What an arm is in a race that ended for this reason: gone, a candidate, or the answer."""
        if arm not in self.candidates:
            return "disqualified" if self.failure(arm) and not self.elimination(arm) else "out"
        if not answered:
            return "leader" if arm == self.leader else "candidate"
        if reason is Reason.ALL_ITEMS_USED and len(self.candidates) > 1:
            return "tied"
        if arm != self.leader:
            return "candidate"
        if reason is Reason.WITHIN_EPSILON:
            return "within epsilon"
        return "best"


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


@dataclass(frozen=True, eq=False)
class Disqualification(Generic[Arm]):
    """An arm that could not be evaluated: in which round, why, and whom it had eliminated before."""

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    round: int
    failure: str
    had_eliminated: tuple[Arm, ...]


def disqualifications_of(arms: Sequence[Arm], outcome: RaceOutcome) -> tuple[Disqualification[Arm], ...]:
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


def with_labels(arms: tuple[Arm, ...], out: Elimination[int]) -> Elimination[Arm]:
    """An elimination with the labels of the arms in place of their numbers."""
    if out.weights is None:
        return Elimination(arms[out.arm], out.round, arms[out.by], out.margin)
    key: list[Any] = [label if is_hashable(label) else label_text(label) for label in arms]
    if len(set(key)) < len(key):  # 1, 1.0 and True are one key
        key = [label_text(label) for label in arms]
    weights = {key[arm]: weight for arm, weight in out.weights.items()}
    return Elimination(arms[out.arm], out.round, arms[out.by], out.margin, weights)
