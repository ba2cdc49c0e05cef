"""Comparisons on moments: the paper's boundaries for pairs, and the mixture of Student's tests."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.checks import check_choice, check_count, finite_tuple, normalised_weights, refuse_first
from bestarm.comparisons.evidence import GAUSSIAN, Evidence, Goal, Role, bounded, shared_rounds
from bestarm.kernels.state import PairRule, Thresholds
from bestarm.text import short_repr
from bestarm.values import Array, shortest_call

CHUNK = 2048  # rounds computed together: rounds 1..2048, 2049..4096, ...
LARGEST_SLOPE = 1e150  # its square is still a number; beyond it a boundary counts as infinite
CHUNKS_REMEMBERED = 4096  # 16 bytes per round: at most 64 MiB, four million rounds
PAIRS_TRIED = 2**18  # of places on a board that is copied to try a floor: copies of larger ones save nothing


class Boundary(Protocol):
    """Slope and offset of each round: of the lead of a pair, of the interval of one arm, of KN's region."""

    def __hash__(self) -> int: ...

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Slope and offset after each of these rounds; an infinite slope beats nobody."""
        ...


@lru_cache(maxsize=CHUNKS_REMEMBERED)
def boundary_chunk(boundary: Boundary, n_arms: int, delta: float, index: int) -> Thresholds:
    """Slopes and offsets of rounds ``index * CHUNK + 1`` to ``(index + 1) * CHUNK``, read-only."""
    rounds = np.arange(index * CHUNK + 1, (index + 1) * CHUNK + 1, dtype=np.float64)
    returned = boundary.boundary(rounds, n_arms, delta)
    name = f"{type(boundary).__name__}.boundary"
    try:
        slopes, offsets = (np.array(part, dtype=np.float64) for part in returned)
    except (TypeError, ValueError) as error:
        got = short_repr(returned)
        raise TypeError(f"{name} must return two arrays, slopes and offsets by round, got {got}") from error
    for part in (slopes, offsets):
        if part.shape != rounds.shape:
            raise ValueError(
                f"{name} must return a slope and an offset for each of the {CHUNK} rounds that it is given, got arrays "
                f"of shape {slopes.shape} and {offsets.shape}"
            )
        if np.isnan(part).any():
            first = int(rounds[np.isnan(part).argmax()])
            raise ValueError(f"{name} must return numbers, got NaN for round {first}: an infinite slope beats nobody")
    for what, wrong in (("slopes of at least 0", slopes < 0), ("offsets above -inf", np.isneginf(offsets))):
        if wrong.any():
            k = int(wrong.argmax())
            raise ValueError(
                f"{name} must return {what}, got slope {slopes[k]:g} and offset {offsets[k]:g} for round "
                f"{rounds[k]:.0f}: an infinite slope beats nobody"
            )
    slopes[slopes > LARGEST_SLOPE] = np.inf
    slopes.setflags(write=False)
    offsets.setflags(write=False)
    return Thresholds(slopes, offsets)


def thresholds_after(boundary: Boundary, n_arms: int, delta: float, n_rounds: int) -> Thresholds:
    """Slopes and offsets of the rounds after the first ``n_rounds``, as far as their chunk goes."""
    chunk, start = divmod(n_rounds, CHUNK)
    slopes, offsets = boundary_chunk(boundary, n_arms, delta, chunk)
    return Thresholds(slopes[start:], offsets[start:])


def in_chunks(
    rows: Array, boundary: Boundary, n_arms: int, delta: float, n_rounds: int
) -> Iterator[tuple[Array, Thresholds]]:
    """Rows that follow the first ``n_rounds``, in blocks with the thresholds of their rounds."""
    used = 0
    while used < len(rows):
        thresholds = thresholds_after(boundary, n_arms, delta, n_rounds + used)
        block = rows[used : used + thresholds.slopes.size]
        yield block, thresholds
        used += len(block)


class BoundaryEvidence(Evidence):
    """Moments of the arms, judged by a boundary.

    The kernel is called with the rows, the slopes and offsets of their rounds, the board, and what is its own; it
    returns the number of rows used.
    """

    def __init__(self, n_arms: int, boundary: Boundary, delta: float, kernel: Callable[..., int], *own: Any) -> None:
        super().__init__(n_arms)
        self._boundary = boundary
        self._delta = delta
        self._kernel = kernel
        self._own = own

    def play(self, rows: Array) -> int:
        """Play rounds from whole rows until the end; the number of rows used."""
        used = 0
        while used < len(rows):
            block = rows[used : used + CHUNK - self.board.n_rounds % CHUNK]
            played = self._play_block(block)
            used += played
            if played < len(block):
                break
        return used

    def _play_block(self, block: Array) -> int:
        """Play rounds of one chunk."""
        board = self.board
        thresholds = thresholds_after(self._boundary, board.arms.size, self._delta, board.n_rounds)
        return self._kernel(block, *thresholds, board, *self._own)

    def shares(self) -> Array:
        """By arm: how far an arm is on its way to the boundary, as `Game.evidence` says it."""
        board, m, t = self.board, self.board.n_queried, self.board.n_rounds
        ratios = np.zeros(board.arms.size)
        if t >= 2:
            slopes, offsets = thresholds_after(self._boundary, board.arms.size, self._delta, t - 1)
            if np.isfinite(slopes[0]):
                leads = board.means[:m] - board.means[:m, None]  # row a, column b: of the arm at b over that at a
                reached = _share_of(leads, self._radii(m, t, slopes[0], offsets[0]))
                ratios[board.arms[:m]] = reached.max(axis=1)
        return self._delta ** (1.0 - ratios**2)

    def _radii(self, m: int, t: int, slope: float, offset: float) -> Array:
        """How far ahead of one another two queried arms must be, by their places."""
        return slope * np.sqrt(self._squares(m) / (t - 1)) + offset

    def _squares(self, m: int) -> Array:
        """Centred sums of squares of the differences of queried arms, by two places."""
        below = np.tril(self.board.squares[:m, :m], -1)
        return below + below.T


def _share_of(leads: Array, radii: Array) -> Array:
    """Leads as shares of what they must exceed, from 0 to 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(leads > 0.0, np.where(radii > leads, leads / radii, 1.0), 0.0)


