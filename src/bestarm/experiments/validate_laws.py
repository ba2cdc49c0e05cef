"""The laws of the arms that the study of the guarantee plays."""

from __future__ import annotations  # numpy.random is loaded when first used

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bestarm.arms import Arms, BernoulliArms, GaussianArms, TableArms, bernoulli_variances
from bestarm.arms.law import JointLaw

POOL = 300  # items of a pool
NOISE = 0.3  # the scale of rewards that have no bounds: games with epsilon come near their end


def _means(n_arms: int, lead: float) -> NDArray[np.float64]:
    """The best arm ahead by a lead, the others spread over as much again."""
    return np.concatenate([[0.5 + lead], np.linspace(0.5, 0.5 - lead, n_arms - 1)])


def gaussian_laws(n_arms: int) -> dict[str, Arms]:
    """Gaussian arms of many correlations and leads."""
    eye = np.eye(n_arms)
    halves = np.arange(n_arms) < (n_arms + 1) // 2
    same_half = halves[:, None] == halves[None, :]
    negative = -0.9 / (n_arms - 1)
    spread = _means(n_arms, 0.5)
    return {
        "independent": GaussianArms(spread, eye),
        "strongly correlated": GaussianArms(_means(n_arms, 0.1), 0.95 + 0.05 * eye),
        "negatively correlated": GaussianArms(spread, negative + (1 - negative) * eye),
        "near ties": GaussianArms(_means(n_arms, 0.01), 0.5 + 0.5 * eye),
        "equal means": GaussianArms(np.full(n_arms, 0.5), 0.5 + 0.5 * eye),
        "two clusters": GaussianArms(_means(n_arms, 0.2), 0.99 * same_half + 0.01 * eye),
    }


