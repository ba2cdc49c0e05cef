"""Every algorithm plays random games as its slow reference does, however the rewards reach it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log
from typing import Any, Literal

import numpy as np
import pytest

import naive
from bestarm.algorithms import LUCB, Algorithm, Game, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.comparisons import EmpiricalBernstein, GaussianBernstein
from bestarm.comparisons.boundaries import CHUNK
from games import assert_as_reference, gaussian, with_constant_leads, with_equal_arms, with_levels
from naive import Matrix, Played

# Rewards are made up here: that they do not look like what a comparison is made for is no news.
pytestmark = pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")

RNG = np.random.Generator
N_GAMES = 1000
DELTAS = (0.9, 0.3, 0.1, 0.05, 1e-3)
KEEPS = (1.0, 2.0, 2.5, 82.0, 82.0)
SIZES = (1, 7, 10_000)  # of the blocks that a game is played in

with_constant_arms = partial(with_levels, levels=(0.0, 0.3, 0.7, 1.0))


@dataclass(frozen=True)
class Match:
    """The same game for the library and for the reference."""

    algorithm: Algorithm
    rows: Matrix
    expected: Played


# --- rewards ---------------------------------------------------------------------------------------------------------


def discrete(rng: RNG, n: int, K: int) -> Matrix:
    """Few values, all of them sums of powers of two: differences are exact, ties of means common."""
    shared = rng.integers(0, 3, size=(n, 1))
    return (shared + rng.integers(0, 4, size=K) + (rng.random((n, K)) < rng.uniform(0, 0.5, K))) / 4.0


def with_reversal(rng: RNG, rows: Matrix) -> Matrix:
    """One arm is steadily behind another in the beginning and far ahead later; the others may be almost the same."""
    out = np.round(rows * 2**20) / 2**20
    if rng.random() < 0.5:
        out[:, 2:] = out[:, [1]] + 1e-3 * rng.standard_normal(out[:, 2:].shape)
    out[:, 0] = out[:, 1] - 0.5
    out[rng.integers(3, 6) :, 0] += rng.integers(2, 8)
    return out


def gaussian_rewards(rng: RNG, n: int, K: int) -> Matrix:
    rows = discrete(rng, n, K) if rng.random() < 0.2 else gaussian(rng, n, K)
    changes = (with_equal_arms, with_constant_arms, with_constant_leads, with_reversal)
    return changes[rng.integers(4)](rng, rows) if rng.random() < 0.6 else rows


def untied_rewards(rng: RNG, n: int, K: int) -> Matrix:
    """For rules whose boundary can be exactly 0: means are equal only where all rewards are."""
    rows = discrete(rng, n, K) + np.pi * np.arange(K) / 97 if rng.random() < 0.2 else gaussian(rng, n, K)
    changes = (with_equal_arms, with_constant_arms, with_reversal)
    return changes[rng.integers(3)](rng, rows) if rng.random() < 0.6 else rows


def exact_rewards(rng: RNG, n: int, K: int) -> Matrix:
    """For LUCB, which compares arms seen in different rounds: ties only where sums are exact."""
    if rng.random() < 0.5:
        return gaussian(rng, n, K)
    rows = discrete(rng, n, K)
    if rng.random() < 0.5:
        rows[:, rng.integers(K)] = rng.integers(0, 5) / 4.0
    return with_equal_arms(rng, rows) if rng.random() < 0.5 else rows


def bounded_rewards(rng: RNG, n: int, K: int) -> Matrix:
    """In [0, 1], with leads large enough for the paper's 9 alpha^2: arms are good or bad."""
    good = rng.random(K) < (0.5 if rng.random() < 0.5 else 1 / K)
    means = np.where(good, rng.uniform(0.9, 1, K), rng.uniform(0, 0.1, K))
    kind = rng.random()
    if kind < 0.2:
        return (rng.random((n, K)) < means).astype(np.float64)
    if kind < 0.3:
        return np.clip(np.round(means * 4) / 4 + rng.integers(-1, 2, size=(n, 1)) / 8, 0, 1)
    noise = rng.uniform(0, 0.1) * rng.standard_normal((n, 1)) + rng.uniform(0, 0.1, K) * rng.standard_normal((n, K))
    rows: Matrix = np.clip(means + noise, 0, 1)
    if kind < 0.45:
        return with_equal_arms(rng, rows)
    return with_constant_arms(rng, rows) if kind < 0.6 else rows