class PairBoundaryEvidence(BoundaryEvidence):
    """Moments of all differences, judged by the boundary of a comparison of pairs."""

    def __init__(self, n_arms: int, boundary: "PairBoundary", goal: Goal) -> None:
        from bestarm.kernels.boundaries import race_pairs

        rule = PairRule(float(goal.keep), float(goal.indifference_zone), float(goal.epsilon))
        super().__init__(n_arms, boundary, goal.delta, race_pairs, rule)
        self._floor = boundary.floor
        self._bounds_leads = boundary.supports_epsilon
        self._zone = rule.zone

    def _radii(self, m: int, t: int, slope: float, offset: float) -> Array:
        return super()._radii(m, t, slope, offset - self._zone)

    def _play_block(self, block: Array) -> int:
        """Play rounds of one chunk; the boundary itself is only computed if somebody crosses its floor in them."""
        played = self._play_below_floor(block)
        return super()._play_block(block) if played is None else played

    def _play_below_floor(self, block: Array) -> int | None:
        """Play a whole chunk of rounds in which nobody crosses the floor; None, and nothing is played, if it is not so.

        Statistics do not depend on the boundary, and who does not cross the floor does not cross the boundary.
        """
        board = self.board
        begun, n_arms = board.n_rounds, board.arms.size
        if len(block) < CHUNK or begun == 0 or board.squares.size > PAIRS_TRIED:
            return None
        rounds = np.arange(begun + 1, begun + CHUNK + 1, dtype=np.float64)
        floor = self._floor(rounds, n_arms, self._delta)
        if floor is None:
            return None
        before = [part.copy() for part in self._state()]
        ended, beaten_round = board.now.ended, board.beaten_round.copy()
        played = self._kernel(block, *floor, board, *self._own)
        if board.now.ended == ended and np.array_equal(board.beaten_round, beaten_round):
            return played
        for part, old in zip(self._state(), before, strict=True):
            part[...] = old
        return None

    def _state(self) -> Sequence[NDArray[Any]]:
        """All that a round changes."""
        return self.board

    def lead(self, a: int, b: int) -> float:
        """The mean of arm a minus that of arm b over the rounds that the two shared; NaN if there are none."""
        return self._lead_and_square(a, b)[0] if shared_rounds(self.board, a, b) else np.nan

    def lead_bound(self, a: int, b: int, simultaneous: bool) -> float | None:
        """A lower confidence bound for ``mu_a - mu_b``: where the boundary lies below the lead seen.

        None if the boundary is only proved for arms that are no better than others: it says nothing about how much.
        """
        if not self._bounds_leads:
            return None
        return self._lower_bound(a, b, self._delta / self.board.arms.size if simultaneous else self._delta)

    def _lower_bound(self, a: int, b: int, delta: float) -> float:
        """Where the boundary for this delta lies below the lead seen."""
        n, K = shared_rounds(self.board, a, b), self.board.arms.size
        if n < 2:
            return -np.inf
        slopes, offsets = thresholds_after(self._boundary, K, delta, n - 1)
        if np.isinf(slopes[0]):
            return -np.inf
        lead, square = self._lead_and_square(a, b)
        return float(lead - slopes[0] * np.sqrt(square / (n - 1)) - offsets[0])

    def _lead_and_square(self, a: int, b: int) -> tuple[float, float]:
        """``mean_a - mean_b`` over the rounds shared, and the centred sum of squares of the difference."""
        board = self.board
        at_a, at_b = (int(np.flatnonzero(board.arms == arm)[0]) for arm in (a, b))
        both_queried = max(at_a, at_b) < board.n_queried
        lead = board.means[at_a] - board.means[at_b] if both_queried else board.lead_at_exit[b, a]
        return float(lead), float(board.squares[max(at_a, at_b), min(at_a, at_b)])


