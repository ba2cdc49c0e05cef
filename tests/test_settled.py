"""A pool that was used up under a comparison without one: who is behind is out, and what differs by rounding ties."""

from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.comparisons import StudentMixture
from naive import Matrix
from test_race import run

N_ITEMS = 8  # fewer than the first rounds of a race without bounds: the comparison itself drops nobody


def orders(scale: float, seed: int = 0) -> Matrix:
    """Three arms with the same scores on other items: equal means, up to rounding."""
    scores = np.random.default_rng(seed).random(N_ITEMS) * scale
    return np.column_stack([scores, np.roll(scores, 3), scores[::-1]])


def raced(rows: Matrix, **options: Any) -> bestarm.RaceResult[Any]:
    return run(lambda arm, item: float(rows[item, arm]), range(rows.shape[1]), range(len(rows)), **options)


def tabled(rows: Matrix, **options: Any) -> bestarm.RaceResult[Any]:
    return bestarm.race_table(rows, comparison=StudentMixture(), **options)


def leads(result: bestarm.RaceResult[Any]) -> list[float]:
    """By how much the largest mean exceeds each."""
    means = np.array(result.means)
    return [float(means.max() - mean) for mean in means]


each_way = pytest.mark.parametrize("way", [raced, tabled])


@each_way
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("lower", [False, True])
def test_means_that_differ_by_rounding_tie(way: Any, scale: float, lower: bool) -> None:
    seen = set()
    for seed in range(20):
        result = way(orders(scale, seed), lower_is_better=lower)
        seen |= set(leads(result))
        assert result.reason == "all items used"
        assert set(map(str, result.candidates)) == {"0", "1", "2"}
        assert result.eliminations == ()
        assert " tie for the best mean over all 8 items" in result.verdict
    assert max(seen) > 0.0  # or there would have been no rounding to forgive


@each_way
@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize("lead", [1e-9, 1e-5])
def test_a_small_lead_over_the_whole_pool_is_a_lead(way: Any, scale: float, lead: float) -> None:
    rows = orders(scale)
    rows[:, 1] += lead * scale
    result = way(rows)
    assert str(result.best) == "1"
    assert [str(arm) for arm in result.candidates] == ["1"]
    outs = {str(out.arm): out for out in result.eliminations}
    assert set(outs) == {"0", "2"}
    for out in outs.values():
        assert (str(out.by), out.round) == ("1", N_ITEMS)
        assert out.margin == pytest.approx(lead * scale, rel=1e-4)
    assert result.verdict.startswith("1 has the best mean over all 8 items")


@each_way
def test_who_ties_with_the_best_stays_and_who_is_behind_goes(way: Any) -> None:
    rows = np.column_stack([orders(1.0), orders(1.0)[:, 0] - 1e-6])
    result = way(rows)
    assert set(map(str, result.candidates)) == {"0", "1", "2"}
    assert [str(out.arm) for out in result.eliminations] == ["3"]
    assert result.eliminations[0].margin == pytest.approx(1e-6, rel=1e-6)
