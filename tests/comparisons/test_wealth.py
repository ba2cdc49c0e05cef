"""Every betting rule follows from the one wealth: random games, in which arms also fail and are withdrawn."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from bestarm.algorithms import ConvexBAI, EliminationGame, PairwiseBAI
from bestarm.comparisons import Betting, LeaderBetting, Portfolio, SymmetricBetting, Wins
from games import outcome, tell_both
from naive import Matrix
from slow_games import Rule, WealthGame, wealth_game

RNG = np.random.Generator
N_GAMES, N_ROUNDS = 25, 120

RULES: dict[str, list[Rule]] = {
    "Betting": [Betting(), Betting((-1.0, 3.0), bets=(0.9, 0.5), reserve=0.5)],
    "Betting, pool": [Betting(pool=N_ROUNDS), Betting((-1.0, 3.0), pool=60)],
    "Wins": [Wins(), Wins(bets=(0.9, 0.5), reserve=0.5)],
    "Wins, pool": [Wins(pool=N_ROUNDS + 1), Wins(pool=61)],
    "LeaderBetting": [LeaderBetting(), LeaderBetting((-1.0, 3.0), pairs=0), LeaderBetting(pairs=0.5)],
    "LeaderBetting, pool": [LeaderBetting(pool=N_ROUNDS), LeaderBetting(pairs=0, pool=60)],
    "SymmetricBetting": [SymmetricBetting(student=0), SymmetricBetting(student=0.3, min_rounds=2)],
    "Portfolio": [Portfolio(), Portfolio((-1.0, 3.0), pool=60)],
}


def some_rows(rng: RNG, n_arms: int) -> Matrix:
    """Scores in [0, 1] of any number of values: shared noise, one arm nearly a copy of another, or a turn midway."""
    level = 0.6 - rng.choice([0.001, 0.1, 0.4]) * rng.random(n_arms)
    noise = rng.uniform(0.02, 0.2) * rng.standard_normal((N_ROUNDS + 1, n_arms))
    rows: Matrix = np.clip(level + noise + rng.uniform(0, 0.2) * rng.standard_normal((N_ROUNDS + 1, 1)), 0.0, 1.0)
    kind = rng.integers(3)
    if kind == 1:
        rows[:, 1] = np.clip(rows[:, 0] - 0.03 + 0.01 * rng.standard_normal(len(rows)), 0.0, 1.0)
    elif kind == 2:
        middle = int(rng.integers(5, 60))
        rows[middle:] = rows[middle:, rng.permutation(n_arms)]
    return rows


def both_games(rng: RNG, rule: Rule) -> tuple[EliminationGame, WealthGame]:
    """A game of the library and its slow version, at the beginning."""
    n_arms, delta = int(rng.integers(3, 8)), float(rng.choice([0.3, 0.1, 0.02]))
    low, high = rule.bounds or (0.0, 1.0)
    goal: dict[str, Any] = {"keep": float(rng.choice([1.0, 1.0, 2.5]))}
    if not isinstance(rule, SymmetricBetting) or rule.student > 0:
        goal["epsilon"] = (high - low) * float(rng.choice([0.0, 0.0, 0.02, 0.1]))
    zone = 0.0 if isinstance(rule, Portfolio) else (high - low) * float(rng.choice([0.0, 0.0, 0.03, 0.15]))
    slow = wealth_game(rule, low + (high - low) * some_rows(rng, n_arms), delta, zone=zone, **goal)
    if isinstance(rule, Portfolio):
        game = ConvexBAI(delta, comparison=rule, **goal).start(n_arms)
    else:
        game = PairwiseBAI(delta, comparison=rule, indifference_zone=zone, **goal).start(n_arms)
    assert isinstance(game, EliminationGame)
    return game, slow


def compared(rng: RNG, name: str, n_games: int) -> Counter[str]:
    """Play games by a rule both ways, all of which must be the same; what has happened in them."""
    seen = Counter[str]()
    while seen["games"] < n_games:
        game, slow = both_games(rng, RULES[name][rng.integers(len(RULES[name]))])
        failed, withdrawn = tell_both(rng, game, slow, fails=name != "Portfolio")
        if slow.by_rounding:
            seen["by rounding"] += 1
            continue
        assert outcome(game) == slow.outcome, (slow.goal, slow.strategies, slow.rows)
        seen.update(games=1, failed=failed, withdrawn=withdrawn, out=len(slow.eliminations), **{str(slow.reason): 1})
        seen.update(zone=slow.goal.zone > 0, epsilon=slow.goal.epsilon > 0, kept=slow.goal.keep > 1)
    return seen


@pytest.mark.parametrize("name", RULES)
def test_games_with_failures_and_withdrawals_are_those_of_the_definition(name: str) -> None:
    seen = compared(np.random.default_rng(list(RULES).index(name)), name, N_GAMES)
    assert seen["by rounding"] <= 1
    happened = ["out", "withdrawn", "decided", "epsilon", "kept"]
    happened += [] if name == "Portfolio" else ["failed", "zone"]
    assert {what: seen[what] for what in happened if seen[what] < 2} == {}
