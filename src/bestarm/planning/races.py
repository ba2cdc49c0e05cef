"""Simulated races on items like those of a pilot."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm
from bestarm.arms import Arms
from bestarm.errors import AssumptionWarning
from bestarm.simulation import Simulation, simulate

LONGEST = 100_000  # evaluations after which a race counts as never ending


@dataclass(frozen=True)
class PlannedRace:
    """The race that is planned.

    A list of items drawn from the law of the pilot, taken in random order, is a sequence of independent draws of that
    law: a race on a list is simulated as one on fresh items that ends after ``n_items`` rounds. An algorithm that knows
    the length of its list has the answer then, any other has none.
    """

    algorithm: Algorithm
    n_items: int | None = None

    def play(self, arms: Arms, races: int, seed: int, longest: int) -> Simulation:
        """So many races, each of at most so many evaluations."""
        limits = {"max_rounds": self.n_items, "max_queries": max(longest, arms.n_arms)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)  # resampled items are discrete whatever the scores are
            limited = replace(self.algorithm, **limits)  # type: ignore[type-var]
            return simulate(limited, arms, repetitions=races, seed=seed, progress=False)

    def evaluations(self, arms: Arms, races: int, seed: int, longest: int) -> NDArray[np.float64]:
        """The evaluations of each race, infinite where it had no answer."""
        games = self.play(arms, races, seed, longest)
        return np.where(games.answered, games.queries, np.inf)


@dataclass(frozen=True)
class Effort:
    """How much is simulated: races on each of several resampled pilots, and how long a race may become."""

    pilots: int
    races: int
    longest: int = LONGEST


def evaluations_by_pilot(
    race: PlannedRace,
    scores: NDArray[np.float64],
    arms: Callable[[NDArray[np.float64]], Arms],
    effort: Effort,
    seed: int,
) -> NDArray[np.float64]:
    """The evaluations of races on resampled pilots, shape (pilots, races)."""
    resampled = _half_pilots(scores, effort.pilots, seed)
    rows = [
        race.evaluations(arms(rows), effort.races, seed + 1 + k, effort.longest) for k, rows in enumerate(resampled)
    ]
    return np.array(rows)


def _half_pilots(scores: NDArray[np.float64], pilots: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Pilots of half as many items, drawn with replacement from this one.

    Half, because from pilots of full size the differences look too certain: those that look easy by chance would be
    called large enough.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    for _ in range(pilots):
        yield scores[rng.integers(len(scores), size=(len(scores) + 1) // 2)]
