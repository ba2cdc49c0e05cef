"""The moments on the board of a game, against NumPy and exact fractions."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bestarm.algorithms import Game, PairwiseBAI
from bestarm.comparisons import PairBoundary

Floats = NDArray[np.float64]


def sample(n_rounds: int = 60, n_arms: int = 4, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rounds, n_arms)) @ rng.standard_normal((n_arms, n_arms)) + np.arange(n_arms)


def exact_square(rows: Floats, i: int, j: int) -> Fraction:
    """Centred sum of squares of the difference of two columns, of the numbers as they are stored."""
    return _exact_centred_square([Fraction(x) - Fraction(y) for x, y in zip(rows[:, i], rows[:, j], strict=True)])


def exact_own_square(rows: Floats, i: int) -> Fraction:
    return _exact_centred_square([Fraction(x) for x in rows[:, i]])


def _exact_centred_square(values: Sequence[Fraction]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0))


def naive_squares(rows: Floats) -> Floats:
    """Centred sums of squares of all differences, and of the arms on the diagonal."""
    centred = rows - rows.mean(axis=0)
    squares: Floats = np.square(centred[:, :, None] - centred[:, None, :]).sum(axis=0)
    np.fill_diagonal(squares, np.square(centred).sum(axis=0))
    return squares


def large_means(n_rounds: int) -> Floats:
    """Differences of standard deviation about 1 around means of a million."""
    return 1e6 + np.random.default_rng(2).standard_normal((n_rounds, 3)) + np.arange(3)


def large_shared_noise(n_rounds: int) -> Floats:
    """Differences of standard deviation about 1, under noise of a million that all arms share."""
    rng = np.random.default_rng(3)
    return 1e6 * rng.standard_normal((n_rounds, 1)) + rng.standard_normal((n_rounds, 3)) + np.arange(3)


def large_shared_noise_and_means(n_rounds: int) -> Floats:
    return large_shared_noise(n_rounds) + 1e6


def assert_exact_squares(squares: Floats, rows: Floats) -> None:
    for i in range(rows.shape[1]):
        np.testing.assert_allclose(squares[i, i], float(exact_own_square(rows, i)), rtol=1e-8)
        for j in range(i):
            exact = float(exact_square(rows, i, j))
            np.testing.assert_allclose([squares[i, j], squares[j, i]], exact, rtol=1e-8)


hard_data = pytest.mark.parametrize("data", [large_means, large_shared_noise, large_shared_noise_and_means])


NEVER = 10**9


@dataclass(frozen=True)
class FixedLead(PairBoundary):
    """From the first look on, a lead of more than 5 is enough."""

    first_look: int

    def boundary(self, rounds: Floats, n_arms: int, delta: float) -> tuple[Floats, Floats]:
        slopes = np.where(rounds < self.first_look, np.inf, 0.0)
        return slopes, np.full_like(slopes, 5.0)


def played(rows: Floats, first_look: int = NEVER, keep: float = 1.0, block: int | None = None) -> Game:
    game = PairwiseBAI(0.1, comparison=FixedLead(first_look), keep=keep).start(rows.shape[1])
    step = block or len(rows)
    for start in range(0, len(rows), step):
        game.play(rows[start : start + step])
    assert game.n_rounds == len(rows)
    return game


def board_squares(game: Game) -> Floats:
    """The board's sums of squares by arm, with those of the arms themselves on the diagonal."""
    board = game._evidence.board  # type: ignore[attr-defined]
    lower = np.tril(board.squares, k=-1)
    by_place = lower + lower.T + np.diag(board.sum_squares)
    by_arm = np.empty(by_place.shape)
    by_arm[np.ix_(board.arms, board.arms)] = by_place
    return by_arm


@pytest.mark.parametrize("block", [None, 1, 7, 64])
def test_board_agrees_with_numpy(block: int | None) -> None:
    rows = sample(2500, 5)
    game = played(rows, block=block)
    squares = board_squares(game)
    np.testing.assert_allclose(squares, naive_squares(rows), rtol=1e-10)
    own = np.diag(squares)
    np.testing.assert_allclose(
        (own[:, None] + own - squares)[~np.eye(5, dtype=bool)] / 2 / 2499,
        np.cov(rows.T)[~np.eye(5, dtype=bool)],
        rtol=1e-8,
    )
    np.testing.assert_allclose(game.means, rows.mean(axis=0), rtol=1e-10)
    assert game.counts.tolist() == [2500] * 5


@hard_data
@pytest.mark.parametrize("block", [300, 1, 7, 64])
def test_board_loses_no_digits_to_large_means_or_shared_noise(data: Any, block: int) -> None:
    rows = data(300)
    game = played(rows, block=block)
    assert_exact_squares(board_squares(game), rows)
    for i in range(3):
        exact_mean = sum((Fraction(x) for x in rows[:, i]), Fraction(0)) / len(rows)
        np.testing.assert_allclose(game.means[i], float(exact_mean), rtol=1e-12)


def leaving_rows() -> Floats:
    """Arm 1 is behind from the start; 4 and 0 lose 505 in one round, which makes a mean of more than 5 behind."""
    rows = sample(300, 6, seed=4) * 0.1
    rows[:, 1] -= 100.0
    rows[69, 4] -= 505.0
    rows[89, 0] -= 505.0
    return rows


@pytest.mark.parametrize(("keep", "last"), [(1.0, {1: 50, 4: 70, 0: 90}), (1.5, {1: 75, 4: 105, 0: 135})])
@pytest.mark.parametrize("block", [None, 1, 7])
def test_pairs_that_left_keep_the_values_of_their_last_common_round(
    keep: float, last: dict[int, int], block: int | None
) -> None:
    rows = leaving_rows()
    game = played(rows, first_look=50, keep=keep, block=block)
    assert [(e.arm, e.round) for e in game.eliminations] == [(1, 50), (4, 70), (0, 90)]
    rounds = [last.get(arm, len(rows)) for arm in range(6)]
    assert game.counts.tolist() == rounds
    squares = board_squares(game)
    for i in range(6):
        np.testing.assert_allclose(game.means[i], rows[: rounds[i], i].mean(), rtol=1e-10)
        np.testing.assert_allclose(squares[i, i], naive_squares(rows[: rounds[i]])[i, i], rtol=1e-10)
        for j in range(i):
            common = naive_squares(rows[: min(rounds[i], rounds[j])])
            np.testing.assert_allclose(squares[i, j], common[i, j], rtol=1e-10)
