from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import bestarm
from bestarm import Moments

Floats = NDArray[np.float64]

SPLITS = [[0, 60], [0, 1, 60], [0, 59, 60], [0, 7, 8, 30, 60], list(range(61)), [0, 30, 60]]


def sample(n_rounds: int = 60, n_arms: int = 4, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rounds, n_arms)) @ rng.standard_normal((n_arms, n_arms)) + np.arange(n_arms)


def naive_difference_variances(rows: Floats) -> Floats:
    """Eq. (10) of the paper: the mean over pairs of rounds of half the squared change of the difference."""
    t, K = rows.shape
    out = np.zeros((K, K))
    for i in range(K):
        for j in range(K):
            d = rows[:, i] - rows[:, j]
            out[i, j] = sum((d[u] - d[v]) ** 2 for u, v in combinations(range(t), 2)) / (t * (t - 1))
    return out


def exact_square(rows: Floats, i: int, j: int) -> Fraction:
    """Centred sum of squares of the difference of two columns, of the numbers as they are stored."""
    return _exact_centred_square([Fraction(x) - Fraction(y) for x, y in zip(rows[:, i], rows[:, j], strict=True)])


def exact_own_square(rows: Floats, i: int) -> Fraction:
    return _exact_centred_square([Fraction(x) for x in rows[:, i]])


def _exact_centred_square(values: Sequence[Fraction]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0))


def blockwise(rows: Floats, cuts: Sequence[int]) -> Moments:
    """The moments of a block, updated with the blocks that follow."""
    first, *others = [rows[start:stop] for start, stop in pairwise(cuts)]
    moments = Moments.of(first)
    for block in others:
        moments = moments.update(block)
    return moments


