"""Convex-BAI with the paper's comparison: as the slow reference plays it, and every elimination with its proof."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest

import naive_convex
from bestarm.algorithms import ConvexBAI, Game, PairwiseBAI
from bestarm.comparisons import ConvexBernstein, ConvexBoundary, EmpiricalBernstein
from games import feed, outcome
from naive import Matrix, Played
from naive_convex import Vector, convex_boundary, convex_race, differences, lead_of, looks
from statistics_helpers import binomial_p_value, contradicts

RNG = np.random.Generator
INF, NAN = float("inf"), float("nan")


@dataclass(frozen=True)
class Small(ConvexBoundary):
    """A boundary that small games cross: it guarantees nothing."""

    slope: float
    offset: float
    sparsity: int | None = None

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def at(self, t: int) -> tuple[float, float]:
        return self.slope / (t - 1) ** 0.5, self.offset / (t - 1)

    def boundary(self, rounds: Vector, n_arms: int, delta: float) -> tuple[Vector, Vector]:
        past = np.maximum(rounds - 1.0, 1.0)
        return np.where(rounds < 3, np.inf, self.slope / np.sqrt(past)), self.offset / past


# --- random games ----------------------------------------------------------------------------------------------------


def plain(rng: RNG, n: int, K: int) -> Matrix:
    """Scores around means that differ, with shared noise."""
    level = rng.uniform(0.3, 0.7) + rng.uniform(0, 0.3) * rng.uniform(-1, 1, K)
    shared, own = rng.uniform(0, 0.2), rng.uniform(0.01, 0.2)
    noise = shared * rng.uniform(-1, 1, (n, 1)) + own * rng.uniform(-1, 1, (n, K))
    return np.clip(level + noise, 0, 1)


def an_average_less_a_gap(rng: RNG, n: int, K: int) -> Matrix:
    """One arm is close to a combination of the others, and worse."""
    X = np.clip(0.5 + rng.uniform(-0.05, 0.05, K) + rng.uniform(-0.4, 0.4, (n, K)), 0, 1)
    arm = int(rng.integers(K))
    w = rng.dirichlet(np.ones(K - 1))
    X[:, arm] = np.delete(X, arm, axis=1) @ w - rng.uniform(0.02, 0.1) + rng.uniform(-0.02, 0.02, n)
    return np.clip(X, 0, 1)


def equal_arms(rng: RNG, n: int, K: int) -> Matrix:
    return an_average_less_a_gap(rng, n, K)[:, rng.integers(K, size=K)]


def constant_arms(rng: RNG, n: int, K: int) -> Matrix:
    X = plain(rng, n, K)
    X[:, rng.random(K) < 0.5] = rng.choice([0.25, 0.5, 0.75])
    return X


def turning(rng: RNG, n: int, K: int) -> Matrix:
    """The columns change places in the middle: kept arms come back."""
    X, middle = an_average_less_a_gap(rng, n, K), int(rng.integers(1, n))
    return np.concatenate([X[:middle], X[middle:][:, rng.permutation(K)]])


MAKERS: list[Callable[[RNG, int, int], Matrix]] = [
    plain,
    an_average_less_a_gap,
    an_average_less_a_gap,
    equal_arms,
    constant_arms,
    turning,
]


def expected_outcome(played: Played) -> dict[str, Any]:
    against = played.contradiction
    return {
        "eliminations": [(one.arm, one.round) for one in played.eliminations],
        "candidates": played.candidates,
        "reason": "decided" if len(played.candidates) == 1 else None,
        "rounds": played.n_rounds,
        "queries": played.n_queries,
        "contradiction": None if against is None else (against.arm, against.round),
    }


def check_proofs(game: Game, played: Played, rows: Matrix, boundary: naive_convex.Boundary) -> list[int]:
    """Every record holds weights of arms queried that beat the arm by the margin; their numbers."""
    records = game.eliminations + ([game.contradiction] if game.contradiction else [])
    for one in records:
        assert one.weights is not None
        assert set(one.weights) <= set(played.queried[one.round - 1]) - {one.arm}
        assert min(one.weights.values()) > 0
        assert sum(one.weights.values()) == pytest.approx(1.0, abs=1e-14)
        assert one.weights[one.by] == max(one.weights.values())
        w = np.zeros(rows.shape[1])
        w[list(one.weights)] = list(one.weights.values())
        D, (slope, offset) = differences(rows[: one.round], one.arm), boundary(one.round)
        assert one.margin == pytest.approx(lead_of(D, np.delete(w, one.arm), slope, offset), abs=1e-10)
        assert one.margin > 0
    return [len(one.weights or {}) for one in records]


def test_random_games_are_played_as_the_reference_plays_them() -> None:
    rng, seen = np.random.default_rng(0), Counter[str]()
    while seen["games"] < 400:
        n, K = int(rng.integers(20, 150)), int(rng.integers(2, 6))
        rows = MAKERS[rng.integers(len(MAKERS))](rng, n, K)
        comparison = Small(rng.uniform(1, 4), rng.uniform(0.2, 2))
        keep, growth = float(rng.choice([1.0, 2.0, 98.0])), float(rng.choice([1.0, 1.0, 1.1, 1.5]))
        played, closest = convex_race(rows, comparison.at, keep, growth)
        assert closest > 1e-7  # beyond what rounding can decide
        game = ConvexBAI(0.1, comparison=comparison, keep=keep, check_growth=growth).start(K)
        feed(rng, game, rows)
        assert outcome(game) == expected_outcome(played)
        arms = check_proofs(game, played, rows, comparison.at)
        seen.update(games=1, contradiction=played.contradiction is not None, one=arms.count(1), two=arms.count(2))
        seen.update(more=sum(number > 2 for number in arms), decided=len(played.candidates) == 1)
        kept = {one.arm for one in played.eliminations} & {one.by for one in game.eliminations}
        seen.update(kept=len(kept), undecided=len(played.candidates) > 1)
    assert min(seen["one"], seen["two"], seen["more"], seen["kept"], seen["decided"], seen["undecided"]) >= 10


def first_round(game: Game) -> float:
    return game.eliminations[0].round if game.eliminations else INF


def test_sparse_eliminations_have_a_proof_of_so_many_arms() -> None:
    """The search for sparse weights may miss some: an elimination is never earlier than with all weights."""
    rng, seen = np.random.default_rng(1), Counter[str]()
    for _ in range(300):
        n, K, s = int(rng.integers(20, 150)), int(rng.integers(3, 7)), int(rng.integers(1, 4))
        rows = an_average_less_a_gap(rng, n, K)
        slope, offset = rng.uniform(1, 3), rng.uniform(0.2, 1)
        sparse = ConvexBAI(0.1, comparison=Small(slope, offset, sparsity=s), check_growth=1.0).start(K)
        every = ConvexBAI(0.1, comparison=Small(slope, offset), check_growth=1.0).start(K)
        sparse.play(rows)
        every.play(rows)
        all_queried = Played([tuple(range(K))] * n, [], (), None)
        arms = check_proofs(sparse, all_queried, rows, Small(slope, offset).at)
        assert max(arms, default=0) <= s
        assert first_round(sparse) >= first_round(every)
        seen.update(map(str, arms))
        seen.update(later=first_round(sparse) > first_round(every))
    assert min(seen["1"], seen["2"], seen["3"], seen["later"]) >= 10


def test_a_kept_arm_that_turns_contradicts_the_candidates() -> None:
    rng = np.random.default_rng(2)
    rows = np.concatenate([np.tile([0.5, 0.51, 0.0], (20, 1)), np.tile([0.1, 0.1, 0.9], (60, 1))])
    rows = np.clip(rows + rng.uniform(-0.02, 0.02, rows.shape), 0, 1)
    comparison = Small(2.0, 3.0)
    played, closest = convex_race(rows, comparison.at, keep=98.0)
    game = ConvexBAI(0.1, comparison=comparison, keep=98.0, check_growth=1.0).start(3)
    game.play(rows)
    assert closest > 1e-7
    assert played.contradiction is not None
    assert outcome(game) == expected_outcome(played)
    assert (game.contradiction and game.contradiction.arm, game.reason) == (game.best, "decided")
    check_proofs(game, played, rows, comparison.at)


# --- the paper's constants -------------------------------------------------------------------------------------------


def leads_near_one(rng: RNG, n: int, K: int) -> Matrix:
    """Large leads: only these beat the paper's constants within a few thousand rounds."""
    two_leaders = np.append(np.linspace(0.96, 0.961, K - 1), 0.04)
    levels = [np.linspace(0.97, 0.03, K), 1.0 - two_leaders, two_leaders]
    level = rng.permutation(levels[rng.integers(3)])
    noise = rng.uniform(-1, 1, (n, 1)) + rng.uniform(-1, 1, (n, K))
    rows: Matrix = np.clip(level + rng.choice([0.0, 0.01, 0.015]) * noise, 0, 1)
    return rows


