"""One wealth against every arm: the definition that all betting rules follow, slow and obvious.

Against "arm i is the best" there is a mixture of experts. Before each round every expert chooses, from earlier rounds
alone, what it bets on, weights ``on_j`` of other arms, and how much, ``bet``. With the differences ``D_ij = X_j - X_i``
of rewards scaled to length one (or of their signs), and the largest mean ``y_ij`` that the null allows ``D_ij``,

    Y = sum_j on_j D_ij,   y = sum_j on_j y_ij,   W <- W (1 + min(bet, CAP / (1 + y)) (Y - y)).

Arm i is out when the mixture, ``sum of share * prior * W`` over all experts, reaches ``1 / delta``. The rules differ in
what their experts choose: `Pairs`, `Leaders`, `Portfolios` and `Rivals`. See "One wealth" in docs/theory.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from bestarm.comparisons import Betting, Wins

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
CAP = 0.99  # the largest share of its wealth that a bet can lose in one round
IMPOSSIBLE = -1 - 1e-9  # a mean below the smallest difference, by more than rounding
KAPPA = 0.9  # the largest share that a symmetric bet can win or lose in one round
REACH = 4.0  # bets are at most so many standard errors
SHARE = 0.2  # of the wealth, divided by the round, that is spread over the experts again


# --- one step of the wealth ------------------------------------------------------------------------------------------


def null_mean(nu: Array | float, pool: int | None, t: int, so_far: Array | float) -> Array | float:
    """The largest mean that a difference can have in round t if its mean over all rounds is at most ``nu``.

    Of a pool without replacement it is the mean of what is left; ``so_far`` is the sum over the rounds before.
    """
    return nu if pool is None else (pool * nu - so_far) / (pool - t + 1)


def bounded_factor(bet: Array, Y: Array, y: Array) -> Array:
    """What a bet makes of its wealth: never less than ``1 - CAP``, on average at most one; all, if y cannot be."""
    with np.errstate(divide="ignore"):
        most = np.where(y > -1, CAP / np.maximum(1 + y, 0), inf)
    return np.where((y < IMPOSSIBLE) & (bet > 0), inf, 1 + np.minimum(bet, most) * (Y - y))


def symmetric_factor(bet: Array, Y: Array, y: Array) -> Array:
    """The same for differences without bounds that are symmetric about a centre of at most y."""
    with np.errstate(invalid="ignore"):
        return np.where(bet > 0, 1 + KAPPA * np.tanh(bet * (Y - y) / KAPPA), 1.0)


class Choice(NamedTuple):
    """What the experts of a strategy bet in a round, by expert and by the arm that they bet against."""

    on: Array  # (E or 1, K or 1, K): the weights of the arms bet on
    bet: Array  # (E, K): 0 where nothing is bet
    spread: Array  # (K,): the share of the wealth that is spread over the experts after the round


def on_average(on: Array, values: Array) -> Array:
    """``sum_j on_j values_ij``, whatever stands at arms that are not bet on."""
    with np.errstate(invalid="ignore"):
        average: Array = np.where(on > 0, on * values[..., None, :, :], 0.0).sum(axis=-1)
    return average


# --- who chooses what is bet on --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What is known when a round is over."""

    X: Array  # scaled rewards of all rounds so far; of an arm that fails in a round the worst there is
    queried: list[int]  # in this round
    failed: list[int]  # in this round
    standing: list[int]  # the candidates that are queried in the next


