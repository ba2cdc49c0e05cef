"""Does a plan from a pilot hold? ``python benchmarks/plan_check.py``

On 20 instances where the truth can be simulated: the median that `bestarm.plan` predicts from a pilot against the one
that races on fresh items, or on fresh lists of items, need. A prediction holds if it is within a factor of 1.5; or the
plan may say that the pilot is too small. The columns "below" and "above" count plans on either side of the truth.
"""

import argparse
import math
import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import bestarm
from bestarm.arms import Arms, BernoulliArms, GaussianArms, TableArms, bernoulli_variances, equicorrelated_arms
from bestarm.planning import PlannedRace
from bestarm.racing.options import Options, choose_algorithm

FACTOR = 1.5
NEAR = 1.02  # nearer to the truth is neither below nor above it
UNIT = (0.0, 1.0)
Bounds = tuple[float, float] | None


@dataclass(frozen=True)
class Instance:
    """Arms that a pilot and the races are drawn from; ``n_items`` is the length of their list, None for a stream."""

    name: str
    arms: Arms
    bounds: Bounds = None
    n_items: int | None = None


def spread_arms(gap: float, own: float, n_arms: int = 5) -> GaussianArms:
    """Gaussian arms whose best leads by the gap, all others by a gap more each; shared noise 1, own noise as given."""
    means = -gap * np.arange(n_arms)
    return GaussianArms(means, np.full((n_arms, n_arms), 1.0) + own**2 * np.eye(n_arms))


def bernoulli(means: list[float]) -> BernoulliArms:
    """Bernoulli arms that are as much alike as they can be."""
    return BernoulliArms(means, 1.2 * bernoulli_variances(means).smallest)


def graded(gap: float, own: float, n_arms: int) -> TableArms:
    """Scores in [0, 1] that share most of their noise, from a law of 50,000 rows."""
    rng = np.random.default_rng(2024)
    shared, noise = rng.normal(size=(50_000, 1)), rng.normal(size=(50_000, n_arms))
    return TableArms(np.clip(0.6 - gap * np.arange(n_arms) + 0.15 * shared + own * noise, 0.0, 1.0))


def instances() -> list[Instance]:
    """From easy to hopeless for 50 items; several where only a lucky pilot looks easy."""
    return [
        Instance("Gaussian, 2 arms, lead of 1.5 sd", spread_arms(0.2, 0.094, 2)),
        Instance("Gaussian, 2 arms, lead of 0.8 sd", spread_arms(0.2, 0.177, 2)),
        Instance("Gaussian, 5 arms, lead of 1 sd", spread_arms(0.2, 0.14)),
        Instance("Gaussian, 5 arms, lead of 0.7 sd", spread_arms(0.2, 0.2)),
        Instance("Gaussian, 10 arms, lead of 0.7 sd", spread_arms(0.2, 0.2, 10)),
        Instance("Gaussian, 20 arms, lead of 1 sd", spread_arms(0.2, 0.14, 20)),
        Instance("Gaussian, 3 arms, lead of 0.4 sd", spread_arms(0.2, 0.35, 3)),
        Instance("Figure 1, correlation 0.9", equicorrelated_arms(5, 0.9)),
        Instance("Gaussian, 5 arms, lead of 0.1 sd", spread_arms(0.02, 0.14)),
        Instance("Bernoulli, far apart", bernoulli([0.9, 0.5, 0.4, 0.3]), UNIT),
        Instance("Bernoulli, close", bernoulli([0.7, 0.6, 0.5, 0.4]), UNIT),
        Instance("Bernoulli, 2 arms, 0.95 and 0.6", bernoulli([0.95, 0.6]), UNIT),
        Instance("graded, 5 arms by 0.1", graded(0.1, 0.1, 5), UNIT),
        Instance("graded, 10 arms by 0.06", graded(0.06, 0.04, 10), UNIT),
        Instance("graded, 5 arms by 0.05, list of 500", graded(0.05, 0.1, 5), UNIT, 500),
        Instance("Bernoulli, close, list of 200", bernoulli([0.7, 0.6, 0.5, 0.4]), UNIT, 200),
        Instance("Bernoulli, 6 arms by 0.02, list of 2,000", bernoulli([0.8 - 0.02 * k for k in range(6)]), UNIT, 2000),
        Instance("Bernoulli, 20 arms by 0.01, list of 164", bernoulli([0.8 - 0.01 * k for k in range(20)]), UNIT, 164),
        Instance("graded, 10 arms by 0.02, list of 300", graded(0.02, 0.1, 10), UNIT, 300),
        Instance("graded, 2 arms alike, list of 300", graded(0.0, 0.1, 2), UNIT, 300),
    ]