@pytest.mark.parametrize("keep", [1.0, 2.0, 98.0])
def test_games_with_the_papers_constants_are_played_as_the_reference_plays_them(keep: float) -> None:
    rng, eliminations = np.random.default_rng(3), 0
    for game_number in range(14):
        K = 2 + game_number % 2
        rows, delta = leads_near_one(rng, 3500, K), float(rng.choice([0.9, 0.3, 0.05]))
        played, closest = convex_race(rows, convex_boundary(K, delta), keep)
        assert closest > 1e-7
        game = ConvexBAI(delta, comparison=ConvexBernstein(), keep=keep, check_growth=1.0).start(K)
        feed(rng, game, rows)
        assert outcome(game) == expected_outcome(played)
        check_proofs(game, played, rows, convex_boundary(K, delta))
        eliminations += len(played.eliminations)
    assert eliminations >= 10


SPARSITIES = [None, 1, 2, 3, 8, 9, 10, 100]


@pytest.mark.parametrize("sparsity", SPARSITIES)
@pytest.mark.parametrize("delta", [0.9, 0.05, 1e-12])
def test_the_boundary_is_that_of_the_paper(sparsity: int | None, delta: float) -> None:
    K, rounds = 10, np.array([1.0, 2.0, 3.0, 4.0, 17.0, 1000.0, 1e7])
    slopes, offsets = ConvexBernstein(sparsity=sparsity).boundary(rounds, K, delta)
    assert np.all(np.isinf(slopes[:2]))
    for t, slope, offset in zip(rounds[2:].tolist(), slopes[2:], offsets[2:], strict=True):
        with mp.workdps(40):
            one = mp.log(2 * K**2 * mp.mpf(t) * (t + 1) / mp.mpf(delta))
            dense = sparsity is None or sparsity >= K - 1
            L = K * one if dense else sparsity * one + mp.log(mp.binomial(K - 1, sparsity))
            expected = float(2 * mp.sqrt(2 * L / (t - 1))), float(28 * L / (t - 1))
        assert (slope, offset) == pytest.approx(expected, rel=1e-10)


