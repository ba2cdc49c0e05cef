"""Evaluations that failed: how many, of which arms, what followed, and in words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from bestarm.algorithms.game import Arm
from bestarm.record.record import Record
from bestarm.record.replay import DisqualifiedArm
from bestarm.text import counted, listed, name_of, names, short
from bestarm.values import equal_values, hash_of_values

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult


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
    arms: Sequence[Arm], record: Record, disqualifying: Sequence[DisqualifiedArm]
) -> tuple[FailureCount[Arm], ...]:
    """The arms with failures, in their order. A disqualification may have ended the race before its round."""
    counts: dict[int, FailureCount[Arm]] = {
        out.arm: FailureCount(arms[out.arm], disqualified=1) for out in disqualifying
    }
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


def breakdown_of(record: Record) -> Breakdown | None:
    """The failures of a race, if they are too many."""
    every = [(number, failure) for number, _, _, failure in record.failed_rows() if failure and failure.counted]
    if not every:
        return None
    n_evaluations = record.n_asked(record.n_rounds)
    only_slow = len(every) == n_evaluations and all(failure.counted == "time-out" for _, failure in every)
    failed = every if only_slow else [(number, failure) for number, failure in every if failure.counted == "worst"]
    by_round = Counter(number for number, _ in failed)
    n_rounds = sum(n_failed == len(record.arms(number)) for number, n_failed in by_round.items())
    if n_rounds == 0 and 2 * len(failed) <= n_evaluations:
        return None
    return Breakdown(len(failed), n_evaluations, n_rounds, failed[0][1].text)


def whose_best(result: "RaceResult[Any]") -> str:
    """Of which arms the answer is the best, as it follows "the best": nothing where it is the best of all."""
    return " of those that could be evaluated" if result.disqualified else ""


def or_disqualified(gone: tuple[Any, ...]) -> str:
    """What else may be true where arms were disqualified, as it goes on after an answer."""
    return f", or the best of all is {names(gone, 'or')}, which could not be evaluated" if gone else ""


def disqualifications(result: "RaceResult[Any]") -> list[str]:
    """Who could not be evaluated, why, and what that leaves open."""
    said = []
    for failed in result.disqualified:
        why = short(" ".join(failed.failure.split()))
        text = f"{name_of(failed.arm)} was disqualified in round {failed.round:,} ({why})"
        text += ": nothing is known about how good it is"
        if failed.had_eliminated:
            text += (
                f". It had eliminated {names(failed.had_eliminated)}, which may be better than {name_of(result.leader)}"
            )
        said.append(f"{text}.")
    return said


def why_no_answer(result: "RaceResult[Any]") -> str | None:
    """Failures that leave no answer, as they follow "No answer:"; None where it is for another reason."""
    if result.outage is not None:
        return f"no candidate could be evaluated in round {result.outage.round:,} ({short(result.outage.failure)})"
    if result.breakdown is not None and result.breakdown.no_answer:
        return f"{_too_many(result.breakdown)}, and all that is known is about failures"
    return None


def breakdown(result: "RaceResult[Any]") -> list[str]:
    """Failures that come first because they are so many, where there may be an answer all the same."""
    found = result.breakdown
    if found is None or found.no_answer:
        return []
    said = _too_many(found)
    return [f"{said[0].upper()}{said[1:]}."]


def _too_many(found: "Breakdown") -> str:
    first = f"failed (the first: {short(found.failure)})"
    if 2 * found.n_failed > found.n_evaluations:
        return f"{found.n_failed:,} of {counted(found.n_evaluations, 'evaluation')} {first}"
    return f"all evaluations of {counted(found.n_rounds, 'round')} {first}"


def outage(result: "RaceResult[Any]") -> list[str]:
    """What follows from a round in which no candidate could be evaluated."""
    if result.outage is None:
        return []
    return [
        "Nobody was disqualified for that: the round is evaluated again when the race is continued. If no arm can ever "
        "be evaluated on its item, begin another race with on_error='worst', or without the item."
    ]


def timeouts(result: "RaceResult[Any]") -> list[str]:
    """Whose runs reached the time-out."""
    slow = [count for count in result.failures if count.timed_out]
    if not slow:
        return []
    runs = listed([f"{counted(count.timed_out, 'run')} of {name_of(count.arm)}" for count in slow])
    alone = sum(count.timed_out for count in slow) == 1
    limit = f"the time-out of {slow[0].timeout:g} seconds"
    return [f"{runs} reached {limit} and {'counts' if alone else 'count'} as that."]


def failures(result: "RaceResult[Any]") -> list[str]:
    """How many evaluations failed, and what followed; time-outs are part of the verdict."""
    failed = [count for count in result.failures if count.retried or count.worst or count.disqualified]
    total = sum(count.retried + count.worst + count.disqualified for count in failed)
    said = [f"{name_of(count.arm)} ({_what_followed(count)})" for count in failed]
    return [f"{counted(total, 'evaluation')} failed: {listed(said)}."] if failed else []


def _what_followed(count: "FailureCount[Any]") -> str:
    said = [f"{count.retried:,} retried"] if count.retried else []
    said += [f"{count.worst:,} counted as worst"] if count.worst else []
    return ", ".join([*said, *(["disqualified"] if count.disqualified else [])])
