"""What users see and write: names, results that cannot be misread, values that print and compare, files that stay."""

import json
import math
import random
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import EvaluationError, ScoreTable, race, race_table
from bestarm.algorithms import LUCB, ConvexBAI, Game, KimNelson, PairwiseBAI, Reason
from bestarm.arms import bernoulli_variances, equicorrelated_arms
from bestarm.comparisons import (
    Betting,
    Comparison,
    ConvexBernstein,
    EmpiricalBernstein,
    GaussianBernstein,
    PairBoundary,
    Portfolio,
    StudentMixture,
)
from bestarm.racing import RaceSettings

LEVEL = {"low": 0.2, "mid": 0.5, "high": 0.8}


def share(arm: str, item: object) -> float:
    return LEVEL[arm] + random.Random(str(item)).uniform(-0.2, 0.2)  # noqa: S311 - no secrets here


def run(evaluate: Any = share, arms: Any = tuple(LEVEL), **options: Any) -> Any:
    usual: dict[str, Any] = {"items": range(500), "bounds": (0, 1), "progress": False}
    return race(evaluate, arms=arms, **usual | options)


# --- choosing the test -----------------------------------------------------------------------------------------------

CHOSEN: dict[str, tuple[dict[str, Any], Any]] = {
    "default": ({}, PairwiseBAI(0.05, comparison=Betting(pool=500))),
    "other bounds": (
        {"comparison": Betting(), "bounds": (-1, 2)},
        PairwiseBAI(0.05, comparison=Betting((-1, 2), pool=500)),
    ),
    "its own bounds": (
        {"comparison": Betting((-1, 2)), "bounds": None},
        PairwiseBAI(0.05, comparison=Betting((-1, 2), pool=500)),
    ),
    "same bounds": (
        {"comparison": Betting((0, 2)), "bounds": (0, 2)},
        PairwiseBAI(0.05, comparison=Betting((0, 2), pool=500)),
    ),
    "stream": ({"comparison": Betting(), "items": iter(range(500))}, PairwiseBAI(0.05, comparison=Betting())),
    "own bets": (
        {"comparison": Betting(bets=(0.5, 0.1)), "delta": 0.01, "epsilon": 0.02, "indifference_zone": 0.03},
        PairwiseBAI(0.01, comparison=Betting(pool=500, bets=(0.5, 0.1)), epsilon=0.02, indifference_zone=0.03),
    ),
    "combinations": (
        {"comparison": Portfolio(), "epsilon": 0.1},
        ConvexBAI(0.05, comparison=Portfolio(pool=500), epsilon=0.1),
    ),
    "paper": ({"comparison": EmpiricalBernstein()}, PairwiseBAI(0.05, comparison=EmpiricalBernstein())),
    "gaussian": (
        {"comparison": StudentMixture(min_rounds=20), "bounds": None},
        PairwiseBAI(0.05, comparison=StudentMixture(min_rounds=20)),
    ),
    "same delta twice": ({"algorithm": PairwiseBAI(0.1), "bounds": None, "delta": 0.1}, PairwiseBAI(0.1)),
}


