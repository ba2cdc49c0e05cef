"""Where comparing with averages pays: an arm that follows an average of others closely, and one that does not.

The paper proposes Convex-BAI without an experiment. Here one arm is the average of the others, shrunk so that its mean
is a gap below theirs: the variance of its difference to that average is tiny, to every single arm it is large. Beside
it stands an arm of the same mean that is independent of the others. What is counted is the rounds until that arm is
out, which are its queries.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, ConvexBAI, PairwiseBAI
from bestarm.comparisons import Betting, ConvexBernstein, EmpiricalBernstein, Portfolio
from bestarm.complexity import bound_convex
from bestarm.simulation import repetition_rng

N_OTHERS = 3
GAPS = (0.05, 0.02, 0.01, 0.005, 0.002)
LEAD = 0.25  # lead of the best arm over the others, in gaps
HORIZON = 8_000_000
BLOCK = 16_384
PAPER_SHARE = 10  # the paper's rules take long games that differ little: one of so many repetitions


class AveragedArms:
    """Independent Bernoulli arms, and one that is their average (or an independent coin), shrunk by a gap.

    Parameters
    ----------
    n_others : number of independent arms; arm 0 is the best
    lead : how far the best arm is ahead of the other independent ones, which have mean 1/2
    gap : how far the last arm is behind the average of the others
    averaged : whether the last arm is their average, or independent of them with the same mean

    """

    def __init__(self, n_others: int, lead: float, gap: float, averaged: bool = True) -> None:
        p = np.full(n_others, 0.5)
        p[0] += lead
        self.n_arms = n_others + 1
        self.best = 0
        self._p, self._centre, self._averaged = p, float(p.mean()), averaged
        self._shrink = 1.0 - gap / self._centre
        self.means = np.append(p, self._centre - gap)
        variances = p * (1 - p)
        self.covariance = np.diag(np.append(variances, 0.0))
        if averaged:
            self.covariance[-1, :-1] = self.covariance[:-1, -1] = self._shrink * variances / n_others
            self.covariance[-1, -1] = self._shrink**2 * variances.sum() / n_others**2
        else:
            self.covariance[-1, -1] = self._shrink**2 * self._centre * (1 - self._centre)

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        uniform = rng.random((n_rounds, self.n_arms))
        rows = np.empty_like(uniform)
        rows[:, :-1] = uniform[:, :-1] < self._p
        last = rows[:, :-1].mean(axis=1) if self._averaged else uniform[:, -1] < self._centre
        rows[:, -1] = self._shrink * last
        return rows


@dataclass(frozen=True)
class Point:
    """One algorithm at one gap."""

    last_arm: str
    gap: float
    algorithm: str
    mean_rounds: float
    standard_error: float
    repetitions: int
    reached_horizon: int
    best_survived: bool
    bound: float


def algorithms(delta: float) -> dict[str, Algorithm]:
    """The paper's two and their sharp counterparts."""
    return {
        "Pairwise-BAI": PairwiseBAI(delta, comparison=EmpiricalBernstein()),
        "Convex-BAI": ConvexBAI(delta, comparison=ConvexBernstein()),
        "Betting": PairwiseBAI(delta, comparison=Betting()),
        "Portfolio": ConvexBAI(delta, comparison=Portfolio()),
    }


def rounds_until_out(algorithm: Algorithm, arms: AveragedArms, rng: np.random.Generator) -> tuple[int, bool]:
    """The round in which the last arm leaves (or the horizon), and whether the best arm is still there."""
    game = algorithm.start(arms.n_arms)
    last = arms.n_arms - 1
    while not game.finished and last in game.candidates and game.n_rounds < HORIZON:
        game.play(arms.draw(BLOCK, rng))
    out = [elimination.round for elimination in game.eliminations if elimination.arm == last]
    return (out[0] if out else game.n_rounds), arms.best in game.candidates


def run(
    delta: float,
    repetitions: int,
    seed: int,
    gaps: Sequence[float] = GAPS,
    on_point: Callable[[Point], None] = lambda point: None,
) -> list[Point]:
    """Every algorithm at every gap, with the averaged last arm and with the independent one."""
    points = []
    for averaged in (True, False):
        for gap in gaps:
            arms = AveragedArms(N_OTHERS, LEAD * gap, gap, averaged)
            bound = bound_convex(arms, delta, arm=N_OTHERS)
            for name, algorithm in algorithms(delta).items():
                n = max(2, repetitions // PAPER_SHARE) if name.endswith("BAI") else repetitions
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    games = list(
                        pool.map(
                            lambda rng, algorithm=algorithm, arms=arms: rounds_until_out(algorithm, arms, rng),
                            [repetition_rng(seed, k) for k in range(n)],
                        )
                    )
                rounds = np.array([played for played, _ in games])
                points.append(
                    Point(
                        last_arm="average" if averaged else "independent",
                        gap=gap,
                        algorithm=name,
                        mean_rounds=float(rounds.mean()),
                        standard_error=float(rounds.std(ddof=1) / np.sqrt(n)),
                        repetitions=n,
                        reached_horizon=int(np.sum(rounds >= HORIZON)),
                        best_survived=all(survived for _, survived in games),
                        bound=bound,
                    )
                )
                on_point(points[-1])
    return points


def findings(points: Sequence[Point]) -> list[str]:
    """Sentences: what averages gain, sharp and with the paper's constants, and where they do not."""
    by = {(point.last_arm, point.gap, point.algorithm): point.mean_rounds for point in points}
    sentences = []
    for kind in dict.fromkeys(point.last_arm for point in points):
        gaps = sorted({point.gap for point in points if point.last_arm == kind}, reverse=True)
        paper = {gap: by[kind, gap, "Convex-BAI"] / by[kind, gap, "Pairwise-BAI"] for gap in gaps}
        sharp = {gap: by[kind, gap, "Portfolio"] / by[kind, gap, "Betting"] for gap in gaps}
        cut = {point.gap for point in points if point.last_arm == kind and point.reached_horizon}
        wins = [f"{gap:g}" for gap in gaps if paper[gap] < 1 and gap not in cut]
        where = f"beats Pairwise-BAI at gaps {', '.join(wins)}" if wins else "beats Pairwise-BAI at none of these gaps"
        ratios = [f"{paper[gap]:.2f} at {gap:g}" for gap in gaps if gap not in cut]
        sentences.append(
            f"Last arm {kind}: the paper's Convex-BAI {where} (share of its rounds: {', '.join(ratios)}); "
            f"Portfolio needs {', '.join(f'{sharp[gap]:.2f} at {gap:g}' for gap in gaps)} of the rounds of Betting."
        )
    return sentences