class BoundaryComparison(ABC):
    """What comparisons that are boundaries share. A subclass is a frozen dataclass with a method ``boundary``."""

    bounds: ClassVar[tuple[float, float] | None] = None
    pool: ClassVar[int | None] = None

    @property
    def assumption(self) -> str:
        """What the guarantee rests on: it completes the sentence "This assumes that ..." for readers of a result."""
        return f"what {type(self).__name__} assumes holds (see its documentation)"

    def adapted(self, bounds: tuple[float, float] | None, pool: int | None) -> Self:
        """Unchanged: a boundary has bounds of its own or none, and its target is no pool."""
        return self

    @abstractmethod
    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Slope and offset after each of these rounds; an infinite slope beats nobody."""


class PairBoundary(BoundaryComparison):
    """A comparison of pairs that is a boundary: a frozen dataclass with a method ``boundary`` inherits from it.

    Its guarantee: with probability at least ``1 - delta`` no arm ever beats the best one. In the first round, which has
    no standard deviation, nobody is beaten.
    """

    role: ClassVar[Role] = "pairs"
    supports_epsilon: ClassVar[bool] = True

    def floor(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array] | None:
        """Slopes and offsets that are nowhere larger than those of the boundary, and far quicker; None if unknown.

        Decisions are never based on them: they tell in which rounds the boundary need not be known.
        """
        return None

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The evidence of a new game: moments of all differences."""
        return PairBoundaryEvidence(n_arms, self, goal)


def paper_alpha(rounds: Array, n_arms: int, delta: float, first_round: int = 3) -> Array:
    """The paper's ``alpha(t, delta) = sqrt(log(1 / delta_t) / (t - 1))``, ``delta_t = delta / (2 K^2 t (t + 1))``.

    Infinite before ``first_round``: Algorithm 1 plays two rounds before it looks.
    """
    t = np.maximum(rounds, first_round)
    log_inverse_delta_t = np.log(2.0 * n_arms**2 * t * (t + 1.0)) - np.log(delta)
    alpha: Array = np.sqrt(log_inverse_delta_t / (t - 1.0))
    return np.where(rounds < first_round, np.inf, alpha)


