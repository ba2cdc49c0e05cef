"""Plans from a pilot: real races on resampled items, whether the pilot is large enough, and what a budget finds."""

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
from bestarm.arms import Arms, BernoulliArms, GaussianArms, PoolArms, TableArms, UnpairedArms
from bestarm.comparisons import Betting, LeaderBetting, StudentMixture
from bestarm.planning import (
    Effort,
    FoundLead,
    LargerPilot,
    PlannedRace,
    PlannedRule,
    found_leads,
    refining_plans,
    with_lead,
)
from bestarm.simulation import play_game
from naive import Matrix

UNPAIRED = "the same, different items for each arm"
FRESH, LIST = "a race on fresh items", "a race on a list of 90 items"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few and short races, where how many there are does not matter."""
    monkeypatch.setattr(planning, "FIRST", Effort(3, 3, 2000))
    monkeypatch.setattr(planning, "PILOTS", 4)
    monkeypatch.setattr(planning, "LONGEST", 4000)


def gaussian(seed: int = 0, n: int = 40) -> Matrix:
    rng = np.random.default_rng(seed)
    return np.array([0.0, 0.3, 0.6]) + rng.standard_normal((n, 1)) + 0.3 * rng.standard_normal((n, 3))


def bounded(seed: int = 0, n: int = 40) -> Matrix:
    """Scores in [0, 1], multiples of 1 / 64: scaling and reflection are exact."""
    return np.floor(np.clip(0.2 + 0.4 * gaussian(seed, n), 0, 1) * 64) / 64


def used(algorithm: PairwiseBAI, arms: Arms, repetitions: int, seed: int, longest: int) -> list[float]:
    """The evaluations of so many races in order, infinite where no end was in sight."""
    games = bestarm.simulate(replace(algorithm, max_queries=longest), arms, repetitions=repetitions, seed=seed)
    ended = (games.reasons != "budget") | (games.rounds == algorithm.max_rounds)
    return sorted(float(queries) if end else math.inf for queries, end in zip(games.queries, ended, strict=True))


def quantile(values: list[float], share: float) -> float:
    """The smallest value that so large a share does not exceed."""
    return sorted(values)[math.ceil(round(share * len(values), 9)) - 1]


def evaluations(made: Plan) -> list[list[float]]:
    return [[rule.evaluations[q] for q in (0.1, 0.5, 0.9)] for rule in made.rules]


# --- what is predicted -----------------------------------------------------------------------------------------------

CASES: dict[str, tuple[Matrix, dict[str, Any], PairwiseBAI]] = {
    "Gaussian": (gaussian(), {"delta": 0.1}, PairwiseBAI(0.1, comparison=StudentMixture())),
    "bounded": (
        bounded(1),
        {"bounds": (0, 1), "epsilon": 0.05},
        PairwiseBAI(0.05, comparison=LeaderBetting(), epsilon=0.05),
    ),
    "indifference": (
        gaussian(2),
        {"indifference_zone": 0.1, "min_rounds": 4},
        PairwiseBAI(0.05, comparison=StudentMixture(min_rounds=4), indifference_zone=0.1),
    ),
    "Gaussian list": (gaussian(3), {"n_items": 90}, PairwiseBAI(0.05, comparison=StudentMixture(), max_rounds=90)),
    "bounded list": (
        bounded(3),
        {"bounds": (0, 1), "n_items": 90},
        PairwiseBAI(0.05, comparison=LeaderBetting(), max_rounds=90),
    ),
    "these items of a list": (
        bounded(3),
        {"bounds": (0, 1), "n_items": 90, "target": "items"},
        PairwiseBAI(0.05, comparison=LeaderBetting(pool=90), max_rounds=90),
    ),
}


def by_resampled_pilot(scores: Matrix, algorithm: PairwiseBAI, kind: type[TableArms], effort: Effort) -> Any:
    """The evaluations of each race on resampled pilots."""
    rng, n = np.random.default_rng(np.random.SeedSequence(4)), len(scores)
    for pilot in range(effort.pilots):
        rows = scores[rng.integers(n, size=n)]
        yield used(algorithm, kind(rows), effort.races, 5 + pilot, effort.longest)


@pytest.mark.parametrize("case", CASES)
def test_quantiles_are_those_of_simulated_races_on_resampled_pilots(case: str, quick: None) -> None:
    scores, options, sharp = CASES[case]
    first, made = refining_plans(scores, repetitions=28, seed=4, **options)
    assert [rule.rule for rule in made.rules] == [LIST if "list" in case else FRESH, UNPAIRED]
    assert [rule.rule for rule in first.rules] == [LIST if "list" in case else FRESH]
    efforts = [
        (first.rules[0], TableArms, Effort(3, 3, 2000)),
        (made.rules[0], TableArms, Effort(4, 7, 4000)),
        (made.rules[1], UnpairedArms, Effort(3, 3, 4000)),
    ]
    for rule, kind, effort in efforts:
        races = list(by_resampled_pilot(scores, sharp, kind, effort))
        together = [value for pilot in races for value in pilot]
        medians = [pilot[len(pilot) // 2] for pilot in races]
        assert rule.evaluations == {share: quantile(together, share) for share in (0.1, 0.5, 0.9)}
        if rule is made.rules[0]:
            assert made.median_range == (quantile(medians, 0.05), quantile(medians, 0.95))
    assert made.median == made.rules[0].evaluations[0.5]
    assert made.range == (made.rules[0].evaluations[0.1], made.rules[0].evaluations[0.9])
    assert (made.pilot_items, made.n_arms, made.delta, made.best) == (40, 3, sharp.delta, "2")
    assert made.n_items == options.get("n_items")
    assert plan(scores, repetitions=28, seed=4, **options) == made


def test_a_list_is_simulated_as_a_list_drawn_from_the_pilot_would_be_raced() -> None:
    """Rows drawn one by one, or a list of drawn rows in random order: the same law of evaluations."""
    scores, algorithm = bounded(4), PairwiseBAI(0.05, comparison=Betting(pool=60))
    simulated = PlannedRace(algorithm, 60).races(TableArms(scores[:, [2, 2, 0]] * [1, 0.9, 1]), 400, 1, 10**6).used
    rng = np.random.default_rng(2)
    direct = []
    for _ in range(400):
        pool = PoolArms((scores[:, [2, 2, 0]] * [1, 0.9, 1])[rng.integers(40, size=60)])
        direct.append(play_game(algorithm, pool, rng).n_queries)
    assert np.isfinite(simulated).all()
    assert simulated.max() <= 180
    error = math.hypot(float(np.std(simulated)), float(np.std(direct))) / math.sqrt(400)
    assert abs(simulated.mean() - np.mean(direct)) < 4 * error


def tie(n: int = 80) -> Matrix:
    """Two arms with the same mean."""
    rng = np.random.default_rng(0)
    scores = np.floor(64 * np.clip(rng.random((n // 2, 1)) / 2 + rng.random((n // 2, 2)) / 2, 0, 1)) / 64
    return np.vstack([scores, scores[:, ::-1]])


def test_a_tie_has_an_answer_at_the_end_of_its_list_if_that_is_what_it_is_about(quick: None) -> None:
    these = plan(tie(), bounds=(0, 1), n_items=30, target="items", repetitions=20)
    assert (these.answered, these.enough_items) == (1.0, None)
    assert max(these.rules[0].evaluations.values()) <= 60
    like_these = plan(tie(), bounds=(0, 1), n_items=30, repetitions=20)
    assert like_these == plan(tie(), bounds=(0, 1), n_items=30, repetitions=20, target="population")
    assert like_these.median == 60
    assert like_these.answered < 0.3
    assert like_these.enough_items is not None
    assert like_these.enough_items > 30
    budgeted = plan(tie(), bounds=(0, 1), n_items=30, repetitions=20, max_evaluations=60)
    assert budgeted.decided == like_these.answered  # a list that ran out is no answer
    unbounded = plan(tie(), n_items=30, repetitions=20)
    assert (unbounded.median, unbounded.answered < 0.3) == (60, True)


def test_how_many_items_would_be_enough_is_what_nine_of_ten_races_without_end_need() -> None:
    scores = bounded(3)
    made = plan(scores, bounds=(0, 1), n_items=12, repetitions=20, seed=4)
    algorithm = PairwiseBAI(0.05, comparison=LeaderBetting(), max_queries=100_000)
    rounds, rng = [], np.random.default_rng(np.random.SeedSequence(4))
    for pilot in range(12):
        arms = TableArms(scores[rng.integers(40, size=40)])
        games = bestarm.simulate(algorithm, arms, repetitions=5, seed=5 + pilot)
        rounds += np.where(games.answered, games.rounds, np.inf).tolist()
    assert made.answered < 0.9
    assert made.enough_items == quantile(rounds, 0.9)
    assert plan(scores, bounds=(0, 1), n_items=4000, repetitions=20, seed=4).enough_items is None  # these are


def test_the_range_of_a_larger_pilot_keeps_the_luck_of_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logarithms with standard deviation 2 between the pilots and 1 within them: with four times the items 1 and 1."""
    rng, made = np.random.default_rng(0), by_hand(400.0, 6400.0)
    logarithms = 7 + 2 * rng.standard_normal((4000, 1)) + rng.standard_normal((4000, 5))
    monkeypatch.setattr(planning, "LONGEST", 10**9)
    for between, within, left in ((1, 1, math.sqrt(2 / 5)), (0, 1, 1.0), (1, 0, 0.5)):
        pilots = logarithms.mean(axis=1, keepdims=True)
        values = 7 + between * 2 * (pilots - 7) / 2.05 + within * (logarithms - pilots) * math.sqrt(5 / 4)
        if between == 0:
            values = 7 + rng.standard_normal((4000, 5))
        races = planning.SimulatedRaces(np.exp(values), np.ones((4000, 5)))
        larger = planning._larger_pilot(made, races)
        assert larger is not None
        assert larger.items == 200
        assert larger.range == pytest.approx((1200 * (1 / 3) ** left, 1200 * (16 / 3) ** left), rel=0.06)
    endless = by_hand(400.0, math.inf)
    assert planning._larger_pilot(endless, races) is None
    assert planning._larger_pilot(made, planning.SimulatedRaces(np.ones((1, 5)), np.ones((1, 5)))) is None