def test_the_game_with_sparse_weights_uses_their_boundary() -> None:
    """A clear lead is shown earlier if only single arms count, and the margin is that of the paper's formula."""
    rng = np.random.default_rng(4)
    rows = np.clip(np.array([0.97, 0.03, 0.03, 0.03]) + rng.uniform(-0.03, 0.03, (6000, 4)), 0, 1)
    first: dict[int | None, int] = {}
    for sparsity in (None, 1, 2, 3):
        game = ConvexBAI(0.05, comparison=ConvexBernstein(sparsity=sparsity), check_growth=1.0).start(4)
        game.play(rows)
        all_queried = Played([tuple(range(4))] * len(rows), [], (), None)
        assert check_proofs(game, all_queried, rows, convex_boundary(4, 0.05, sparsity)) != []
        first[sparsity] = game.eliminations[0].round
    assert first[1] < first[2] < first[3]
    assert first[3] == first[None]


# --- single arms: Pairwise-BAI ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SingleArms(ConvexBoundary):
    sparsity: int = 1

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def boundary(self, rounds: Vector, n_arms: int, delta: float) -> tuple[Vector, Vector]:
        return EmpiricalBernstein().boundary(rounds, n_arms, delta)


def records(game: Game) -> list[tuple[int, int, int]]:
    return [(one.arm, one.round, one.by) for one in game.eliminations]


def margins(game: Game) -> list[float]:
    return [one.margin for one in game.eliminations]


@pytest.mark.parametrize("keep", [1.0, 2.0, 82.0])
def test_with_single_arms_only_it_is_pairwise_bai(keep: float) -> None:
    rng, seen = np.random.default_rng(int(keep)), Counter[bool]()
    for _ in range(110):
        n, K = int(rng.integers(300, 1500)), int(rng.integers(2, 7))
        rows = MAKERS[rng.integers(len(MAKERS))](rng, n, K) if rng.random() < 0.3 else leads_near_one(rng, n, K)
        delta = float(rng.choice([0.9, 0.1]))
        pairs = PairwiseBAI(delta, comparison=EmpiricalBernstein(), keep=keep).start(K)
        single = ConvexBAI(delta, comparison=SingleArms(), keep=keep, check_growth=1.0).start(K)
        pairs.play(rows)
        single.play(rows)
        assert outcome(single) == outcome(pairs)
        assert records(single) == records(pairs)
        assert margins(single) == pytest.approx(margins(pairs), abs=1e-10)
        assert all(one.weights == {one.by: 1.0} for one in single.eliminations)
        seen.update(one.by > one.arm for one in pairs.eliminations)
    assert min(seen[True], seen[False]) >= 30


