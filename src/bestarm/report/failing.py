"""Evaluations that failed, and arms that could not be evaluated, in words."""

from typing import TYPE_CHECKING, Any

from bestarm.inputs.texts import counted, listed, name_of, names, short

if TYPE_CHECKING:
    from bestarm.racing.breakdown import Breakdown
    from bestarm.racing.failures import FailureCount
    from bestarm.racing.result import RaceResult


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