# --- games -----------------------------------------------------------------------------------------------------------


def limits(rng: RNG, n: int, K: int) -> dict[str, Any]:
    """For how long beaten arms are kept, and now and then a budget."""
    keep, kind = float(rng.choice(KEEPS)), rng.random()
    max_rounds = int(rng.integers(1, n)) if kind < 0.1 else None
    max_queries = int(rng.integers(K, n * K)) if 0.1 <= kind < 0.2 else None
    return {"keep": keep, "max_rounds": max_rounds, "max_queries": max_queries}


def some_settings(rng: RNG) -> tuple[int, float]:
    return int(rng.integers(2, 9)), float(rng.choice(DELTAS))


def horizon(rng: RNG, offset: Callable[[int], float]) -> int:
    """Some rounds less or more than it takes until a lead of 0.8 can be seen in bounded rewards."""
    return int(rng.uniform(0.9, 1.3) * next(t for t in range(2, 1000) if offset(t) < 0.8))


def pairwise_bounded(rng: RNG) -> Match:
    K, delta = some_settings(rng)
    n = horizon(rng, lambda t: 9 * naive.paper_alpha(t, K, delta) ** 2)
    rows, given = bounded_rewards(rng, n, K), limits(rng, n, K)
    algorithm = PairwiseBAI(delta, comparison=EmpiricalBernstein(), **given)
    return Match(algorithm, rows, naive.pairwise_bounded(rows, delta, **given))


def pairwise_gaussian(rng: RNG, f: Literal["proved", "published"]) -> Match:
    (K, delta), n = some_settings(rng), int(rng.integers(20, 90))
    rows, given = gaussian_rewards(rng, n, K), limits(rng, n, K)
    algorithm = PairwiseBAI(delta, comparison=GaussianBernstein(f=f), **given)
    return Match(algorithm, rows, naive.pairwise_gaussian(rows, delta, f, **given))


def known_variances(rng: RNG, K: int) -> Matrix:
    values = rng.choice([0.0, 0.01, 0.04], size=K) if rng.random() < 0.3 else 10 ** rng.uniform(-4, -1, K)
    return np.full(K, values[0]) if rng.random() < 0.3 else values


def hoeffding(rng: RNG) -> Match:
    K, delta = some_settings(rng)
    n, variances = int(rng.integers(10, 60)), known_variances(rng, K)
    rows = untied_rewards(rng, n, K)
    return Match(HoeffdingRace(delta, variances=tuple(variances)), rows, naive.hoeffding_race(rows, delta, variances))


def variance_gaussian(rng: RNG) -> Match:
    K, delta = some_settings(rng)
    rows = gaussian_rewards(rng, int(rng.integers(20, 70)), K)
    return Match(VarianceRace(delta), rows, naive.variance_race_gaussian(rows, delta))


def variance_bounded(rng: RNG) -> Match:
    K, delta = some_settings(rng)
    n = horizon(rng, lambda t: 6 * log(3 * K * t * (t + 1) / delta) / t)
    rows = bounded_rewards(rng, n, K)
    return Match(VarianceRace(delta, rewards="bounded"), rows, naive.variance_race_bounded(rows, delta))