def _copula_table(
    n_arms: int, correlation: float, quantile: Callable[[NDArray[np.float64], int], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """A table of scores with a Gaussian copula and given marginals, as many rows as a pool has."""
    from scipy.special import ndtr

    rng = np.random.default_rng(20230602 + n_arms)
    noise = np.sqrt(correlation) * rng.standard_normal((POOL, 1))
    uniform = ndtr(noise + np.sqrt(1 - correlation) * rng.standard_normal((POOL, n_arms)))
    return np.column_stack([quantile(uniform[:, i], i) for i in range(n_arms)])


@lru_cache(maxsize=8)
def bounded_tables(n_arms: int) -> dict[str, NDArray[np.float64]]:
    """Score tables in [0, 1], one column per arm."""
    from scipy.special import betaincinv

    spread, close = _means(n_arms, 0.2), _means(n_arms, 0.01)

    def beta(means: NDArray[np.float64], size: float) -> Callable[[NDArray[np.float64], int], NDArray[np.float64]]:
        def quantile(u: NDArray[np.float64], i: int) -> NDArray[np.float64]:
            scores: NDArray[np.float64] = betaincinv(size * means[i], size * (1 - means[i]), u)
            return scores

        return quantile

    base = _copula_table(2, 0.0, beta(spread[:2], 0.3))[:, 0]
    halves = np.arange(n_arms) < (n_arms + 1) // 2
    first, second = (_copula_table(n_arms, 0.9, beta(spread, 2.0)) for _ in range(2))
    return {
        "Beta, mass at both ends": _copula_table(n_arms, 0.5, beta(spread, 0.3)),
        "Beta, skewed": _copula_table(n_arms, 0.5, beta(0.2 * spread, 2.0)),
        "near ties": _copula_table(n_arms, 0.8, beta(close, 1.0)),
        "equal means": np.column_stack([np.roll(base, 7 * i) for i in range(n_arms)]),
        "two clusters": np.where(halves, first, np.roll(second, 11, axis=0)),
    }


def bounded_laws(n_arms: int) -> dict[str, Arms]:
    """Bounded arms: Bernoulli as in the lower bound, and score tables drawn with replacement."""
    means = _means(n_arms, 0.1)
    possible = bernoulli_variances(means)
    bernoulli: dict[str, Arms] = {
        "Bernoulli, independent": BernoulliArms(means, possible.independent),
        "Bernoulli, correlated": BernoulliArms(means, 1.2 * possible.smallest),
    }
    return bernoulli | {law: TableArms(scores) for law, scores in bounded_tables(n_arms).items()}


@lru_cache(maxsize=8)
def leader_tables(n_arms: int) -> dict[str, NDArray[np.float64]]:
    """Score tables in [0, 1] that are hard for bets on the leaders: who leads does so by chance, or for long."""
    rng = np.random.default_rng(20230604 + n_arms)
    heads = rng.permutation(POOL) < 0.5 * POOL
    opposed = np.where(np.arange(n_arms) % 2 == 0, heads[:, None], ~heads[:, None]).astype(np.float64)
    half = np.full((POOL, n_arms), 0.5)
    rare, spread = half.copy(), half.copy()
    rare[:, 0] = np.where(rng.permutation(POOL) < 0.15 * POOL, 1.0, 0.42)
    for arm in range(n_arms):  # from no spread at all to that of a coin
        signs = np.where(rng.permutation(POOL) < 0.5 * POOL, 1.0, -1.0)
        spread[:, arm] += 0.5 * arm / max(n_arms - 1, 1) * signs
    clones = np.repeat(rng.random((POOL, 1)), n_arms, axis=1)
    clones[:, 0] = rng.permutation(clones[:, 0])
    return {"clones": clones, "antithetic": opposed, "rare wins": rare, "heteroscedastic": spread}


Noise = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]


class NoisyArms(JointLaw):
    """Centres plus noise, each round drawn anew; means are up to a constant, and where there are none, medians.

    Nothing is computed from the covariance: it is not a number.
    """

    def __init__(self, centres: NDArray[np.float64], noise: Noise) -> None:
        super().__init__(centres, np.full((centres.size, centres.size), np.nan))
        self._noise = noise

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        rows: NDArray[np.float64] = self.means + NOISE * self._noise(rng, (n_rounds, self.n_arms))
        return rows


def _signs_but_of_the_first(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    signs = np.where(rng.random(shape) < 0.5, 1.0, -1.0)
    signs[:, 0] = 0.0
    return signs


def _first_ahead(n_arms: int, lead: float) -> NDArray[np.float64]:
    return np.where(np.arange(n_arms) == 0, lead, 0.0)


def leader_laws(n_arms: int, lead: float) -> dict[str, Arms]:
    """Gaussian arms that are hard for bets on the leader, the first ahead of the others, which are equally good."""
    centres, number = _first_ahead(n_arms, lead), np.arange(n_arms)
    cloned = np.minimum(number, 1)
    signs = np.where(number % 2 == 0, 1.0, -1.0)
    spread = number / (n_arms - 1)  # from no spread at all
    shapes = {
        "clones": (cloned[:, None] == cloned).astype(np.float64),
        "antithetic": np.outer(signs, signs),
        "heteroscedastic": np.diag(spread**2),
    }
    return {law: GaussianArms(centres, NOISE**2 * shape) for law, shape in shapes.items()}


def symmetric_laws(n_arms: int, lead: float) -> dict[str, Arms]:
    """Arms whose differences are symmetric and not Gaussian, the first ahead of the others, which are equally good."""
    noises: dict[str, Noise] = {
        "Student t, 3 degrees": lambda rng, shape: rng.standard_t(3, shape),
        "Cauchy": lambda rng, shape: rng.standard_cauchy(shape),
        "lognormal, the same for all": lambda rng, shape: rng.lognormal(size=shape),
        "exponential, the same for all": lambda rng, shape: rng.exponential(size=shape),
        "a constant against signs": _signs_but_of_the_first,
    }
    return {law: NoisyArms(_first_ahead(n_arms, lead), noise) for law, noise in noises.items()}


@lru_cache(maxsize=8)
def broken_laws(n_arms: int) -> dict[str, Arms]:
    """Laws that no comparison without bounds is made for: the best arm wins by rare large scores, others are steady."""
    rng = np.random.default_rng(5)
    steady = 0.8 + 0.1 * rng.random((4000, n_arms))
    rare, skewed = steady.copy(), steady.copy()
    rare[:, 0] = 10.0 * (rng.random(4000) < 0.1)
    skewed[:, 0] = rng.exponential(size=4000)
    return {"discrete: rare large wins": TableArms(rare), "skewed: exponential best arm": TableArms(skewed)}


@lru_cache(maxsize=8)
def wins_tables(n_arms: int) -> dict[str, NDArray[np.float64]]:
    """Score tables in which arm 0 beats every other on at least as many items as it loses, whatever its mean."""
    rng = np.random.default_rng(20230603 + n_arms)
    leads = np.concatenate([[0.2], np.zeros(n_arms - 1)])
    noise = rng.standard_normal((POOL, n_arms))
    outliers = 0.5 * noise + leads
    outliers[: POOL // 20, 0] -= 1000.0
    half = noise[: POOL // 2]
    tables = {
        "heavy tails": rng.standard_cauchy((POOL, n_arms)) + leads,
        "outliers against the best arm": outliers,
        "ties": np.round(noise + leads),
        "no arm beats another": np.concatenate([half, -half]),
    }
    return {law: _with_winner(scores) for law, scores in tables.items()}


def _with_winner(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same table, with as few scores of arm 0 lifted as it takes for it to lose to no other arm on balance."""
    scores = scores.copy()
    for item in range(len(scores) - 1, -1, -1):
        if np.sign(scores[:, :1] - scores).sum(axis=0).min() >= 0:
            return scores
        scores[item, 0] = scores[item].max() + 1.0
    return scores
