"""What users see: results that cannot be misread, errors and warnings, values that print and compare."""

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import EvaluationError, ScoreTable, race, race_table
from bestarm.algorithms import LUCB, KimNelson, PairwiseBAI, Reason
from bestarm.arms import bernoulli_variances, equicorrelated_arms
from bestarm.comparisons import (
    Betting,
    Comparison,
    ConvexBernstein,
    EmpiricalBernstein,
    GaussianBernstein,
    Portfolio,
    StudentMixture,
)
from small_race import LEVEL, run

# --- results that cannot be misread ----------------------------------------------------------------------------------


def test_without_an_answer_there_is_a_leader_and_nobody_is_the_best() -> None:
    result = run(max_evaluations=9)
    assert (result.answered, result.best, result.leader, result.saved) == (False, None, "high", None)
    assert (result.reason, result["high"].status) == (Reason.BUDGET, "leader")
    assert "saved" not in str(result)


def test_an_answer_has_a_best_and_what_it_saved() -> None:
    result = run()
    assert (result.answered, result.best, result.leader, result.reason) == (True, "high", "high", "decided")
    assert result.saved == 1 - result.n_evaluations / 1500
    assert [record.status for record in result.records] == ["best", "out", "out"]


def test_an_arm_within_epsilon_is_not_called_the_best() -> None:
    result = run(epsilon=0.5)
    assert (result.reason, result["high"].status) == (Reason.WITHIN_EPSILON, "within epsilon")
    assert result.verdict.startswith("BEST OR WITHIN 0.5 OF IT: high ")
    assert "high is within 0.5 of the best" in result.explain()
    assert "high is the best" not in result.explain()
    assert (result.answered, result.best) == (True, "high")


def test_arms_that_tie_over_all_items_are_tied() -> None:
    result = run(lambda arm, item: 0.5 if arm != "low" else 0.1, items=range(40), target="items")
    assert (result.reason, [record.status for record in result.records]) == ("all items used", ["tied", "tied", "out"])


def test_a_race_that_goes_on_is_running() -> None:
    contest = bestarm.Race(list(LEVEL), items=range(500), bounds=(0, 1))
    for todo in contest.ask():
        contest.tell(todo, {arm: LEVEL[arm] for arm in todo.arms})
    assert (contest.reason, contest.result().reason, contest.result().best) == (None, Reason.RUNNING, None)


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("bounds", [None, (0, 1)])
def test_a_lead_is_read_by_label_and_in_one_direction(lower_is_better: bool, bounds: Any) -> None:
    result = run(bounds=bounds, lower_is_better=lower_is_better, delta=1e-4, max_evaluations=900)
    for a, b in (("high", "low"), ("low", "mid"), ("mid", "high")):
        one, other = result.lead(a, b), result.lead(b, a)
        assert one.low < one.estimate < one.high
        assert (other.estimate, other.low, other.high) == (-one.estimate, -one.high, -one.low)
        truth = (LEVEL[a] - LEVEL[b]) * (-1 if lower_is_better else 1)
        assert one.estimate == pytest.approx(truth, abs=1e-9)
        i, j = result.arms.index(a), result.arms.index(b)
        assert (one.low, one.high) == (result.intervals.low[i, j], result.intervals.high[i, j])
    with pytest.raises(ValueError, match=r"^lead takes two different arms, got 'low' twice$"):
        result.lead("low", "low")
    with pytest.raises(ValueError, match=r"^there is no arm 'other': the arms are low, mid, high$"):
        result.lead("low", "other")


def test_records_are_looked_up_by_arm() -> None:
    result = run(arms={"low": 1, "mid": 2, "high": 3}, evaluate=lambda level, item: level / 4)
    assert (result["low"].beaten_by, result["low"].left_in_round) == ("high", result.eliminations[0].round)
    assert result["high"].n_items == result.n_rounds == len(result.items)
    assert [record.arm for record in result.records] == list(result.to_frame().index)
    with pytest.raises(KeyError, match="there is no arm 'other': the arms are low, mid, high"):
        result["other"]
    with pytest.raises(TypeError):
        list(result)


# --- errors and warnings ---------------------------------------------------------------------------------------------


