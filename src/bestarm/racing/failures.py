"""How many evaluations failed, by arm, and what followed: read off the record, so it survives any store."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic

from bestarm.algorithms.statements import Arm
from bestarm.errors import EvaluationError
from bestarm.inputs.failures import Note, note_of
from bestarm.racing.record import Record
from bestarm.racing.replay import Failure
from bestarm.racing.settings import RaceSettings
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


def failure_counts(
    arms: Sequence[Arm], record: Record, disqualifying: Sequence[Failure]
) -> tuple[FailureCount[Arm], ...]:
    """The arms with failures, in their order. A disqualification may have ended the race before its round."""
    gone = {failure.arm for failure in disqualifying}
    counts: dict[int, FailureCount[Arm]] = {arm: FailureCount(arms[arm], disqualified=1) for arm in gone}
    later = [failure for failure in disqualifying if failure.round > record.n_rounds]
    noted = [*_noted(record), *((failure.arm, note_of(failure.text, scored=False), None) for failure in later)]
    for arm, note, score in noted:
        if not (note.retried or note.counted):  # it disqualified the arm, or came when the arm was out
            continue
        before = counts.get(arm) or FailureCount(arms[arm])
        timed_out = note.counted == "time-out"
        counts[arm] = replace(
            before,
            retried=before.retried + note.retried,
            worst=before.worst + (note.counted == "worst"),
            timed_out=before.timed_out + timed_out,
            timeout=score if timed_out else before.timeout,
        )
    return tuple(counts[arm] for arm in sorted(counts))


def _noted(record: Record) -> Iterator[tuple[int, Note, float | None]]:
    """All failures of a record: the arm, what followed, and the score, if there is one."""
    for number, failures in record.failures.items():
        without = record.disqualifying(number)
        scores = dict(zip(record.arms(number), record.scores(number).tolist(), strict=True))
        for arm, text in failures.items():
            scored = arm not in without
            yield arm, note_of(text, scored), scores[arm] if scored else None


def row_of_failure(
    failure: EvaluationError, settings: RaceSettings, bounds: tuple[float, float] | None
) -> tuple[float | None, str]:
    """The score that a failure counts as, None for a disqualification, and the text to keep."""
    if settings.on_error == "worst" and bounds is not None:
        worst = bounds[1] if settings.lower_is_better else bounds[0]
        return worst, Note(str(failure), failure.retried, "worst").stored
    return None, Note(str(failure), failure.retried).stored
