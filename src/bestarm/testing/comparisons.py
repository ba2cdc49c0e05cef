"""Promises of comparisons: what they say of themselves, and how their boundaries are computed."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.comparisons import Comparison, Evidence, Goal
from bestarm.testing.games import check_assumption, check_value, require

ROUNDS = np.concatenate([np.arange(1.0, 3000.0), np.geomspace(3000, 1e7, 100).round()])


def comparisons_say_what_they_are(comparison: Comparison) -> None:
    """Role, bounds, pool, epsilon and the assumption are stated, and there is evidence for a game."""
    require(comparison.role in ("pairs", "combinations"), f"role is {comparison.role!r}")
    low, high = comparison.bounds or (0.0, 1.0)
    require(math.isfinite(low) and math.isfinite(high) and low < high, f"bounds are {comparison.bounds!r}")
    pool = comparison.pool
    require(pool is None or (isinstance(pool, int) and pool >= 2), f"pool is {pool!r}")
    require(isinstance(comparison.supports_epsilon, bool), f"supports_epsilon is {comparison.supports_epsilon!r}")
    check_assumption(comparison.assumption)
    evidence = comparison.evidence(3, Goal(0.1))
    require(isinstance(evidence, Evidence) and evidence.board.arms.size == 3, f"evidence is {evidence!r}")


def comparisons_adapt_to_a_race(comparison: Comparison) -> None:
    """What a race knows about its scores and items is taken over or left, never mixed up."""
    bounds, pool = (-3.0, 5.0), 40
    adapted = comparison.adapted(bounds, pool)
    require(adapted.bounds in (bounds, comparison.bounds), f"bounds are {adapted.bounds!r} after adapted({bounds!r})")
    require(adapted.pool in (pool, comparison.pool), f"pool is {adapted.pool!r} after adapted(..., {pool})")
    require(adapted.role == comparison.role, f"role is {adapted.role!r}, it was {comparison.role!r}")
    unchanged = comparison.adapted(None, None)
    require(unchanged == comparison, f"adapted(None, None) is {unchanged!r}, not {comparison!r}")


def comparisons_are_values(comparison: Comparison) -> None:
    """What is computed for one is shared with its equals: they must have equal hashes, and not change."""
    check_value(comparison)


Slopes = tuple[NDArray[np.float64], NDArray[np.float64]]


def _boundaries(comparison: Any) -> Iterator[tuple[str, int, float, Slopes]]:
    """Slopes and offsets of many rounds, for some numbers of arms and levels, where the comparison is a boundary."""
    for n_arms, delta in ((2, 0.9), (3, 0.1), (10, 1e-12)) if hasattr(comparison, "boundary") else ():
        rounds = ROUNDS.copy()
        slopes, offsets = comparison.boundary(rounds, n_arms, delta)
        require(np.array_equal(rounds, ROUNDS), "boundary changes the rounds that it is asked for")
        yield f"for {n_arms} arms and delta {delta}", n_arms, delta, (slopes, offsets)


def boundaries_are_numbers(comparison: Comparison) -> None:
    """One slope and one offset per round, never NaN: an infinite slope beats nobody, a NaN is nothing."""
    for where, _, _, (slopes, offsets) in _boundaries(comparison):
        shapes = np.shape(slopes), np.shape(offsets)
        require(shapes == (ROUNDS.shape, ROUNDS.shape), f"{where} slopes and offsets have the shapes {shapes}")
        require(not np.isnan(slopes).any() and not np.isnan(offsets).any(), f"{where} there is a NaN")
        require(np.all(slopes >= 0), f"{where} the smallest slope is {slopes.min()}")
        require(np.isfinite(slopes).any(), f"{where} no slope is finite: nobody is ever beaten")


def boundaries_only_shrink(comparison: Comparison) -> None:
    """What is finite stays finite and gets no larger (rounding aside): looking at some rounds only rests on it."""
    for where, _, _, parts in _boundaries(comparison):
        first = int(np.argmax(np.isfinite(parts[0])))
        for name, values in zip(("slope", "offset"), parts, strict=True):
            later = values[first:]
            require(np.isfinite(later).all(), f"{where} the {name} is not finite after round {ROUNDS[first]:.0f}")
            grown = np.flatnonzero(later[1:] > later[:-1] + 1e-12 * np.abs(later[:-1]))
            places = ROUNDS[first + 1 :][grown][:3]
            require(grown.size == 0, f"{where} the {name} grows in round {', '.join(f'{t:.0f}' for t in places)}")


def boundaries_do_not_depend_on_their_company(comparison: Any) -> None:
    """The boundary of a round is the same, whatever other rounds are computed with it, and however often."""
    for where, n_arms, delta, whole in _boundaries(comparison):
        for part in (slice(None), slice(0, 1), slice(5, 60), slice(2040, 2060), slice(3000, None)):
            again = comparison.boundary(ROUNDS[part].copy(), n_arms, delta)
            for name, values, expected in zip(("slopes", "offsets"), again, whole, strict=True):
                close = np.allclose(values, expected[part], rtol=1e-12, atol=0.0)
                require(
                    close,
                    f"{where} {name} of rounds {ROUNDS[part][0]:.0f} and later differ when computed by themselves",
                )