def test_long_races_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "WORK", 60_000)
    assert planning._refined_effort(np.array([[50.0, 150.0]]), 600, 1000) == Effort(40, 15, 1000)
    assert planning._refined_effort(np.array([[50.0, 450.0]]), 600, 1000) == Effort(40, 6, 1000)
    assert planning._refined_effort(np.array([[500.0, math.inf]]), 600, 2500) == Effort(12, 5, 2500)
    assert planning._refined_effort(np.array([[500.0, math.inf]]), 10, 2500) == Effort(2, 5, 2500)


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


@pytest.mark.parametrize(("low", "high"), [(0.0, 8.0), (-2.0, 2.0)])
def test_scores_in_other_bounds_plan_the_same(low: float, high: float, quick: None) -> None:
    scores, length = bounded(7), high - low
    options: dict[str, Any] = {"epsilon": 0.0625, "indifference_zone": 0.03125}
    scaled: dict[str, Any] = {name: value * length for name, value in options.items()}
    expected = plan(scores, bounds=(0, 1), repetitions=15, max_evaluations=90, **options)
    made = plan(low + length * scores, bounds=(low, high), repetitions=15, max_evaluations=90, **scaled)
    assert replace(made, leads=()) == replace(expected, leads=())  # round numbers are others in other units
    assert made.leads
    assert plan(high - length * scores, bounds=(low, high), lower_is_better=True, repetitions=15, **scaled) == replace(
        expected, max_evaluations=None, decided=None, leads=()
    )


