"""Where comparing with averages pays: an arm that follows an average of others closely, and one that does not.

The paper proposes Convex-BAI without an experiment. Here one arm is the average of the others, shrunk so that its mean
is a gap below theirs: the variance of its difference to that average is tiny, to every single arm it is large. Beside
it stands an arm of the same mean that is independent of the others. What is counted is the rounds until that arm is
out, which are its queries.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bestarm.algorithms import Algorithm, ConvexBAI, PairwiseBAI
from bestarm.arms import JointLaw
from bestarm.comparisons import Betting, ConvexBernstein, EmpiricalBernstein, Portfolio
from bestarm.complexity import bound_convex
from bestarm.simulation import repetition_rng
from bestarm.studies.output import COLOURS, by_field, empty_panels, say_written, series_table, write_csv, write_panels
from bestarm.values import Array

N_OTHERS = 3
GAPS = (0.05, 0.02, 0.01, 0.005, 0.002)
LEAD = 0.25  # lead of the best arm over the others, in gaps
HORIZON = 8_000_000
BLOCK = 16_384
PAPER_SHARE = 10  # the paper's rules take long games that differ little: one of so many repetitions


class AveragedArms(JointLaw):
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
        self._p, self._centre, self._averaged = p, float(p.mean()), averaged
        self._shrink = 1.0 - gap / self._centre
        variances = p * (1 - p)
        covariance = np.diag(np.append(variances, self._shrink**2 * self._centre * (1 - self._centre)))
        if averaged:
            covariance[-1, :-1] = covariance[:-1, -1] = self._shrink * variances / n_others
            covariance[-1, -1] = self._shrink**2 * variances.sum() / n_others**2
        super().__init__(np.append(p, self._centre - gap), covariance)

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Array:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        uniform = rng.random((n_rounds, self.n_arms))
        rows = np.empty_like(uniform)
        rows[:, :-1] = uniform[:, :-1] < self._p
        last = rows[:, :-1].mean(axis=1) if self._averaged else uniform[:, -1] < self._centre
        rows[:, -1] = self._shrink * last
        return rows


@dataclass(frozen=True)
class Point:
    """One algorithm at one gap: a row of convex.csv."""

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


def measure(algorithm: Algorithm, arms: AveragedArms, repetitions: int, seed: int) -> dict[str, Any]:
    """Rounds until the last arm is out over many games, as fields of a `Point`."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        generators = [repetition_rng(seed, k) for k in range(repetitions)]
        games = list(pool.map(lambda rng: rounds_until_out(algorithm, arms, rng), generators))
    rounds = np.array([played for played, _ in games])
    return {
        "mean_rounds": float(rounds.mean()),
        "standard_error": float(rounds.std(ddof=1) / np.sqrt(repetitions)),
        "repetitions": repetitions,
        "reached_horizon": int(np.sum(rounds >= HORIZON)),
        "best_survived": all(survived for _, survived in games),
    }


