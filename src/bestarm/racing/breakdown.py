"""Failures that are too many to be about single arms: most likely nothing works."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from bestarm.algorithms.data_kind import warn_of_assumption
from bestarm.inputs.failures import Counted, note_of
from bestarm.inputs.texts import short
from bestarm.racing.record import Record


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


class _StandIn(NamedTuple):
    """A score that stands for a failure: in which round, why, and as what it counts."""

    round: int
    text: str
    counted: Counted


def breakdown_of(record: Record) -> Breakdown | None:
    """The failures of a race, if they are too many."""
    if not record.failures:
        return None
    every, n_evaluations = _stand_ins(record), record.n_asked(record.n_rounds)
    only_slow = len(every) == n_evaluations and all(one.counted == "time-out" for one in every)
    failed = every if only_slow else [one for one in every if one.counted == "worst"]
    by_round = Counter(one.round for one in failed)
    n_rounds = sum(n_failed == len(record.arms(number)) for number, n_failed in by_round.items())
    if n_rounds == 0 and 2 * len(failed) <= n_evaluations:
        return None
    return Breakdown(len(failed), n_evaluations, n_rounds, failed[0].text)


def warn_if_all_failed(record: Record) -> None:
    """Warn when every evaluation of the first round failed: most likely there is a mistake in the user's function."""
    failed = _stand_ins(record.first_rounds(1)) if 1 in record.failures else []
    if failed and len(failed) == len(record.arms(1)):
        first = f"every evaluation of the first round failed (the first: {short(failed[0].text)})"
        warn_of_assumption(f"{first}: the race goes on with the worst scores, so stop it if nothing works")


def _stand_ins(record: Record) -> list[_StandIn]:
    """The scores that stand for failures, in the order of rounds and arms."""
    found = []
    for number, failures in sorted(record.failures.items()):
        without = record.disqualifying(number)
        for arm, text in sorted(failures.items()):
            note = note_of(text, scored=arm not in without)
            if note.counted:
                found.append(_StandIn(number, note.text, note.counted))
    return found
