"""Laws and score tables that the benchmarks share, and how their results are shown."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bestarm import arms

Matrix = NDArray[np.float64]
CONSOLE = Console(width=180)


def headed(title: str, *headings: str) -> Table:
    """An empty table; the first column is on the left, numbers are on the right."""
    table = Table(title=title)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    return table


def score_tables(folder: Path | None) -> dict[str, Matrix]:
    """The ``.npz`` files of a folder by name, each with an array ``scores`` (items x arms, in [0, 1])."""
    paths = sorted(folder.glob("*.npz")) if folder else []
    return {path.stem: np.asarray(np.load(path)["scores"], dtype=np.float64) for path in paths}


def drawn(tables: dict[str, Matrix], pools: bool = False) -> dict[str, arms.TableArms]:
    """Arms that draw rows of tables, with replacement or as pools in random order."""
    return {name: arms.PoolArms(scores) if pools else arms.TableArms(scores) for name, scores in tables.items()}


def figure1() -> dict[str, arms.Arms]:
    """The eight settings of the paper's Figure 1."""
    left = {f"correlation {rho:g}": arms.equicorrelated_arms(10, rho) for rho in (0.0, 0.5, 0.7, 0.9)}
    right = {f"{n} clusters": arms.clustered_arms(16, n) for n in (8, 4, 2, 1)}
    return {**left, **right}


def coin_arms() -> dict[str, arms.Arms]:
    """Ten Bernoulli arms of the paper's lower bound, independent and nearly as alike as they can be."""
    means = [0.7, *np.linspace(0.6, 0.3, 9)]
    possible = arms.bernoulli_variances(means)
    variances = {"coins, independent": possible.independent, "coins, 1.2 x smallest": 1.2 * possible.smallest}
    return {name: arms.BernoulliArms(means, given) for name, given in variances.items()}


def crowd() -> arms.GaussianArms:
    """Ten Gaussian arms with common random numbers: what Kim and Nelson's procedure is made for."""
    means = [0.56, 0.54, 0.54, 0.53, 0.53, 0.52, 0.51, 0.50, 0.48, 0.45]
    return arms.GaussianArms(means, 0.15**2 + 0.03**2 * np.eye(10))


def antithetic_coins() -> arms.TableArms:
    """Two coins of which one shows heads just when the other shows tails; the first leads by 0.003."""
    heads = np.arange(2000) < 1003
    return arms.TableArms(np.column_stack([heads, ~heads]).astype(np.float64))