@pytest.mark.parametrize("case", CHOSEN)
def test_the_race_gives_the_comparison_all_that_it_knows(case: str) -> None:
    options, expected = CHOSEN[case]
    result = run(max_evaluations=30, **options)
    assert result.settings.algorithm == expected
    assert result.bounds == expected.comparison.bounds


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "bounds of its own": (
        {"comparison": Betting((0, 2)), "bounds": (0, 1)},
        r"^bounds=\(0, 1\) do not fit Betting\(\(0.0, 2.0\), pool=500\), which is for scores in \(0, 2\): leave one of",
    ),
    "no bounds": ({"comparison": StudentMixture()}, r"^bounds=\(0, 1\) do not fit StudentMixture\(\), which uses no"),
    "fixed bounds": (
        {"comparison": EmpiricalBernstein(), "bounds": (0, 2)},
        r"^bounds=\(0, 2\) do not fit EmpiricalBernstein\(\), which is for scores in \(0, 1\): leave one of",
    ),
    "other pool": ({"comparison": Betting(pool=9)}, "^the comparison is for a pool of 9 items, but there are 500"),
    "zone": (
        {"comparison": Portfolio(), "indifference_zone": 0.1},
        r"^indifference_zone needs a comparison of pairs, got 0.1 with Portfolio\(pool=500\)$",
    ),
    "epsilon": ({"comparison": ConvexBernstein(), "epsilon": 0.1}, "^epsilon needs a comparison that supports it"),
    "min_rounds": (
        {"comparison": Betting(), "min_rounds": 5},
        "^min_rounds is a setting of StudentMixture, got 5 with",
    ),
    "min_rounds, bounds": ({"min_rounds": 5}, "^min_rounds is a setting of StudentMixture, got 5 with the test for"),
    "beside an algorithm": (
        {"algorithm": PairwiseBAI(), "comparison": Betting()},
        r"^comparison=Betting\(\) is given together with algorithm=PairwiseBAI\(\): leave algorithm out",
    ),
    "delta": (
        {"algorithm": PairwiseBAI(0.01), "delta": 0.05, "bounds": None},
        r"^delta is 0.05 here and 0.01 in PairwiseBAI\(0.01\): give it in one place$",
    ),
    "min_rounds of an algorithm": (
        {"algorithm": PairwiseBAI(), "min_rounds": 5, "bounds": None},
        r"^min_rounds is 5 here and 10 in PairwiseBAI\(\): give it in one place$",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_contradicts_is_refused_with_both_values(case: str) -> None:
    options, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        run(**options)


@pytest.mark.parametrize("thing", [Betting, None.__class__, "Betting", 0.05, PairwiseBAI()])
def test_what_is_no_comparison_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"^comparison must be a comparison such as bestarm\.comparisons\.Student"):
        run(comparison=thing)


def test_an_algorithm_that_must_see_each_round_has_one_in_flight_on_an_executor() -> None:
    with ThreadPoolExecutor(2) as pool:
        result = run(algorithm=LUCB(0.1, variances=0.02), bounds=None, executor=pool)
        assert (result.settings.rounds_in_flight, result.best) == (1, "high")
        assert run(executor=pool).settings.rounds_in_flight == 4
        with pytest.raises(ValueError, match="rounds_in_flight must be 1, got 2"):
            run(algorithm=LUCB(0.1), bounds=None, executor=pool, rounds_in_flight=2)


def test_arms_and_items_are_named() -> None:
    with pytest.raises(TypeError, match="positional"):
        race(share, ["a", "b"])  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        PairwiseBAI(0.05, Betting())  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"^delta must lie .* got Betting\(\) \(a comparison is given by name"):
        PairwiseBAI(Betting())  # type: ignore[arg-type]


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
    assert "high is within 0.5 of the best" in result.verdict
    assert "high is the best" not in str(result)
    assert (result.answered, result.best) == (True, "high")


def test_arms_that_tie_over_all_items_are_tied() -> None:
    result = run(lambda arm, item: 0.5 if arm != "low" else 0.1, items=range(40))
    assert (result.reason, [record.status for record in result.records]) == ("all items used", ["tied", "tied", "out"])


def test_a_race_that_goes_on_is_running_and_one_that_was_stopped_interrupted(tmp_path: Path) -> None:
    contest = bestarm.Race(list(LEVEL), items=range(500), bounds=(0, 1))
    for todo in contest.ask():
        contest.tell(todo, {arm: LEVEL[arm] for arm in todo.arms})
    assert (contest.reason, contest.result().reason, contest.result().best) == (None, Reason.RUNNING, None)
    calls = iter(range(8))

    def evaluate(arm: str, item: int) -> float:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return share(arm, item)

    stopped = run(evaluate, store=tmp_path / "race.sqlite")
    assert stopped.reason is Reason.INTERRUPTED
    assert "the race was interrupted" in stopped.verdict
    assert bestarm.load_result(tmp_path / "race.sqlite").reason is Reason.RUNNING


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