@dataclass(frozen=True)
class EmpiricalBernstein(PairBoundary):
    """The paper's test for rewards in [0, 1], from the empirical Bernstein inequality (Section 4).

    After round ``t >= 3`` arm ``j`` beats arm ``i`` when

        ``mean_j - mean_i - (3/2) alpha_t sqrt(2 Vhat_ij) - 9 alpha_t^2 > 0``

    with ``alpha_t = sqrt(log(2 K^2 t (t + 1) / delta) / (t - 1))`` and ``Vhat_ij`` the unbiased sample variance of the
    difference. The factors are as published; the guarantee needs only 1 in place of 3/2 and 6 in place of 9.

    **Guarantee.** Rounds independent and identically distributed, rewards in [0, 1], one best arm: with probability at
    least ``1 - delta`` the best arm is never beaten (Theorem 4.1).

    References
    ----------
    Saad, Blanchard, Verzelen (2023), Covariance adaptive best arm identification, Section 4 and appendix C.

    """

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    assumption: ClassVar[str] = bounded(bounds)

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Slope ``(3/2) sqrt(2) alpha_t`` and offset ``9 alpha_t^2``."""
        alpha = paper_alpha(rounds, n_arms, delta)
        return 1.5 * np.sqrt(2.0) * alpha, 9.0 * alpha**2


Inflation = Literal["proved", "published"]


def variance_inflation(x: Array, f: Inflation = "proved") -> Array:
    """The factor ``f(x)`` with ``V_ij <= f(alpha_t) Vhat_ij`` on the paper's good event (Section 5, Lemma D.1).

    ``1 / (1 - 2x)`` below 1/3. From there on the paper prints ``exp(2x + 1)``; its proof inverts
    ``e^-1 exp(-2 alpha^2)`` and gives ``exp(2x^2 + 1)``. Above 1 the printed one is smaller than what is proved.

    Examples
    --------
    >>> variance_inflation(np.array([0.25, 2.0])), variance_inflation(np.array([0.25, 2.0]), "published")
    (array([2.00000000e+00, 8.10308393e+03]), array([  2.        , 148.4131591]))

    """
    power = x**2 if f == "proved" else x
    with np.errstate(over="ignore"):  # infinite inflation is an infinite slope, and beats nobody
        return np.where(x < 1 / 3, 1.0 / (1.0 - 2.0 * np.minimum(x, 1 / 3)), np.exp(2.0 * power + 1.0))


@dataclass(frozen=True, repr=False, kw_only=True)
class GaussianBernstein(PairBoundary):
    """The paper's test for jointly Gaussian rewards of unknown covariance (Section 5, eq. 7).

    After round ``t >= 3`` arm ``j`` beats arm ``i`` when

        ``mean_j - mean_i - (3/2) alpha_t sqrt(2 f(alpha_t) Vhat_ij) > 0``

    with ``alpha_t = sqrt(log(2 K^2 t (t + 1) / delta) / (t - 1))`` and ``f`` as in `variance_inflation`.

    **Guarantee** (``f="proved"``). Rounds independent and identically distributed, rewards jointly Gaussian, one best
    arm: with probability at least ``1 - delta`` the best arm is never beaten (Theorem 5.1). With ``f="published"`` the
    rule is the printed one, whose proof does not cover rounds with ``alpha_t > 1``.

    Parameters
    ----------
    f : ``"proved"`` or ``"published"``

    References
    ----------
    Saad, Blanchard, Verzelen (2023), Covariance adaptive best arm identification, Section 5 and appendix D.

    """

    f: Inflation = "proved"

    assumption: ClassVar[str] = GAUSSIAN

    def __post_init__(self) -> None:
        check_choice("f", self.f, ("proved", "published"))

    __repr__ = shortest_call

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Slope ``(3/2) alpha_t sqrt(2 f(alpha_t))`` and offset 0."""
        alpha = paper_alpha(rounds, n_arms, delta)
        slope = 1.5 * alpha * np.sqrt(2.0 * variance_inflation(alpha, self.f))
        return slope, np.zeros_like(slope)


# Of effects from 0.005 to 3 and levels from 0.1 to 1e-6, the worst takes 1.51 times the rounds of the best single
# precision; a search over geometric grids found 1.507 with five of them, and the powers of 4 take 2.0 times as many.
PRECISIONS = (0.25, 10.0, 400.0, 16000.0)
MIN_ROUNDS = 10  # real scores are only nearly Gaussian
NEWTON_STEPS = 100  # Newton's method on a convex function from its right: a handful of steps is the rule
TOLERANCE = 1e-8  # of Newton's method before it is polished; it converges quadratically
CERTAINLY_BELOW = 1.0 - 1e-6  # the floor, times this: nothing that rounding could make larger than a slope