class Strategy:
    """Experts with shares of the wealth; what they choose for a round is made of earlier rounds."""

    share: float
    prior: Array  # (E, K): the share of each expert in the wealth against each arm, summing to one
    factor = staticmethod(bounded_factor)
    protects = False  # with a zone: whether the wealth against the candidate that leads is cut after each round
    eliminates = True  # whether the wealth counts against an arm, or only where it is asked how bad the leader may be

    def choose(self, t: int, playing: Mask, queried: Mask) -> Choice:
        """For the round t, against those that play."""
        raise NotImplementedError

    def learn(self, seen: Seen) -> None:
        """Take the round in, and choose for those that come."""

    def part_with_withdrawn(self, X: Array, standing: list[int], failing: list[int]) -> None:
        """Choose anew among those that stand, who fail in the next round included, if somebody was withdrawn."""

    def about(self, leader: int) -> Mask:
        """The experts whose wealth says how much worse than another arm the leader can be: none."""
        return np.zeros(len(self.prior), dtype=bool)

    def lost_with(self, arm: int) -> Mask:
        """The experts that lose everything when an arm fails; the others bet on it with the worst reward."""
        return np.zeros(len(self.prior), dtype=bool)

    def cut(self, W: Array) -> Array:
        """What is left of the wealth against an arm that is protected."""
        return W


Bets = list[tuple[float, float, int]]  # each bet, its weight, and the first round in which it is made


def bets_of(betting: Betting | Wins, n_rounds: int) -> Bets:
    """All bets that are made in these rounds: the reserve is in ever smaller ones, the rest of it never bet.

    The m-th is 2^-m times the smallest, has the weight 2^-m of the reserve, and begins in round ``1 / (4 bet^2)``.
    """
    given = zip(betting.bets, betting.weights or (), strict=True)
    bets = [(bet, (1 - betting.reserve) * weight, 1) for bet, weight in given]
    bet, left = min(betting.bets) / 2, betting.reserve
    while ceil(1 / (4 * bet**2)) <= n_rounds:
        bets.append((bet, left / 2, ceil(1 / (4 * bet**2))))
        bet, left = bet / 2, left / 2
    return [*bets, (0.0, left, 1)]


class Pairs(Strategy):
    """Every other arm with every bet, for ever: `Betting`, and on signs `Wins`."""

    def __init__(self, n_arms: int, bets: Bets, share: float = 1.0, eliminates: bool = True) -> None:
        sizes, weights, first_rounds = (np.array(one) for one in zip(*bets, strict=True))
        self.share, self.eliminates = share, eliminates
        self.opponent = np.repeat(np.arange(n_arms), len(bets))  # of each expert
        self.on = np.eye(n_arms)[self.opponent][:, None, :]
        self.bets, self.first_rounds = np.tile(sizes, n_arms), np.tile(first_rounds, n_arms)
        self.prior = np.tile(weights, n_arms)[:, None] * (1 - self.on[:, 0]) / (n_arms - 1)

    def choose(self, t: int, playing: Mask, queried: Mask) -> Choice:
        made = (self.first_rounds <= t) & queried[self.opponent]
        bet = np.where(made[:, None] & playing & (self.prior > 0), self.bets[:, None], 0.0)
        return Choice(self.on, bet, np.zeros(playing.size))

    def about(self, leader: int) -> Mask:
        return np.equal(self.opponent, leader)

    def lost_with(self, arm: int) -> Mask:
        return np.equal(self.opponent, arm)


class Portfolios(Strategy):
    """One expert, who bets on all queried arms at once what would have grown fastest so far."""

    FIRST_RENEWAL, GROWTH = 8, 0.1
    MOST = 0.95  # the largest share that is bet
    RIDGE = 30.0  # rounds worth of it in the second moments

    def __init__(self, n_arms: int, share: float = 0.5) -> None:
        self.share, self.prior, self.bets = share, np.ones((1, n_arms)), np.zeros((n_arms, n_arms))
        self.renewal = self.FIRST_RENEWAL

    def choose(self, t: int, playing: Mask, queried: Mask) -> Choice:
        bets = np.where(queried, self.bets, 0.0)
        bet = np.where(playing, bets.sum(axis=1), 0.0)
        on = bets / np.where(bet > 0, bet, 1.0)[:, None]
        return Choice(on[None], bet[None], np.zeros(playing.size))

    def learn(self, seen: Seen) -> None:
        t = len(seen.X)
        if t < self.renewal:
            return
        self.renewal = t + max(1, int(self.GROWTH * t))
        for i in seen.queried:
            others = [j for j in seen.queried if j != i]
            self.bets[i] = 0.0
            self.bets[i, others] = self.fastest(seen.X[:, others] - seen.X[:, [i]])

    @classmethod
    def fastest(cls, D: Array) -> Array:
        """``max <b, m> - b' M b / 2`` over ``b >= 0``, m and M the mean and the second moments of differences."""
        m = D.mean(axis=0)
        M = np.atleast_2d(np.cov(D, rowvar=False)) + np.outer(m, m)
        M[np.diag_indices(m.size)] *= 1 + cls.RIDGE / len(D)
        moves = np.diag(M) > 0
        bets = np.zeros(m.size)
        if moves.any():
            L = np.linalg.cholesky(M[np.ix_(moves, moves)])
            bets[moves] = nnls(L.T, np.linalg.solve(L, m[moves]))[0]
        return bets * min(1.0, cls.MOST / bets.sum()) if bets.sum() > 0 else bets