def kim_nelson(rng: RNG) -> Match:
    n, K = int(rng.integers(20, 60)), int(rng.integers(2, 9))
    delta, zone = float(rng.choice((0.3, 0.1, 1e-3))), float(rng.choice([0.05, 0.2, 1.0]))
    min_rounds = int(rng.choice([2, 3, 5, 10]))
    rows = untied_rewards(rng, n, K)
    algorithm = KimNelson(delta, indifference_zone=zone, min_rounds=min_rounds)
    return Match(algorithm, rows, naive.kim_nelson(rows, delta, zone, min_rounds))


def lucb(rng: RNG) -> Match:
    K, delta = some_settings(rng)
    n, variances = int(rng.integers(20, 100)), known_variances(rng, K)
    rows = exact_rewards(rng, n, K)
    return Match(LUCB(delta, variances=tuple(variances)), rows, naive.lucb(rows, delta, variances))


MATCHES: dict[str, Callable[[RNG], Match]] = {
    "pairwise_bounded": pairwise_bounded,
    "pairwise_proved": partial(pairwise_gaussian, f="proved"),
    "pairwise_published": partial(pairwise_gaussian, f="published"),
    "hoeffding": hoeffding,
    "variance_gaussian": variance_gaussian,
    "variance_bounded": variance_bounded,
    "kim_nelson": kim_nelson,
    "lucb": lucb,
}


# --- playing and comparing -------------------------------------------------------------------------------------------


def compare(match: Match, size: int) -> Game:
    """Play a game in blocks of a size, those of one row told, as the reference plays it."""
    rows, expected = match.rows, match.expected
    game = match.algorithm.start(rows.shape[1])
    for start in range(0, len(rows), size):
        if game.finished:
            break
        asked = game.ask()
        assert tuple(asked.tolist()) == expected.queried[start]
        if size == 1:
            game.tell(rows[start, asked])
        else:
            game.play(rows[start : start + size])
    assert_as_reference(game, expected, rows)
    return game


def happenings(match: Match, game: Game) -> Counter[str]:
    """What came up in a game, to see that the games are not empty of what they are to test."""
    gone_at = {one.arm: one.round for one in game.eliminations}
    seen: Counter[str] = Counter()
    seen["eliminations"] = len(gone_at)
    seen["decided"] = game.reason == "decided"
    seen["ended by budget"] = game.reason == "budget"
    seen["undecided"] = game.reason is None
    seen["two in one round"] = len(set(gone_at.values())) < len(gone_at)
    seen["beaten by a kept arm"] = sum(gone_at.get(one.by, one.round) < one.round for one in game.eliminations)
    seen["contradiction"] = game.contradiction is not None
    seen["equal arms left"] = any(
        np.array_equal(match.rows[:, i], match.rows[:, j]) for i in game.candidates for j in game.candidates if i < j
    )
    seen["beaten without variance"] = sum(
        float(np.ptp(match.rows[: one.round, one.by] - match.rows[: one.round, one.arm])) == 0
        for one in game.eliminations
    )
    return seen


LEAST_OF_EACH = {
    "eliminations": 1000,
    "decided": 100,
    "undecided": 300,
    "two in one round": 100,
    "equal arms left": 100,
}
LEAST_WITH_BUDGET = {"ended by budget": 100}
LEAST_WITH_KEEPING = {"beaten by a kept arm": 30, "contradiction": 5}
LEAST = {
    "pairwise_bounded": LEAST_WITH_BUDGET,
    "pairwise_proved": LEAST_WITH_BUDGET | LEAST_WITH_KEEPING,
    "pairwise_published": LEAST_WITH_BUDGET | LEAST_WITH_KEEPING,
}


