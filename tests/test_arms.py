from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from bestarm.arms import (
    Arms,
    BernoulliArms,
    GaussianArms,
    TableArms,
    bernoulli_variances,
    clustered_arms,
    difference_variances,
    equicorrelated_arms,
    gaussian_worst_case_arms,
)

Floats = NDArray[np.float64]

MEANS = [0.4, 0.7, 0.25, 0.6]
REGULAR = [[1.0, 0.3, -0.2], [0.3, 2.0, 0.5], [-0.2, 0.5, 0.7]]
LOADINGS = np.array([[1.0, 0.5, -1.0, 2.0], [0.0, 1.5, 0.5, 1.0]])  # four arms from two factors
SINGULAR = LOADINGS.T @ LOADINGS
TABLE = np.round(np.random.default_rng(5).random((37, 3)), 2)


def bernoulli_between(share: float, means: Sequence[float] = MEANS) -> BernoulliArms:
    """Arms whose variances lie at this share of the way from the smallest to the independent ones."""
    possible = bernoulli_variances(means)
    return BernoulliArms(means, possible.smallest + share * (possible.independent - possible.smallest))


KINDS: dict[str, Callable[[], Arms]] = {
    "gaussian regular": lambda: GaussianArms([0.3, -1.0, 2.0], REGULAR),
    "gaussian singular": lambda: GaussianArms([0.3, -1.0, 2.0, 0.1], SINGULAR),
    "gaussian perfectly correlated": lambda: clustered_arms(6, 2, correlation=1.0),
    "gaussian constant": lambda: GaussianArms([0.3, -1.0], np.zeros((2, 2))),
    "gaussian worst case": lambda: gaussian_worst_case_arms([0.1, 0.5, 0.3], [0.2, 0.0, 1.5]),
    "equicorrelated": lambda: equicorrelated_arms(5, 0.7),
    "equicorrelated negatively": lambda: equicorrelated_arms(3, -0.4),
    "clustered": lambda: clustered_arms(6, 3, 0.9),
    "clustered, ten arms": lambda: clustered_arms(10, 2, 0.99),
    "bernoulli smallest": lambda: bernoulli_between(0.0),
    "bernoulli between": lambda: bernoulli_between(0.5),
    "bernoulli independent": lambda: bernoulli_between(1.0),
    "table": lambda: TableArms(TABLE),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def standard_errors_off(estimates: Floats, truth: Floats, samples: Floats) -> float:
    """The largest deviation in standard errors; a sample that never varies must hit the truth exactly."""
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    rounding = 1e-12 * (1.0 + np.abs(truth))
    return float(((np.abs(estimates - truth) - rounding) / np.maximum(error, rounding)).max())


@every_kind
def test_draws_have_the_means_and_covariance_that_are_claimed(kind: str) -> None:
    arms = KINDS[kind]()
    rows = arms.draw(40_000, np.random.default_rng(11))
    centred = rows - arms.means
    products = centred[:, :, None] * centred[:, None, :]
    # At most 10 means and 100 products a kind: five standard errors leave a chance of 1e-4 for all of them.
    assert standard_errors_off(rows.mean(axis=0), arms.means, rows) < 5
    assert standard_errors_off(products.mean(axis=0), arms.covariance, products) < 5


@every_kind
@pytest.mark.parametrize("block", [1, 3, 7, 64])
def test_rows_drawn_in_blocks_are_the_rows_drawn_at_once(kind: str, block: int) -> None:
    arms, n_rounds = KINDS[kind](), 501
    whole = arms.draw(n_rounds, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    cuts = [*range(0, n_rounds, block), n_rounds]
    parts = [arms.draw(stop - start, rng) for start, stop in pairwise(cuts)]
    np.testing.assert_array_equal(np.vstack(parts), whole)


@every_kind
def test_draw_gives_float64_rows_that_the_caller_may_change(kind: str) -> None:
    arms = KINDS[kind]()
    rows = arms.draw(4, np.random.default_rng(0))
    assert rows.shape == (4, arms.n_arms)
    assert rows.dtype == np.float64
    before = arms.draw(4, np.random.default_rng(0))
    rows[:] = -1.0
    np.testing.assert_array_equal(arms.draw(4, np.random.default_rng(0)), before)


@every_kind
def test_best_is_the_first_arm_with_the_largest_mean(kind: str) -> None:
    arms = KINDS[kind]()
    assert arms.best == arms.means.tolist().index(max(arms.means.tolist()))
    assert GaussianArms([0.0, 1.0, 1.0], np.eye(3)).best == 1


@every_kind
def test_arrays_are_read_only(kind: str) -> None:
    arms = KINDS[kind]()
    some = [getattr(arms, name, None) for name in ("difference_variances", "scores")]
    for array in (arms.means, arms.covariance, *(one for one in some if one is not None)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0


def test_arms_keep_their_own_copy_of_what_they_were_given() -> None:
    means, covariance, table = np.array([0.0, 1.0]), np.eye(2), TABLE.copy()
    gaussian, rows = GaussianArms(means, covariance), TableArms(table)
    means[0], covariance[0, 0], table[0, 0] = 9.0, 9.0, 9.0  # still writeable, and no longer theirs
    assert gaussian.means.tolist() == [0.0, 1.0]
    assert gaussian.covariance.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert rows.scores[0, 0] == TABLE[0, 0]


def test_perfectly_correlated_arms_of_equal_means_are_equal_in_every_round() -> None:
    arms = GaussianArms([0.3, 0.3, 0.0], [[0.7, 0.7, 0.1], [0.7, 0.7, 0.1], [0.1, 0.1, 1.0]])
    rows = arms.draw(1000, np.random.default_rng(0))
    np.testing.assert_array_equal(rows[:, 0], rows[:, 1])
    assert np.ptp(rows[:, 2] - rows[:, 0]) > 1


def test_perfectly_correlated_arms_differ_by_the_difference_of_their_means_up_to_one_addition() -> None:
    arms = clustered_arms(6, 2, correlation=1.0)
    rows = arms.draw(1000, np.random.default_rng(0))
    for i, j in [(0, 1), (1, 2), (3, 4), (3, 5)]:
        lead = rows[:, j] - rows[:, i]
        last_digit = np.spacing(np.abs(rows[:, [i, j]]).max(axis=1))
        assert (np.abs(lead - (arms.means[j] - arms.means[i])) <= 2 * last_digit).all()


def test_arms_of_one_factor_and_different_scale_are_multiples_of_each_other() -> None:
    rows = GaussianArms([0.0, 0.0], [[1.0, 2.0], [2.0, 4.0]]).draw(1000, np.random.default_rng(0))
    np.testing.assert_allclose(rows[:, 1], 2.0 * rows[:, 0], rtol=1e-10)


def test_difference_variances_of_a_covariance_are_never_negative() -> None:
    expected = [[0.0, 2.4, 2.1], [2.4, 0.0, 1.7], [2.1, 1.7, 0.0]]  # s_ii + s_jj - 2 s_ij
    np.testing.assert_allclose(difference_variances(np.array(REGULAR)), expected, rtol=1e-14)
    assert difference_variances(np.array([[0.1, 0.1 + 2e-17], [0.1 + 2e-17, 0.1]])).min() == 0.0


# Bernoulli arms: Lemma K.8 and the construction of appendix I, in exact fractions.


def exact_bernoulli_covariance(means: Sequence[Fraction], variances: Sequence[Fraction]) -> list[list[Fraction]]:
    """Covariance of ``X_i = 1(U <= a_i or W_i <= b_i)``, summed over the pieces on which ``U`` decides the same."""
    best = max(range(len(means)), key=lambda i: means[i])
    b = [
        (V - ((means[best] - m) - (means[best] - m) ** 2)) / (2 * (1 - means[best]))
        for m, V in zip(means, variances, strict=True)
    ]
    b[best] = Fraction(0)
    a = [(m - bi) / (1 - bi) for m, bi in zip(means, b, strict=True)]
    cuts = sorted({Fraction(0), *a, Fraction(1)})

    def both(i: int, j: int) -> Fraction:
        total = Fraction(0)
        for left, right in pairwise(cuts):
            chance = [Fraction(1) if right <= a[k] else b[k] for k in (i, j)]
            total += (right - left) * (chance[0] if i == j else chance[0] * chance[1])
        return total

    K = range(len(means))
    return [[both(i, j) - means[i] * means[j] for j in K] for i in K]


def tenths(*numerators: int) -> list[Fraction]:
    return [Fraction(n, 10) for n in numerators]


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize("means", [tenths(7, 6, 5), tenths(4, 7, 2, 6), tenths(1, 2), tenths(9, 8, 1, 8)])
def test_full_covariance_of_bernoulli_arms(means: list[Fraction], share: Fraction) -> None:
    best = max(means)
    smallest = [(best - m) - (best - m) ** 2 for m in means]
    independent = [m * (1 - m) + best * (1 - best) if m != best else Fraction(0) for m in means]
    wanted = [s + share * (i - s) for s, i in zip(smallest, independent, strict=True)]
    arms = BernoulliArms([float(m) for m in means], [float(V) for V in wanted])
    expected = np.array(exact_bernoulli_covariance(means, wanted), dtype=np.float64)
    np.testing.assert_allclose(arms.covariance, expected, rtol=1e-10, atol=1e-15)
    for variances in (arms.difference_variances, difference_variances(arms.covariance)[arms.best]):
        np.testing.assert_allclose(variances, np.array(wanted, dtype=np.float64), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_above_the_independent_variance_the_arm_is_independent_and_says_so(share: float) -> None:
    possible = bernoulli_variances(MEANS)
    arms = BernoulliArms(MEANS, possible.independent + share * (possible.largest - possible.independent))
    np.testing.assert_allclose(arms.difference_variances, possible.independent, rtol=1e-14)
    variances = np.array([m * (1 - m) for m in MEANS])
    np.testing.assert_allclose(arms.covariance, np.diag(variances), atol=1e-15)


def test_bernoulli_draws_are_zeros_and_ones_and_nested_where_the_variance_is_smallest() -> None:
    assert set(np.unique(bernoulli_between(0.5).draw(500, np.random.default_rng(0)))) == {0.0, 1.0}
    arms = bernoulli_between(0.0)
    rows = arms.draw(2000, np.random.default_rng(0))
    assert (rows <= rows[:, [arms.best]]).all()


def test_range_of_bernoulli_variances() -> None:
    possible = bernoulli_variances([0.5, 0.8, 0.1])
    np.testing.assert_allclose(possible.smallest, [0.3 - 0.09, 0.0, 0.7 - 0.49], rtol=1e-14)
    np.testing.assert_allclose(possible.independent, [0.25 + 0.16, 0.0, 0.09 + 0.16], rtol=1e-14)
    np.testing.assert_allclose(possible.largest, [0.7 - 0.09, 0.0, 0.9 - 0.49], rtol=1e-14)


@pytest.mark.parametrize("means", [MEANS, [0.7, 0.6, 0.5], [0.1, 0.2], [0.95, 0.9, 0.05], [0.3, 0.1]])
def test_variances_at_the_edges_of_what_is_possible_are_accepted(means: list[float]) -> None:
    possible = bernoulli_variances(means)
    for edge in (possible.smallest, possible.largest):
        assert BernoulliArms(means, edge).means.tolist() == means


@pytest.mark.parametrize("best", range(2, 10))
def test_edges_written_as_decimals_are_accepted_whatever_the_rounding(best: int) -> None:
    for other in range(1, best):
        high, low = Fraction(best, 10), Fraction(other, 10)
        D = high - low
        for edge in (D - D**2, min(2 - high - low, high + low) - D**2):
            assert BernoulliArms([best / 10, other / 10], [0.0, float(edge)]).best == 0


@pytest.mark.parametrize(("arm", "below", "above"), [*((arm, -1e-12, 1e-12) for arm in (0, 2, 3)), (1, 1e-6, 1e-6)])
def test_variances_just_outside_are_refused(arm: int, below: float, above: float) -> None:
    """Arm 1 is the best one, which does not differ from itself."""
    possible = bernoulli_variances(MEANS)
    for edge, step in ((possible.smallest, below), (possible.largest, above)):
        outside = edge.copy()
        outside[arm] += step
        with pytest.raises(ValueError, match=rf"difference_variances\[{arm}\] = .* is impossible|\[1\] = 1e-06"):
            BernoulliArms(MEANS, outside)


# The other kinds.


def test_gaussian_worst_case_arms_share_one_part_and_have_their_own() -> None:
    arms = gaussian_worst_case_arms([0.1, 0.5, 0.3], [0.2, 0.0, 1.5])
    assert arms.covariance.tolist() == [[1.2, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 2.5]]
    np.testing.assert_allclose(difference_variances(arms.covariance)[arms.best], [0.2, 0.0, 1.5], rtol=1e-14)


def test_equicorrelated_arms_are_those_of_figure_1_left() -> None:
    arms = equicorrelated_arms(10, 0.7)
    np.testing.assert_allclose(arms.means, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0], rtol=1e-14)
    assert np.unique(np.diag(arms.covariance)).tolist() == [1.0]
    assert np.unique(arms.covariance[~np.eye(10, dtype=bool)]).tolist() == [0.7]


@pytest.mark.parametrize("n_clusters", [16, 8, 4, 2, 1])
def test_clustered_arms_are_those_of_figure_1_right(n_clusters: int) -> None:
    """Consecutive arms are correlated, within clusters of equal size."""
    arms = clustered_arms(16, n_clusters)
    np.testing.assert_allclose(arms.means, np.arange(1, 17) * 0.1, rtol=1e-14)
    size = 16 // n_clusters
    expected = np.kron(np.eye(n_clusters), np.full((size, size), 0.99))
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_array_equal(arms.covariance, expected)


def test_table_arms_draw_whole_rows_and_every_row() -> None:
    arms = TableArms(TABLE)
    drawn = {tuple(row) for row in arms.draw(2000, np.random.default_rng(1)).tolist()}
    assert drawn == {tuple(row) for row in TABLE.tolist()}


def test_moments_of_table_arms_are_those_of_the_whole_table() -> None:
    arms = TableArms([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    np.testing.assert_allclose(arms.means, [0.5, 0.25], rtol=1e-14)
    np.testing.assert_allclose(arms.covariance, [[0.25, 0.125], [0.125, 0.1875]], rtol=1e-14)
    one_row = TableArms([[0.2, 0.4]])
    assert one_row.covariance.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert one_row.draw(3, np.random.default_rng(0)).tolist() == [[0.2, 0.4]] * 3
