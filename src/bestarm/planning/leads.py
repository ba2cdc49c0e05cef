"""Which leads would be found within a budget?"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bestarm.arms import TableArms
from bestarm.planning.outcome import FoundLead
from bestarm.planning.races import PlannedRace

RACES = 200  # for each lead, fewer where they are long
FEWEST_RACES = 20
WORK = 2_000_000  # evaluations for each lead
LARGEST = 4.0  # the first lead tried, in standard deviations of the difference
MOST_TRIED = 15
MOST_SHOWN = 6
Scores = NDArray[np.float64]
Bounds = tuple[float, float] | None


def found_leads(race: PlannedRace, scores: Scores, bounds: Bounds, budget: int, seed: int) -> tuple[FoundLead, ...]:
    """How likely a lead of the best arm over the next is found within a budget, from the largest to one hardly found.

    The pilot's best column is raised or lowered, so that its mean leads as wanted and all else, the noise included,
    stays as it is; scores that would leave the bounds are put on them.
    """
    if race.n_items is not None and budget >= race.n_items * scores.shape[1]:
        return ()  # all items can be scored
    best, races = int(np.argmax(scores.mean(axis=0))), int(np.clip(WORK // budget, FEWEST_RACES, RACES))
    leads: list[FoundLead] = []
    for lead in _leads_to_try(scores, bounds):
        games = race.play(TableArms(with_lead(scores, lead, bounds)), races, seed, budget)
        leads.append(FoundLead(lead, float(np.mean(games.answered & (games.winners == best)))))
        if leads[-1].found < 0.05:
            break
    surely = sum(lead.found > 0.99 for lead in leads)
    return tuple(leads[max(surely - 1, 0) :][:MOST_SHOWN])


def with_lead(scores: Scores, lead: float, bounds: Bounds) -> Scores:
    """The scores with the best column shifted until its mean leads the next by so much, within the bounds."""
    best, second = np.argsort(-scores.mean(axis=0), kind="stable")[:2]
    wanted = scores[:, second].mean() + lead
    low, high = wanted - scores[:, best].max(), wanted - scores[:, best].min()
    for _ in range(60):  # bisection: the mean of the shifted and clipped column increases with the shift
        middle = (low + high) / 2
        low, high = (middle, high) if _shifted(scores[:, best], middle, bounds).mean() < wanted else (low, middle)
    changed = scores.copy()
    changed[:, best] = _shifted(scores[:, best], high, bounds)
    return changed


def _shifted(column: Scores, shift: float, bounds: Bounds) -> Scores:
    return column + shift if bounds is None else np.clip(column + shift, *bounds)


def _leads_to_try(scores: Scores, bounds: Bounds) -> Iterator[float]:
    """Round numbers (1, 2 or 5 times a power of ten) in decreasing order, from the largest that makes sense."""
    best, second = np.argsort(-scores.mean(axis=0), kind="stable")[:2]
    largest = LARGEST * float(np.std(scores[:, best] - scores[:, second]))
    if bounds is not None:
        largest = min(largest, bounds[1] - float(scores[:, second].mean()))
    if largest <= 0:
        return
    top = int(np.floor(np.log10(largest)))
    numbers = [float(f"{digit}e{power}") for power in range(top, top - MOST_TRIED, -1) for digit in (5, 2, 1)]
    yield from [number for number in numbers if number <= largest][:MOST_TRIED]
