"""The baselines: Hoeffding race, variance race and LUCB of the paper's experiments, and Kim and Nelson's procedure."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np

from bestarm.algorithms.elimination import EliminationGame
from bestarm.algorithms.game import Elimination, Game, Guarantee, Reason
from bestarm.checks import (
    LARGEST,
    SMALLEST,
    check_choice,
    check_count,
    check_delta,
    check_difference,
    check_n_arms,
    check_positive,
    finite_vector,
    floats,
    refuse_first,
)
from bestarm.comparisons.boundaries import BoundaryEvidence, in_chunks, thresholds_after, variance_inflation
from bestarm.comparisons.evidence import GAUSSIAN, bounded
from bestarm.kernels.state import PairRule, new_duel
from bestarm.text import short_repr
from bestarm.values import Array, Indices, shortest_call

KnownVariances = float | tuple[float, ...]
KNOWN_VARIANCES = (
    "the items are independent of each other and the scores of each arm are Gaussian or sub-Gaussian, with at most the "
    "variance given"
)


def checked_variances(variances: KnownVariances) -> KnownVariances:
    """Variances as numbers, so that settings can be hashed; refused if they are not finite and at least 0."""
    values = floats("variances", variances)
    if (((values > 0) & (values < SMALLEST)) | (np.isfinite(values) & (values > LARGEST))).any():
        raise ValueError(f"variances must be 0, or lie from {SMALLEST:g} to {LARGEST:g}, got {short_repr(variances)}")
    vector = np.atleast_1d(values)
    refuse_first("variances", vector, ~(np.isfinite(vector) & (vector >= 0)), "must be finite and at least 0")
    return tuple(finite_vector("variances", values).tolist()) if values.ndim else float(values)


@dataclass(frozen=True, repr=False)
class KnownVariance:
    """The settings of the algorithms that must be told the variance of each arm."""

    delta: float = 0.05
    _: KW_ONLY
    variances: KnownVariances = 1.0

    def __post_init__(self) -> None:
        check_delta(self.delta)
        object.__setattr__(self, "variances", checked_variances(self.variances))

    __repr__ = shortest_call

    def variance_by_arm(self, n_arms: int) -> Array:
        """The variance of each arm, in a game of so many."""
        check_n_arms(n_arms)
        values = np.asarray(self.variances, dtype=np.float64)
        if values.ndim == 1 and values.size != n_arms:
            raise ValueError(f"variances has {values.size} entries, the game has {n_arms} arms")
        return np.full(n_arms, values)


@dataclass(frozen=True)
class ChernoffIntervals:
    """One interval per arm of known variance: ``mean +- sigma_i sqrt(2 log(2 K t (t + 1) / delta) / t)``."""

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Half-width of the interval, in standard deviations, and offset 0."""
        log_term = np.log(2.0 * n_arms * rounds * (rounds + 1.0)) - np.log(delta)
        slope = np.sqrt(2.0 * log_term / rounds)
        return slope, np.zeros_like(slope)


class IntervalEvidence(BoundaryEvidence):
    """Moments of each arm, judged by intervals: an arm is beaten where its own lies below another."""

    def _radii(self, m: int, t: int, slope: float, offset: float) -> Array:
        (variances,), board = self._own, self.board
        learned = board.sum_squares[:m] / (t - 1)
        sds = np.sqrt(variances[board.arms[:m]] if variances.size else learned)
        return slope * (sds + sds[:, None]) + 2.0 * offset


@dataclass(frozen=True, repr=False)
class HoeffdingRace(KnownVariance):
    """Successive elimination with Chernoff intervals and known variances (Section 7 of the paper).

    An arm is dropped at once when its interval lies below that of another. Blind to correlation.

    **Guarantee.** Rounds independent and identically distributed, arm ``i`` Gaussian or sub-Gaussian with at most the
    variance given, one best arm: all intervals hold at all times, so the best arm stays, with probability at least
    ``1 - delta`` (Chernoff's bound, and a union over arms, sides and rounds: ``sum_t 1 / (t (t + 1)) = 1``).

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1)
    variances : the variance of each arm, or one number for all

    References
    ----------
    Maron, Moore (1993), Hoeffding races: accelerating model selection search for classification and function
    approximation.

    """

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        from bestarm.kernels.boundaries import race_intervals

        variances = self.variance_by_arm(n_arms)
        evidence = IntervalEvidence(n_arms, ChernoffIntervals(), self.delta, race_intervals, variances)
        return EliminationGame(evidence, None, Guarantee(self.delta, KNOWN_VARIANCES))


RewardKind = Literal["gaussian", "bounded"]