@pytest.mark.parametrize("name", MATCHES)
def test_a_thousand_games_are_played_as_by_the_reference(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    seen: Counter[str] = Counter()
    for _ in range(N_GAMES):
        match = MATCHES[name](rng)
        seen += happenings(match, compare(match, int(rng.choice(SIZES))))
    assert seen["beaten without variance"] >= 50
    for happening, least in (LEAST_OF_EACH | LEAST.get(name, {})).items():
        assert seen[happening] >= least, happening


def turning_gaussian(rng: RNG) -> Match:
    """Arm 0 is beaten after some hundred rounds, then turns, and beats the others within 2.5 times as many."""
    rows = rng.standard_normal((400, 1)) + [0, 0, 0.01] + rng.standard_normal((400, 3)) * [0.1, 0, 0.05]
    rows[:, 0] -= rng.uniform(0.11, 0.13)
    rows[170:, 0] += rng.uniform(1, 3)
    algorithm = PairwiseBAI(0.3, comparison=GaussianBernstein(), keep=2.5)
    return Match(algorithm, rows, naive.pairwise_gaussian(rows, 0.3, "proved", 2.5))


def turning_bounded(rng: RNG) -> Match:
    """Arm 0 is beaten by arm 1 in the beginning, and beats arm 2 in the end."""
    rows = np.tile([0.05, 0.95, 0.5], (900, 1)) + rng.uniform(-0.05, 0.05, (900, 3))
    rows[150:, 0] += 0.9
    rows[150:, 1] -= rng.uniform(0.5, 0.6)
    algorithm = PairwiseBAI(0.9, comparison=EmpiricalBernstein(), keep=82)
    return Match(algorithm, rows, naive.pairwise_bounded(rows, 0.9, 82))


@pytest.mark.parametrize("turning", [turning_gaussian, turning_bounded])
def test_an_arm_that_is_kept_and_turns_beats_others_as_in_the_reference(turning: Callable[[RNG], Match]) -> None:
    rng = np.random.default_rng(4)
    seen: Counter[str] = Counter()
    for _ in range(10):
        match = turning(rng)
        seen += happenings(match, compare(match, int(rng.choice(SIZES))))
    assert seen["beaten by a kept arm"] >= 8


def late_lead() -> Matrix:
    """Arm 0 is far behind; arms 1 and 2 swing around each other for a chunk of boundaries, then arm 2 goes ahead."""
    n = 2 * CHUNK
    shared, own = np.random.default_rng(11).uniform(-0.03, 0.03, (2, n))
    swing = 0.1 * (-1.0) ** np.arange(n)
    rows: Matrix = np.column_stack([own - 0.33, -swing, swing]) + 0.4 + shared[:, None]
    rows[CHUNK:, 2] += 0.4
    return rows


LONG_GAMES: dict[str, tuple[Algorithm, Callable[[Matrix], Played]]] = {
    "pairwise_bounded": (
        PairwiseBAI(0.1, comparison=EmpiricalBernstein(), keep=2),
        lambda rows: naive.pairwise_bounded(rows, 0.1, keep=2),
    ),
    "pairwise_gaussian": (
        PairwiseBAI(0.1, comparison=GaussianBernstein()),
        lambda rows: naive.pairwise_gaussian(rows, 0.1),
    ),
    "hoeffding": (HoeffdingRace(0.1, variances=0.05), lambda rows: naive.hoeffding_race(rows, 0.1, np.full(3, 0.05))),
    "variance_gaussian": (VarianceRace(0.1), lambda rows: naive.variance_race_gaussian(rows, 0.1)),
    "variance_bounded": (VarianceRace(0.1, rewards="bounded"), lambda rows: naive.variance_race_bounded(rows, 0.1)),
    "kim_nelson": (KimNelson(0.1, indifference_zone=0.005), lambda rows: naive.kim_nelson(rows, 0.1, 0.005, 10)),
    "lucb": (LUCB(0.1, variances=0.05), lambda rows: naive.lucb(rows, 0.1, np.full(3, 0.05))),
}


@pytest.mark.parametrize("name", LONG_GAMES)
def test_a_game_longer_than_a_chunk_of_boundaries_is_played_as_by_the_reference(name: str) -> None:
    (algorithm, reference), rows = LONG_GAMES[name], late_lead()
    for size in SIZES:
        game = compare(Match(algorithm, rows, reference(rows)), size)
        assert game.best == 2
        assert CHUNK < game.n_rounds < len(rows)
