"""The floor of a boundary: never above it, and games are the same with and without it."""

from typing import Any

import numpy as np
import pytest

from bestarm.algorithms import EliminationGame, PairwiseBAI
from bestarm.comparisons import StudentMixture
from bestarm.comparisons.boundaries import CHUNK, boundary_chunk
from games import intervals_of, outcome

ROUNDS = np.unique(np.geomspace(2, 10**7, 400).round())
MIXTURES = (
    StudentMixture(min_rounds=2),
    StudentMixture(precisions=(1.0,), min_rounds=2),
    StudentMixture(precisions=(1e-6,)),
    StudentMixture(precisions=(0.5, 30.0, 2000.0), weights=(5.0, 1.0, 1e-9)),
)


@pytest.mark.parametrize("mixture", MIXTURES, ids=str)
@pytest.mark.parametrize(("n_arms", "delta"), [(2, 0.999), (2, 0.05), (10, 1e-9), (1000, 1e-200)])
def test_the_floor_is_never_above_the_boundary(mixture: StudentMixture, n_arms: int, delta: float) -> None:
    slopes, offsets = mixture.boundary(ROUNDS, n_arms, delta)
    floor, lower = mixture.floor(ROUNDS, n_arms, delta)
    assert (floor <= slopes).all()
    assert (floor >= 0.0).all()
    assert (lower <= offsets).all()


def test_the_floor_of_the_usual_mixture_is_near_the_boundary() -> None:
    slopes, _ = StudentMixture().boundary(ROUNDS[ROUNDS > 100], 10, 0.05)
    floor, _ = StudentMixture().floor(ROUNDS[ROUNDS > 100], 10, 0.05)
    assert (floor > 0.8 * slopes).all()


class Unfloored(StudentMixture):
    """The same comparison, of which no floor is known."""

    def floor(self, *_: Any) -> None:  # type: ignore[override]
        return None


def board_of(game: EliminationGame) -> list[bytes]:
    return [part.tobytes() for part in game.evidence.board]


@pytest.mark.parametrize("seed", range(12))
def test_games_are_the_same_without_a_floor(seed: int) -> None:
    """To the last bit of every statistic, whoever is beaten when, and whatever ends the game."""
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(2, 7))
    means = np.append(np.full(n_arms - 1, 0.0), rng.choice([0.0, 0.02, 0.05, 0.1]))
    rows = means + rng.standard_normal((5 * CHUNK, n_arms)) * rng.uniform(0.5, 1.0)
    goal: dict[str, Any] = {"keep": float(rng.choice([1.0, 1.3, 3.0]))}
    if seed % 3 == 1:
        goal["epsilon"] = 0.05
    elif seed % 3 == 2:
        goal["indifference_zone"] = 0.02
    if seed % 2:
        goal["max_rounds"] = int(rng.integers(3 * CHUNK, 5 * CHUNK))
    games = [PairwiseBAI(0.05, comparison=of(), **goal).start(n_arms) for of in (StudentMixture, Unfloored)]
    for game in games:
        begun = 0
        for end in (17, CHUNK, 3 * CHUNK, 3 * CHUNK + 5, 4 * CHUNK, len(rows)):
            if not game.finished:
                game.play(rows[begun:end])
                begun = end
    one, other = games
    assert isinstance(one, EliminationGame)
    assert isinstance(other, EliminationGame)
    assert outcome(one) == outcome(other)
    assert board_of(one) == board_of(other)
    assert np.array_equal(intervals_of(one).low, intervals_of(other).low)


def test_a_long_game_that_nobody_decides_computes_its_boundary_in_few_rounds() -> None:
    boundary_chunk.cache_clear()
    rows = np.random.default_rng(0).standard_normal((20 * CHUNK, 3))
    game = PairwiseBAI(1e-6).start(3)
    assert game.play(rows) == len(rows)
    assert boundary_chunk.cache_info().misses <= 2
