"""Every algorithm and comparison of bestarm, in one list: what is said of all of them is tested on these."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import naive
from bestarm.algorithms import LUCB, Algorithm, ConvexBAI, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.comparisons import (
    Betting,
    Comparison,
    ConvexBernstein,
    EmpiricalBernstein,
    GaussianBernstein,
    LeaderBetting,
    Portfolio,
    StudentMixture,
    SymmetricBetting,
    Wins,
)
from naive_convex import convex_boundary, convex_race
from slow_games import slow_game

Matrix = naive.Matrix
DELTA = 0.1


@dataclass(frozen=True)
class Subject:
    """An algorithm, and what `bestarm.testing.check_algorithm` is to be told beside it."""

    algorithm: Algorithm
    options: Mapping[str, Any] = field(default_factory=dict)


MIXTURE = StudentMixture(precisions=(1.0, 100.0), weights=(1.0, 2.0), min_rounds=5)
EARLY_MIXTURE = StudentMixture(min_rounds=2)
BETTING = Betting(bets=(0.9, 0.3, 0.05), bounds=(-1.0, 3.0))
BETTING_ON_A_POOL = Betting(pool=40)
WAKING_SOON = Betting(bets=(0.9, 0.5), reserve=0.4)  # in rounds 4, 16 and 64
LEADERS_ALONE = LeaderBetting((-1.0, 3.0), pairs=0)
LEADERS_ON_A_POOL = LeaderBetting(pool=40)
SYMMETRIC_EARLY = SymmetricBetting(student=0.3, min_rounds=2)
SYMMETRIC_ALONE = SymmetricBetting(student=0)
WINS_ON_A_POOL = Wins(pool=41)  # odd: no ties
PORTFOLIO_ON_A_POOL = Portfolio(bounds=(-5.0, 5.0), pool=40)

COMPARISONS: dict[str, Comparison] = {
    "StudentMixture": StudentMixture(),
    "StudentMixture, looking early": EARLY_MIXTURE,
    "StudentMixture, other precisions": MIXTURE,
    "GaussianBernstein": GaussianBernstein(),
    "GaussianBernstein, published": GaussianBernstein(f="published"),
    "EmpiricalBernstein": EmpiricalBernstein(),
    "Betting": Betting(),
    "Betting, other bounds": BETTING,
    "Betting, pool": BETTING_ON_A_POOL,
    "Betting, waking soon": WAKING_SOON,
    "LeaderBetting": LeaderBetting(),
    "LeaderBetting, no pairs, other bounds": LEADERS_ALONE,
    "LeaderBetting, pool": LEADERS_ON_A_POOL,
    "SymmetricBetting": SymmetricBetting(),
    "SymmetricBetting, looking early": SYMMETRIC_EARLY,
    "SymmetricBetting, no Student": SYMMETRIC_ALONE,
    "Wins": Wins(),
    "Wins, pool": WINS_ON_A_POOL,
    "Portfolio": Portfolio(),
    "Portfolio, pool": PORTFOLIO_ON_A_POOL,
    "ConvexBernstein": ConvexBernstein(),
    "ConvexBernstein, sparse": ConvexBernstein(sparsity=2),
}


def by(reference: Callable[..., naive.Played], *given: Any, **more: Any) -> dict[str, Any]:
    """The options of a subject whose slow version is this."""
    return {"reference": lambda rows: [(one.arm, one.round) for one in reference(rows, *given, **more).eliminations]}


def sharp(comparison: Any, n_rounds: int, *options: Mapping[str, Any], zone: float = 0.0, **given: Any) -> Subject:
    """Games of a comparison that has a slow version in slow_games.py, with what is given for their goal."""

    def reference(rows: Matrix) -> list[tuple[int, int]]:
        game = slow_game(comparison, rows, DELTA, zone=zone, **given)
        game.play()
        return game.eliminations

    settings: dict[str, Any] = given | ({"indifference_zone": zone} if zone else {})
    kind = ConvexBAI if comparison.role == "combinations" else PairwiseBAI
    told: dict[str, Any] = {"reference": reference, "n_rounds": n_rounds}
    for more in options:
        told |= more
    return Subject(kind(DELTA, comparison=comparison, **settings), told)


def close_together(low: float, high: float) -> dict[str, Any]:
    """One arm is out soon; of the others nearly all of a pool must be seen."""

    def rewards(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Matrix:
        levels = rng.permutation([0.15, *np.linspace(0.6, 0.6001, n_arms - 1)])
        unit: Matrix = levels + 0.1 * rng.uniform(-1.0, 1.0, (n_rounds, n_arms))
        return low + (high - low) * unit

    return {"rewards": rewards}


def nearly_even(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Matrix:
    """Heavy tails, and medians that are close together or far apart."""
    levels = rng.permutation(np.linspace(0.0, rng.choice([0.1, 1.0, 5.0]), n_arms))
    rows: Matrix = levels + rng.standard_cauchy((n_rounds, n_arms))
    return rows


def in_turn(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Matrix:
    """Sometimes two arms win in turn, so that all of a pool must be seen."""
    rows = nearly_even(rng, n_rounds, n_arms)
    turns = np.arange(n_rounds)[:, None] % 2 == 0
    ordered = np.sort(rows, axis=1)
    return np.where(turns, ordered, ordered[:, ::-1]) if rng.random() < 0.5 else rows


def by_combinations() -> dict[str, Any]:
    """The paper's constants need thousands of rounds."""
    slow = by(lambda rows: convex_race(rows, convex_boundary(rows.shape[1], DELTA), growth=1.1)[0])
    return slow | {"n_rounds": 3500, "n_arms": (2, 3)}