def test_an_evaluation_that_failed_names_its_arm_and_item() -> None:
    items = [{"question": k} for k in range(50)]
    contest = bestarm.Race([1, 2], items=items)
    (todo,) = contest.ask()
    for attempt in (
        lambda: contest.tell(todo, {2: math.nan}),
        lambda: race(lambda arm, item: 0.5 if arm == 1 else math.nan, arms=[1, 2], items=items, progress=False),
    ):
        with pytest.raises(EvaluationError) as caught:
            attempt()
        assert (caught.value.arm, caught.value.item) == (2, todo.item)


# --- values ----------------------------------------------------------------------------------------------------------

PRINTED = {
    "PairwiseBAI()": PairwiseBAI(),
    "PairwiseBAI(0.1, epsilon=0.2)": PairwiseBAI(0.1, epsilon=0.2, keep=1.0),
    "PairwiseBAI(comparison=Betting((0.0, 2.0), pool=9))": PairwiseBAI(comparison=Betting((0, 2), pool=9)),
    "Betting(bets=(0.5, 0.1), weights=(0.75, 0.25))": Betting(bets=(0.5, 0.1), weights=(3, 1)),
    "Betting(bets=(0.5, 0.1))": Betting(bets=[0.5, 0.1]),
    "StudentMixture(min_rounds=2)": StudentMixture(min_rounds=2, weights=(1, 1, 1, 1)),
    "StudentMixture(precisions=(1.0, 9.0), weights=(0.25, 0.75))": StudentMixture(precisions=(1, 9), weights=(1, 3)),
    "GaussianBernstein(f='published')": GaussianBernstein(f="published"),
    "ConvexBernstein(sparsity=2)": ConvexBernstein(sparsity=2),
    "LUCB(0.1, variances=(1.0, 2.0))": LUCB(0.1, variances=(1, 2)),
    "KimNelson(indifference_zone=0.5)": KimNelson(indifference_zone=0.5),
}


@pytest.mark.parametrize("text", PRINTED)
def test_settings_are_printed_as_the_shortest_call_that_makes_them(text: str) -> None:
    assert repr(PRINTED[text]) == text
    names = {kind.__name__: kind for kind in (*map(type, PRINTED.values()), Betting, PairwiseBAI)}
    assert eval(text, names) == PRINTED[text]  # noqa: S307 - our own text


def test_results_races_and_games_are_printed_in_a_line() -> None:
    contest, game = bestarm.Race(["a", "b"]), PairwiseBAI().start(3)
    game.play(np.zeros((1, 3)))
    assert repr(contest) == "<Race of 2 arms: 0 rounds, 2 evaluations, running>"
    assert repr(game) == "<EliminationGame of 3 arms: round 1, 3 queries, running>"
    assert repr(run()).startswith("<RaceResult decided: best='high', ")
    assert repr(run(max_evaluations=3)) == "<RaceResult budget: leader='high', 3 candidates, 3 evaluations, 1 round>"
    assert repr(ScoreTable(("a", "b"), ("x",), np.zeros((1, 2)))) == "<scores of 2 arms on 1 item>"
    settings = repr(run().settings)
    assert settings.startswith("RaceSettings(algorithm=PairwiseBAI(comparison=LeaderBetting()), items='pool'")
    sim = bestarm.simulate(PairwiseBAI(), equicorrelated_arms(2, 0.9), repetitions=2)
    assert repr(sim).startswith("<Simulation of PairwiseBAI() on 2 arms: 2 games: ")