# --- looking less often ----------------------------------------------------------------------------------------------


def test_looks_are_on_a_geometric_schedule() -> None:
    rows = np.tile([0.5, 0.5, 0.5], (3000, 1))
    for growth in (1.0, 1.005, 1.3, 2.0):
        game = ConvexBAI(0.1, check_growth=growth, comparison=Small(1.0, 1.0)).start(3)
        game.play(rows)
        assert game.diagnostics["rounds looked at"] == len(looks(growth, 3000))


@pytest.mark.parametrize("comparison", [Small(4.0, 20.0), ConvexBernstein()])
def test_looking_less_often_costs_less_than_one_percent(comparison: Small | ConvexBernstein) -> None:
    """A first elimination is never earlier; it may be missed while the lead is short-lived, but that costs little."""
    rng, often, seldom = np.random.default_rng(5), Counter[str](), Counter[str]()
    for _ in range(60):
        K = int(rng.integers(2, 4))
        paper = isinstance(comparison, ConvexBernstein)
        rows = leads_near_one(rng, 5000, K) if paper else an_average_less_a_gap(rng, 20_000, K)
        first = []
        for growth, total in [(1.0, often), (1.005, seldom)]:
            game = ConvexBAI(0.1, comparison=comparison, check_growth=growth).start(K)
            game.play(rows)
            total.update(queries=game.n_queries, eliminated=len(game.eliminations))
            first.append(first_round(game))
        assert first[0] <= first[1]
        often["delayed"] += first[0] < first[1]
    assert seldom["queries"] <= 1.01 * often["queries"]
    assert often["eliminated"] == seldom["eliminated"] >= 30
    assert often["delayed"] >= 10


# --- the promise -----------------------------------------------------------------------------------------------------

GAMES, DELTA = 150, 0.2


def times_the_best_was_out(comparison: Small | ConvexBernstein) -> int:
    """Arm 0 leads by next to nothing an arm, and an average of others."""
    rng, errors = np.random.default_rng(6), 0
    for _ in range(GAMES):
        X = rng.uniform(0, 1, (2000, 4))
        X[:, 0] = np.clip(X[:, 1:].mean(axis=1) + 0.002 + rng.uniform(-0.01, 0.01, 2000), 0, 1)
        game = ConvexBAI(DELTA, comparison=comparison).start(4)
        game.play(X)
        errors += 0 not in game.candidates
    return errors


def test_the_best_arm_stays() -> None:
    assert not contradicts(times_the_best_was_out(ConvexBernstein()), GAMES, DELTA, 1)


def test_with_small_constants_the_best_arm_would_not_stay() -> None:
    """Teeth: the same games find out a boundary that is too small."""
    assert binomial_p_value(times_the_best_was_out(Small(1.0, 0.0)), GAMES, DELTA) < 1e-6


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("delta", [0.0, 1.0, NAN]),
        ("keep", [0.99, INF]),
        ("epsilon", [-0.1]),
        ("check_growth", [0.999, NAN]),
        ("max_rounds", [0]),
        ("max_queries", [2.5]),
    ],
)
def test_settings_that_are_refused(parameter: str, values: list[Any], refused: Any) -> None:
    for value in values:
        with refused(parameter, value):
            ConvexBAI(**{parameter: value})


def test_epsilon_needs_a_portfolio() -> None:
    with pytest.raises(
        ValueError, match=r"^epsilon needs a comparison that supports it, got epsilon=0.1 with ConvexBernstein"
    ):
        ConvexBAI(0.1, comparison=ConvexBernstein(), epsilon=0.1)
    assert ConvexBAI(0.1, epsilon=0.1).epsilon == 0.1


@pytest.mark.parametrize("sparsity", [0, -1, 1.5, True])
def test_numbers_of_arms_that_are_refused(sparsity: Any, refused: Any) -> None:
    with refused("sparsity", sparsity):
        ConvexBernstein(sparsity=sparsity)


def test_bounds_of_differences_are_not_to_be_had() -> None:
    game = ConvexBAI(0.1, comparison=ConvexBernstein()).start(3)
    game.play(np.tile([0.2, 0.5, 0.5], (10, 1)))
    assert (game.regret_bound, game.lead(0, 1), game.intervals()) == (None, None, None)
