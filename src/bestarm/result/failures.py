"""Evaluations that failed: how many, of which arms, and what followed."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

from bestarm.algorithms.game import Arm
from bestarm.record.record import Record
from bestarm.record.replay import DisqualifiedArm
from bestarm.values import equal_values, hash_of_values


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