def test_equality_never_raises() -> None:
    scores = np.array([[0.0, np.nan], [1.0, 0.5]])
    one, same = (ScoreTable(["a", "b"], ["x", "y"], scores) for _ in range(2))  # type: ignore[arg-type]
    other = ScoreTable(("a", "b"), ("x", "z"), scores)
    assert one == same
    assert one != other
    assert one != "table"
    arms = equicorrelated_arms(3, 0.9)
    first, again, third = (bestarm.simulate(PairwiseBAI(), arms, repetitions=3, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first != third
    result = run()
    assert len({result, run()}) == 2  # results are compared by who they are
    assert result == result  # noqa: PLR0124 - that it does not raise
    assert result.intervals == run().intervals
    assert arms == arms  # noqa: PLR0124 - the same
    variances = [bernoulli_variances([0.2, 0.5]) for _ in range(2)]
    assert variances[0] == variances[1]


def test_rounds_and_records_of_arrays_are_compared() -> None:
    def rounds() -> list[Any]:
        return bestarm.Race(["a", "b"], items=[np.array([k, k]) for k in range(9)]).ask()

    assert rounds() == rounds()
    arms = [np.array([k, 1.0]) for k in range(3)]
    one, other = (race(lambda arm, item: arm[0] / 4, arms=arms, items=range(99), bounds=(0, 1)) for _ in range(2))
    assert one.records == other.records
    assert one.eliminations == other.eliminations
    assert hash(run().eliminations[0]) == hash(run().eliminations[0])


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [3, 30, 31, 100])
def test_a_table_is_raced_within_a_budget(budget: int) -> None:
    scores = np.random.default_rng(0).random((300, 3)) * [0.8, 0.9, 1.0]
    result = race_table(scores, arms=list("abc"), max_evaluations=budget)
    assert result.n_evaluations <= budget
    assert result.n_evaluations > budget - 3
    assert (result.reason, result.best, result.saved) == ("budget", None, None)


COMPARISONS: list[Comparison] = [StudentMixture(), GaussianBernstein(), EmpiricalBernstein(), Betting(), Portfolio()]


@pytest.mark.parametrize("comparison", COMPARISONS, ids=repr)
def test_every_explanation_names_its_assumption(comparison: Comparison) -> None:
    result = run(comparison=comparison, bounds=None, max_evaluations=60)
    assert result.target == "population"
    assert f"This assumes that {result.guarantee.assumption}." in result.explain()
    assert str(result).splitlines()[-1].startswith("Holds if ")


@pytest.mark.parametrize("comparison", [Betting(), Portfolio()], ids=repr)
def test_an_explanation_about_these_items_names_what_items_like_these_need(comparison: Comparison) -> None:
    result = run(comparison=comparison, target="items", max_evaluations=60)
    more = "; for items like these, also that these are a random sample of them"
    assert f"This assumes that {result.guarantee.assumption}{more}." in result.explain()


def test_a_race_that_has_used_all_items_says_so_whatever_its_budget() -> None:
    scores = np.random.default_rng(0).normal(size=(20, 3))
    given: list[tuple[dict[str, Any], str]] = [
        ({"comparison": StudentMixture()}, "ran out of items"),
        ({"bounds": (-5, 5)}, "ran out of items"),
        ({"bounds": (-5, 5), "target": "items"}, "all items used"),
    ]
    for options, reason in given:
        options["max_evaluations"] = 60
        table = race_table(scores, arms=["a", "b", "c"], **options)
        result = race(lambda arm, item: scores[item, "abc".index(arm)], arms=list("abc"), items=range(20), **options)
        assert (result.reason, result.best) == (table.reason, table.best) == (reason, table.best)
        assert (result.best is None) == (reason == "ran out of items")


@pytest.mark.filterwarnings("ignore")
def test_warnings_do_not_depend_on_how_the_rounds_came(tmp_path: Path) -> None:
    """An arm that is dropped early is not looked at, whether the race is told, loaded or continued."""

    def evaluate(arm: str, item: int) -> float:
        luck = random.Random(f"{arm} {item}")  # noqa: S311 - no secrets here
        return luck.gauss(-100, 1) if arm == "bad" else float(luck.random() < 0.5)

    store = tmp_path / "race.sqlite"
    for budget in (100, 200):
        result = race(evaluate, arms=["bad", "x", "y"], store=store, max_evaluations=budget, progress=False)
    whole = race(evaluate, arms=["bad", "x", "y"], max_evaluations=200, progress=False)
    assert len(whole.warnings) == 1
    assert result.warnings == whole.warnings == bestarm.load_result(store).warnings


def test_no_arm_can_be_better_by_more_than_the_bounds_allow() -> None:
    result = run(comparison=EmpiricalBernstein(), max_evaluations=30)
    assert (result.answered, result.regret_bound) == (False, 1.0)