class Renewed(Strategy):
    """What is bet on is chosen anew when the rounds have grown by a fiftieth, and when somebody is out or fails."""

    GROWTH = 0.02

    def __init__(self, n_arms: int, share: float) -> None:
        self.share = share
        self.stood = list(range(n_arms))  # among whom it was chosen
        self.renewal = 2  # the round before which it is chosen anew

    def is_due(self, t: int, standing: list[int]) -> bool:
        """Whether it is chosen anew after round t."""
        return t + 1 >= self.renewal or self.stood != standing

    def renew(self, X: Array, standing: list[int]) -> None:
        """Choose from the rewards so far, among those that stand."""
        t = len(X)
        self.stood, self.renewal = standing, t + 1 + max(1, int(self.GROWTH * (t + 1)))

    def part_with_withdrawn(self, X: Array, standing: list[int], failing: list[int]) -> None:
        gone = [j for j in self.stood if j not in standing]
        if gone and self.bet_on(gone, [i for i in standing if i not in failing]):
            renewal = self.renewal
            self.renew(X, standing)
            self.renewal = min(renewal, self.renewal)

    def bet_on(self, arms: list[int], against: list[int]) -> bool:
        """Whether one of these arms may be bet on in the next round."""
        return True


class Leaders(Renewed):
    """Eight bets against each arm, each on the average of as many leaders so far as promises most."""

    BETS = 0.95 * 0.5 ** np.arange(8.0)
    SIZES = (1, 2, 4, 8, 16)
    PRIOR_ROUNDS, PRIOR_VARIANCE = 3.0, 0.25  # variances are believed to have been seen in these rounds before
    SAME = 1e-12  # averages whose values differ by less are equally good, and the smaller is taken
    protects = True

    def __init__(self, n_arms: int, share: float, zone: float, pool: int | None) -> None:
        super().__init__(n_arms, share)
        self.zone, self.pool = zone, pool
        weights = self.BETS**0.6 / np.sum(self.BETS**0.6)
        self.prior = np.tile(weights[:, None], n_arms)
        self.on = np.zeros((self.BETS.size, n_arms, n_arms))
        self.averages = np.zeros((0, n_arms, n_arms))  # by size
        self.A1 = np.zeros((len(self.SIZES), n_arms))  # the sums of Y by size,
        self.A2 = np.zeros((len(self.SIZES), n_arms))  # and of Y^2
        self.risked = np.zeros(n_arms)  # the sums of Y^2 of what the largest bet was on
        self.squares, self.variance = 0.0, self.PRIOR_VARIANCE  # of differences, pooled over pairs
        self.seen = 0  # rounds in which there were averages

    def _reach(self, t: int) -> Array:
        """The largest bet of round t."""
        seen = self.risked + self.PRIOR_ROUNDS * self.variance
        return REACH / np.sqrt(t * seen / (t - 1 + self.PRIOR_ROUNDS))

    def choose(self, t: int, playing: Mask, queried: Mask) -> Choice:
        left = 1.0 if self.pool is None else self.pool / (self.pool - t + 1)
        bet = left * np.minimum(self.BETS[:, None], self._reach(t))
        spread = np.where(playing & (t > 1), SHARE / t, 0.0)
        return Choice(self.on, np.where(playing & self.on.any(axis=2), bet, 0.0), spread)

    def learn(self, seen: Seen) -> None:
        t, x = len(seen.X), seen.X[-1]
        if t > 1 and len(self.stood) > 1:
            d = (x - seen.X[:-1].mean(axis=0))[self.stood]
            self.squares += 2 * (t - 1) / t * np.sum((d - d.mean()) ** 2) / (d.size - 1)
            Y = np.where(self.averages.any(axis=2), self.averages @ x - x, 0.0)
            self.A1[: len(Y)] += Y
            self.A2[: len(Y)] += Y**2
            self.risked += np.where(self.on[0].any(axis=1), self.on[0] @ x - x, 0.0) ** 2
            self.seen += 1
        if self.is_due(t, seen.standing):
            self.renew(seen.X, seen.standing)

    def renew(self, X: Array, standing: list[int]) -> None:
        """For each arm and bet the smallest average with the largest ``d - (bet / 2) (v + d^2)``.

        ``d`` is its lead and ``v`` its variance. With a zone there are only arms ahead in it.
        """
        super().renew(X, standing)
        (t, K), S, r = X.shape, X.sum(axis=0), max(1, self.seen)
        self.variance = (self.squares + self.PRIOR_ROUNDS * self.PRIOR_VARIANCE) / (t - 1 + self.PRIOR_ROUNDS)
        ahead = sorted(standing, key=lambda i: (-S[i], i))  # those with the largest means first
        sizes = [m for m in self.SIZES if m < len(ahead)]
        self.averages = np.zeros((len(sizes), K, K))
        self.on, best = np.zeros_like(self.on), np.full((self.BETS.size, K), -inf)
        bet = np.minimum(self.BETS[:, None], self._reach(t + 1))
        for h, m in enumerate(sizes):
            for i in ahead:
                self.averages[h, i, [j for j in ahead if j != i][:m]] = 1 / m
            d = (self.averages[h] @ S - S) / t + self.zone
            v = self.A2[h] - self.A1[h] ** 2 / r + self.PRIOR_ROUNDS * self.variance * (0.5 + 0.5 / m)
            value = d - bet / 2 * (v / (r - 1 + self.PRIOR_ROUNDS) + d**2)
            allowed = ahead if self.zone == 0 else ahead[m:]
            better = (value > best + self.SAME) & np.isin(np.arange(K), allowed)
            best[better] = value[better]
            self.on = np.where(better[:, :, None], self.averages[h], self.on)

    def about(self, leader: int) -> Mask:
        return np.ones(len(self.prior), dtype=bool)

    def cut(self, W: Array) -> Array:
        """No more than at first, all bets in proportion: none is ever richer than without it."""
        total = float(W.sum())
        return W if total <= self.share else self.share * (W / total if total < inf else self.prior[:, 0])


