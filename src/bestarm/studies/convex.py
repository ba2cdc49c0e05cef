"""Where comparing with averages pays: an arm that follows an average of others closely, and one that does not.

The paper proposes Convex-BAI without an experiment. Here one arm is the average of the others, shrunk so that its mean
is a gap below theirs: the variance of its difference to that average is tiny, to every single arm it is large. Beside
it stands an arm of the same mean that is independent of the others. What is counted is the rounds until that arm is
out, which are its queries.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, ConvexBAI, PairwiseBAI
from bestarm.comparisons import Betting, ConvexBernstein, EmpiricalBernstein, Portfolio
from bestarm.complexity import bound_convex
from bestarm.simulation import repetition_rng
from bestarm.studies.figure1 import COLOURS
from bestarm.studies.output import say_written, series_table, unique, write_csv, write_picture

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


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


MARKERS = "osv^"


def convex_tables(points: Sequence[Point]) -> "Iterator[Table]":
    """Rounds until the last arm is out, a table for each kind of last arm."""
    for kind in unique(point.last_arm for point in points):
        mine = [point for point in points if point.last_arm == kind]
        bounds = {point.gap: point.bound for point in mine}
        yield series_table(
            f"Rounds until the last arm ({kind}) is out, by its gap",
            [f"{gap:g}" for gap in bounds],
            {
                name: [_cell(point) for point in mine if point.algorithm == name]
                for name in unique(point.algorithm for point in mine)
            },
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


def plot_convex(points: Sequence[Point], path: Path) -> None:
    """Rounds against the gap, both on log axes, one panel for each kind of last arm."""
    from matplotlib.figure import Figure

    kinds = unique(point.last_arm for point in points)
    figure = Figure(figsize=(5.0 * len(kinds) + 0.4, 4.4), layout="constrained")
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    titles = {"average": "last arm: an average of the others", "independent": "last arm: independent, same mean"}
    for panel, kind in zip(panels, kinds, strict=True):
        mine = [point for point in points if point.last_arm == kind]
        for k, name in enumerate(unique(point.algorithm for point in mine)):
            row = [point for point in mine if point.algorithm == name]
            panel.errorbar(
                [point.gap for point in row],
                [point.mean_rounds for point in row],
                yerr=[2 * point.standard_error for point in row],
                color=COLOURS[(1, 2, 5, 4)[k % 4]],
                marker=MARKERS[k % len(MARKERS)],
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
        panel.set_title(titles[kind], fontsize="medium")
        panel.set_xlabel("gap between the last arm and the average of the others")
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(linewidth=0.4, alpha=0.6)
    panels[0].set_ylabel("rounds until the last arm is out")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    write_picture(figure, path, dpi=160)


def present(points: Sequence[Point], folder: Path, console: "Console") -> None:
    """Write the table and the picture, and say what averages gain."""
    write_csv(points, folder / "convex.csv")
    plot_convex(points, folder / "convex.png")
    for table in convex_tables(points):
        console.print(table)
    for sentence in findings(points):
        console.print(sentence, highlight=False)
    say_written(console, folder / "convex.csv", folder / "convex.png")
