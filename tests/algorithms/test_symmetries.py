"""Symmetries of the rules for Gaussian rewards: a shift or another unit of all rewards changes nothing.

What holds for every algorithm, whatever its rule, is in test_conformance.py.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from bestarm.algorithms import LUCB, Algorithm, Game, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.comparisons import GaussianBernstein
from games import outcome
from naive import Matrix

RNG = np.random.Generator
N_ROUNDS = 5000
DELTA = 0.1


def gaussian_table(rng: RNG) -> tuple[Matrix, Matrix]:
    """Leads of at least 0.4, own noise and noise that the arms share to a different degree; and the variances."""
    n_arms = int(rng.integers(2, 6))
    means = rng.permutation(np.cumsum(0.4 + rng.random(n_arms)))
    shared = rng.choice([0.0, 0.3, 1.0]) * rng.uniform(-1.0, 1.0, n_arms)
    own = rng.uniform(0.2, 0.8, n_arms)
    noise = rng.standard_normal((N_ROUNDS, n_arms)) * own + rng.standard_normal((N_ROUNDS, 1)) * shared
    return means + noise, own**2 + shared**2


MakeAlgorithm = Callable[[Matrix], Algorithm]
PAIRWISE: dict[str, MakeAlgorithm] = {
    f"PairwiseBAI {f}, keep {keep:g}": lambda _, keep=keep, f=f: PairwiseBAI(  # type: ignore[misc]
        DELTA, comparison=GaussianBernstein(f=f), keep=keep
    )
    for keep in (1.0, 1.5, 2.0, 82.0)
    for f in ("proved", "published")
}
ALGORITHMS: dict[str, MakeAlgorithm] = {
    **PAIRWISE,
    "HoeffdingRace": lambda variances: HoeffdingRace(DELTA, variances=tuple(variances)),
    "LUCB": lambda variances: LUCB(DELTA, variances=tuple(variances)),
    "VarianceRace": lambda _: VarianceRace(DELTA),
    "KimNelson": lambda _: KimNelson(DELTA, indifference_zone=0.3, min_rounds=5),
}


def constants_of_rounds(rng: RNG) -> tuple[Matrix, float]:
    size = rng.choice([0.1, 5.0, 1000.0])
    return size * (1.0 + rng.standard_normal((N_ROUNDS, 1))), 1.0


def one_constant(rng: RNG) -> tuple[Matrix, float]:
    return np.full((N_ROUNDS, 1), rng.uniform(-1000.0, 1000.0)), 1.0


def a_factor(rng: RNG) -> tuple[Matrix, float]:
    return np.zeros((N_ROUNDS, 1)), float(10 ** rng.uniform(-6, 6))


# What is added to the rewards of each round, and what they are multiplied by.
Change = Callable[[RNG], tuple[Matrix, float]]
CHANGES: list[tuple[Change, Sequence[str], dict[str, Any]]] = [
    (constants_of_rounds, [*PAIRWISE, "KimNelson", "HoeffdingRace"], {"abs": 1e-9}),
    (one_constant, ["LUCB", "VarianceRace"], {"abs": 1e-9}),
    (a_factor, [*PAIRWISE, "VarianceRace", "LUCB", "HoeffdingRace"], {"rel": 1e-7}),
]


def played(name: str, rows: Matrix, variances: Matrix) -> Game:
    game = ALGORITHMS[name](variances).start(variances.size)
    game.play(rows)
    assert game.finished, "the data of these tests is meant to end every game"
    return game


def story(game: Game) -> dict[str, Any]:
    """All but the numbers that a shift or a change of scale may touch."""
    by = [one.by for one in game.eliminations]
    return outcome(game) | {"best": game.best, "counts": game.counts.tolist(), "by": by}


@pytest.mark.parametrize(
    ("change", "name", "tolerance"),
    [
        pytest.param(change, name, near, id=f"{change.__name__}, {name}")
        for change, all_, near in CHANGES
        for name in all_
    ],
)
def test_a_shift_or_another_unit_changes_nothing(change: Change, name: str, tolerance: dict[str, Any]) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rows, variances = gaussian_table(rng)
        constants, factor = change(rng)
        game, other = played(name, rows, variances), played(name, factor * rows + constants, factor**2 * variances)
        assert story(other) == story(game)
        margins = [factor * one.margin for one in game.eliminations]
        assert [one.margin for one in other.eliminations] == pytest.approx(margins, **tolerance)