class Rivals(Renewed):
    """Six bets against each arm, all on the leader so far, against that one on the second: `SymmetricBetting`."""

    EFFECTS = 1.5 * 0.4 ** np.arange(6.0)  # bets, in standard deviations of the difference
    SMALLEST = 1e-300  # a variance below it is none
    factor = staticmethod(symmetric_factor)
    protects = True

    def __init__(self, n_arms: int, share: float, zone: float) -> None:
        super().__init__(n_arms, share)
        self.zone = zone
        self.prior = np.full((self.EFFECTS.size, n_arms), 1 / self.EFFECTS.size)
        self.on, self.sd = np.zeros((n_arms, n_arms)), np.ones(n_arms)

    def choose(self, t: int, playing: Mask, queried: Mask) -> Choice:
        bets = self.on.any(axis=1) & playing
        bet = np.minimum(self.EFFECTS, REACH / sqrt(t))[:, None] / self.sd
        return Choice(self.on[None], np.where(bets, bet, 0.0), np.where(bets, SHARE / t, 0.0))

    def learn(self, seen: Seen) -> None:
        if self.is_due(len(seen.X), seen.standing) or seen.failed:
            self.renew(seen.X, seen.standing)

    def bet_on(self, arms: list[int], against: list[int]) -> bool:
        return bool(self.on[np.ix_(against, arms)].any())

    def renew(self, X: Array, standing: list[int]) -> None:
        super().renew(X, standing)
        self.on = np.zeros_like(self.on)
        if len(standing) < 2:
            return
        t, means = len(X), np.mean(X, axis=0)
        first, second = sorted(standing, key=lambda i: (-means[i], i))[:2]
        pairs = [(i, j) for i in standing for j in standing if i < j]
        pooled = max(float(np.mean([self._variance(X[:, j] - X[:, i]) for i, j in pairs])), self.SMALLEST)
        for i in standing:
            rival = first if i != first else second
            own = self._variance(X[:, rival] - X[:, i]) * (t - 1)
            self.sd[i] = sqrt((own + pooled) / t)
            self.on[i, rival] = 1.0 if i != first or self.zone == 0 else 0.0

    def _variance(self, D: Array) -> float:
        """Of differences; of a single one its square."""
        return float(np.var(D, ddof=1)) if len(D) > 1 else float(D[0] ** 2)

    def cut(self, W: Array) -> Array:
        """No more than at first, as it was then."""
        return W if W.sum() <= self.share else self.share * self.prior[:, 0]