def run(
    delta: float,
    repetitions: int,
    seed: int,
    gaps: Sequence[float] = GAPS,
    on_step: Callable[[], object] = lambda: None,
) -> list[Point]:
    """Every algorithm at every gap, with the averaged last arm and with the independent one."""
    points = []
    for averaged, gap in product((True, False), gaps):
        arms = AveragedArms(N_OTHERS, LEAD * gap, gap, averaged)
        kind, bound = "average" if averaged else "independent", bound_convex(arms, delta, arm=N_OTHERS)
        for name, algorithm in algorithms(delta).items():
            n = max(2, repetitions // PAPER_SHARE) if name.endswith("BAI") else repetitions
            points.append(Point(kind, gap, name, bound=bound, **measure(algorithm, arms, n, seed)))
            on_step()
    return points


def findings(points: Sequence[Point]) -> list[str]:
    """Sentences: what averages gain, sharp and with the paper's constants, and where they do not."""
    sentences = []
    for kind, mine in by_field("last_arm", points).items():
        by = {(point.gap, point.algorithm): point.mean_rounds for point in mine}
        gaps = sorted({point.gap for point in mine}, reverse=True)
        cut = {point.gap for point in mine if point.reached_horizon}
        paper = {gap: by[gap, "Convex-BAI"] / by[gap, "Pairwise-BAI"] for gap in gaps if gap not in cut}
        sharp = {gap: by[gap, "Portfolio"] / by[gap, "Betting"] for gap in gaps}
        wins = [f"{gap:g}" for gap, ratio in paper.items() if ratio < 1]
        where = f"beats Pairwise-BAI at gaps {', '.join(wins)}" if wins else "beats Pairwise-BAI at none of these gaps"
        sentences.append(
            f"Last arm {kind}: the paper's Convex-BAI {where} (share of its rounds: {_shares(paper)}); "
            f"Portfolio needs {_shares(sharp)} of the rounds of Betting."
        )
    return sentences


def _shares(ratios: Mapping[float, float]) -> str:
    return ", ".join(f"{ratio:.2f} at {gap:g}" for gap, ratio in ratios.items())


def convex_tables(points: Sequence[Point]) -> Iterator[Table]:
    """Rounds until the last arm is out, a table for each kind of last arm."""
    for kind, mine in by_field("last_arm", points).items():
        bounds = {point.gap: point.bound for point in mine}
        yield series_table(
            f"Rounds until the last arm ({kind}) is out, by its gap",
            [f"{gap:g}" for gap in bounds],
            {name: list(map(_cell, row)) for name, row in by_field("algorithm", mine).items()},
            ("Theorem B.1, c = 1", [_short(bound) for bound in bounds.values()]),
        )


def _cell(point: Point) -> str:
    if point.reached_horizon:
        return f"≥ {_short(point.mean_rounds)}"
    return f"{_short(point.mean_rounds)} ±{point.standard_error / point.mean_rounds:.0%}"


def _short(value: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}"


TITLES = {"average": "last arm: an average of the others", "independent": "last arm: independent, same mean"}
STYLES = ((COLOURS[1], "o"), (COLOURS[2], "s"), (COLOURS[5], "v"), (COLOURS[4], "^"))  # of the four algorithms


def plot_convex(points: Sequence[Point], path: Path) -> None:
    """Rounds against the gap, both on log axes, one panel for each kind of last arm."""
    kinds = by_field("last_arm", points)
    figure, panels = empty_panels(len(kinds), "rounds until the last arm is out", width=5.0, height=4.4)
    for panel, (kind, mine) in zip(panels, kinds.items(), strict=True):
        for (colour, marker), (name, row) in zip(STYLES, by_field("algorithm", mine).items(), strict=True):
            panel.errorbar(
                [point.gap for point in row],
                [point.mean_rounds for point in row],
                yerr=[2 * point.standard_error for point in row],
                color=colour,
                marker=marker,
                label=name,
                capsize=2,
            )
        bounds = {point.gap: point.bound for point in mine}
        panel.plot(list(bounds), list(bounds.values()), ":", color="black", label="Theorem B.1, c = 1")
        panel.axhline(HORIZON, color="#999999", linewidth=0.6)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xticks(list(bounds), [f"{gap:g}" for gap in bounds])
        panel.set_xticks([], minor=True)
        panel.set_title(TITLES[kind], fontsize="medium")
        panel.set_xlabel("gap between the last arm and the average of the others")
        panel.grid(linewidth=0.4, alpha=0.6)
    write_panels(figure, panels, path, legend_columns=5)


def present(points: Sequence[Point], folder: Path, console: Console) -> None:
    """Write the table and the picture, and say what averages gain."""
    write_csv(points, folder / "convex.csv")
    plot_convex(points, folder / "convex.png")
    for table in convex_tables(points):
        console.print(table)
    for sentence in findings(points):
        console.print(sentence, highlight=False)
    say_written(console, folder / "convex.csv", folder / "convex.png")
