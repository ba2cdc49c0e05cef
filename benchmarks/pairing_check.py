"""Is the estimate of what pairing was worth right? ``python benchmarks/pairing_check.py``

Races on the same items say how many evaluations they would have needed on different ones (`report/pairing.py`); races
on different items say how many it takes. Medians over the races, and the middle four fifths of what was said.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.special import ndtri

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import TableArms, UnpairedArms
from bestarm.comparisons import Betting, StudentMixture
from bestarm.result.page import pairing

Scores = NDArray[np.float64]
RACES, LONGEST, POOL = 40, 4000, 500


@dataclass(frozen=True)
class Case:
    """Scores on the same items and on different ones, and the options of the race."""

    name: str
    same: Callable[[np.random.Generator], Scores]
    different: Callable[[np.random.Generator], Scores]
    pool: bool
    bounds: tuple[float, float] | None


def gaussian(means: list[float], correlation: float) -> Callable[[np.random.Generator], Scores]:
    """Scores of variance one that are equally correlated."""

    def draw(luck: np.random.Generator) -> Scores:
        shared, own = luck.standard_normal((LONGEST, 1)), luck.standard_normal((LONGEST, len(means)))
        return np.asarray(np.array(means) + np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)

    return draw


def coins(shares: list[float], correlation: float) -> Callable[[np.random.Generator], Scores]:
    """Scores of 0 and 1: solved where a Gaussian score is large enough."""
    draw, needed = gaussian([0.0] * len(shares), correlation), -ndtri(np.array(shares))
    return lambda luck: (draw(luck) > needed).astype(np.float64)


def in_order(table: Scores, luck: np.random.Generator) -> Scores:
    """The rows of a table in random order."""
    return luck.permutation(table)


def in_own_orders(table: Scores, luck: np.random.Generator) -> Scores:
    """Every column of a table in a random order of its own."""
    return luck.permuted(table, axis=0)


def cases() -> Iterator[Case]:
    """Several instances, each with the correlations 0, 0.5 and 0.9."""
    for means in ([0.0, 0.3, 0.6, 0.9], [0.1 * k for k in range(8)], [0.0, 1.0, 2.0, 3.0]):
        for rho in (0.0, 0.5, 0.9, 0.98):
            name = f"Gaussian, {len(means)} arms {means[1] - means[0]:g} apart, correlation {rho:g}"
            yield Case(name, gaussian(means, rho), gaussian(means, 0.0), False, None)
    for shares in ([0.3, 0.4, 0.6], [0.5, 0.6, 0.65, 0.7], [0.1, 0.2, 0.3, 0.9]):
        for rho in (0.0, 0.5, 0.9):
            name, draw = f"solved {shares}, correlation {rho:g}", coins(shares, rho)
            yield Case(name, draw, coins(shares, 0.0), False, (0.0, 1.0))
            table = draw(np.random.default_rng(7))[:POOL]
            together, apart = partial(TableArms(table).draw, LONGEST), partial(UnpairedArms(table).draw, LONGEST)
            yield Case(f"{name}, drawn again", together, apart, False, (0.0, 1.0))
            yield Case(f"{name}, pool", partial(in_order, table), partial(in_own_orders, table), True, (0.0, 1.0))


def race(scores: Scores, case: Case) -> bestarm.RaceResult[str]:
    """A race on these rows: all items there are, or more than it needs."""
    pool = len(scores) if case.pool else None
    test = StudentMixture() if case.bounds is None else Betting(case.bounds, pool=pool)
    return bestarm.race_table(scores, algorithm=PairwiseBAI(0.05, comparison=test))


def main() -> None:
    """Print one row per case."""
    warnings.simplefilter("ignore")
    table = Table(title=f"Evaluations on different items, {RACES} races each")
    for heading in ("", "on the same items", "estimate", "80% of the estimates", "true", "estimate / true"):
        table.add_column(heading, justify="right" if heading else "left")
    for case in cases():
        paired = [race(case.same(np.random.default_rng([1, k])), case) for k in range(RACES)]
        said = [pairing(result).without for result in paired]
        true = [race(case.different(np.random.default_rng([2, k])), case).n_evaluations for k in range(RACES)]
        low, middle, high = np.nanquantile(said, [0.1, 0.5, 0.9])
        taken = np.median([result.n_evaluations for result in paired])
        shown = (f"{taken:,.0f}", f"{middle:,.0f}", f"{low:,.0f} to {high:,.0f}", f"{np.median(true):,.0f}")
        table.add_row(case.name, *shown, f"{middle / np.median(true):.2f}")
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
