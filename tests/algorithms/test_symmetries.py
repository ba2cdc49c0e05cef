"""Symmetries of the rules for Gaussian rewards: a shift or another unit of all rewards changes nothing.

What holds for every algorithm, whatever its rule, is in test_conformance.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bestarm.algorithms import LUCB, Algorithm, Game, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.comparisons import GaussianBernstein
from games import outcome

Floats = NDArray[np.float64]

N_ROUNDS = 5000
DELTA = 0.1
examples = partial(settings, derandomize=True, deadline=None, database=None)


@dataclass(frozen=True)
class Table:
    """The rewards that a game would see if it asked for every arm."""

    rows: Floats
    variances: tuple[float, ...]

    @property
    def n_arms(self) -> int:
        return len(self.variances)


@st.composite
def gaussian_tables(draw: st.DrawFn) -> Table:
    """Two to five arms, leads of at least 0.4, own noise and noise that the arms share to a different degree."""
    n_arms = draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    means = rng.permutation(np.cumsum(0.4 + rng.random(n_arms)))
    shared = draw(st.sampled_from([0.0, 0.3, 1.0])) * rng.uniform(-1.0, 1.0, n_arms)
    own = rng.uniform(0.2, 0.8, n_arms)
    noise = rng.standard_normal((N_ROUNDS, n_arms)) * own + rng.standard_normal((N_ROUNDS, 1)) * shared
    return Table(means + noise, tuple((own**2 + shared**2).tolist()))


MakeAlgorithm = Callable[[tuple[float, ...]], Algorithm]

PAIRWISE_GAUSSIAN: dict[str, MakeAlgorithm] = {
    f"PairwiseBAI {f}, keep {keep:g}": lambda _, keep=keep, f=f: PairwiseBAI(  # type: ignore[misc]
        DELTA, comparison=GaussianBernstein(f=f), keep=keep
    )
    for keep in (1.0, 1.5, 2.0, 82.0)
    for f in ("proved", "published")
}
ALGORITHMS: dict[str, MakeAlgorithm] = {
    **PAIRWISE_GAUSSIAN,
    "HoeffdingRace": lambda variances: HoeffdingRace(DELTA, variances=variances),
    "LUCB": lambda variances: LUCB(DELTA, variances=variances),
    "VarianceRace": lambda _: VarianceRace(DELTA),
    "KimNelson": lambda _: KimNelson(DELTA, indifference_zone=0.3, min_rounds=5),
}


def played(name: str, table: Table, rows: Floats | None = None) -> Game:
    game = ALGORITHMS[name](table.variances).start(table.n_arms)
    rows = table.rows if rows is None else rows
    assert game.play(rows) == game.n_rounds
    assert game.finished, "the data of these tests is meant to end every game"
    return game


def story(game: Game) -> dict[str, Any]:
    """All but the numbers that a shift or a change of scale may touch."""
    by = [one.by for one in game.eliminations]
    return outcome(game) | {"best": game.best, "counts": game.counts.tolist(), "by": by}


def assert_same(game: Game, other: Game, factor: float = 1.0, **tolerance: Any) -> None:
    """The same decisions, with margins in another unit."""
    assert story(game) == story(other)
    margins = [factor * one.margin for one in other.eliminations]
    assert [one.margin for one in game.eliminations] == pytest.approx(margins, **tolerance)


@pytest.mark.parametrize("name", [*PAIRWISE_GAUSSIAN, "KimNelson", "HoeffdingRace"])
@given(data=st.data())
@examples(max_examples=30)
def test_a_constant_added_to_all_arms_of_a_round_changes_nothing(name: str, data: st.DataObject) -> None:
    table = data.draw(gaussian_tables())
    size = data.draw(st.sampled_from([0.1, 5.0, 1000.0]))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    constants = size * (1.0 + rng.standard_normal((N_ROUNDS, 1)))
    assert_same(played(name, table, table.rows + constants), played(name, table), abs=1e-9)


@pytest.mark.parametrize("name", ["LUCB", "VarianceRace"])
@given(table=gaussian_tables(), constant=st.floats(-1000.0, 1000.0))
@examples(max_examples=20)
def test_one_constant_added_to_all_rewards_changes_nothing(name: str, table: Table, constant: float) -> None:
    assert_same(played(name, table, table.rows + constant), played(name, table), abs=1e-9)


@pytest.mark.parametrize("name", [*PAIRWISE_GAUSSIAN, "VarianceRace"])
@given(table=gaussian_tables(), factor=st.floats(1e-6, 1e6))
@examples(max_examples=30)
def test_a_positive_factor_on_all_rewards_changes_nothing(name: str, table: Table, factor: float) -> None:
    assert_same(played(name, table, table.rows * factor), played(name, table), factor, rel=1e-7)


@pytest.mark.parametrize("name", ["LUCB", "HoeffdingRace"])
@given(table=gaussian_tables(), power=st.integers(-20, 20))
@examples(max_examples=30)
def test_a_factor_on_rewards_and_standard_deviations_changes_nothing(name: str, table: Table, power: int) -> None:
    factor = 2.0**power
    scaled = Table(table.rows * factor, tuple(factor**2 * variance for variance in table.variances))
    assert story(played(name, scaled)) == story(played(name, table))
