"""Games with the sharp comparisons: as the slow reference plays them, and as good as they promise."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import Arms, GaussianArms, TableArms
from bestarm.comparisons import Betting, StudentMixture, Wins
from games import feed, gaussian, outcome, with_constant_leads, with_equal_arms, with_levels
from one_wealth import Array, bets_of, pair_path
from slow_games import SlowGame, StudentGame, WealthGame, slow_game
from statistics_helpers import binomial_p_value, contradicts, seed_of

RNG = np.random.Generator
N_GAMES = 1000
NAN = float("nan")


@dataclass(frozen=True)
class Match:
    """The same game for the library and for the reference."""

    algorithm: PairwiseBAI
    rows: Array
    expected: SlowGame


# --- random games ----------------------------------------------------------------------------------------------------


def bounded(rng: RNG, n: int, K: int) -> Array:
    """Scores in [0, 1], all sums of powers of two: 0 and 1, quarters, or many values; correlated."""
    steps = rng.choice([1, 4, 1024])
    bar = np.clip(rng.uniform(0.2, 0.8) + rng.uniform(0, 0.5) * rng.uniform(-1, 1, K), 0, 1)
    same = rng.random(n) < rng.uniform(0, 1)
    uniform = np.where(same[:, None], rng.random((n, 1)), rng.random((n, K)))
    scores = np.clip(bar + rng.uniform(0.05, 1) * (uniform - 0.5), 0, 1)
    rows: Array = (uniform < bar).astype(np.float64) if steps == 1 else np.floor(scores * steps) / steps
    return rows


def turning(rng: RNG, rows: Array) -> Array:
    """The columns change places in the middle: kept arms come back, leaders fall behind."""
    middle = int(rng.integers(1, len(rows) + 1))
    return np.concatenate([rows[:middle], rows[middle:][:, rng.permutation(rows.shape[1])]])


def options(rng: RNG, K: int, scale: float) -> dict[str, Any]:
    """Tolerances are in units of rewards: multiples of the scale."""
    n_rounds, n_queries = int(rng.integers(1, 60)), int(rng.integers(K, 60 * K))
    return {
        "keep": float(rng.choice([1.0, 2.0, 82.0])),
        "epsilon": scale * float(rng.choice([0.0, 0.0, 0.0625, 0.25])),
        "zone": scale * float(rng.choice([0.0, 0.0, 0.03125, 0.125, 0.5])),
        "max_rounds": n_rounds if rng.random() < 0.15 else None,
        "max_queries": n_queries if rng.random() < 0.15 else None,
    }


def match(
    rng: RNG, rows: Array, comparison: StudentMixture | Betting | Wins, delta: float, scale: float = 1.0
) -> Match:
    given = options(rng, rows.shape[1], scale)
    expected = played(slow_game(comparison, rows, delta, **given))
    settings = PairwiseBAI(delta, comparison=comparison, indifference_zone=given.pop("zone"), **given)
    return Match(settings, rows, expected)


def played(game: SlowGame) -> SlowGame:
    game.play()
    return game


SETTINGS = [
    (0.9, StudentMixture()),
    (0.1, StudentMixture()),
    (0.2, StudentMixture(precisions=(1.0, 100.0), weights=(1.0, 2.0))),
]


def student_match(rng: RNG) -> Match:
    n, K = int(rng.integers(2, 70)), int(rng.integers(2, 6))
    change = [lambda rng, rows: rows, with_equal_arms, with_levels, with_constant_leads, turning]
    rows = change[rng.integers(len(change))](rng, gaussian(rng, n, K, rng.uniform(-1, 1)))
    delta, mixture = SETTINGS[rng.integers(len(SETTINGS))]
    return match(rng, rows, mixture, delta)


def betting_match(rng: RNG) -> Match:
    n, K = int(rng.integers(2, 130)), int(rng.integers(2, 6))
    change = [lambda rng, rows: rows, with_equal_arms, with_levels, turning]
    rows = change[rng.integers(len(change))](rng, bounded(rng, n, K))
    low, length = [(0.0, 1.0), (0.0, 1.0), (-1.0, 4.0), (0.25, 0.5)][rng.integers(4)]
    betting = Betting(bounds=(low, low + length), pool=n if rng.random() < 0.5 else None)
    if rng.random() < 0.3:
        betting = replace(betting, bets=(0.9, 0.3, 0.05), weights=(1.0, 1.0, 2.0))
    elif rng.random() < 0.4:  # bets wake in rounds 4, 16 and 64
        betting = replace(betting, bets=(0.9, 0.5), weights=None, reserve=0.5)
    return match(rng, low + length * rows, betting, float(rng.choice([0.9, 0.3, 0.1, 0.05])), length)


def wins_match(rng: RNG) -> Match:
    n, K = int(rng.integers(2, 130)), int(rng.integers(2, 6))
    change = [lambda rng, rows: rows, with_equal_arms, with_levels, turning, in_a_cycle]
    rows = change[rng.integers(len(change))](rng, bounded(rng, n, K))
    wins = Wins(pool=n if rng.random() < 0.5 else None)
    if rng.random() < 0.4:
        wins = replace(wins, bets=(0.9, 0.5), weights=None, reserve=0.5)
    rows = np.sign(rows - 0.5) * np.abs(rows - 0.5) ** 5 * 1e6  # any scale will do
    return match(rng, rows, wins, float(rng.choice([0.9, 0.3, 0.1, 0.05])))


def in_a_cycle(rng: RNG, rows: Array) -> Array:
    """Each arm is better than the next on most items, and the last better than the first."""
    K = rows.shape[1]
    return np.array([np.roll(np.linspace(1.0, 0.0, K), rng.integers(K)) for _ in rows])


MAKERS: dict[str, Callable[[RNG], Match]] = {
    "StudentMixture": student_match,
    "Betting": betting_match,
    "Wins": wins_match,
}


@pytest.mark.parametrize("name", MAKERS)
def test_random_games_are_played_as_the_reference_plays_them(name: str) -> None:
    rng = np.random.default_rng(list(MAKERS).index(name))
    seen: Counter[str] = Counter()
    while seen["games"] < N_GAMES:
        match = MAKERS[name](rng)
        if match.expected.by_rounding:  # the first of equal leaders is not defined to the last digit
            seen["by rounding"] += 1
            continue
        game = match.algorithm.start(match.rows.shape[1])
        feed(rng, game, match.rows)
        assert outcome(game) == match.expected.outcome, match
        seen.update(what_happened(match))
    assert seen["by rounding"] <= 0.02 * N_GAMES
    reasons = ["decided", "within epsilon", "budget", "tied", "zone and epsilon", "tied, decided", "kept arms"]
    reasons += ["all items used", "pool, zone", "pool exhausted, tied"] if name != "StudentMixture" else []
    assert {reason: seen[reason] for reason in reasons if seen[reason] < 10} == {}
    assert name == "StudentMixture" or seen["contradiction"] > 0


def what_happened(match: Match) -> list[str]:
    expected, settings = match.expected, match.algorithm
    kept = settings.keep > 1 and bool(expected.eliminations)
    betting = settings.comparison if isinstance(settings.comparison, Betting | Wins) else None
    if not kept and not isinstance(betting, Wins):  # wins may go in a cycle
        assert expected.contradiction is None
    names = {
        "games": True,
        str(expected.reason): True,
        "tied": expected.tied,
        "tied, decided": expected.tied and expected.reason == "decided",
        "kept arms": kept and expected.t > expected.eliminations[0][1],
        "zone and epsilon": settings.indifference_zone > 0 and settings.epsilon > 0,
        "pool, zone": betting is not None and betting.pool is not None and settings.indifference_zone > 0,
        "pool exhausted, tied": expected.reason == "all items used" and len(expected.candidates) > 1,
        "contradiction": expected.contradiction is not None,
    }
    return [name for name, happened in names.items() if happened]


# --- decisions by hand -----------------------------------------------------------------------------------------------


def test_a_kept_arm_beats_a_higher_number_that_is_just_as_good_within_the_zone() -> None:
    """Arm 0 is out but queried; arm 1 has the same mean, to the last digit; arm 2 is too noisy to beat anyone."""
    rows = np.zeros((40, 3))
    rows[:2, 1] = 1.0, -1.0
    rows[:4, 2], rows[4:, 2] = 0.25, np.tile([-2048.0, 2000.0], 18)
    mixture = StudentMixture(min_rounds=2)
    expected = played(slow_game(mixture, rows, 0.1, zone=1.0, keep=82.0))
    game = PairwiseBAI(0.1, comparison=mixture, indifference_zone=1.0, keep=82.0).start(3)
    game.play(rows)
    assert [arm for arm, _ in expected.eliminations] == [0, 1]
    assert outcome(game) == expected.outcome


def test_a_kept_arm_that_turns_contradicts_the_candidates() -> None:
    """Averaged wealth: arm 2 is out early, then far ahead of two equal candidates."""
    rows = np.tile([0.5, 0.5, 0.0], (12, 1))
    rows = np.concatenate([rows, np.tile([0.0, 0.0, 1.0], (40, 1))])
    game = PairwiseBAI(0.2, comparison=Betting(), keep=82.0).start(3)
    game.play(rows)
    assert [(one.arm, one.round < 13) for one in game.eliminations] == [(2, True), (1, False)]
    assert (game.reason, game.best) == ("decided", 0)
    assert game.contradiction is not None
    assert (game.contradiction.arm, game.contradiction.by) == (0, 2)
    assert game.contradiction.round == game.eliminations[-1].round


def test_frozen_wealth_counts_for_good() -> None:
    """Arm 0 is out because of what arm 2 won from it before it left, and of the little that arm 1 wins later."""
    delta, betting = 0.1, Betting(bets=(0.95,))
    # Arm 2 is always in the middle: half-size differences suit this bet, those between arms 0 and 1 are overbet.
    up, down = [0.0, 1.0, 0.48], [1.0, 0.0, 0.48]
    rows = np.array([up, up, up, down] * 8 + [[0.3, 0.7, 0.5]] * 100)
    expected = played(slow_game(betting, rows, delta))
    game = PairwiseBAI(delta, comparison=betting).start(3)
    game.play(rows)
    assert outcome(game) == expected.outcome
    (first, arm_2_left), (second, arm_0_left) = expected.eliminations
    assert (first, second) == (2, 0)
    wealth = pair_path(rows[:, 1] - rows[:, 0], bets_of(betting, len(rows)))
    assert arm_2_left < arm_0_left
    assert wealth[arm_0_left - 1] < 0.5 * 2 / delta  # arm 1 alone could not do it


@pytest.mark.parametrize("comparison", [StudentMixture(), Betting()])
def test_ties_end_with_an_indifference_zone(comparison: StudentMixture | Betting) -> None:
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.random((3000, 1)), 3, axis=1)
    game = PairwiseBAI(0.05, comparison=comparison, indifference_zone=0.1).start(3)
    game.play(rows)
    assert (game.reason, game.best) == ("decided", 0)  # ties go to the lower number
    endless = PairwiseBAI(0.05, comparison=comparison).start(3)
    endless.play(rows)
    assert endless.reason is None


@pytest.mark.parametrize("setting", ["epsilon", "indifference_zone"])
@pytest.mark.parametrize("value", [-0.1, NAN, float("inf")])
def test_tolerances_that_are_refused(setting: str, value: float, refused: Any) -> None:
    with refused(setting, value):
        PairwiseBAI(0.1, **{setting: value})  # type: ignore[arg-type]


# --- promises, measured ----------------------------------------------------------------------------------------------

GAMES, DELTA = 500, 0.1
ZONE, EPSILON = 0.1, 0.1


def gaussian_arms(means: list[float], sd: float, correlation: float = 0.5) -> GaussianArms:
    K = len(means)
    return GaussianArms(means, sd**2 * (correlation + (1 - correlation) * np.eye(K)))


def table_arms(means: list[float], spread: float) -> TableArms:
    """Scores around their means, shuffled, on so many items that hardly two rounds are the same."""
    rng = np.random.default_rng(8)
    noise = np.linspace(-spread, spread, 2000)
    return TableArms(np.column_stack([mean + rng.permutation(noise) for mean in means]))


def cells(comparison: StudentMixture | Betting, arms: Callable[[list[float]], Arms]) -> dict[str, Any]:
    kind = type(comparison).__name__
    behind, zone_behind = 0.5 - 1.01 * EPSILON, 0.5 - 1.01 * ZONE
    rule = partial(PairwiseBAI, DELTA, comparison=comparison)
    return {
        f"{kind}, near ties": (rule(epsilon=EPSILON), arms([0.5, behind, behind])),
        f"{kind}, the lead is the zone": (rule(indifference_zone=ZONE), arms([0.5, 0.5 - ZONE, 0.5 - ZONE])),
        f"{kind}, zone and epsilon": (
            rule(indifference_zone=ZONE, epsilon=EPSILON),
            arms([0.5, zone_behind, zone_behind]),
        ),
    }


CELLS: dict[str, tuple[PairwiseBAI, Arms]] = {
    **cells(StudentMixture(), partial(gaussian_arms, sd=0.5)),
    **cells(Betting(), partial(table_arms, spread=0.3)),
    "StudentMixture, near ties, noisy": (
        PairwiseBAI(DELTA, epsilon=EPSILON),
        gaussian_arms([0.5, 0.5 - 1.01 * EPSILON], 2.0),
    ),
}


@pytest.mark.parametrize("cell", CELLS)
def test_the_arm_returned_is_the_best_or_within_epsilon_of_it(cell: str) -> None:
    settings, arms = CELLS[cell]
    sim = bestarm.simulate(settings, arms, repetitions=GAMES, seed=seed_of(cell), progress=False)
    assert sim.answered.all()
    too_bad = arms.means[sim.winners] < arms.means.max() - settings.epsilon
    assert not contradicts(int(too_bad.sum()), GAMES, DELTA, len(CELLS))


@pytest.mark.parametrize("comparison", [StudentMixture(), Betting()])
def test_without_the_promise_of_the_zone_the_test_of_the_level_finds_errors(
    comparison: StudentMixture | Betting,
) -> None:
    """Teeth: a lead far below the zone is got wrong more often than delta."""
    arms = gaussian_arms([0.505, 0.5], 0.5) if isinstance(comparison, StudentMixture) else table_arms([0.505, 0.5], 0.3)
    settings = PairwiseBAI(DELTA, comparison=comparison, indifference_zone=ZONE)
    sim = bestarm.simulate(settings, arms, repetitions=GAMES, seed=1, progress=False)
    assert binomial_p_value(int((sim.winners != 0).sum()), GAMES, DELTA) < 1e-6


@pytest.mark.parametrize("cell", ["StudentMixture, near ties", "Betting, near ties"])
def test_epsilon_ends_games_of_equal_arms(cell: str) -> None:
    settings, arms = CELLS[cell]
    equal = np.full(arms.n_arms, 0.5)
    tied = gaussian_arms(equal.tolist(), 0.5) if cell.startswith("Student") else table_arms(equal.tolist(), 0.3)
    sim = bestarm.simulate(settings, tied, repetitions=50, seed=3, progress=False)
    assert sim.answered.all()
    assert np.mean(sim.reasons == "within epsilon") > 0.5


# --- two good arms and a bad one -------------------------------------------------------------------------------------


def two_good_and_a_bad_one(rng: RNG, name: str) -> Array:
    """The good ones differ by next to nothing; the bad one is worse by more than the zone, but noisy."""
    n = 2000
    good = 0.7 + rng.uniform(-0.2, 0.2, (n, 1)) + np.array([1e-4, 0.0]) + rng.uniform(-1e-3, 1e-3, (n, 2))
    bad = rng.normal(0.3, 1.0, (n, 1)) if name == "StudentMixture" else (rng.random((n, 1)) < 0.64).astype(np.float64)
    return np.concatenate([good, bad], axis=1)


SMALL_DELTA = 0.001  # so that what is seen is not the error that delta allows
ZONE_RULES: dict[str, tuple[StudentMixture | Betting, float]] = {
    "StudentMixture": (StudentMixture(), 0.1),
    "Betting": (Betting(reserve=0.0), 0.05),  # what sleeps delays the careless rule, not the careful one
}


@pytest.mark.parametrize("name", ZONE_RULES)
def test_two_near_tied_arms_do_not_leave_the_field_to_a_bad_one(name: str) -> None:
    comparison, zone = ZONE_RULES[name]
    rng, decided = np.random.default_rng(4), 0
    for _ in range(300):
        game = PairwiseBAI(SMALL_DELTA, comparison=comparison, indifference_zone=zone).start(3)
        game.play(two_good_and_a_bad_one(rng, name))
        decided += game.reason == "decided"
        assert not (game.reason == "decided" and game.best == 2)
    assert decided > 250


@pytest.mark.parametrize("name", ZONE_RULES)
def test_if_opponents_behind_counted_too_the_bad_arm_would_be_returned(name: str) -> None:
    comparison, zone = ZONE_RULES[name]
    student = isinstance(comparison, StudentMixture)
    rng = np.random.default_rng(4)
    tables = [two_good_and_a_bad_one(rng, name)[: 40 if student else 500] for _ in range(20)]

    def left(rows: Array, only_ahead: bool) -> list[int]:
        game = slow_game(comparison, rows, SMALL_DELTA, zone=zone)
        assert isinstance(game, StudentGame | WealthGame)
        game.only_ahead = only_ahead
        return played(game).candidates

    careless = [left(rows, only_ahead=False) for rows in tables]
    careful = [left(rows, only_ahead=True) for rows in tables]
    assert careless.count([2]) >= 10
    assert careful.count([2]) == 0