# --- the wealth ------------------------------------------------------------------------------------------------------


class Wealth:
    """What experts have made, share by share, against the null that arm j is better than i by at most ``nu_ij``.

    ``nu`` may have a dimension before the last two: as many nulls at once. Of the experts of a strategy there may be
    only some.
    """

    def __init__(
        self, strategies: Sequence[Strategy], nu: Array, pool: int | None, experts: Sequence[Mask] | None = None
    ) -> None:
        self.strategies, self.nu, self.pool = strategies, nu, pool
        self.experts = experts or [np.ones(len(one.prior), dtype=bool) for one in strategies]
        self.priors = [one.prior[some] for one, some in zip(strategies, self.experts, strict=True)]
        self.W = [
            np.tile(one.share * prior, (*nu.shape[:-2], 1, 1))
            for one, prior in zip(strategies, self.priors, strict=True)
        ]
        self.S = np.zeros(nu.shape[-2:])  # the sums of differences
        self.t = 0

    def step(self, D: Array, choices: Sequence[Choice]) -> None:
        """One round, with what was chosen before it."""
        self.t += 1
        nulls = np.asarray(null_mean(self.nu, self.pool, self.t, self.S))
        for s, (strategy, choice, some) in enumerate(zip(self.strategies, choices, self.experts, strict=True)):
            on = choice.on[some] if len(choice.on) == some.size else choice.on
            Y, y = on_average(on, D), on_average(on, nulls)
            grown = self.W[s] * strategy.factor(choice.bet[some], Y, y)
            self.W[s] = spread_again(grown, choice.spread, self.priors[s])
        self.S = self.S + D


def spread_again(W: Array, share: Array, prior: Array) -> Array:
    """A share of the wealth against each arm is spread over the experts; the sum stays as it is."""
    total = W.sum(axis=-2, keepdims=True)
    if not share.any():
        return W
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(total), (1 - share) * W + share * prior * total, W)


def pair_path(D: Array, bets: Bets, nu: float = 0.0, pool: int | None = None) -> Array:
    """The wealth of these bets on differences alone, after each of the rounds along the first axis."""
    sizes, weights, first_rounds = (np.array(one).reshape(-1, *[1] * (D.ndim - 1)) for one in zip(*bets, strict=True))
    W, so_far, path = weights, np.zeros(D.shape[1:]), []
    for t, d in enumerate(D, 1):
        y = np.asarray(null_mean(nu, pool, t, so_far))
        W = W * bounded_factor(np.where(first_rounds <= t, sizes, 0.0), d, y)
        so_far = so_far + d
        path.append(W.sum(axis=0))
    return np.array(path)