@dataclass(frozen=True)
class GaussianIntervals:
    """``mean +- alpha sqrt(2 f(alpha) Vhat_i)`` with ``alpha = sqrt(log(4 K t (t + 1) / delta) / (t - 1))``, t >= 2."""

    bounds: ClassVar[None] = None
    assumption: ClassVar[str] = "the items are independent of each other and the scores of each arm are Gaussian"

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Half-width of the interval, in standard deviations, and offset 0."""
        t = np.maximum(rounds, 2.0)
        alpha = np.sqrt((np.log(4.0 * n_arms * t * (t + 1.0)) - np.log(delta)) / (t - 1.0))
        slope = np.where(rounds < 2, np.inf, alpha * np.sqrt(2.0 * variance_inflation(alpha)))
        return slope, np.zeros_like(slope)


@dataclass(frozen=True)
class BernsteinIntervals:
    """``mean +- (sd_t sqrt(2 x / t) + 3 x / t)``, ``x = log(3 K t (t + 1) / delta)``, ``sd_t`` with divisor ``t``."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    assumption: ClassVar[str] = bounded(bounds)

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Half-width of the interval: in (unbiased) standard deviations, and what is added."""
        t = np.maximum(rounds, 2.0)
        x = np.log(3.0 * n_arms * t * (t + 1.0)) - np.log(delta)
        slope = np.where(rounds < 2, np.inf, np.sqrt((t - 1.0) / t) * np.sqrt(2.0 * x / t))
        return slope, 3.0 * x / t


@dataclass(frozen=True, repr=False)
class VarianceRace:
    """Successive elimination with one interval per arm and its empirical variance (Section 7 of the paper).

    An arm is dropped at once when its interval lies below that of another. Adapts to the variance of each arm, blind
    to correlation.

    **Guarantee.** Rounds independent and identically distributed, one best arm; rewards Gaussian, or in [0, 1] with
    ``rewards="bounded"``: with probability at least ``1 - delta`` all intervals hold at all times and the best arm
    stays. Gaussian: Chernoff's bound with the variance bounded by Lemma K.7 of the paper, three events of probability
    ``delta / (4 K t (t + 1))`` per arm and round. Bounded: the empirical Bernstein bound, which fails with probability
    ``3 exp(-x)``.

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1)
    rewards : ``"gaussian"`` or ``"bounded"``

    References
    ----------
    Mnih, Szepesvári, Audibert (2008), Empirical Bernstein stopping (the bounded race, here with
    ``delta / (K t (t + 1))`` for each arm and round).

    """

    delta: float = 0.05
    _: KW_ONLY
    rewards: RewardKind = "gaussian"

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_choice("rewards", self.rewards, ("gaussian", "bounded"))

    __repr__ = shortest_call

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        from bestarm.kernels.boundaries import race_intervals

        check_n_arms(n_arms)
        intervals = GaussianIntervals() if self.rewards == "gaussian" else BernsteinIntervals()
        evidence = IntervalEvidence(n_arms, intervals, self.delta, race_intervals, np.empty(0))
        promise = Guarantee(self.delta, intervals.assumption, nearly_gaussian=intervals.bounds is None)
        return EliminationGame(evidence, intervals.bounds, promise)


@dataclass(frozen=True)
class LUCBIntervals:
    """LUCB's radius ``sigma_i sqrt(2 log(5 K t^4 / (4 delta)) / n_i)``, without its ``sigma_i / sqrt(n_i)``."""

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Radius in standard errors, and offset 0."""
        slope = np.sqrt(2.0 * (np.log(1.25 * n_arms) + 4.0 * np.log(rounds) - np.log(delta)))
        return slope, np.zeros_like(slope)


@dataclass(frozen=True, repr=False)
class LUCB(KnownVariance):
    """LUCB with known variances: query the leader and its most likely challenger (Section 7 of the paper).

    All arms are queried in the first round; then, in each round, the arm with the largest mean and the one with the
    highest upper bound among the others, until the first one's lower bound lies above it. Nobody is eliminated before
    that: then all others are.

    **Guarantee.** Rounds independent and identically distributed, arm ``i`` Gaussian or sub-Gaussian with at most the
    variance given, one best arm: it is returned with probability at least ``1 - delta``.

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1)
    variances : the variance of each arm, or one number for all

    References
    ----------
    Kalyanakrishnan, Tewari, Auer, Stone (2012), PAC subset selection in stochastic multi-armed bandits.

    """

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        return LUCBGame(np.sqrt(self.variance_by_arm(n_arms)), self.delta)


class LUCBGame(Game):
    """Counts and sums of each arm; the pair of the next round."""

    works_ahead: ClassVar[bool] = False
    no_disqualification = (
        "LUCB asks for two arms at a time and cannot do without one of them: use an elimination algorithm"
    )

    def __init__(self, sds: Array, delta: float) -> None:
        from bestarm.kernels.boundaries import lucb

        super().__init__(sds.size, guarantee=Guarantee(delta, KNOWN_VARIANCES))
        self._kernel = lucb
        self._duel = new_duel(sds.size)
        self._sums, self._counts = self._duel.sums, self._duel.counts
        self._sds = sds
        self._decided = False

    def next_arms(self) -> Indices:
        """All arms at first, then the leader and its challenger."""
        if self.n_rounds == 0:
            return np.arange(self.n_arms)
        return np.sort(self._duel.progress[["leader", "challenger"]].item())

    @property
    def reason(self) -> Reason | None:
        """Why the game has ended, or None while it goes on."""
        return Reason.DECIDED if self._decided else None

    @property
    def candidates(self) -> tuple[int, ...]:
        """All arms until the end."""
        return (int(self._duel.progress[0].leader),) if self._decided else super().candidates

    @property
    def eliminations(self) -> list[Elimination[int]]:
        """Everybody but the winner, at the end."""
        if not self._decided:
            return []
        now = thresholds_after(LUCBIntervals(), self.n_arms, self.guarantee.delta, self.n_rounds - 1)
        means, radii = self.means, now.slopes[0] * self._sds / np.sqrt(self._counts)
        leader = self.candidates[0]
        margins = (means[leader] - radii[leader]) - (means + radii)
        return [
            Elimination(arm=arm, round=self.n_rounds, by=leader, margin=float(margins[arm]))
            for arm in range(self.n_arms)
            if arm != leader
        ]

    def _absorb_round(self, asked: Indices, row: Array) -> None:
        self._absorb_block(row)

    def _absorb_block(self, rows: Array) -> int:
        used = 0
        for block, widths in in_chunks(rows, LUCBIntervals(), self.n_arms, self.guarantee.delta, self.n_rounds):
            n_used, self._decided = self._kernel(block, widths.slopes, self._sds, self._duel)
            used += n_used
            if self._decided:
                break
        self.n_rounds, self.n_queries = self._duel.progress[["n_rounds", "n_queries"]].item()
        return used


@dataclass(frozen=True)
class TriangularRegion:
    """KN's boundary on the first-stage sum of squares ``(n0 - 1) S2`` of the difference, from round ``n0`` on.

    Arm ``l`` beats arm ``i`` after round ``r`` when ``mean_l - mean_i > max(0, (d / 2r) (h^2 S2_il / d^2 - r))``.
    """

    indifference_zone: float
    min_rounds: int

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Slope ``h^2 / (2 d r (n0 - 1)) = eta / (d r)`` on the sum of squares, and offset ``-d / 2``."""
        d, n0 = self.indifference_zone, self.min_rounds
        with np.errstate(over="ignore"):  # an infinite slope beats nobody
            eta = np.expm1(-2.0 / (n0 - 1) * (np.log(2.0) + np.log(delta) - np.log(n_arms - 1))) / 2.0
        slope = np.where(rounds < n0, np.inf, eta / (d * rounds))  # h^2 = 2 eta (n0 - 1)
        return slope, np.full_like(slope, -d / 2.0)


