"""Games and races of many arms, of which few stay: what is kept is for those that stay, and no number changes."""

from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.algorithms import ConvexBAI, EliminationGame, PairwiseBAI
from bestarm.algorithms.game import Algorithm
from bestarm.comparisons import Betting, LeaderBetting, Portfolio, Wins, wealth
from bestarm.comparisons.wealth import MANY_ROWS, WealthEvidence
from bestarm.kernels.wealth_state import PairWealth
from bestarm.record.store import check_cost

K = MANY_ROWS + 6
WAKING_SOON = (0.9, 0.3, 0.1)  # the next bet wakes in round 100
RULES: list[Algorithm] = [
    PairwiseBAI(1e-6, comparison=Betting(bets=WAKING_SOON)),
    PairwiseBAI(1e-6, comparison=Betting(bets=WAKING_SOON, pool=400), keep=2.0),
    PairwiseBAI(1e-6, comparison=Betting(bets=WAKING_SOON), epsilon=0.04, indifference_zone=0.01),
    PairwiseBAI(1e-6, comparison=Wins(bets=WAKING_SOON, pool=400), epsilon=0.01),
    ConvexBAI(1e-6, comparison=Portfolio(bets=WAKING_SOON)),
    PairwiseBAI(1e-6, comparison=LeaderBetting(pairs=0.5)),
]


def rows_of(n_rounds: int, n_arms: int = K) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Four good arms that are hard to tell apart among bad ones, with noise."""
    level = np.append(np.linspace(0.1, 0.35, n_arms - 4), [0.8, 0.81, 0.82, 0.82])
    return np.clip(level + np.random.default_rng(0).uniform(-0.2, 0.2, (n_rounds, n_arms)), 0.0, 1.0)


def played(algorithm: Algorithm, rows: Any, block: int) -> EliminationGame:
    """A game in blocks; its best arm but one is disqualified on the way, where that can be."""
    game = algorithm.start(rows.shape[1])
    assert isinstance(game, EliminationGame)
    for first in range(0, len(rows), block):
        if game.finished:
            break
        if first == 6 * block and game.no_disqualification is None:
            game.disqualify(K - 2)
        game.play(rows[first : first + block])
    return game


def wealths_of(game: EliminationGame) -> list[PairWealth]:
    assert isinstance(game.evidence, WealthEvidence)
    pairs, near = game.evidence.pairs, game.evidence.near
    return [*([] if pairs is None else [pairs.better]), *([] if near is None else [near])]


def bytes_of(game: EliminationGame) -> int:
    """The memory of what a game keeps of pairs of arms."""
    assert isinstance(game.evidence, WealthEvidence)
    pairs, portfolio = game.evidence.pairs, getattr(game.evidence, "portfolio", [])
    parts = (game.evidence.board, *wealths_of(game), [] if pairs is None else [pairs.sums], portfolio)
    return sum(array.nbytes for part in parts for array in part)


@pytest.mark.parametrize("algorithm", RULES, ids=repr)
def test_bets_against_arms_that_are_out_are_given_back_and_no_number_changes(
    algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(390)
    small = played(algorithm, rows, 30)
    monkeypatch.setattr(wealth, "MANY_ROWS", 10**9)
    large = played(algorithm, rows, 30)

    assert len(small.eliminations) >= K - 4
    assert small.eliminations == large.eliminations
    assert (small.candidates, small.best, small.n_rounds) == (large.candidates, large.best, large.n_rounds)
    standing = [arm for arm in small.candidates if arm in small.next_arms()]
    for few, all_rows in zip(wealths_of(small), wealths_of(large), strict=True):
        if all_rows.row_of.size == K:
            assert len(few.total) * 4 <= K == len(all_rows.total)
            np.testing.assert_array_equal(few.total[few.row_of[standing]], all_rows.total[standing])
            np.testing.assert_array_equal(few.log_wealth[few.row_of[standing]], all_rows.log_wealth[standing])
    assert [small.lead_bound(K - 1, arm) for arm in range(K - 1)] == [large.lead_bound(K - 1, b) for b in range(K - 1)]


def test_an_arm_that_is_withdrawn_keeps_no_bets() -> None:
    game = PairwiseBAI(1e-6, comparison=Betting()).start(K)
    assert isinstance(game, EliminationGame)
    rows = rows_of(4)
    game.play(rows[:2])
    for arm in range(K - 2):
        game.withdraw(arm)
    game.play(rows[2:])
    assert len(game.candidates) == K
    assert len(wealths_of(game)[0].total) == 2


def test_what_a_result_asks_its_game_needs_no_bets() -> None:
    rows = rows_of(50, 8)
    with bestarm.Race(range(8), items=range(100), bounds=(0.0, 1.0), delta=1e-6) as race:
        for row in rows:
            for todo in race.ask():
                race.tell(todo, {arm: row[arm] for arm in todo.arms})
        result, going_on = race.result(), race.state.game
    assert isinstance(going_on, EliminationGame)
    bound = going_on.regret_bound
    assert result.regret_bound == bound
    assert isinstance(result._game, EliminationGame)
    assert len(wealths_of(result._game)[0].total) == 0
    assert result._game.play(rows) == 0  # it stays where it is
    assert result._game.regret_bound == bound


@pytest.mark.parametrize("algorithm", RULES, ids=repr)
def test_the_memory_of_a_game_is_known_before_it_is_taken(
    algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_arms = 160
    game = algorithm.start(n_arms)
    assert isinstance(game, EliminationGame)
    taken = bytes_of(game)
    monkeypatch.setattr("bestarm.record.store.MOST_MEMORY", int(0.9 * taken))
    with pytest.raises(ValueError, match=r"takes .* GiB of memory"):
        check_cost(algorithm, n_arms, 1)
    monkeypatch.setattr("bestarm.record.store.MOST_MEMORY", int(1.1 * taken))
    check_cost(algorithm, n_arms, 1)