def test_an_epsilon_makes_a_near_tie_end(quick: None) -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((40, 2))
    scores = np.vstack([scores, scores[:, ::-1]])
    tie, near = (plan(scores, bounds=(0, 1), epsilon=epsilon, repetitions=20) for epsilon in (0.0, 0.4))
    assert math.isinf(tie.rules[0].evaluations[0.9])
    assert math.isfinite(near.rules[0].evaluations[0.9])


# --- whether to believe it -------------------------------------------------------------------------------------------


def truth(arms: Arms) -> float:
    sharp = PairwiseBAI(0.05, comparison=StudentMixture())
    return float(np.median(bestarm.simulate(sharp, arms, repetitions=200, seed=99).queries))


@pytest.mark.parametrize("seed", [0, 1])
def test_from_an_easy_pilot_the_median_is_predicted_within_a_factor_of_one_and_a_half(seed: int) -> None:
    arms = GaussianArms([0.0, -0.2, -0.4], np.ones((3, 3)) + 0.1**2 * np.eye(3))
    made = plan(arms.draw(50, np.random.default_rng(seed)), repetitions=200)
    assert made.large_enough
    assert 1 / 1.5 < made.median / truth(arms) < 1.5
    low, high = made.median_range
    assert low <= made.median <= high
    assert made.range[0] <= low <= high <= made.range[1]
    assert evaluations(made)[0][1] < evaluations(made)[1][1]  # pairing is worth much here