def test_the_lead_of_a_game_is_that_of_its_arms() -> None:
    game = PairwiseBAI(0.1).start(3)
    rows = equicorrelated_arms(3, 0.9).draw(60, np.random.default_rng(0))
    game.play(rows)
    n = int(min(game.counts[2], game.counts[0]))
    lead = game.lead(2, 0)
    assert lead is not None
    assert lead.estimate == pytest.approx(float((rows[:n, 2] - rows[:n, 0]).mean()))
    assert lead.low < lead.estimate < lead.high
    assert lead.low == game.lead_bound(2, 0)


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

    def evaluate(arm: int, item: dict[str, int]) -> float:
        if arm == 2 and item["question"] == 7:
            raise ValueError("no answer")
        return 0.5

    with pytest.raises(EvaluationError) as caught:
        race(evaluate, arms=[1, 2, 3], items=items, bounds=(0, 1), progress=False)
    assert (caught.value.arm, caught.value.item) == (2, {"question": 7})
    contest = bestarm.Race([1, 2], items=items, bounds=(0, 1))
    (todo,) = contest.ask()
    with pytest.raises(EvaluationError) as caught:
        contest.tell(todo, {2: math.nan})
    assert (caught.value.arm, caught.value.item) == (2, todo.item)


@pytest.mark.filterwarnings("default")
def test_what_was_warned_of_is_in_the_result_and_in_its_page(tmp_path: Path) -> None:
    def coin(arm: str, item: int) -> float:
        return float(random.Random(f"{arm} {item}").random() < LEVEL[arm])  # noqa: S311 - no secrets here

    store = tmp_path / "race.sqlite"
    with pytest.warns(bestarm.AssumptionWarning, match="at most 10 distinct values") as caught:
        result = run(coin, bounds=None, delta=1e-9, store=store)
    assert result.warnings == (str(caught[0].message),)
    assert json.loads(result.to_json())["warnings"] == list(result.warnings)
    assert bestarm.load_result(store).warnings == result.warnings
    result.to_html(tmp_path / "page.html")
    assert "at most 10 distinct values" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert run().warnings == ()


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
    assert settings.startswith("RaceSettings(algorithm=PairwiseBAI(comparison=Betting(pool=500)), items='pool'")
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
    assert result != run()
    assert result == result  # noqa: PLR0124 - that it does not raise
    assert result.intervals == run().intervals
    assert arms == arms  # noqa: PLR0124 - the same
    variances = [bernoulli_variances([0.2, 0.5]) for _ in range(2)]
    assert variances[0] == variances[1]


# --- files -----------------------------------------------------------------------------------------------------------


def settings_of(store: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(store)) as connection:
        return {name: json.loads(value) for name, value in connection.execute("SELECT name, value FROM settings")}


def edit(store: Path, name: str, value: Any) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value)))


OPTIONAL = ("format", "reason", "source", "max_evaluations", "rounds_in_flight", "on_error", "seed", "lower_is_better")