def needed(instance: Instance, delta: float, races: int) -> float:
    """The median evaluations of races on fresh items, or on fresh lists; infinite if they do not end.

    A list drawn from the law and taken in random order is a sequence of independent draws.
    """
    race = PlannedRace(
        choose_algorithm(Options(delta=delta, bounds=instance.bounds), instance.n_items), instance.n_items
    )
    return float(np.median(race.evaluations(instance.arms, races, seed=1, longest=1_000_000)))


def plans(instance: Instance, delta: float, pilots: int, items: int) -> list[bestarm.Plan]:
    """One plan for each of several pilots."""
    return [
        bestarm.plan(
            instance.arms.draw(items, np.random.default_rng([seed, items])),
            delta=delta,
            bounds=instance.bounds,
            n_items=instance.n_items,
            seed=100 * seed,
        )
        for seed in range(pilots)
    ]


@dataclass(frozen=True)
class Judged:
    """How the medians of plans that were called large enough compare with the truth, as ratios."""

    ratios: list[float]
    too_small: int

    def row(self) -> list[str]:
        """Counts, as the table shows them: right, too low, too high, below and above the truth, too small."""
        logs = np.log(self.ratios) if self.ratios else np.empty(0)
        far, near = math.log(FACTOR), math.log(NEAR)
        counts = [(abs(logs) <= far).sum(), (logs < -far).sum(), (logs > far).sum()]
        sides = [(logs < -near).sum(), (logs > near).sum()]
        return [
            f"{int(counts[0])} of {len(self.ratios)}",
            *(f"{int(n)}" for n in [*counts[1:], *sides, self.too_small]),
        ]


def judged(made: list[bestarm.Plan], truth: float) -> Judged:
    """The plans of one instance."""
    told = [plan.median / truth for plan in made if plan.large_enough]
    return Judged(told, len(made) - len(told))


def main() -> None:
    """One row for each instance, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pilots", type=int, default=10)
    parser.add_argument("--items", type=int, default=50)
    parser.add_argument("--races", type=int, default=400)
    parser.add_argument("--delta", type=float, default=0.05)
    arguments = parser.parse_args()
    table = Table(title=f"plans from pilots of {arguments.items} items")
    headings = ("instance", "needed", "planned", "within 1.5", "too low", "too high", "below", "above", "too small")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "instance" else "right")
    every, start = Judged([], 0), time.perf_counter()
    for instance in track(instances(), console=Console(stderr=True), transient=True):
        truth = needed(instance, arguments.delta, arguments.races)
        made = plans(instance, arguments.delta, arguments.pilots, arguments.items)
        part = judged(made, truth)
        every = Judged(every.ratios + part.ratios, every.too_small + part.too_small)
        middle = float(np.median([plan.median for plan in made]))
        table.add_row(instance.name, f"{truth:,.0f}", f"{middle:,.0f}", *part.row())
    table.add_section()
    table.add_row("all", "", "", *every.row())
    console = Console(width=140)
    console.print(table)
    n_plans = arguments.pilots * len(instances())
    console.print(f"{(time.perf_counter() - start) / n_plans:.1f} s for each plan, the truth included")


if __name__ == "__main__":
    main()