@pytest.mark.parametrize("n_items", [None, 40])
def test_most_races_are_in_the_range(n_items: int | None) -> None:
    """On average over laws and pilots, `benchmarks/validity.py plans` finds 0.8; twelve pilots of one law are few."""
    arms = GaussianArms([0.0, -0.2, -0.4], np.ones((3, 3)) + 0.3**2 * np.eye(3))
    algorithm = PairwiseBAI(0.05, comparison=StudentMixture(), max_rounds=n_items)
    races, inside = bestarm.simulate(algorithm, arms, repetitions=400, seed=99).queries, []
    for seed in range(12):
        low, high = plan(arms.draw(50, np.random.default_rng(seed)), n_items=n_items, repetitions=100).range
        inside.append(np.mean((low <= races) & (races <= high)))
    assert 0.6 < np.mean(inside) < 0.95


def test_arms_with_the_same_scores_are_named(quick: None) -> None:
    """On a list all resampled pilots agree that everything must be scored, and are wrong together."""
    made = plan(bounded(5)[:, [2, 0, 2]], bounds=(0, 1), n_items=30, target="items", repetitions=20)
    low, high = made.median_range
    assert high <= 2.5 * low
    assert (made.best, made.twins, made.large_enough) == ("0", ("2",), False)
    assert "0 and 2 have the same score on every item of the pilot, which cannot tell how they differ." in str(made)
    free = plan(gaussian()[:, [0, 0]], repetitions=10)
    assert (free.median, free.range, free.large_enough, free.answered) == (math.inf, (math.inf, math.inf), False, 0)


def by_hand(low: float, high: float, likely: float = 1200.0, **more: Any) -> Plan:
    rules = (
        PlannedRule(FRESH, {0.1: low, 0.5: likely, 0.9: high}),
        PlannedRule(UNPAIRED, {0.1: 12000.0, 0.5: math.inf, 0.9: math.inf}),
    )
    given: dict[str, Any] = {"n_items": None, "rules": rules, "median_range": (1000.0, 1500.0)} | more
    return Plan(pilot_items=50, n_arms=4, delta=0.05, best="<b>", **given)


@pytest.mark.parametrize(
    ("low", "high", "enough"),
    [
        (1000.0, 2500.0, True),
        (1000.0, 2500.5, False),
        (30.0, 30.0, True),
        (1000.0, math.inf, False),
        (math.inf, math.inf, False),
    ],
)
def test_a_pilot_is_large_enough_if_resampled_ones_agree(low: float, high: float, enough: bool) -> None:
    made = by_hand(900.0, 4000.0, median_range=(low, high))
    assert made.large_enough is enough
    assert not replace(made, twins=("c",)).large_enough