class RegionEvidence(BoundaryEvidence):
    """Moments of all differences, judged by KN's region."""

    def _radii(self, m: int, t: int, slope: float, offset: float) -> Array:
        return np.maximum(slope * self._squares(m) + offset, 0.0)


@dataclass(frozen=True, repr=False)
class KimNelson:
    """The KN procedure: fully sequential selection with an indifference zone, adapted to common random numbers.

    The variances of the differences are estimated from the first rounds only; from then on an arm is dropped at once
    when another leads by more than a boundary that shrinks to zero.

    **Guarantee.** Rounds independent and identically distributed, rewards jointly Gaussian, and *the best arm leads by
    at least the indifference zone*: it is chosen with probability at least ``1 - delta``. Nothing is promised for
    smaller leads.

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1) and below ``(K - 1) / 2``
    indifference_zone : assume that the best arm leads by at least this much, above 0
    min_rounds : rounds before the first look, at least 2

    References
    ----------
    Kim, Nelson (2001), A fully sequential procedure for indifference-zone selection in simulation (with c = 1).

    Examples
    --------
    >>> import numpy as np
    >>> from bestarm.algorithms import KimNelson
    >>> from bestarm.arms import equicorrelated_arms
    >>> arms = equicorrelated_arms(4, correlation=0.9)
    >>> game = KimNelson(delta=0.1, indifference_zone=0.1).start(arms.n_arms)
    >>> used = game.play(arms.draw(5000, np.random.default_rng(1)))
    >>> game.best
    3

    """

    delta: float = 0.05
    _: KW_ONLY
    indifference_zone: float = 0.1
    min_rounds: int = 10

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_positive("indifference_zone", self.indifference_zone)
        check_difference("indifference_zone", self.indifference_zone)
        check_count("min_rounds", self.min_rounds, least=2)

    __repr__ = shortest_call

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        from bestarm.kernels.boundaries import race_pairs

        check_n_arms(n_arms)
        if self.delta >= (n_arms - 1) / 2:
            raise ValueError(f"delta must be below (K - 1) / 2 = {(n_arms - 1) / 2} for KN, got {self.delta!r}")
        region = TriangularRegion(self.indifference_zone, self.min_rounds)
        rule = PairRule(keep=1.0, zone=0.0, epsilon=0.0, linear=True, learn_until=self.min_rounds)
        evidence = RegionEvidence(n_arms, region, self.delta, race_pairs, rule)
        promise = Guarantee(self.delta, GAUSSIAN, indifference_zone=self.indifference_zone, nearly_gaussian=True)
        return EliminationGame(evidence, None, promise)
