"""The sign of the supremum over convex weights: certified, and the same as an interior-point solver's."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt

import numpy as np
import pytest
from scipy.optimize import nnls

from bestarm.kernels.convex import (
    NEGATIVE,
    POSITIVE,
    ROUNDING,
    UNKNOWN,
    _is_negative,
    _times,
    convex_sign,
    nonnegative_minimum,
    sparse_sign,
)
from naive import Matrix
from naive_convex import Bracket, Vector, pair_supremum, supremum

RNG = np.random.Generator
STEPS = 200
BAND = 1e-9  # in units of the scale of the problem: its largest number among |n_j| and sqrt(B_jj)


@dataclass(frozen=True)
class Problem:
    """The sign of ``sup <w, n> - sqrt(w' B w)`` with ``n = m - offset`` and the covariance ``B = F' F``."""

    m: Vector
    F: Matrix
    offset: float
    bracket: Bracket  # of the supremum with offset 0

    @cached_property
    def n(self) -> Vector:
        return self.m - self.offset

    @cached_property
    def covariance(self) -> Matrix:
        return self.F.T @ self.F

    @cached_property
    def scale(self) -> float:
        return float(max(np.abs(self.n).max(), np.linalg.norm(self.F, axis=0).max(initial=0.0)))

    @cached_property
    def low(self) -> float:
        return self.bracket.low - self.offset

    @cached_property
    def high(self) -> float:
        return self.bracket.high - self.offset

    @cached_property
    def sign(self) -> int:
        """What the interior-point solver proves; 0 if the value is within the band, or so small that rounding hides it.

        The numbers in ``B`` are rounded: a positive value that hangs on ``w' B w`` being nearly 0 may be lost in that.
        """
        band = BAND * self.scale
        rounding = sqrt(self.bracket.spread**2 + ROUNDING * self.scale**2) - self.bracket.spread
        return POSITIVE if self.low > band + rounding else NEGATIVE if self.high < -band else UNKNOWN


# --- problems --------------------------------------------------------------------------------------------------------


def entries(rng: RNG, rank: int, p: int) -> Matrix:
    """Small multiples of 1/4 half of the time: singular matrices are then singular to the last digit."""
    return rng.integers(-8, 9, (rank, p)) / 4.0 if rng.random() < 0.5 else rng.standard_normal((rank, p))


def equal_arms(rng: RNG, m: Vector, p: int) -> tuple[Vector, Matrix]:
    same, F = rng.integers(p, size=p), entries(rng, p, p)
    return (m[same] if rng.random() < 0.5 else m), F[:, same]


def an_arm_without_variance(rng: RNG, m: Vector, p: int) -> tuple[Vector, Matrix]:
    F = entries(rng, p, p)
    F[:, rng.integers(p)] = 0.0
    return m, F


def shared_noise(rng: RNG, m: Vector, p: int) -> tuple[Vector, Matrix]:
    F = entries(rng, p + 1, p) / 16.0
    F[0] += rng.integers(-4, 5)
    return m, F


KINDS: dict[str, Callable[[RNG, Vector, int], tuple[Vector, Matrix]]] = {
    "full": lambda rng, m, p: (m, entries(rng, 2 * p, p)),
    "square": lambda rng, m, p: (m, entries(rng, p, p)),
    "rank one": lambda rng, m, p: (m, entries(rng, 1, p)),
    "low rank": lambda rng, m, p: (m, entries(rng, max(1, p // 3), p)),
    "no variance at all": lambda rng, m, p: (m, np.zeros((0, p))),
    "all means negative": lambda rng, m, p: (-np.abs(m), entries(rng, p, p)),
    "equal arms": equal_arms,
    "an arm without variance": an_arm_without_variance,
    "shared noise": shared_noise,
}
SIZES, OFTEN = [1, 2, 3, 4, 6, 10, 15, 25, 49], [0.06, 0.15, 0.15, 0.15, 0.15, 0.12, 0.1, 0.1, 0.02]


def supremum_of(rng: RNG, kind: str, sizes: list[int], often: list[float]) -> tuple[Vector, Matrix, Bracket]:
    p = int(rng.choice(sizes, p=often))
    m, F = KINDS[kind](rng, rng.choice([-3.0, 0.0, 0.0, 1.0]) + rng.choice([0.1, 1.0, 3.0]) * rng.standard_normal(p), p)
    unit, slope = 10 ** rng.uniform(-6, 3), 10 ** rng.uniform(-1, 1)
    m, F = unit * m, unit * slope * F
    return m, F, supremum(m, F)


def problems(
    seed: int, per_kind: int, gaps: list[float], sizes: list[int] = SIZES, often: list[float] = OFTEN
) -> Iterator[tuple[str, Problem]]:
    """With offset 0, some positive offset, and offsets that bring the supremum close to 0 on either side."""
    rng = np.random.default_rng(seed)
    for kind, _ in itertools.product(KINDS, range(per_kind)):
        m, F, bracket = supremum_of(rng, kind, sizes, often)
        problem = Problem(m, F, 0.0, bracket)
        near = [bracket.low - gap * problem.scale for gap in gaps] + [
            bracket.high + gap * problem.scale for gap in gaps
        ]
        for offset in [0.0, rng.exponential(problem.scale), *near]:
            yield kind, Problem(m, F, offset, bracket)


def proves(n: Vector, B: Matrix, w: Vector) -> bool:
    """Whether ``<w, n> > sqrt(w' B w)``, without any rounding."""
    support = np.flatnonzero(w)
    exact = {int(j): Fraction(float(w[j])) for j in support}
    lead = sum(exact[j] * Fraction(float(n[j])) for j in exact)
    square = sum(exact[j] * exact[k] * Fraction(float(B[j, k])) for j in exact for k in exact)
    return bool(np.all(w >= 0.0) and lead > 0 and lead**2 > square)


def starts(rng: RNG, problem: Problem) -> Iterator[Vector]:
    """Nothing, random weights, and the solution of a problem nearby."""
    p = problem.m.size
    yield np.zeros(p)
    yield rng.exponential(10 ** rng.uniform(-3, 3), p) * (rng.random(p) < rng.uniform(0.1, 1))
    w = np.zeros(p)
    convex_sign(problem.n + 0.01 * problem.scale * rng.standard_normal(p), problem.covariance, w, STEPS)
    yield w


# --- the sign --------------------------------------------------------------------------------------------------------

GAPS = [2e-9, 1e-8, 3e-7, 1e-5, 1e-2]


@pytest.fixture(scope="module")
def many_problems() -> list[tuple[str, Problem]]:
    return list(problems(0, 230, GAPS))


def test_the_reference_is_sharper_than_the_band(many_problems: list[tuple[str, Problem]]) -> None:
    assert len(many_problems) / (2 + 2 * len(GAPS)) >= 2000
    assert all(-1e-12 * one.scale <= one.high - one.low < BAND * one.scale for _, one in many_problems)
    signs = Counter((kind, one.sign) for kind, one in many_problems)
    assert all(signs[kind, sign] >= 100 for kind in KINDS for sign in (POSITIVE, NEGATIVE))


def test_the_sign_is_that_of_an_interior_point_solver(many_problems: list[tuple[str, Problem]]) -> None:
    """What is not certified counts as not beaten, so a clearly negative sign may, rarely, stay unknown."""
    rng, answers = np.random.default_rng(1), Counter[tuple[int, int]]()
    for kind, problem in many_problems:
        n, B = problem.n, problem.covariance
        for w in starts(rng, problem):
            answer = convex_sign(n, B, w, STEPS)
            assert problem.sign in (answer, UNKNOWN) or (problem.sign, answer) == (NEGATIVE, UNKNOWN), (kind, problem)
            answers[problem.sign, answer] += 1
    assert answers[NEGATIVE, UNKNOWN] < 0.001 * answers[NEGATIVE, NEGATIVE]
    assert min(answers[POSITIVE, POSITIVE], answers[NEGATIVE, NEGATIVE]) > 0.3 * answers.total()


def test_rounding_does_not_certify_a_negative_sign() -> None:
    """One source of noise: 2/9 of arm 0 and 7/9 of arm 2 have none, and are ahead; huge weights are given first."""
    F = 8.6 * np.array([[-7.0, -8.0, 2.0]])
    n = np.array([-5.428, -6.438, 1.551])
    n += 3e-5 - (2 * n[0] + 7 * n[2]) / 9
    assert proves(n, F.T @ F, np.array([2.0, 0.0, 7.0]))
    rng = np.random.default_rng(2)
    for _ in range(2000):
        w = 10 ** rng.uniform(9, 11) * np.array([0.0, 1.0, 4.0 * (1.0 + 1e-12 * rng.standard_normal())])
        assert convex_sign(n, F.T @ F, w, STEPS) == POSITIVE


def claims_negative(n: Vector, B: Matrix, w: Vector) -> bool:
    """What the certificate says of these weights, compiled and as it is written."""
    Bw = np.empty(n.size)
    _times(B, w, Bw)
    written = bool(_is_negative(n, B, w, Bw))
    assert written == bool(_is_negative(n, B, w, Bw))
    return written


# One source of noise, weights that all but cancel it, and leads; then weights that prove the lead to be positive.
LOST_SQUARES = [  # w' B w is far below what rounding leaves of it: no multiple of w is known to be small enough
    ([4.0, -3.9], [3.9000000002844906, 4.0], [15.056325143104106, -17.082277720192497], [1.0, 0.0]),
    ([7.1, -4.5], [80.11706947217002, 126.40693183408109], [-1062.497139410041, 253.10898077789145], [0.0, 1.0]),
    ([3.1, -6.5], [6.499999999954495, 3.1], [-204.58717622099488, 158.61435419014128], [0.0, 1.0]),
]
LOST_ENTRIES = [  # entries of B w are nothing but rounding: no multiple of them is above a lead
    ([3.5, -3.0], [0.02836611356034891, 0.03309379915374039], [3.396917103417464e-11, -1.99531e-11], [3.0, 3.5]),
    ([0.3, -7.5], [7.499999999999999, 0.3], [0.0, 1.4348355360930063e-13], [7.5, 0.3]),
    ([4.9, -7.0], [0.06116054389716525, 0.042812380728015687], [-4.063005748e-15, 6.084697861e-15], [7.0, 4.9]),
]


@pytest.mark.parametrize(("noise", "weights", "leads", "proof"), [*LOST_SQUARES, *LOST_ENTRIES])
def test_what_rounding_may_have_made_certifies_nothing(
    noise: list[float], weights: list[float], leads: list[float], proof: list[float]
) -> None:
    n, B = np.array(leads), np.outer(noise, noise)
    assert proves(n, B, np.array(proof))
    assert not claims_negative(n, B, np.array(weights))


def test_what_is_beyond_rounding_is_certified() -> None:
    """The guards cost nothing but the last digits."""
    n, B = np.array([0.7, 0.7]), np.eye(2)
    assert claims_negative(n, B, n)
    assert claims_negative(n, B, 1e6 * n)
    assert claims_negative((1.0 - 1e-12) * np.ones(2) / np.sqrt(2), B, np.ones(2))
    assert not claims_negative((1.0 + 1e-12) * np.ones(2) / np.sqrt(2), B, np.ones(2))


def test_a_positive_sign_leaves_weights_that_prove_it(many_problems: list[tuple[str, Problem]]) -> None:
    sizes: Counter[int] = Counter()
    for kind, problem in many_problems[::3]:
        n, B, w = problem.n, problem.covariance, np.zeros(problem.m.size)
        if convex_sign(n, B, w, STEPS) == POSITIVE:
            assert proves(n, B, w), (kind, problem)
            sizes[int(np.count_nonzero(w))] += 1
    assert sizes[1] > 100
    assert sum(sizes[size] for size in range(3, 50)) > 500


def test_weights_that_prove_nothing_are_told_apart() -> None:
    """Teeth of the check above: the weights of a negative problem do not pass it."""
    n, B = np.array([1.0, 1.0]), np.array([[2.5, 1.5], [1.5, 2.5]])
    assert not proves(n, B, np.array([1.0, 1.0]))
    assert proves(n, B - 1.1, np.array([1.0, 1.0]))
    assert not proves(n, B - 1.1, np.array([1.0, -1e-9]))


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_with_few_steps_the_sign_may_be_unknown_but_not_wrong(
    many_problems: list[tuple[str, Problem]], limit: int
) -> None:
    rng, answers = np.random.default_rng(3), Counter[int]()
    for kind, problem in many_problems[::5]:
        n, B = problem.n, problem.covariance
        for w in starts(rng, problem):
            answer = convex_sign(n, B, w, limit)
            assert answer in (problem.sign, UNKNOWN) or problem.sign == UNKNOWN, (kind, problem)
            assert answer != POSITIVE or proves(n, B, w)
            answers[answer] += 1
    assert answers[UNKNOWN] > 100
    assert limit == 0 or min(answers.values()) > 100


# --- few arms --------------------------------------------------------------------------------------------------------

FEW, EQUALLY = [2, 3, 4, 5, 6], [0.2] * 5
PAIR_GAPS = [1e-5, 1e-3, 0.05, 0.3]


def best_pair(n: Vector, B: Matrix) -> float:
    pairs = itertools.combinations(range(n.size), 2)
    return max(pair_supremum(n, B, j, k) for j, k in pairs)


def test_one_arm_beats_alone_or_not_at_all() -> None:
    rng, answers = np.random.default_rng(4), Counter[tuple[bool, int]]()
    for kind, problem in problems(5, 25, PAIR_GAPS, FEW, EQUALLY):
        n, B, w = problem.n, problem.covariance, rng.random(problem.m.size)
        answer = sparse_sign(n, B, w, 1, STEPS)
        alone = bool(np.any(n > np.sqrt(np.diag(B))))
        assert (answer == POSITIVE) == alone, (kind, problem)
        assert not alone or (np.count_nonzero(w) == 1 and proves(n, B, w))
        answers[alone, answer] += 1
    assert min(answers[True, POSITIVE], answers[False, NEGATIVE], answers[False, UNKNOWN]) > 50


def test_two_arms_that_beat_are_two_and_do() -> None:
    rng, answers = np.random.default_rng(6), Counter[tuple[bool, int]]()
    for kind, problem in problems(7, 12, PAIR_GAPS, FEW, EQUALLY):
        n, B, w = problem.n, problem.covariance, rng.random(problem.m.size) * rng.integers(2)
        answer, value = sparse_sign(n, B, w, 2, STEPS), best_pair(n, B)
        if answer == POSITIVE:
            assert np.count_nonzero(w) <= 2
            assert proves(n, B, w)
        if answer == NEGATIVE:
            assert value <= 1e-6 * problem.scale, (kind, problem)
        answers[value > 0, answer] += 1
    assert min(answers[True, POSITIVE], answers[False, NEGATIVE], answers[False, UNKNOWN]) > 20
    assert answers[True, UNKNOWN] < 0.1 * answers[True, POSITIVE]


def test_as_many_arms_as_there_are_is_no_restriction() -> None:
    for kind, problem in problems(8, 10, PAIR_GAPS, FEW, EQUALLY):
        n, B, w, v = problem.n, problem.covariance, np.zeros(problem.m.size), np.zeros(problem.m.size)
        assert sparse_sign(n, B, w, n.size, STEPS) == convex_sign(n, B, v, STEPS), (kind, problem)
        assert np.array_equal(w, v)


# --- the quadratic minimum -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2, 5, 12, 40])
@pytest.mark.parametrize("start", ["nothing", "random", "everything"])
def test_the_nonnegative_minimum_is_that_of_nnls(p: int, start: str) -> None:
    rng = np.random.default_rng(p)
    for _ in range(30):
        F, y = rng.standard_normal((4 * p, p)), rng.standard_normal(4 * p) + 0.2 * rng.standard_normal()
        F, y = 10 ** rng.uniform(-3, 3) * (F + rng.uniform(0, 1)), 10 ** rng.uniform(-3, 3) * y
        expected = nnls(F, y)[0]
        w = {"nothing": np.zeros(p), "random": rng.random(p) * rng.integers(2, size=p), "everything": np.ones(p)}[start]
        nonnegative_minimum(F.T @ y, F.T @ F, w, 3 * (p + 1))
        np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-9 * expected.max())


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "no variance at all"])
def test_the_nonnegative_minimum_of_a_singular_problem_is_as_low_as_that_of_nnls(kind: str) -> None:
    rng = np.random.default_rng(9)
    for _ in range(30):
        _, F = KINDS[kind](rng, np.zeros(6), 6)
        y = rng.standard_normal(len(F))
        w = np.zeros(6)
        nonnegative_minimum(F.T @ y, F.T @ F, w, 21)
        assert np.all(w >= 0)
        assert np.linalg.norm(F @ w - y) <= nnls(F, y)[1] + 1e-7 * np.linalg.norm(y)
