"""The parts of a result: leader, candidates, eliminations, disqualifications, failures, and the record of an arm."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, Literal

from bestarm.algorithms import Elimination, Reason
from bestarm.algorithms.game import Arm
from bestarm.record.record import Failure, Record
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
        return self._beaten.get(arm)

    def failure(self, arm: int) -> DisqualifiedArm | None:
        """How an arm was disqualified, if it was."""
        return self._failed.get(arm)

    @cached_property
    def _beaten(self) -> dict[int, Elimination[int]]:
        return {out.arm: out for out in self.eliminations}

    @cached_property
    def _failed(self) -> dict[int, DisqualifiedArm]:
        return {failure.arm: failure for failure in self.failures}

    @property
    def disqualifying(self) -> dict[int, dict[int, Failure]]:
        """By round and arm: the failures that disqualified somebody."""
        failures: dict[int, dict[int, Failure]] = {}
        for out in self.failures:
            failures.setdefault(out.round, {})[out.arm] = out.failure
        return failures

    def deciding_pairs(self, n_rounds: int) -> list[tuple[int, int, int]]:
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
    arm was evaluated on; ``behind`` is how far it is behind the leader on the items that both share, and ``won`` and
    ``lost`` count those of them on which it was better and worse than the leader.
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
    won: int = 0
    lost: int = 0


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


# --- evaluations that failed: how many, of which arms, and what followed ----------------------------------------------


@dataclass(frozen=True, eq=False)
class FailureCount(Generic[Arm]):
    """How often evaluations of an arm failed, in the rounds that are complete, and what followed.

    ``retried`` is the number of attempts that failed and were tried again, ``worst`` that of evaluations that count as
    the worst score (of a table: missing cells), ``timed_out`` that of runs of a program that count as the time-out,
    ``timeout`` seconds (None if there are none). ``disqualified`` is 1 if a failure took the arm out, else 0.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    arm: Arm
    retried: int = 0
    worst: int = 0
    timed_out: int = 0
    disqualified: int = 0
    timeout: float | None = None


@dataclass(frozen=True)
class Breakdown:
    """Every evaluation of a round failed and counts as the worst score, or more than half of all.

    ``n_failed`` of the ``n_evaluations`` in complete rounds failed, in ``n_rounds`` rounds all of them; ``failure`` is
    the first one. If these are more than half of all scores there is ``no_answer``: it would be about the failures, not
    the arms. Runs that reached their time-out count as failures only if there is nothing else.
    """

    n_failed: int
    n_evaluations: int
    n_rounds: int
    failure: str

    @property
    def no_answer(self) -> bool:
        """Whether more than half of all evaluations failed."""
        return 2 * self.n_failed > self.n_evaluations


def failure_counts(
    arms: Sequence[Arm], record: Record, disqualifying: Sequence[DisqualifiedArm]
) -> tuple[FailureCount[Arm], ...]:
    """The arms with failures, in their order. A disqualification may have ended the race before its round."""
    counts = {out.arm: FailureCount(arms[out.arm], disqualified=1) for out in disqualifying}
    later = [(out.round, out.arm, None, out.failure) for out in disqualifying if out.round > record.n_rounds]
    for _, arm, score, failure in [*record.failed_rows(), *later]:
        if failure is None or not (failure.retried or failure.counted):  # it disqualified the arm, or came later
            continue
        before = counts.get(arm) or FailureCount(arms[arm])
        timed_out = failure.counted == "time-out"
        counts[arm] = replace(
            before,
            retried=before.retried + failure.retried,
            worst=before.worst + (failure.counted == "worst"),
            timed_out=before.timed_out + timed_out,
            timeout=score if timed_out else before.timeout,
        )
    return tuple(counts[arm] for arm in sorted(counts))


def breakdown_of(record: Record) -> Breakdown | None:
    """The failures of a race, if they are too many."""
    every = [(number, failure) for number, _, _, failure in record.failed_rows() if failure and failure.counted]
    n_evaluations = record.n_asked(record.n_rounds)
    only_slow = len(every) == n_evaluations and all(failure.counted == "time-out" for _, failure in every)
    failed = every if only_slow else [(number, failure) for number, failure in every if failure.counted == "worst"]
    by_round = Counter(number for number, _ in failed)
    n_rounds = sum(n_failed == len(record.arms(number)) for number, n_failed in by_round.items())
    if n_rounds == 0 and 2 * len(failed) <= n_evaluations:
        return None
    return Breakdown(len(failed), n_evaluations, n_rounds, failed[0][1].text)