def test_a_setting_that_is_missing_has_its_default(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    begun = run(store=store, max_evaluations=30)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.executemany("DELETE FROM settings WHERE name = ?", [(name,) for name in OPTIONAL])
    plain = settings_of(store)["algorithm"]
    for name in ("keep", "epsilon", "indifference_zone", "max_rounds", "max_queries"):
        del plain[name]
    del plain["comparison"]["bets"], plain["comparison"]["weights"]
    edit(store, "algorithm", plain)
    assert bestarm.load_result(store).to_records() == begun.to_records()
    assert bestarm.load_result(store).settings.algorithm == begun.settings.algorithm
    assert run(store=store).to_json() == run().to_json()


def test_settings_of_files_have_their_present_names() -> None:
    plain = run(bounds=None).settings.to_plain()
    former = plain | {"in_flight": 3, "max_queries": 77}
    del former["rounds_in_flight"], former["max_evaluations"]
    former["algorithm"]["comparison"]["first_rounds"] = former["algorithm"]["comparison"].pop("min_rounds")
    settings = RaceSettings.from_plain(former)
    assert (settings.rounds_in_flight, settings.max_evaluations) == (3, 77)
    assert RaceSettings.from_plain(settings.to_plain() | {"max_queries": 5}) == settings  # the present name counts


def test_the_format_is_in_files_and_a_later_one_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    run(store=store, max_evaluations=30)
    assert settings_of(store)["format"] == 1
    edit(store, "format", 2)
    before = store.read_bytes()
    message = "has format 2, and this bestarm reads format 1: use the version of bestarm that made it, or a later one"
    with pytest.raises(bestarm.StoreError, match=message):
        bestarm.load_result(store)
    with pytest.raises(bestarm.StoreError, match=message):
        run(store=store)
    assert store.read_bytes() == before


@dataclass(frozen=True)
class Mine(PairBoundary):
    """A comparison of one's own."""

    factor: float = 1.5

    def boundary(self, rounds: Any, n_arms: int, delta: float) -> Any:
        slopes, offsets = StudentMixture().boundary(rounds, n_arms, delta)
        return slopes * self.factor, offsets


@dataclass(frozen=True)
class Nested:
    """An algorithm of one's own, with settings of the same names at several levels."""

    delta: float = 0.05
    seed: int = 0
    test: Any = field(default_factory=lambda: PairwiseBAI(0.01))

    def start(self, n_arms: int) -> Any:
        return self.test.start(n_arms)


WEIGHTED = StudentMixture(precisions=(1, 10, 100), weights=(3, 2, 1))
CONTINUED: dict[str, dict[str, Any]] = {
    "own comparison": {"comparison": Mine(), "bounds": None},
    "own comparison of an algorithm": {"algorithm": PairwiseBAI(0.1, comparison=Mine(2.0)), "bounds": None},
    "own algorithm": {"algorithm": Nested(), "bounds": None},
    "own bets": {"comparison": Betting(bets=[0.5, 0.25])},
    "own weights": {"comparison": WEIGHTED, "bounds": None},
}


@pytest.mark.parametrize("case", CONTINUED)
def test_a_race_by_rules_of_ones_own_is_continued(case: str, tmp_path: Path) -> None:
    for budget in (30, 60, 5000):
        result = run(store=tmp_path / "race.sqlite", max_evaluations=budget, **CONTINUED[case])
    assert str(result) == str(run(**CONTINUED[case]))


def test_settings_within_settings_of_ones_own_have_their_present_names(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    run(store=store, max_evaluations=30, algorithm=Nested(), bounds=None)
    plain = settings_of(store)["algorithm"]
    plain["test"]["comparison"]["first_rounds"] = plain["test"]["comparison"].pop("min_rounds")
    edit(store, "algorithm", plain)
    assert run(store=store, algorithm=Nested(), bounds=None).answered


@pytest.mark.parametrize("changed", [Nested(seed=1), Nested(delta=0.1), Nested(test=PairwiseBAI(0.02))])
def test_settings_of_the_same_name_do_not_hide_each_other(changed: Nested, tmp_path: Path) -> None:
    run(store=tmp_path / "race.sqlite", max_evaluations=30, algorithm=Nested(), bounds=None)
    with pytest.raises(bestarm.StoreError, match="when the race began"):
        run(store=tmp_path / "race.sqlite", algorithm=changed, bounds=None)


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_scaled_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bets, weights = np.sort(rng.uniform(0.01, 0.95, 5)), rng.uniform(0.1, 3.0, 5)
    for comparison in (Betting(bets=bets.tolist()), Betting(bets=bets.tolist(), weights=weights.tolist())):
        assert eval(repr(comparison), {"Betting": Betting}) == comparison  # noqa: S307 - our own text
        assert replace(comparison) == comparison


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
def test_every_verdict_names_its_assumption(comparison: Comparison) -> None:
    result = run(comparison=comparison, bounds=None, max_evaluations=60)
    assert f" This assumes that {result.guarantee.assumption}." in result.verdict


def test_a_race_that_has_used_all_items_says_so_whatever_its_budget() -> None:
    scores = np.random.default_rng(0).normal(size=(20, 3))
    options: dict[str, Any] = {"max_evaluations": 60, "comparison": StudentMixture()}
    table = race_table(scores, arms=["a", "b", "c"], **options)
    result = race(lambda arm, item: scores[item, "abc".index(arm)], arms=list("abc"), items=range(20), **options)
    assert (result.reason, result.best) == (table.reason, table.best) == ("all items used", table.best)


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


def test_rounds_and_records_of_arrays_are_compared() -> None:
    def rounds() -> list[Any]:
        return bestarm.Race(["a", "b"], items=[np.array([k, k]) for k in range(9)]).ask()

    assert rounds() == rounds()
    arms = [np.array([k, 1.0]) for k in range(3)]
    one, other = (race(lambda arm, item: arm[0] / 4, arms=arms, items=range(99), bounds=(0, 1)) for _ in range(2))
    assert one.records == other.records
    assert one.eliminations == other.eliminations
    assert hash(run().eliminations[0]) == hash(run().eliminations[0])


@pytest.mark.parametrize("reason", ["running", "tired", "interrupted", ""])
def test_a_game_of_ones_own_ends_for_a_reason_that_games_have(reason: str) -> None:
    class Tired(Game):
        @property
        def reason(self) -> str | None:
            return reason if self.n_rounds == 3 else None

    @dataclass(frozen=True)
    class Sleepy:
        def start(self, n_arms: int) -> Game:
            return Tired(n_arms)

    with pytest.raises(ValueError, match=r"Tired.reason must be one of 'decided', .*'budget', got"):
        run(algorithm=Sleepy(), bounds=None)


def test_a_comparison_that_does_not_adapt_is_refused() -> None:
    class Stiff:
        role = "pairs"

    with pytest.raises(TypeError, match=r"^Stiff needs a method adapted\(bounds, pool\)"):
        run(comparison=Stiff())


@pytest.mark.parametrize("name", ["jointly", "shuffle_arms"])
def test_flags_are_flags(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} must be True or False, got 'no'"):
        run(**{name: "no"})


def test_a_confidence_is_not_taken_for_delta() -> None:
    with pytest.raises(ValueError, match=r"at most 0.5 in a race, got 0.95: for 95% certainty give 0.05"):
        run(delta=0.95)
    with pytest.raises(ValueError, match=r"^delta must lie strictly between 0 and 1, got '0.05'$"):
        run(delta="0.05")


def test_min_rounds_of_an_algorithm_is_its_own_or_that_of_its_comparison() -> None:
    assert run(algorithm=KimNelson(0.1, min_rounds=20), min_rounds=20, bounds=None).best == "high"
    with pytest.raises(ValueError, match=r"^min_rounds is 5 here and 20 in KimNelson"):
        run(algorithm=KimNelson(0.1, min_rounds=20), min_rounds=5, bounds=None)


def test_files_and_tables_that_are_easily_mistaken(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"got the text 'wide.csv': read a file with bestarm.read_table"):
        race_table("wide.csv")
    (tmp_path / "semi.csv").write_text("a;b\n1;0\n", encoding="utf-8")
    with pytest.raises(ValueError, match="seem to be separated by semicolons"):
        bestarm.read_table(tmp_path / "semi.csv")
    (tmp_path / "long.csv").write_text("task,model,score\nq,gpt,1\nr,gpt,0\n", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"long.csv: row 1, column 'model' .*one row per score\? then name item_column"
    ):
        bestarm.read_table(tmp_path / "long.csv")
    for first in (0, 1):
        rows = "\n".join(f"{k},{k % 2},1" for k in range(first, first + 9))
        (tmp_path / "numbered.csv").write_text(f"question,a,b\n{rows}\n", encoding="utf-8")
        table = bestarm.read_table(tmp_path / "numbered.csv")
        assert (table.arms, table.items[0]) == (("a", "b"), str(first))


def test_no_arm_can_be_better_by_more_than_the_bounds_allow() -> None:
    result = run(comparison=EmpiricalBernstein(), max_evaluations=30)
    assert (result.answered, result.regret_bound) == (False, 1.0)
