"""Does a plan from a pilot of 50 items hold? ``python benchmarks/plan_check.py``

On instances where the truth can be simulated: the median that `bestarm.plan` predicts from a pilot against the median
that races on fresh items need. A prediction holds if it is within a factor of 1.5; or the plan may say that the pilot
is too small.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import Arms, BernoulliArms, GaussianArms, bernoulli_variances, equicorrelated_arms
from bestarm.comparisons import Betting, StudentMixture

FACTOR = 1.5
Bounds = tuple[float, float] | None


@dataclass(frozen=True)
class Instance:
    """Arms that a pilot and the races are drawn from."""

    name: str
    arms: Arms
    bounds: Bounds


def spread_arms(gap: float, own: float, n_arms: int = 5) -> GaussianArms:
    """Gaussian arms whose best leads by the gap, all others by a gap more each; shared noise 1, own noise as given."""
    means = -gap * np.arange(n_arms)
    return GaussianArms(means, np.full((n_arms, n_arms), 1.0) + own**2 * np.eye(n_arms))


def bernoulli(means: list[float]) -> BernoulliArms:
    """Bernoulli arms that are as much alike as they can be."""
    return BernoulliArms(means, 1.2 * bernoulli_variances(means).smallest)


def instances() -> list[Instance]:
    """From easy to hopeless for 50 items."""
    return [
        Instance("Gaussian, lead of 2 sd", spread_arms(0.2, 0.07), None),
        Instance("Gaussian, lead of 1 sd", spread_arms(0.2, 0.14), None),
        Instance("Gaussian, 10 arms, lead of 0.7 sd", spread_arms(0.2, 0.2, 10), None),
        Instance("Bernoulli, far apart", bernoulli([0.9, 0.5, 0.4, 0.3]), (0.0, 1.0)),
        Instance("Figure 1, correlation 0.9", equicorrelated_arms(5, 0.9), None),
        Instance("Bernoulli, close", bernoulli([0.7, 0.6, 0.5, 0.4]), (0.0, 1.0)),
        Instance("Gaussian, lead of 0.1 sd", spread_arms(0.02, 0.14), None),
    ]


def needed(instance: Instance, delta: float, races: int) -> float:
    """The median evaluations of races on fresh items."""
    comparison = StudentMixture() if instance.bounds is None else Betting(bounds=instance.bounds)
    games = bestarm.simulate(PairwiseBAI(delta, comparison=comparison), instance.arms, repetitions=races, seed=1)
    return float(np.median(games.queries))


def judged(instance: Instance, truth: float, delta: float, pilots: int, items: int) -> list[str]:
    """Of several pilots: how many predictions hold, fail, or are not made."""
    draw: Callable[[int], bestarm.Plan] = lambda seed: bestarm.plan(  # noqa: E731
        instance.arms.draw(items, np.random.default_rng(seed)), delta=delta, bounds=instance.bounds, seed=seed
    )
    plans = [draw(seed) for seed in range(pilots)]
    told = [plan for plan in plans if plan.large_enough]
    right = [plan for plan in told if abs(math.log(plan.median / truth)) <= math.log(FACTOR)]
    medians = sorted(plan.median for plan in plans)
    return [
        f"{truth:,.0f}",
        f"{medians[len(medians) // 2]:,.0f}",
        f"{len(right)} of {len(told)}",
        f"{pilots - len(told)}",
    ]


def main() -> None:
    """One row an instance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pilots", type=int, default=10)
    parser.add_argument("--items", type=int, default=50)
    parser.add_argument("--races", type=int, default=400)
    parser.add_argument("--delta", type=float, default=0.05)
    arguments = parser.parse_args()
    table = Table(title=f"plans from pilots of {arguments.items} items")
    for heading in ("instance", "median needed", "median plan", "within a factor of 1.5", "too small"):
        table.add_column(heading, justify="left" if heading == "instance" else "right")
    for instance in instances():
        truth = needed(instance, arguments.delta, arguments.races)
        table.add_row(instance.name, *judged(instance, truth, arguments.delta, arguments.pilots, arguments.items))
    Console().print(table)


if __name__ == "__main__":
    main()
