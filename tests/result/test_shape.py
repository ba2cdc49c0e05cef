"""The shape of the differences that decided a race, where the test assumes that they are nearly Gaussian."""

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import skew

import bestarm
from bestarm import AssumptionWarning, RaceResult, race_table
from bestarm.algorithms import LUCB, PairwiseBAI
from bestarm.comparisons import Betting, EmpiricalBernstein, GaussianBernstein, Portfolio, StudentMixture
from bestarm.racing import Shape
from bestarm.result.shape import shape_of, shape_warning

Matrix = NDArray[np.float64]
WHAT_TO_DO = (
    "the guarantee does not cover them; give bounds if the scores have any, or compare by wins (the criterion), "
    "which assumes nothing"
)


def columns(differences: Any, seed: int = 0) -> Matrix:
    """Two columns of scores with many values and (nearly) these differences."""
    level = np.random.default_rng(seed).standard_normal(len(differences))
    return np.column_stack([level + differences, level])


def shape(scores: Matrix, number: int | None = None) -> Shape[str]:
    found = shape_of("x", "y", len(scores) if number is None else number, scores)
    assert found is not None
    return found


def gaussian(seed: int, n: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal(n)


# --- the numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 4, 10, 57, 1000])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("law", ["standard_normal", "standard_exponential", "standard_cauchy"])
def test_skewness_and_shares_are_those_of_slow_references(law: str, scale: float, n: int) -> None:
    scores = scale * getattr(np.random.default_rng(n), law)((n, 2))
    found, differences = shape(scores, 99), scores[:, 0] - scores[:, 1]
    assert found.skewness == pytest.approx(skew(differences, bias=False), rel=1e-9)
    squares = [(value - math.fsum(differences) / n) ** 2 for value in differences.tolist()]
    assert found.largest_share == pytest.approx(max(squares) / math.fsum(squares), rel=1e-9)
    assert (found.arm, found.against, found.round, found.n_items) == ("x", "y", 99, n)
    assert (found.distinct, found.fewest_scores) == (n, n)


def test_the_numbers_of_a_small_example_by_hand() -> None:
    found = shape(np.array([[1.0, 1.0], [2.0, 1.0], [7.0, 3.0], [5.0, 3.0]]))  # differences 0, 1, 4, 2
    assert (found.n_items, found.distinct, found.fewest_scores) == (4, 4, 2)
    # about their mean 7 / 4: -7/4, -3/4, 9/4, 1/4; squares 49, 9, 81, 1 and cubes -343, -27, 729, 1 over 16 and 64
    assert found.largest_share == pytest.approx(81 / 140, rel=1e-12)
    biased = (360 / 64 / 4) / (140 / 16 / 4) ** 1.5
    assert found.skewness == pytest.approx(biased * math.sqrt(4 * 3) / 2, rel=1e-12)
    assert found.standard_error == pytest.approx(math.sqrt(6 * 4 * 3 / (2 * 5 * 7)), rel=1e-12)


@pytest.mark.parametrize("n", [5, 20, 200])
def test_the_standard_error_is_that_of_gaussian_differences(n: int) -> None:
    found = np.array([shape(columns(gaussian(seed, n), seed)).skewness for seed in range(3000)])
    assert found.std() == pytest.approx(shape(columns(gaussian(0, n))).standard_error, rel=0.05)
    assert abs(found.mean()) < 4 * found.std() / math.sqrt(3000)


def test_only_items_that_both_were_scored_on_count() -> None:
    scores = np.random.default_rng(0).standard_normal((30, 2))
    gaps = scores.copy()
    gaps[[2, 5], 0] = gaps[[5, 9], 1] = np.nan
    assert shape(gaps, 30) == shape(np.delete(scores, [2, 5, 9], axis=0), 30)
    assert shape(gaps).n_items == 27
    for n in range(3):  # two items have no shape
        rows = np.arange(2.0 * n).reshape(n, 2)
        assert shape_of("x", "y", n, rows) is None
        assert shape_of("x", "y", n, np.vstack([rows, np.full((5, 2), np.nan)])) is None


@pytest.mark.parametrize("level", [0.0, 1.0, 1e12])
@pytest.mark.parametrize("lead", [0.0, 0.3])
def test_constant_differences_have_no_skewness_whatever_the_rounding(lead: float, level: float) -> None:
    found = shape(columns(np.full(40, lead), 3) + level)
    assert (found.distinct, found.skewness, found.largest_share) == (1, 0.0, 1.0)


# --- what looks wrong ------------------------------------------------------------------------------------------------


def spread(n_values: int, scale: float = 1.0) -> Matrix:
    """So many values in turn, 60 in all."""
    return scale * np.resize(np.arange(float(n_values)), 60)


def dominated(*largest: float) -> Matrix:
    """Differences that are tiny but for a few."""
    return columns(np.concatenate([gaussian(2, 39) * 1e-3, largest]))


EXACT = np.random.default_rng(0).permutation(60) / 64  # differences of these are exact
MANY = gaussian(0, 60)
FIVE = np.resize([1.0, 2.0, 4.0, 8.0, 16.0], 10)
ROOTS = np.sqrt(np.arange(10.0))
PROBLEMS: dict[str, tuple[Matrix, str | None]] = {
    "no difference": (columns(np.zeros(40)), "take only 1 distinct value"),
    "coins": (np.random.default_rng(0).integers(0, 2, (60, 2)).astype(float), "take only 3 distinct values"),
    "2 differences": (np.column_stack([EXACT + spread(2), EXACT]), "take only 2 distinct values"),
    "10 differences": (np.column_stack([EXACT + spread(10), EXACT]), "take only 10 distinct values"),
    "11 differences": (np.column_stack([EXACT + spread(11), EXACT]), None),
    "1 score": (np.column_stack([spread(1), MANY]), "are of scores that take only 1 distinct value"),
    "10 scores": (np.column_stack([spread(10), MANY]), "are of scores that take only 10 distinct values"),
    "10 scores of the other": (np.column_stack([MANY, spread(10)]), "are of scores that take only 10 distinct values"),
    "11 scores": (np.column_stack([spread(11, 0.1), MANY]), None),
    "ten items": (np.column_stack([np.arange(10.0) ** 2, ROOTS]), None),  # cannot have more than ten values
    "half of ten items": (np.column_stack([FIVE, ROOTS]), "are of scores that take only 5 distinct values"),
    "more than half": (np.column_stack([np.append(FIVE[:9], 3.0), ROOTS]), None),
    "one item": (dominated(5.0, -3.0, -3.0), "are dominated by one item (59% of their sum of squares)"),
    "no item has half": (dominated(5.0, -5.0, 2.0), None),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_does_not_look_gaussian_is_named(case: str) -> None:
    scores, problem = PROBLEMS[case]
    assert shape(scores).problem == problem


def test_skewed_differences_are_seen_on_either_side() -> None:
    differences = np.random.default_rng(4).standard_exponential(400)
    for sign in (1, -1):
        found = shape(columns(sign * differences))
        assert sign * found.skewness > 4 * found.standard_error
        numbers = f"(skewness {found.skewness:.2g}, standard error {found.standard_error:.2g})"
        assert found.problem == f"are strongly skewed {numbers}"


@pytest.mark.parametrize("n", [10, 30, 100, 1000])
def test_gaussian_differences_look_fine(n: int) -> None:
    assert sum(shape(columns(gaussian(seed, n))).problem is not None for seed in range(500)) <= 5


def test_a_warning_names_two_pairs_and_counts_the_others() -> None:
    bad, fine = shape(columns(np.zeros(40))), shape(columns(gaussian(0, 40)))
    said = "between x and y take only 1 distinct value (up to round 40)"
    assert shape_warning(()) is None
    assert shape_warning((fine, fine)) is None
    give_bounds = "the guarantee does not cover them; give the bounds that scores lie in"
    assert shape_warning((fine, bad)) == f"the differences {said}: {give_bounds}"
    assert shape_warning((bad, fine, bad)) == f"the differences {said}, those {said}: {give_bounds}"
    many = f"the differences {said}, those {said}, and 3 more pairs look wrong: {give_bounds}"
    assert shape_warning((bad,) * 5) == many
    skewed = shape(columns(np.random.default_rng(4).standard_exponential(400)))
    assert (shape_warning((fine, skewed)) or "").endswith(f": {WHAT_TO_DO}")


# --- races -----------------------------------------------------------------------------------------------------------

ARMS = ["low", "mid", "high"]


def race(scores: Matrix, **options: Any) -> RaceResult[Any]:
    def evaluate(arm: str, item: int) -> float:
        return float(scores[item, ARMS.index(arm)])

    return bestarm.race(evaluate, arms=ARMS, items=range(len(scores)), progress=False, **options)


def normal_scores() -> Matrix:
    rng = np.random.default_rng(0)
    return np.array([0.0, 0.3, 0.6]) + rng.standard_normal((2000, 1)) + 0.7 * rng.standard_normal((2000, 3))


def coin_scores() -> Matrix:
    return (np.random.default_rng(0).random((2000, 3)) < [0.3, 0.5, 0.9]).astype(float)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("comparison", [StudentMixture(), GaussianBernstein()], ids=repr)
def test_gaussian_races_have_shapes_and_no_warnings(comparison: Any) -> None:
    result = race(normal_scores(), comparison=comparison)
    assert (result.best, result.warnings, "Warning" in result.verdict) == ("high", (), False)
    assert [(one.arm, one.against, one.round) for one in result.shapes] == [
        (out.arm, out.by, out.round) for out in result.eliminations
    ]
    for one in result.shapes:
        both = result.scores[: one.round][:, [ARMS.index(one.arm), ARMS.index(one.against)]]
        assert one.n_items == one.round == one.distinct
        assert one.skewness == pytest.approx(skew(both[:, 0] - both[:, 1], bias=False), rel=1e-9)


def test_rounds_in_flight_when_an_arm_left_do_not_count() -> None:
    result = race(normal_scores(), rounds_in_flight=5)
    assert any(result[out.arm].n_items > out.round for out in result.eliminations)
    assert [one.n_items for one in result.shapes] == [out.round for out in result.eliminations]


@pytest.mark.filterwarnings("error")
def test_at_the_end_of_an_undecided_race_the_closest_rival_is_looked_at() -> None:
    result = race(normal_scores(), max_evaluations=50, delta=1e-6)
    assert (result.reason, len(result.candidates)) == ("budget", 3)
    assert [(one.arm, one.against, one.round) for one in result.shapes] == [
        (result.candidates[1], result.leader, result.n_rounds)
    ]
    assert race(normal_scores(), max_evaluations=3).shapes == ()  # one round has no shape


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("ended", ["decided", "budget"])
def test_what_looks_wrong_is_said_everywhere(tmp_path: Path, page_text: Callable[[Any], str], ended: str) -> None:
    store = tmp_path / "race.sqlite"
    with pytest.warns(AssumptionWarning) as caught:
        result = race(coin_scores(), store=store, max_evaluations=None if ended == "decided" else 90)
    assert result.reason == ended
    (text,) = result.warnings
    assert "give the bounds" in text
    assert "give the bounds" in (shape_warning(result.shapes) or "")
    assert [str(one.message) for one in caught] == [text]
    assert f"Warning: {text}." in " ".join(str(result).split())
    assert f"{text}." in result.explain()
    assert f"Warning: {text}.".replace("'", "&#39;") in page_text(result)
    plain = json.loads(result.to_json())
    assert plain["warnings"] == [text]
    assert plain["shapes"] == [vars(one) | {"problem": one.problem} for one in result.shapes]
    loaded = bestarm.load_result(store)
    assert (loaded.shapes, loaded.warnings) == (result.shapes, result.warnings)


@pytest.mark.filterwarnings("default")
def test_a_table_warns_as_a_race_does() -> None:
    with pytest.warns(AssumptionWarning, match="take at most 10 distinct values") as caught:
        table = race_table(coin_scores(), arms=ARMS, comparison=StudentMixture())
    assert len(caught) == len(table.warnings) == 1
    assert table.shapes == race(coin_scores(), comparison=StudentMixture()).shapes != ()


def test_rare_large_differences_are_warned_of_for_the_pair_concerned() -> None:
    scores = normal_scores()
    scores[:, 1] += 40.0 * (np.random.default_rng(3).random(2000) < 0.02)  # the mean of mid is now the best
    result = race(scores, delta=1e-6)
    assert any("mid" in (one.arm, one.against) for one in result.shapes if one.problem)
    assert "mid" in result.warnings[0]


TESTS_WITH_BOUNDS: list[dict[str, Any]] = [
    {"bounds": (0, 1)},
    {"bounds": (0, 1), "target": "population"},
    {"bounds": (0, 1), "comparison": EmpiricalBernstein()},
    {"bounds": (0, 1), "comparison": Portfolio()},
    {"algorithm": PairwiseBAI(comparison=Betting())},
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", TESTS_WITH_BOUNDS, ids=str)
@pytest.mark.parametrize("rare", [0.5, 0.02, 0.002])
def test_with_bounds_no_shape_is_looked_at_and_coins_are_never_told_to_do_without(
    options: dict[str, Any], rare: float
) -> None:
    """Also where their differences hardly use the range."""
    coins = (np.random.default_rng(1).random((600, 3)) < rare).astype(float)
    for result in (race(coins, **options), race_table(coins, arms=ARMS, **options)):
        assert (result.shapes, result.warnings, result.guarantee.nearly_gaussian) == ((), (), False)
        assert json.loads(result.to_json())["shapes"] == []
        for words in ("Warning", "nearly Gaussian", "may not have come up"):
            assert words not in result.verdict


def test_many_valued_scores_that_hardly_use_the_range_are_told() -> None:
    """The negative control."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = race(0.5 + 0.001 * normal_scores(), bounds=(0, 1))
    assert [str(one.message) for one in caught] == list(result.warnings)
    assert "give tighter bounds, which take fewer evaluations" in result.warnings[0]


def test_a_whole_table_is_not_told_of_bounds_that_it_does_not_keep() -> None:
    """The first rows of it are no reason: all its scores are known."""
    scores = 0.5 + 0.001 * normal_scores()[:400]
    with pytest.warns(AssumptionWarning, match="give tighter bounds"):
        race_table(scores, arms=ARMS, bounds=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores[0] = [0.0, 1.0, 0.5]
        for bounds in (None, (0, 1)):
            assert race_table(scores, arms=ARMS, bounds=bounds).warnings == ()


@pytest.mark.filterwarnings("error")
def test_an_algorithm_that_assumes_other_things_has_no_shapes() -> None:
    result = race(normal_scores(), algorithm=LUCB(0.1, variances=1.5), max_evaluations=300)
    assert (result.shapes, result.guarantee.nearly_gaussian) == ((), False)