def assert_same_as_numpy(moments: Moments, rows: Floats) -> None:
    assert moments.count == len(rows)
    np.testing.assert_allclose(moments.means, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(rows, rowvar=False), rtol=1e-10)
    np.testing.assert_allclose(moments.cross_products, np.cov(rows, rowvar=False) * (len(rows) - 1), rtol=1e-10)
    differences = rows[:, :, None] - rows[:, None, :]
    np.testing.assert_allclose(moments.difference_variances, differences.var(axis=0, ddof=1), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("cuts", SPLITS)
def test_any_split_gives_the_moments_of_all_rows(cuts: list[int]) -> None:
    rows = sample()
    assert_same_as_numpy(blockwise(rows, cuts), rows)


@pytest.mark.parametrize("cuts", SPLITS[1:])
def test_merging_from_the_right_gives_the_moments_of_all_rows(cuts: list[int]) -> None:
    rows = sample()
    parts = [Moments.of(rows[start:stop]) for start, stop in pairwise(cuts)]
    merged = parts.pop()
    while parts:
        merged = parts.pop().merge(merged)
    assert_same_as_numpy(merged, rows)


def test_difference_variances_are_those_of_the_papers_definition() -> None:
    rows = sample(12, 3)
    np.testing.assert_allclose(Moments.of(rows).difference_variances, naive_difference_variances(rows), rtol=1e-10)


def test_merge_changes_neither_of_the_two() -> None:
    rows = sample()
    left, right = Moments.of(rows[:20]), Moments.of(rows[20:])
    before = [left.means.copy(), left.squares.copy(), right.means.copy(), right.squares.copy()]
    left.merge(right)
    for array, copy in zip([left.means, left.squares, right.means, right.squares], before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_one_row_has_means_but_no_covariance() -> None:
    moments = Moments.of([[1.0, 2.0, 4.0]])
    assert (moments.count, moments.means.tolist()) == (1, [1.0, 2.0, 4.0])
    assert np.isnan(moments.covariance).all()
    assert np.isnan(moments.difference_variances).all()


def test_two_rows_have_a_covariance() -> None:
    moments = Moments.of([[1.0, 2.0, 4.0]]).update([[3.0, 2.0, 1.0]])
    np.testing.assert_allclose(moments.covariance, [[2.0, 0.0, -3.0], [0.0, 0.0, 0.0], [-3.0, 0.0, 4.5]], rtol=1e-14)
    np.testing.assert_allclose(
        moments.difference_variances, [[0.0, 2.0, 12.5], [2.0, 0.0, 4.5], [12.5, 4.5, 0.0]], rtol=1e-14
    )


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


@hard_data
@pytest.mark.parametrize("block", [300, 1, 7, 64])
def test_no_digits_are_lost_to_large_means_or_shared_noise(data: Any, block: int) -> None:
    rows = data(300)
    moments = blockwise(rows, [*range(0, 300, block), 300])
    assert_exact_squares(moments.squares, rows)
    for i in range(3):
        exact_mean = sum((Fraction(x) for x in rows[:, i]), Fraction(0)) / len(rows)
        np.testing.assert_allclose(moments.means[i], float(exact_mean), rtol=1e-12)


# The board that the compiled loop works on must say the same as Moments.


NEVER = 10**9


@dataclass(frozen=True)
class FixedLead:
    """From the first look on, a lead of more than 5 is enough."""

    first_look: int
    bounds: ClassVar[None] = None

    def boundary(self, rounds: Floats, n_arms: int, delta: float) -> tuple[Floats, Floats]:
        slopes = np.where(rounds < self.first_look, np.inf, 0.0)
        return slopes, np.full_like(slopes, 5.0)


def played(rows: Floats, first_look: int = NEVER, keep: float = 1.0, block: int | None = None) -> bestarm.Game:
    game = bestarm.PairwiseBAI(0.1, FixedLead(first_look), keep=keep).start(rows.shape[1])
    step = block or len(rows)
    for start in range(0, len(rows), step):
        game.play(rows[start : start + step])
    assert game.n_rounds == len(rows)
    return game


def board_squares(game: bestarm.Game) -> Floats:
    """The board's sums of squares by arm, with those of the arms themselves on the diagonal."""
    board = game._learner._board  # type: ignore[attr-defined]
    lower = np.tril(board.squares, k=-1)
    by_place = lower + lower.T + np.diag(board.own)
    by_arm = np.empty(by_place.shape)
    by_arm[np.ix_(board.arms, board.arms)] = by_place
    return by_arm


@pytest.mark.parametrize("block", [None, 1, 7])
def test_board_agrees_with_moments(block: int | None) -> None:
    rows = sample(2500, 5)
    game, moments = played(rows, block=block), Moments.of(rows)
    np.testing.assert_allclose(board_squares(game), moments.squares, rtol=1e-10)
    np.testing.assert_allclose(game.means, moments.means, rtol=1e-10)
    assert game.counts.tolist() == [2500] * 5


@hard_data
def test_board_loses_no_digits_to_large_means_or_shared_noise(data: Any) -> None:
    rows = data(300)
    assert_exact_squares(board_squares(played(rows)), rows)


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
        np.testing.assert_allclose(squares[i, i], Moments.of(rows[: rounds[i]]).squares[i, i], rtol=1e-10)
        for j in range(i):
            common = Moments.of(rows[: min(rounds[i], rounds[j])])
            np.testing.assert_allclose(squares[i, j], common.squares[i, j], rtol=1e-10)


def test_moments_refuse_what_is_no_table() -> None:
    for rows, shape in [(np.array([1.0, 2.0]), r"\(2,\)"), (np.empty((0, 3)), r"\(0, 3\)")]:
        with pytest.raises(ValueError, match=f"rows must be a table with at least one row, got shape {shape}"):
            Moments.of(rows)


def test_moments_of_different_arms_are_not_merged() -> None:
    with pytest.raises(ValueError, match="of 2 and of 3 arms cannot be merged"):
        Moments.of([[1.0, 2.0]]).merge(Moments.of([[1.0, 2.0, 3.0]]))