def relabelled(algorithm: HoeffdingRace | LUCB, order: Sequence[int]) -> Algorithm:
    """Known variances go with their arms."""
    variances = np.array(algorithm.variances)[list(order)]
    return replace(algorithm, variances=tuple(variances.tolist()))


THREE = (0.01, 0.04, 0.0025)
OF_THREE_ARMS: dict[str, Any] = {"n_arms": (3,), "relabel": relabelled}

PAIR = {"n_arms": (2,), "rewards": nearly_even}  # wins of more arms tie
FEW_ARMS = {"n_arms": (2, 4)}
PAIRWISE: dict[str, Subject] = {
    "StudentMixture": sharp(StudentMixture(), 150),
    "StudentMixture, other precisions": sharp(MIXTURE, 150),
    "StudentMixture, kept, zone, epsilon": sharp(EARLY_MIXTURE, 150, keep=3.0, epsilon=0.05, zone=0.02),
    "GaussianBernstein": Subject(
        PairwiseBAI(DELTA, comparison=GaussianBernstein()), by(naive.pairwise_gaussian, DELTA)
    ),
    "GaussianBernstein, published, kept": Subject(
        PairwiseBAI(DELTA, comparison=GaussianBernstein(f="published"), keep=1.5),
        by(naive.pairwise_gaussian, DELTA, "published", 1.5),
    ),
    "GaussianBernstein, kept for long": Subject(
        PairwiseBAI(DELTA, comparison=GaussianBernstein(), keep=82.0), by(naive.pairwise_gaussian, DELTA, keep=82.0)
    ),
    "GaussianBernstein, max_queries": Subject(
        PairwiseBAI(DELTA, comparison=GaussianBernstein(), max_queries=200),
        by(naive.pairwise_gaussian, DELTA, max_queries=200),
    ),
    "EmpiricalBernstein": Subject(
        PairwiseBAI(DELTA, comparison=EmpiricalBernstein()), by(naive.pairwise_bounded, DELTA)
    ),
    "EmpiricalBernstein, kept, max_rounds": Subject(
        PairwiseBAI(DELTA, comparison=EmpiricalBernstein(), keep=3.0, max_rounds=300),
        by(naive.pairwise_bounded, DELTA, 3.0, max_rounds=300),
    ),
    "Betting": sharp(Betting(), 250),
    "Betting, other bounds": sharp(BETTING, 250),
    "Betting, pool": sharp(BETTING_ON_A_POOL, 250, close_together(0.0, 1.0)),
    "Betting, kept, zone, epsilon": sharp(Betting(), 250, keep=3.0, epsilon=0.05, zone=0.02),
    "Betting, waking soon": sharp(WAKING_SOON, 250),
    "LeaderBetting": sharp(LeaderBetting(), 120),
    "LeaderBetting, kept, zone": sharp(LeaderBetting(), 120, keep=2.0, zone=0.02),
    "LeaderBetting, no pairs, other bounds": sharp(LEADERS_ALONE, 120),
    "LeaderBetting, pool": sharp(LEADERS_ON_A_POOL, 120, close_together(0.0, 1.0)),
    "SymmetricBetting": sharp(SymmetricBetting(), 150),
    "SymmetricBetting, early, kept, zone, epsilon": sharp(SYMMETRIC_EARLY, 150, keep=3.0, epsilon=0.05, zone=0.02),
    "SymmetricBetting, no Student": sharp(SYMMETRIC_ALONE, 150, keep=2.0),
    "Wins": sharp(Wins(), 251, PAIR),
    "Wins, pool": sharp(WINS_ON_A_POOL, 251, PAIR, {"rewards": in_turn}),
}
CONVEX: dict[str, Subject] = {
    "Portfolio": sharp(Portfolio(), 120, FEW_ARMS),
    "Portfolio, kept, epsilon": sharp(Portfolio(), 120, FEW_ARMS, keep=2.0, epsilon=0.3),
    "Portfolio, pool": sharp(PORTFOLIO_ON_A_POOL, 120, FEW_ARMS, close_together(-5.0, 5.0)),
    "ConvexBernstein": Subject(ConvexBAI(DELTA, comparison=ConvexBernstein(), check_growth=1.1), by_combinations()),
    "ConvexBernstein, sparse": Subject(
        ConvexBAI(DELTA, comparison=ConvexBernstein(sparsity=2), keep=1.5, max_rounds=3200),
        {"n_rounds": 3500, "n_arms": (2, 4)},
    ),
}
BASELINES: dict[str, Subject] = {
    "HoeffdingRace": Subject(
        HoeffdingRace(DELTA, variances=0.01),
        by(lambda rows: naive.hoeffding_race(rows, DELTA, np.full(rows.shape[1], 0.01))),
    ),
    "HoeffdingRace, a variance for each arm": Subject(HoeffdingRace(DELTA, variances=THREE), OF_THREE_ARMS),
    "LUCB": Subject(
        LUCB(DELTA, variances=0.01), by(lambda rows: naive.lucb(rows, DELTA, np.full(rows.shape[1], 0.01)))
    ),
    "LUCB, a variance for each arm": Subject(LUCB(DELTA, variances=THREE), OF_THREE_ARMS),
    "VarianceRace": Subject(VarianceRace(DELTA), by(naive.variance_race_gaussian, DELTA)),
    "VarianceRace, bounded": Subject(VarianceRace(DELTA, rewards="bounded"), by(naive.variance_race_bounded, DELTA)),
    "KimNelson": Subject(KimNelson(DELTA, indifference_zone=0.1), by(naive.kim_nelson, DELTA, 0.1, 10)),
}
SUBJECTS = (
    {f"PairwiseBAI, {name}": subject for name, subject in PAIRWISE.items()}
    | {f"ConvexBAI, {name}": subject for name, subject in CONVEX.items()}
    | BASELINES
)
KINDS: dict[str, Callable[..., Algorithm]] = {
    type(subject.algorithm).__name__: type(subject.algorithm) for subject in SUBJECTS.values()
}