ALONE = "\nWith different items for each arm: mostly more than 100,000 evaluations."
INSIDE = "\nFour of five such races take that many, as far as 50 items can tell."
BETWEEN = "Between 900 and 4,000 evaluations, most likely 1,200, on fresh items."
EPSILON = "an epsilon (how far from the best is good enough)"
ENDS = f"What would end them: {EPSILON}, or a list of items."
BUDGET = """

Within 1,000 evaluations, 43% of races like this pilot have an answer."""
LEADS = """

lead of the best over the next  found within 1,000 evaluations
0.05                            in 93% of races
0.02                            in 41% of races"""
EVERYTHING = "\nMore would not help: that is all 4 arms on all 250 items."
FOUND = (FoundLead(0.05, 0.93), FoundLead(0.02, 0.41))
WITHIN: dict[str, Any] = {"max_evaluations": 1000, "decided": 0.432}
LIST_OF_250 = "Between 900 and 1,000 evaluations, most likely 1,000, on a list of 250 items."
TEXTS: dict[str, tuple[Plan, str]] = {
    "a range": (by_hand(900.0, 4000.0), BETWEEN + INSIDE + ALONE),
    "a larger pilot tells more": (
        by_hand(900.0, 4000.0, larger_pilot=LargerPilot(200, (1012.0, 2511.0))),
        f"{BETWEEN}{INSIDE} A pilot of 200 items would narrow the range, at best to 1,000 to 2,500 (a rule of thumb)."
        + ALONE,
    ),
    "a larger pilot tells no more": (
        by_hand(900.0, 4000.0, larger_pilot=LargerPilot(200, (950.0, 3900.0))),
        f"{BETWEEN}{INSIDE} A pilot of 200 items would hardly narrow the range: most of it is the luck of a race."
        + ALONE,
    ),
    "always the same": (by_hand(60.0, 60.0, 60.0), f"About 60 evaluations, on fresh items.{ALONE}"),
    "no end for some": (
        by_hand(900.0, math.inf, answered=0.87),
        "Between 900 and more than 100,000 evaluations, most likely 1,200, on fresh items.\n"
        f"In 13% of such races no end is in sight. {ENDS}" + ALONE,
    ),
    "no end for most": (
        by_hand(900.0, math.inf, math.inf, answered=0.4),
        "No end is in sight on fresh items: most races take more than 100,000 evaluations, though one of ten takes "
        f"fewer than 900.\n{ENDS}" + ALONE,
    ),
    "no end": (
        by_hand(math.inf, math.inf, math.inf, answered=0.0, twins=("c",)),
        "No end is in sight on fresh items: most races take more than 100,000 evaluations.\n<b> and c have the same "
        f"score on every item of the pilot, which cannot tell how they differ.\n{ENDS}" + ALONE,
    ),
    "items run out": (
        by_hand(900.0, 1000.0, 1000.0, n_items=250, answered=0.2, enough_items=1220.0),
        f"{LIST_OF_250}\n80% of such races end without an answer, as the items run out. What would help: more items "
        f"(1,200 for an answer in nine of ten), or {EPSILON}.{INSIDE}{ALONE}",
    ),
    "no list is long enough": (
        by_hand(900.0, 1000.0, 1000.0, n_items=250, answered=0.0, enough_items=math.inf),
        f"{LIST_OF_250}\nNearly all such races end without an answer, as the items run out. What would help: more "
        f"items (more than 25,000 for an answer in nine of ten), or {EPSILON}.{INSIDE}{ALONE}",
    ),
    "budget": (by_hand(900.0, 4000.0, leads=FOUND, **WITHIN), BETWEEN + INSIDE + ALONE + BUDGET + LEADS),
    "budget for everything": (
        by_hand(900.0, 1000.0, 1000.0, n_items=250, **WITHIN),
        LIST_OF_250 + INSIDE + ALONE + BUDGET + EVERYTHING,
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_the_text_is_an_estimate_and_what_would_change_it(case: str) -> None:
    made, text = TEXTS[case]
    assert str(made) == text


@pytest.mark.parametrize(
    ("value", "words"),
    [(9, "9"), (38, "38"), (99.6, "100"), (123, "125"), (1524, "1,500"), (1547, "1,550"), (65432, "65,500")],
)
def test_numbers_have_two_digits_or_three_if_the_third_is_a_five(value: float, words: str) -> None:
    assert str(by_hand(value, value, value)).startswith(f"About {words} evaluations, on fresh items.")


def test_plain_values_are_json_with_null_for_no_end() -> None:
    more: dict[str, Any] = {"larger_pilot": LargerPilot(200, (950.0, 3900.0)), "enough_items": math.inf}
    more |= {"answered": 0.87, "max_evaluations": 1000, "decided": 0.4, "leads": (FoundLead(0.05, 0.93),)}
    made = by_hand(900.0, math.inf, median_range=(1000, math.inf), **more)
    assert json.loads(json.dumps(made.to_dict(), allow_nan=False)) == {
        "format": 1,
        "pilot_items": 50,
        "n_arms": 4,
        "n_items": None,
        "delta": 0.05,
        "best": "<b>",
        "twins": [],
        "rules": [
            {"rule": FRESH, "evaluations": {"0.1": 900, "0.5": 1200, "0.9": None}},
            {"rule": UNPAIRED, "evaluations": {"0.1": 12000, "0.5": None, "0.9": None}},
        ],
        "median": 1200,
        "range": [900, None],
        "median_range": [1000, None],
        "answered": 0.87,
        "larger_pilot": {"items": 200, "range": [950, 3900]},
        "enough_items": None,
        "large_enough": False,
        "advice": made.advice,
        "max_evaluations": 1000,
        "decided": 0.4,
        "leads": [{"lead": 0.05, "found": 0.93}],
    }


# --- what a budget finds ---------------------------------------------------------------------------------------------


def test_the_share_decided_is_that_of_the_simulated_races(quick: None) -> None:
    scores, options, sharp = CASES["Gaussian"]
    races = [n for pilot in by_resampled_pilot(scores, sharp, TableArms, Effort(4, 7, 4000)) for n in pilot]
    for budget in (30, 45, 100, 4000):
        made = plan(scores, repetitions=28, seed=4, max_evaluations=budget, **options)
        assert (made.max_evaluations, made.decided) == (budget, sum(n <= budget for n in races) / 28)
    first, _ = refining_plans(scores, repetitions=28, max_evaluations=100)
    assert (first.max_evaluations, first.decided, first.leads) == (None, None, ())


@pytest.mark.parametrize("lead", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("limits", [None, (0.0, 1.0)])
def test_the_best_column_leads_as_wanted_and_nothing_else_changes(
    lead: float, limits: tuple[float, float] | None
) -> None:
    scores = bounded(6)[:, [2, 0, 1]]
    changed = with_lead(scores, lead, limits)
    assert changed[:, 0].mean() - changed[:, 1:].mean(axis=0).max() == pytest.approx(lead, abs=1e-12)
    np.testing.assert_array_equal(changed[:, 1:], scores[:, 1:])
    if limits is None:
        np.testing.assert_allclose(np.ptp(changed[:, 0] - scores[:, 0]), 0.0, atol=1e-12)
    else:
        assert changed.min() >= 0
        assert changed.max() <= 1
        assert (np.diff(changed[np.argsort(scores[:, 0], kind="stable"), 0]) >= 0).all()


@pytest.mark.parametrize("limits", [None, (0.0, 1.0)])
def test_leads_are_round_numbers_from_surely_found_to_hardly_found(limits: tuple[float, float] | None) -> None:
    scores = bounded(8, 60)
    algorithm = PairwiseBAI(0.05, comparison=StudentMixture() if limits is None else Betting())
    small, large = (found_leads(PlannedRace(algorithm), scores, limits, budget, 0) for budget in (150, 1500))
    for found in (small, large):
        assert {f"{lead.lead:e}"[0] for lead in found} <= {"1", "2", "5"}
        assert [lead.lead for lead in found] == sorted((lead.lead for lead in found), reverse=True)
        assert found[0].found > 0.99
        assert all(lead.found <= 0.99 for lead in found[1:])
        assert found[-1].found < 0.05
    assert large[-1].lead < small[-1].lead  # a larger budget finds smaller leads
    middle = small[1]
    arms = TableArms(with_lead(scores, middle.lead, limits))
    games = bestarm.simulate(replace(algorithm, max_queries=150), arms, repetitions=200, seed=0)
    assert middle.found == np.mean(games.decided & (games.winners == 2))


def test_a_lead_is_found_as_often_as_by_coins_that_lead_so() -> None:
    """Shifted and clipped 0/1 scores stand for 0/1 scores with that lead and the same noise."""
    race, variance = PlannedRace(PairwiseBAI(0.05, comparison=Betting())), 0.25
    pilot = BernoulliArms([0.8, 0.7], [0.0, variance]).draw(1000, np.random.default_rng(0))
    for lead in found_leads(race, pilot, (0.0, 1.0), 400, 0)[1:]:
        coins = BernoulliArms([0.75 + lead.lead / 2, 0.75 - lead.lead / 2], [0.0, variance])
        games = race.play(coins, 400, 5, 400)
        found = float(np.mean(games.answered & (games.winners == 0)))
        assert abs(lead.found - found) < 4 * math.sqrt(0.25 / 200 + 0.25 / 400)


def test_there_is_no_table_of_leads_where_it_would_say_nothing() -> None:
    race = PlannedRace(PairwiseBAI(0.05, comparison=Betting(pool=50)), 50)
    assert found_leads(race, bounded(), (0.0, 1.0), 150, 0) == ()  # all items can be scored
    assert found_leads(race, bounded(), (0.0, 1.0), 60, 0) != ()
    assert found_leads(race, bounded()[:, [0, 0]], (0.0, 1.0), 60, 0) == ()  # no noise to keep
    like_these = PlannedRace(PairwiseBAI(0.05, comparison=Betting()), 50)
    assert found_leads(like_these, bounded(), (0.0, 1.0), 150, 0) != ()  # that all items are scored is no answer


def test_long_budgets_have_fewer_races(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []
    original = PlannedRace.play

    def counted(self: PlannedRace, arms: Arms, races: int, seed: int, longest: int) -> bestarm.simulation.Simulation:
        played.append(races)
        return original(self, arms, races, seed, longest)

    monkeypatch.setattr(PlannedRace, "play", counted)
    monkeypatch.setattr(planning, "WORK_PER_LEAD", 30_000)
    for budget in (100, 300, 3000):
        found_leads(PlannedRace(PairwiseBAI()), gaussian(), None, budget, 0)
    assert list(dict.fromkeys(played)) == [200, 100, 20]


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
GAP = np.vstack([PILOT, [np.nan, 1, 1]])
PARAMETERS: list[tuple[str, Any]] = [
    ("bounds", (1, 0)),
    ("bounds", "table"),
    ("delta", 0),
    ("epsilon", -0.1),
    ("indifference_zone", math.inf),
    ("n_items", 1),
    ("max_evaluations", 0),
    ("max_evaluations", 2),  # below a round of all arms
    ("max_evaluations", 10**7),  # such races cannot be simulated
    ("repetitions", 9),
    ("seed", -1),
    ("min_rounds", 1),
    ("arms", ["a", "b"]),
    ("missing", "ignore"),
]


@pytest.mark.parametrize(("parameter", "value"), PARAMETERS, ids=str)
def test_bad_settings_are_refused(refused: Any, parameter: str, value: Any, quick: None) -> None:
    with refused(parameter, value):
        plan(PILOT, **{"repetitions": 10, parameter: value})


def test_what_is_no_flag_is_refused(refused: Any, quick: None) -> None:
    with refused("lower_is_better", "no", TypeError):
        plan(PILOT, lower_is_better="no", repetitions=10)  # type: ignore[arg-type]


def test_pilots_with_scores_that_are_missing_infinite_or_out_of_bounds_are_refused(refused: Any, quick: None) -> None:
    for missing in ("raise", "worst"):  # without bounds there is no worst score
        with refused("missing", missing):
            plan(GAP, missing=missing, repetitions=10)
    with refused("scores", np.float64(math.inf)):
        plan(np.vstack([PILOT, [1, math.inf, 1]]), repetitions=10)
    with refused("bounds", (0.0, 1.0)):
        plan(PILOT + 0.5, bounds=(0, 1), repetitions=10)


@pytest.mark.parametrize(
    ("pilot", "message"),
    [
        (PILOT[:4], "a pilot must have at least 5 items, got 4"),
        (np.vstack([PILOT[:4], GAP[-1:]]), "a pilot must have at least 5 items, got 4"),
        (PILOT[:, :1], "there must be at least two arms to compare, got 1"),
    ],
)
def test_pilots_that_are_too_small_are_refused(pilot: Matrix, message: str, quick: None) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        plan(pilot, missing="drop", repetitions=10)