@dataclass(frozen=True, repr=False, kw_only=True)
class StudentMixture(PairBoundary):
    """Sequential t-tests of every difference, mixed over the effect size: for Gaussian rewards of unknown covariance.

    For the differences ``D_s = X_j,s - X_i,s`` of ``n`` rounds, with ``S`` their sum and ``Q`` their sum of squares,

        ``E_n = sum_c w_c sqrt(c / (n + c)) (1 - S^2 / ((n + c) Q))^(-n/2) 2 F_n(S sqrt(n) / sqrt((n + c) Q - S^2))``

    where ``F_n`` is the distribution function of Student's t with ``n`` degrees of freedom: the likelihood ratio of
    effect sizes ``mu / sigma`` with a half-normal prior of precision ``c`` against ``mu = 0``, with the right Haar
    prior on ``sigma``. Arm ``j`` beats arm ``i`` when ``E_n > (K - 1) / delta``. ``E_n`` increases in the mean over the
    standard deviation of the differences, so this is a boundary: one slope per round, for all pairs.

    **Guarantee.** Rounds independent and identically distributed, rewards jointly Gaussian, one best arm: with
    probability at least ``1 - delta`` the best arm is never beaten. (For each other arm ``E_n`` is dominated by a test
    martingale under "``mu_j <= mu_i*``", in the filtration of the scale-free differences; Ville's inequality at level
    ``delta / (K - 1)`` and a union over the ``K - 1`` arms. See ``docs/theory.md``.) Real scores are only nearly
    Gaussian: skewed or discrete ones void the guarantee, most of all in the first rounds; `Betting` needs only bounds.

    Parameters
    ----------
    precisions : prior precisions ``c`` of the effect size; one is sharpest for effects around ``1 / sqrt(c)``
    weights : their weights, above 0, scaled to sum to one; equal by default
    min_rounds : nobody is beaten before this round. Looking later is always sound, and averages of some rounds are
        closer to Gaussian than single ones. For rewards that are exactly Gaussian, 2 is sharpest

    References
    ----------
    Lai (1976), On confidence sequences; Wang, Ramdas (2023), Anytime-valid t-tests and confidence sequences for
    Gaussian means with unknown variance, arXiv 2310.03722 (the two-sided version).

    Examples
    --------
    >>> comparison = StudentMixture(min_rounds=2)
    >>> slopes, _ = comparison.boundary(np.array([5.0, 50.0, 500.0]), n_arms=2, delta=0.05)
    >>> slopes.round(3)
    array([2.942, 0.471, 0.145])

    """

    precisions: Sequence[float] = PRECISIONS
    weights: Sequence[float] | None = None
    min_rounds: int = MIN_ROUNDS

    assumption: ClassVar[str] = GAUSSIAN

    def __post_init__(self) -> None:
        object.__setattr__(self, "precisions", finite_tuple("precisions", self.precisions))
        c = np.array(self.precisions)
        refuse_first("precisions", c, c <= 0, "must be above 0")
        weights = np.ones_like(c) if self.weights is None else self.weights
        object.__setattr__(self, "weights", normalised_weights(weights, c.size))
        check_count("min_rounds", self.min_rounds, least=2)

    __repr__ = shortest_call

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """The slope at which ``E_n`` reaches ``(K - 1) / delta``, infinite where it cannot; offset 0."""
        slope = self.slopes(rounds, float(np.log(n_arms - 1) - np.log(delta)))
        return slope, np.zeros_like(slope)

    def floor(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Where one precision alone, with ``F_n`` set to one, reaches the threshold: a mixture is no more than that.

        ``E_n`` is an average over the precisions, so at the threshold one of them is at least there.
        """
        n = np.maximum(rounds, 2.0)
        u_squared = self._smallest_root(n, float(np.log(n_arms - 1) - np.log(delta)), math.log(2.0))
        slope = _slope(n, np.sqrt(np.clip(u_squared, 0.0, (1.0 - 1e-6) * n)))
        return CERTAINLY_BELOW * slope, np.zeros_like(slope)

    def log_evalue(self, rounds: ArrayLike, effect: ArrayLike) -> Array:
        """``log E_n`` when the differences of ``n >= 2`` rounds have this mean over (unbiased) standard deviation."""
        n, s = np.broadcast_arrays(np.asarray(rounds, dtype=np.float64), np.asarray(effect, dtype=np.float64))
        return self._log_evalue(n, s)[0]

    def slopes(self, rounds: Array, log_threshold: float) -> Array:
        """For each number of rounds the mean over standard deviation at which ``log E_n`` reaches the threshold."""
        n = np.maximum(rounds, 2.0)
        supremum, _ = self._log_evalue(n, np.full_like(n, np.inf))  # of constant positive differences
        reachable = (rounds >= self.min_rounds) & (supremum > log_threshold)
        slope = np.full(rounds.shape, np.inf)
        slope[reachable] = self._solve(n[reachable], log_threshold)
        return slope

    def _solve(self, n: Array, log_threshold: float) -> Array:
        """Newton's method in ``u = S / sqrt(Q)``, of which ``log E_n`` is a convex increasing function.

        ``E_n`` is a mixture of ``exp(u v)`` over ``v >= 0``, hence the convexity: from the right of the root Newton's
        steps descend to it, and a step from its left leads to its right (or beyond the domain, where it is cut).
        """
        s = self._start(n, log_threshold)
        for _ in range(NEWTON_STEPS):
            value, derivative = self._log_evalue(n, s)
            u = _u(n, s)
            step = (value - log_threshold) / derivative
            nearer = _slope(n, np.clip(u - step, 0.5 * u, u + 0.5 * (np.sqrt(n) - u)))
            done = np.abs(nearer - s) <= TOLERANCE * s
            s = nearer
            if done.all():
                break
        return self._polish(n, s, log_threshold)

    def _polish(self, n: Array, s: Array, log_threshold: float) -> Array:
        """Two steps in the slope itself: ``u`` has few digits left where the slope is large."""
        for _ in range(2):
            value, derivative = self._log_evalue(n, s)
            du_ds = n * (n - 1.0) / (n - 1.0 + n * s**2) ** 1.5
            s = s - np.clip((value - log_threshold) / (derivative * du_ds), -0.1 * s, 0.1 * s)
        return s

    def _start(self, n: Array, log_threshold: float) -> Array:
        """The smallest root over the single precisions with ``F_n`` set to one: close to the root of the mixture."""
        u_squared = self._smallest_root(n, log_threshold, np.log(2.0 * np.array(self.weights)))
        return _slope(n, np.sqrt(np.clip(u_squared, 1e-12 * n, (1.0 - 1e-6) * n)))

    def _smallest_root(self, n: Array, log_threshold: float, log_factors: Array | float) -> Array:
        """The smallest ``u^2`` at which a single precision, with ``F_n`` set to its factor, reaches the threshold."""
        c = np.array(self.precisions)
        needed = log_threshold - log_factors + 0.5 * np.log((n[:, None] + c) / c)
        return np.asarray(np.min(-(n[:, None] + c) * np.expm1(-2.0 * needed / n[:, None]), axis=1))

    def _log_evalue(self, n: Array, s: Array) -> tuple[Array, Array]:
        """``log E_n`` and its derivative in ``u``, from the slope: ``n - u^2`` without cancellation."""
        from scipy.special import gammaln, stdtr

        c, w = np.array(self.precisions), np.array(self.weights)
        n, s = n[..., None], s[..., None]
        rest = n * (n - 1.0) / (n - 1.0 + n * s**2)  # n - u^2; 0 where the differences are constant
        u = _u(n, s)
        u_squared = u**2
        z = u * np.sqrt(n) / np.sqrt(c + rest)
        F = stdtr(n, z)
        share = u_squared / (n + c)
        log_ratio = np.where(share < 0.5, np.log1p(-np.minimum(share, 0.5)), np.log((c + rest) / (n + c)))
        with np.errstate(divide="ignore"):  # F may vanish far on the wrong side: no evidence there
            terms = np.log(w) + 0.5 * np.log(c / (n + c)) - 0.5 * n * log_ratio + np.log(2.0 * F)
        largest = terms.max(axis=-1, keepdims=True)
        parts = np.exp(terms - np.where(np.isfinite(largest), largest, 0.0))
        total = parts.sum(axis=-1, keepdims=True)
        log_density = (
            gammaln((n + 1) / 2) - gammaln(n / 2) - 0.5 * np.log(n * np.pi) - 0.5 * (n + 1) * np.log1p(z**2 / n)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            slope_of_F = np.exp(log_density) / F * np.sqrt(n) * (n + c) / (c + rest) ** 1.5
            derivative = (parts * (n * u / (c + rest) + slope_of_F)).sum(axis=-1) / total[..., 0]
            value = largest[..., 0] + np.log(total[..., 0])
        return value, derivative


def _u(n: Array, s: Array) -> Array:
    """``u = S / sqrt(Q)`` of differences whose mean over standard deviation is ``s``, infinite included."""
    finite = np.isfinite(s)
    s = np.where(finite, s, np.copysign(1.0, s))
    return np.where(finite, n * s / np.sqrt(n - 1.0 + n * s**2), s * np.sqrt(n))


def _slope(n: Array, u: Array) -> Array:
    """The inverse of `_u`."""
    return u * np.sqrt((n - 1.0) / (n * (n - u**2)))
