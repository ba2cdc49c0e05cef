"""Plans from a pilot: quantiles of real races on resampled items, and whether the pilot is large enough to tell."""

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import Plan, plan, planning
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import Arms, GaussianArms, TableArms, UnpairedArms
from bestarm.comparisons import Betting, EmpiricalBernstein, GaussianBernstein, StudentMixture
from bestarm.planning import PlannedRule
from naive import Matrix

RULES = ["the rule of bestarm.race", "the paper's rule", "the same, different items for each arm"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few and short races, where how many there are does not matter."""
    monkeypatch.setattr(planning, "PILOTS", 5)
    monkeypatch.setattr(planning, "GAMES_EACH", 3)
    monkeypatch.setattr(planning, "LONGEST", 2000)


def gaussian(seed: int = 0, n: int = 40) -> Matrix:
    rng = np.random.default_rng(seed)
    return np.array([0.0, 0.3, 0.6]) + rng.standard_normal((n, 1)) + 0.3 * rng.standard_normal((n, 3))


def bounded(seed: int = 0, n: int = 40) -> Matrix:
    """Scores in [0, 1], multiples of 1 / 64: scaling and reflection are exact."""
    return np.floor(np.clip(0.2 + 0.4 * gaussian(seed, n), 0, 1) * 64) / 64


def needed(algorithm: PairwiseBAI, arms: Arms, repetitions: int, seed: int, longest: int) -> list[float]:
    """The evaluations of so many races in order, infinite where a race did not end."""
    games = bestarm.simulate(replace(algorithm, max_rounds=longest), arms, repetitions=repetitions, seed=seed)
    ended = games.reasons != "budget"
    return sorted(float(queries) if end else math.inf for queries, end in zip(games.queries, ended, strict=True))


def quantiles(ordered: list[float], *shares: float) -> list[float]:
    """The smallest value that so large a share does not exceed."""
    return [ordered[math.ceil(round(share * len(ordered), 9)) - 1] for share in shares]


def evaluations(made: Plan) -> list[list[float]]:
    return [[rule.evaluations[q] for q in (0.1, 0.5, 0.9)] for rule in made.rules]


# --- what is predicted -----------------------------------------------------------------------------------------------

CASES: dict[str, tuple[Matrix, dict[str, Any], PairwiseBAI, PairwiseBAI]] = {
    "Gaussian": (
        gaussian(),
        {"delta": 0.1},
        PairwiseBAI(0.1, comparison=StudentMixture()),
        PairwiseBAI(0.1, comparison=GaussianBernstein()),
    ),
    "bounded": (
        bounded(1),
        {"bounds": (0, 1), "epsilon": 0.05},
        PairwiseBAI(0.05, comparison=Betting(), epsilon=0.05),
        PairwiseBAI(0.05, comparison=EmpiricalBernstein(), epsilon=0.05),
    ),
    "indifference": (
        gaussian(2),
        {"indifference_zone": 0.1, "min_rounds": 4},
        PairwiseBAI(0.05, comparison=StudentMixture(min_rounds=4), indifference_zone=0.1),
        PairwiseBAI(0.05, comparison=GaussianBernstein(), indifference_zone=0.1),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_quantiles_are_those_of_simulated_races_on_the_rows_of_the_pilot(case: str, quick: None) -> None:
    scores, options, sharp, paper = CASES[case]
    made = plan(scores, repetitions=25, seed=4, **options)
    assert [rule.rule for rule in made.rules] == RULES
    expected = [
        quantiles(needed(sharp, TableArms(scores), 25, 4, 2000), 0.1, 0.5, 0.9),
        quantiles(needed(paper, TableArms(scores), 25, 5, 2000), 0.1, 0.5, 0.9),
        quantiles(needed(sharp, UnpairedArms(scores), 25, 6, 2000), 0.1, 0.5, 0.9),
    ]
    assert evaluations(made) == expected
    assert made.median == expected[0][1]
    assert (made.n_items, made.n_arms, made.delta, made.best) == (40, 3, sharp.delta, "2")


def test_the_range_is_that_of_the_medians_of_resampled_pilots(quick: None) -> None:
    scores = gaussian(3)
    made = plan(scores, repetitions=10, seed=7)
    rng = np.random.default_rng(np.random.SeedSequence(10))
    sharp = PairwiseBAI(0.05, comparison=StudentMixture())
    longest = min(2000, int(20 * made.median))
    medians = []
    for pilot in range(5):
        resampled = TableArms(scores[rng.integers(40, size=40)])
        medians.append(needed(sharp, resampled, 3, 10 + pilot, longest)[1])
    assert list(made.median_range) == quantiles(sorted(medians), 0.05, 0.95)
    assert made.median_range[0] < made.median_range[1]


def test_a_plan_is_a_function_of_its_seed(quick: None) -> None:
    first, again, other = (plan(gaussian(), repetitions=20, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert evaluations(first) != evaluations(other)


def test_names_frames_and_missing_cells_are_those_of_a_table(quick: None) -> None:
    scores = bounded(5)
    expected = plan(scores, arms=["a", "b", "c"], bounds=(0, 1), repetitions=10)
    assert expected.best == "c"
    assert plan(dict(zip("abc", scores.T, strict=True)), bounds=(0, 1), repetitions=10) == expected
    rows = np.vstack([[np.nan, 0.5, 0.5], scores])
    assert plan(rows, arms=["a", "b", "c"], bounds=(0, 1), missing="drop", repetitions=10) == expected
    for lower, worst in ((False, 0.0), (True, 1.0)):
        options: dict[str, Any] = {"bounds": (0, 1), "repetitions": 10, "lower_is_better": lower}
        filled = np.vstack([[worst, 0.5, 0.5], scores])
        assert plan(rows, missing="worst", **options) == plan(filled, **options)


def test_less_is_better_is_the_mirror_image(quick: None) -> None:
    free, inside = gaussian(6), bounded(6)
    assert plan(-free, lower_is_better=True, repetitions=15) == plan(free, repetitions=15)
    mirrored = plan(1 - inside, lower_is_better=True, bounds=(0, 1), repetitions=15)
    assert mirrored == plan(inside, bounds=(0, 1), repetitions=15)


@pytest.mark.parametrize(("low", "high"), [(0.0, 8.0), (0.0, 10.0), (-2.0, 2.0)])
def test_scores_in_other_bounds_plan_the_same(low: float, high: float, quick: None) -> None:
    scores, length = bounded(7), high - low
    options: dict[str, Any] = {"epsilon": 0.0625, "indifference_zone": 0.03125}
    scaled: dict[str, Any] = {name: value * length for name, value in options.items()}
    expected = plan(scores, bounds=(0, 1), repetitions=15, **options)
    assert plan(low + length * scores, bounds=(low, high), repetitions=15, **scaled) == expected


def test_an_epsilon_makes_a_tie_end(quick: None) -> None:
    scores = bounded(8)[:, [2, 2, 0]]
    tie, near = (plan(scores, bounds=(0, 1), epsilon=epsilon, repetitions=10) for epsilon in (0.0, 0.3))
    assert all(math.isinf(value) for values in evaluations(tie) for value in values)
    assert all(math.isfinite(value) for value in evaluations(near)[0])


# --- whether to believe it -------------------------------------------------------------------------------------------


def truth(arms: Arms) -> float:
    sharp = PairwiseBAI(0.05, comparison=StudentMixture())
    return float(np.median(bestarm.simulate(sharp, arms, repetitions=200, seed=99).queries))


@pytest.mark.parametrize("seed", [0, 1])
def test_from_an_easy_pilot_the_median_is_predicted_within_a_factor_of_one_and_a_half(seed: int) -> None:
    arms = GaussianArms([0.0, -0.2, -0.4], np.ones((3, 3)) + 0.1**2 * np.eye(3))
    made = plan(arms.draw(50, np.random.default_rng(seed)), repetitions=40)
    assert made.large_enough
    assert 1 / 1.5 < made.median / truth(arms) < 1.5
    low, high = made.median_range
    assert low <= made.median <= high
    assert (
        made.advice
        == f"A race like this pilot will need about {made.median:.0f} evaluations ({low:.0f} to {high:.0f})."
    )
    assert evaluations(made)[0][1] < evaluations(made)[1][1] < evaluations(made)[2][1]  # pairing is worth much here


def test_from_a_hopeless_pilot_there_is_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "LONGEST", 1500)
    arms = GaussianArms([0.0, -0.02, -0.04], np.ones((3, 3)) + 0.15**2 * np.eye(3))
    made = plan(arms.draw(50, np.random.default_rng(0)), repetitions=10)
    assert not made.large_enough
    assert made.advice.startswith(
        "The pilot of 50 items is too small to plan with: the median could be anywhere from 348 "
    )


def test_arms_that_tie_in_the_pilot_see_no_end(quick: None) -> None:
    made = plan(gaussian()[:, [0, 0]], repetitions=10)
    assert made.median == math.inf
    assert made.median_range == (math.inf, math.inf)
    assert not made.large_enough
    assert "is too small to plan with: no end is in sight." in made.advice
    assert str(made).splitlines()[3].split("  ")[0] == RULES[0]
    assert str(made).count("no end seen") == 9


def by_hand(low: float, high: float) -> Plan:
    rules = (
        PlannedRule(RULES[0], {0.1: 900.0, 0.5: 1200.0, 0.9: 2500.0}),
        PlannedRule(RULES[1], {0.1: 12000.0, 0.5: math.inf, 0.9: math.inf}),
        PlannedRule(RULES[2], {0.1: 3000.0, 0.5: 4000.0, 0.9: 5000.0}),
    )
    return Plan(n_items=50, n_arms=4, delta=0.05, best="<b>", rules=rules, median_range=(low, high))


@pytest.mark.parametrize(
    ("low", "high", "enough"),
    [
        (1000.0, 2000.0, True),
        (1000.0, 2000.5, False),
        (30.0, 30.0, True),
        (1000.0, math.inf, False),
        (math.inf, math.inf, False),
    ],
)
def test_a_pilot_is_large_enough_if_its_resamples_agree_up_to_a_factor_of_two(
    low: float, high: float, enough: bool
) -> None:
    assert by_hand(low, high).large_enough is enough
    assert by_hand(low, high).advice.startswith("A race like" if enough else "The pilot of 50 items is too small")


def test_the_text_is_advice_and_a_table() -> None:
    assert str(by_hand(1000.0, 1900.0)).splitlines() == [
        "A race like this pilot will need about 1,200 evaluations (1,000 to 1,900).",
        "",
        "evaluations needed                       10% of races   50% of races   90% of races",
        "the rule of bestarm.race                          900          1,200          2,500",
        "the paper's rule                               12,000    no end seen    no end seen",
        "the same, different items for each arm          3,000          4,000          5,000",
    ]
    assert str(by_hand(1000.0, math.inf)).splitlines()[0] == (
        "The pilot of 50 items is too small to plan with: the median could be anywhere from 1,000 evaluations to no "
        "end in sight. Starting the race costs nothing extra, and its guarantee needs no plan; for a plan, score more "
        "items."
    )


def test_plain_values_are_json_with_null_for_no_end() -> None:
    made = by_hand(1000.0, math.inf)
    assert json.loads(json.dumps(made.to_dict(), allow_nan=False)) == {
        "format": 1,
        "n_items": 50,
        "n_arms": 4,
        "delta": 0.05,
        "best": "<b>",
        "rules": [
            {"rule": RULES[0], "evaluations": {"0.1": 900, "0.5": 1200, "0.9": 2500}},
            {"rule": RULES[1], "evaluations": {"0.1": 12000, "0.5": None, "0.9": None}},
            {"rule": RULES[2], "evaluations": {"0.1": 3000, "0.5": 4000, "0.9": 5000}},
        ],
        "median": 1200,
        "median_range": [1000, None],
        "large_enough": False,
        "advice": made.advice,
    }


# --- items of one's own for each arm ---------------------------------------------------------------------------------


def test_unpaired_arms_draw_every_column_by_itself() -> None:
    scores = gaussian(9, n=30)
    arms, n = UnpairedArms(scores), 20_000
    rows = arms.draw(n, np.random.default_rng(1))
    assert rows.shape == (n, 3)
    assert np.corrcoef(scores, rowvar=False).min() > 0.8
    off = np.asarray(np.corrcoef(rows, rowvar=False))[np.triu_indices(3, 1)]
    assert np.abs(off).max() < 4 / math.sqrt(n)
    errors = scores.std(axis=0) / math.sqrt(n)
    assert (np.abs(rows.mean(axis=0) - scores.mean(axis=0)) < 4 * errors).all()
    for k in range(3):
        values, counts = np.unique(rows[:, k], return_counts=True)
        np.testing.assert_array_equal(values, np.sort(scores[:, k]))
        assert (np.abs(counts - n / 30) < 5 * math.sqrt(n / 30)).all()


def test_unpaired_arms_keep_the_promises_of_arms() -> None:
    scores = gaussian(9, n=30)
    arms = UnpairedArms(scores)
    one, two = np.random.default_rng(2), np.random.default_rng(2)
    parts = [arms.draw(size, two) for size in (1, 7, 64, 28)]
    np.testing.assert_array_equal(arms.draw(100, one), np.vstack(parts))  # whatever the blocks
    np.testing.assert_array_equal(arms.means, TableArms(scores).means)
    assert (arms.best, arms.n_arms) == (2, 3)
    np.testing.assert_allclose(arms.covariance, np.diag(scores.var(axis=0)), atol=1e-12)


# --- bad input -------------------------------------------------------------------------------------------------------

PILOT = bounded(0, 8)
BAD: dict[str, tuple[Any, dict[str, Any], str]] = {
    "few items": (PILOT[:4], {}, "a pilot must have at least 5 items, got 4"),
    "few whole items": (np.vstack([PILOT[:4], [np.nan] * 3]), {"missing": "drop"}, "at least 5 items, got 4"),
    "one arm": (PILOT[:, :1], {}, "there must be at least two arms to compare, got 1"),
    "missing": (np.vstack([PILOT, [np.nan, 1, 1]]), {}, "cells are missing: 1 of 27 (the first in row 9, column '0')"),
    "no worst": (np.vstack([PILOT, [np.nan] * 3]), {"missing": "worst"}, "missing='worst' needs bounds"),
    "unknown way": (PILOT, {"missing": "ignore"}, "missing must be one of 'raise', 'worst', 'drop', got 'ignor"),
    "infinite": (np.vstack([PILOT, [1, np.inf, 1]]), {}, "scores must be finite, got inf in row 9 (9), column '1'"),
    "outside": (PILOT + 0.5, {"bounds": (0, 1)}, "outside of bounds=(0, 1) (the first in row"),
    "text": (
        {"a": list("12345"), "b": list("1234x")},
        {},
        "row 5, column 'b' must be a number, or empty if missing, got 'x'",
    ),
    "bounds": (PILOT, {"bounds": (1, 0)}, "bounds must be two finite numbers, the lower one first, got (1, 0)"),
    "bounds of the table": (PILOT, {"bounds": "table"}, "bounds must be two finite numbers, the lower one first"),
    "delta": (PILOT, {"delta": 0}, "delta must lie strictly between 0 and 1, got 0"),
    "epsilon": (PILOT, {"epsilon": -0.1}, "epsilon must be a finite number of at least 0, got -0.1"),
    "scaled epsilon": (PILOT, {"epsilon": -0.1, "bounds": (0, 10)}, "must be a finite number of at least 0, got -0.1"),
    "zone": (
        PILOT,
        {"indifference_zone": math.inf},
        "indifference_zone must be a finite number of at least 0, got inf",
    ),
    "repetitions": (PILOT, {"repetitions": 9}, "repetitions must be a whole number of at least 10, got 9"),
    "seed": (PILOT, {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
    "first rounds": (PILOT, {"min_rounds": 1}, "min_rounds must be a whole number of at least 2, got 1"),
    "names": (PILOT, {"arms": ["a", "b"]}, "arms must name the 3 columns, got 2 names"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_pilots_and_settings_are_refused(case: str, quick: None) -> None:
    pilot, options, message = BAD[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        plan(pilot, **{"repetitions": 10} | options)


def test_what_is_no_flag_is_refused(quick: None) -> None:
    with pytest.raises(TypeError, match="lower_is_better must be True or False, got 'no'"):
        plan(PILOT, lower_is_better="no", repetitions=10)  # type: ignore[arg-type]
