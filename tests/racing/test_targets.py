"""What an answer is about: these items, items like these, or expected scores; and what happens when items run out."""

import json
import random
import re
import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import Race, RaceResult
from bestarm.algorithms import LUCB, ConvexBAI, PairwiseBAI, Reason
from bestarm.comparisons import Betting, EmpiricalBernstein, Portfolio
from bestarm.racing import ForPopulation
from conftest import Cli
from naive import Matrix
from row_races import bounded_rows, gaussian_rows, reads, run, told
from statistics_helpers import binomial_p_value


def coins(seed: int, n: int, means: list[float], shared: float = 0.6) -> Matrix:
    """Correlated coins: one level of difficulty per item, with some luck of each arm."""
    rng = np.random.default_rng(seed)
    level = np.where(rng.random((n, len(means))) < shared, rng.random((n, 1)), rng.random((n, len(means))))
    return (level < np.array(means)).astype(float)


# --- items like these -------------------------------------------------------------------------------------------------


def slow_candidates(result: RaceResult[Any], delta: float = 0.05) -> set[int]:
    """Who may be the best for the law, arm by arm and round by round from the scores of a race."""
    scores, K = result.scores, len(result.arms)
    low, high = result.bounds or (0.0, 1.0)
    sign = -1.0 if result.settings.lower_is_better else 1.0
    bets = np.array(Betting().bets)
    weights = np.sqrt(bets) / np.sqrt(bets).sum()
    standing = set(range(K))
    log_wealth = np.zeros((K, K, bets.size))
    for row in scores:
        there = [arm for arm in range(K) if not np.isnan(row[arm])]
        for i in sorted(standing & set(there)):
            for j in there:
                if j != i:
                    log_wealth[i, j] += np.log1p(bets * sign * (row[j] - row[i]) / (high - low))
        wealth = (weights * np.exp(log_wealth)).sum(axis=2) - np.eye(K)
        standing -= {i for i in standing & set(there) if wealth[i].sum() >= (K - 1) / delta}
    return standing


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_items_like_these_by_hand(seed: int, lower_is_better: bool) -> None:
    """With two arms there is nobody whose leaving could stop other bets: the slow version is exact."""
    rows = coins(seed, 120, [0.7, 0.5], 0.3)
    comparison = Betting(reserve=0.0)
    options: dict[str, Any] = {"comparison": comparison, "lower_is_better": lower_is_better, "seed": seed}
    result = bestarm.race_table(rows, bounds=(0, 1), target="items", live=True, **options)
    beyond = result.for_population
    assert beyond is not None
    assert {int(arm) for arm in beyond.candidates} == slow_candidates(result)


def test_the_statement_about_items_like_these_is_that_of_a_race_for_them_as_far_as_it_went() -> None:
    """Until the first arm leaves the two games have seen the same."""
    rows = bounded_rows(3)
    for_items = bestarm.race_table(rows, bounds=(0, 1), seed=1, target="items", live=True)
    for_law = bestarm.race_table(rows, bounds=(0, 1), seed=1, live=True)
    assert for_items.target == "items"
    assert for_law.target == "population"
    assert for_items.for_population is not None
    first = min(out.round for out in for_items.eliminations)
    out_in_law = {out.arm for out in for_law.eliminations if out.round <= first}
    assert not out_in_law & set(for_items.for_population.candidates)


def test_a_race_for_the_population_has_one_statement() -> None:
    result = bestarm.race_table(bounded_rows(3), bounds=(0, 1), live=True)
    assert result.for_population == ForPopulation(result.candidates, result.regret_bound)
    assert result.guarantee.pool is None
    assert result.best is not None
    assert result.verdict.startswith(f"BEST: {result.best}   (95% confidence, items like these)\n")
    assert f"{result.best} is the best on items like these with probability at least 0.95." in result.explain()
    assert "these 400 items" not in result.explain()


def test_both_sentences_are_said() -> None:
    rows = coins(0, 164, [0.6, 0.6, 0.5, 0.2])
    result = bestarm.race_table(rows, bounds=(0, 1), target="items", live=True)
    beyond = result.for_population
    assert beyond is not None
    assert not beyond.decided
    assert 0 < beyond.regret_bound < 1
    assert result.verdict.startswith(f"BEST: {result.best}   (95% confidence, these 164 items)\n")
    said = " ".join(result.explain().split())
    assert "164 items as scored here" in said
    found = re.search(
        f"On items like these the race is not decided: {len(beyond.candidates)} of 4 arms may be the best, none better "
        rf"than {result.leader} by more than (0\.\d+), with probability at least 0.95. Arms that left were not tested "
        "further for this: with the population as target, a race goes on until it is decided or the items run out.",
        said,
    )
    assert found is not None
    assert beyond.regret_bound <= float(found[1]) < 1.1 * beyond.regret_bound  # a bound is rounded up
    assert "for items like these, also that these are a random sample of them" in said
    plain = json.loads(result.to_json())
    assert plain["target"] == "items"
    assert plain["for_population"] == {
        "candidates": list(beyond.candidates),
        "regret_bound": beyond.regret_bound,
        "disqualified": [],
        "decided": False,
    }


def test_a_clear_case_is_decided_for_both() -> None:
    """Of a long list so little is seen that the two tests are nearly the same."""
    result = bestarm.race_table(coins(0, 20_000, [0.9, 0.3]), bounds=(0, 1), target="items", live=True)
    assert result.for_population == ForPopulation(("0",), 0.0)
    assert "On items like these it is the best too, with probability at least 0.95." in result.explain()


def test_the_range_of_a_table_is_an_assumption_for_other_items() -> None:
    rows = bounded_rows(2) * 3.0 - 1.0
    options: dict[str, Any] = {"target": "items", "live": True}
    own = bestarm.race_table(rows, **options)
    assert own.settings.own_range
    low, high = own.bounds or (0, 0)
    said = " ".join(own.explain().split())
    assert f"On items like these (if their scores stay within [{low:g}, {high:g}])" in said
    assert f"(a live race must know the bounds, here [{low:g}, {high:g}])" in said
    given = bestarm.race_table(rows, bounds=(low, high), **options)
    assert not given.settings.own_range
    assert "if their scores stay" not in given.explain()
    assert told(own) == told(given)
    for_law = bestarm.race_table(rows)
    assert f"Holds if new items score in [{low:g}, {high:g}] and these items" in str(for_law)
    assert "if scores stay within" not in bestarm.race_table(rows, bounds=(low, high)).explain()
    assert f", if scores stay within [{low:g}, {high:g}]." in for_law.explain()


@pytest.mark.parametrize("in_flight", [1, 3])
def test_items_like_these_after_a_live_race_a_disqualification_and_a_store(tmp_path: Any, in_flight: int) -> None:
    rows = bounded_rows(5)

    def evaluate(arm: int, item: int) -> float:
        if arm == 1 and item % 5 == 2:
            raise RuntimeError("no")
        return float(rows[item, arm])

    options: dict[str, Any] = {"bounds": (0, 1), "on_error": "disqualify", "rounds_in_flight": in_flight}
    options |= {"target": "items"}
    result = run(evaluate, items=range(400), store=tmp_path / "race.sqlite", **options)
    beyond = result.for_population
    assert beyond is not None
    assert 1 not in beyond.candidates
    assert set(result.candidates) <= set(beyond.candidates)
    loaded = bestarm.load_result(tmp_path / "race.sqlite").for_population
    assert loaded is not None
    assert loaded.candidates == tuple(map(str, beyond.candidates))
    assert loaded.regret_bound == beyond.regret_bound


def test_portfolios_say_something_about_items_like_these() -> None:
    result = bestarm.race_table(bounded_rows(4), bounds=(0, 1), comparison=Portfolio(), target="items", live=True)
    assert isinstance(result.settings.algorithm, ConvexBAI)
    assert result.for_population is not None
    assert set(result.candidates) <= set(result.for_population.candidates)


def down_from(
    number: int, arms: set[str], level: dict[str, float], luck: np.random.Generator | None = None, **options: Any
) -> RaceResult[Any]:
    """A race in which some arms fail from a round on; the others score their level, or with some luck 1 that often."""
    usual: dict[str, Any] = {"items": range(400), "bounds": (0, 1), "on_error": "disqualify", "target": "items"}
    race = Race(level, **usual | options)
    while not race.finished:
        for todo in race.ask():
            failed = arms if todo.number >= number else set()
            scores = {arm: level[arm] if luck is None else float(luck.random() < level[arm]) for arm in todo.arms}
            race.tell(todo, {arm: OSError("down") if arm in failed else score for arm, score in scores.items()})
    return race.result()


def test_a_score_that_is_not_there_is_no_score() -> None:
    """An arm that the race had dropped fails in flight: of items like these nothing is known about it from there on."""
    options: dict[str, Any] = {"items": range(60), "rounds_in_flight": 60, "lower_is_better": True}
    result = down_from(21, {"C"}, {"A": 0.5, "B": 0.5, "C": 0.7}, **options)
    assert result.disqualified == ()
    assert result.for_population is not None
    assert result.for_population.candidates == ("A", "B")
    assert result.for_population.disqualified == ("C",)
    assert "or the best of all is C, which could not be evaluated" in result.explain()


def test_a_failure_that_ends_the_race_counts_for_items_like_these_too() -> None:
    result = down_from(6, {"A"}, {"A": 0.6, "B": 0.5}, np.random.default_rng(0))
    assert (result.best, result.n_rounds) == ("B", 5)
    assert result.for_population == ForPopulation(("B",), 0.0, ("A",))
    assert "it is the best of those that could be evaluated too, or the best of all is A" in result.explain()


def test_items_like_these_where_all_that_are_left_fail() -> None:
    """Of a race on groups: by size others are ahead than by groups, and those of the population fail together."""
    sizes = [4000] + [1] * 400
    labels = np.repeat(np.arange(len(sizes)), sizes).tolist()
    level = {"F": 0.8, "B": 0.8, "C": 0.1, "D": 0.1}
    result = down_from(150, {"F", "B"}, level, np.random.default_rng(1), items=range(len(labels)), groups=labels)
    beyond = result.for_population
    assert beyond is not None
    assert beyond.candidates == ()
    assert np.isnan(beyond.regret_bound)
    assert set(beyond.disqualified) == {"F", "B"}
    assert "On groups of items like these nothing is known" in result.explain()


def test_the_regret_bound_for_items_like_these_is_about_the_leader_of_the_race() -> None:
    """Small groups say B, one large group in four says A: by items A is ahead, by groups B."""
    rows = np.array([[0.2, 0.8]] * 300 + [[0.8, 0.2]] * (100 * 30))
    labels = [*range(300), *np.repeat(np.arange(300, 400), 30).tolist()]
    options: dict[str, Any] = {"arms": ["A", "B"], "groups": labels, "bounds": (0, 1), "live": True}
    result = bestarm.race_table(rows, target="items", **options)
    beyond = result.for_population
    assert beyond is not None
    assert result.best == "A"
    assert beyond.candidates == ("B",)
    assert beyond.regret_bound > 0.3
    assert bestarm.race_table(rows, **options).best == "B"


def test_a_lead_in_wins_is_not_cut_to_the_bounds() -> None:
    rng = np.random.default_rng(3)
    rows = np.where(rng.random((200, 1)) < 0.65, [[0.0, 0.1]], [[0.1, 0.0]])
    result = bestarm.race_table(rows, bounds=(0, 0.1), criterion="wins", max_evaluations=12, target="items")
    assert result.for_population is not None
    assert result.regret_bound > 0.3
    assert result.for_population.regret_bound > 0.3


@pytest.mark.long
@pytest.mark.parametrize("target", ["items", "population"])
def test_the_best_of_the_law_stays(target: Any) -> None:
    """On samples of a law with three equal best arms, whichever target ends the race."""
    delta, games, lost, lost_on_items = 0.2, 400, 0, 0
    for seed in range(games):
        rows = coins(seed, 60, [0.6, 0.6, 0.6, 0.4], 0.3)
        result = bestarm.race_table(rows, bounds=(0, 1), delta=delta, target=target, seed=seed, live=True)
        assert result.for_population is not None
        lost += "0" not in result.for_population.candidates
        lost_on_items += "0" not in result.candidates
    assert binomial_p_value(lost, games, delta) > 0.001
    if target == "items":  # the negative control: the candidates on these items say nothing about the law
        assert binomial_p_value(lost_on_items, games, delta) < 1e-6


# --- which target -----------------------------------------------------------------------------------------------------


def test_the_target_is_the_population_unless_a_list_is_all_there_is() -> None:
    rows = gaussian_rows(1)
    assert run(reads(rows), items=range(400), max_evaluations=50).target == "population"
    bounded: dict[str, Any] = {"items": range(400), "bounds": (0, 1), "max_evaluations": 50}
    assert run(reads(bounded_rows(1)), **bounded).target == "population"
    assert run(reads(bounded_rows(1)), **bounded, target="items").target == "items"
    assert run(reads(bounded_rows(1)), **bounded, replace=True).target == "items"
    assert run(reads(bounded_rows(1)), **bounded, comparison=Betting(pool=400)).target == "items"
    assert run(reads(bounded_rows(1)), items=iter(range(400)), bounds=(0, 1)).target == "population"


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        (range(9), {"target": "items"}, r"target cannot be 'items' without bounds=\(low, high\) or wins as criterion"),
        (
            range(9),
            {"target": "items", "bounds": (0, 1), "comparison": EmpiricalBernstein()},
            "target cannot be 'items' without",
        ),
        (iter(range(9)), {"target": "items", "bounds": (0, 1)}, "target cannot be 'items' without a list of items"),
        (None, {"target": "items", "bounds": (0, 1)}, "target cannot be 'items' without a list of items"),
        (range(9), {"target": "both"}, "target must be one of .*'items'.*'population'.*got 'both'"),
        (
            range(9),
            {"replace": True, "target": "population"},
            "target cannot be 'population' where items are drawn with replacement",
        ),
        (
            range(9),
            {"target": "population", "algorithm": PairwiseBAI(comparison=Betting(pool=9))},
            "target cannot be 'population' with",
        ),
        (None, {"replace": True}, "replace needs a list of items to draw from, got None"),
        (iter(range(9)), {"replace": True}, "replace needs a list of items to draw from"),
    ],
)
def test_targets_that_cannot_be(items: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Race(range(3), items=items, **options)


# --- items that run out -----------------------------------------------------------------------------------------------


def close(seed: int, n: int = 40) -> Matrix:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 1)) + 0.5 * rng.standard_normal((n, 3))


def test_lucb_on_a_list_settles_nobody() -> None:
    """Its means are over different items."""
    result = bestarm.race_table(close(1), algorithm=LUCB(0.05, variances=1.25))
    assert result.reason is Reason.RAN_OUT_OF_ITEMS
    assert len(result.candidates) == 3
    assert result.target == "population"


@pytest.mark.parametrize("budget", [3 * 40, 3 * 40 + 1])
def test_budget_and_items_may_end_together(budget: int) -> None:
    result = run(reads(close(0)), arms=range(3), items=range(40), max_evaluations=budget)
    assert result.reason is Reason.RAN_OUT_OF_ITEMS


def test_the_command_line_says_undecided(cli: Cli, tmp_path: Any) -> None:
    path = tmp_path / "scores.csv"
    np.savetxt(path, np.clip(0.5 + 0.1 * close(0), 0, 1), delimiter=",", header="a,b,c", comments="")
    assert cli("table", path, "--live", "--target", "items").exit_code == 0
    ran = cli("table", path, "--live")
    assert ran.exit_code == 3
    assert "UNDECIDED: " in ran.stdout
    assert "After all 40 items " in ran.stdout
    assert "No answer: the items ran out." in cli("table", path, "--live", "--explain").stdout
    np.savetxt(path, coins(0, 400, [0.7, 0.5, 0.2]), delimiter=",", header="a,b,c", comments="")
    shown = cli("table", path, "--live", "--target", "items", "--explain")
    assert "goes on until it is decided" in " ".join(shown.stdout.split())


# --- noisy scores -----------------------------------------------------------------------------------------------------


def sampled(arm: int, item: int, luck: random.Random = random.Random(3)) -> float:  # noqa: B008, S311
    """An answer that comes out differently when the question is asked again."""
    return float(luck.random() < 0.3 + 0.2 * arm + 0.01 * (item % 10))


def test_items_are_drawn_again_with_replacement(tmp_path: Any) -> None:
    seen: list[int] = []

    def evaluate(arm: int, item: int) -> float:
        seen.append(item)
        return sampled(arm, item)

    result = run(evaluate, arms=range(3), items=range(20), bounds=(0, 1), replace=True, store=tmp_path / "race.sqlite")
    assert result.best == 2
    assert result.settings.items == "drawn"
    assert result.target == "items"
    assert result.guarantee.pool is None
    assert result.saved is None
    assert result.n_rounds > 20
    assert set(seen) == set(range(20))
    assert result.for_population is None
    assert result.verdict.startswith("BEST: 2   (95% confidence, these 20 items)\n")
    said = " ".join(result.explain().split())
    assert "2 has the best expected score on these 20 items with probability at least 0.95." in said
    assert "like these" not in said
    assert "as scored here" not in said
    loaded = bestarm.load_result(tmp_path / "race.sqlite")
    assert loaded.verdict == result.verdict
    assert json.loads(result.to_json())["for_population"] is None


def test_a_race_with_replacement_continues(tmp_path: Any) -> None:
    def evaluate(arm: int, item: int) -> float:
        return float((31 * item + 7 * arm) % 10 < 3 + 2 * arm)

    whole = run(evaluate, arms=range(3), items=range(50), bounds=(0, 1), replace=True)
    where = tmp_path / "race.sqlite"
    run(evaluate, arms=range(3), items=range(50), bounds=(0, 1), replace=True, store=where, max_evaluations=30)
    rest = run(evaluate, arms=range(3), items=range(50), bounds=(0, 1), replace=True, store=where)
    assert told(rest) == told(whole)


def test_items_drawn_again_were_called_a_stream_in_earlier_files(tmp_path: Any) -> None:
    where = tmp_path / "race.sqlite"
    call: dict[str, Any] = {"arms": range(3), "items": range(50), "bounds": (0, 1), "replace": True}
    run(sampled, **call, store=where, max_evaluations=30)
    with closing(sqlite3.connect(where)) as file:
        for name, value in (("items", '"stream"'), ("n_items", "null"), ("items_digest", "null")):
            file.execute("UPDATE settings SET value = ? WHERE name = ?", (value, name))
        file.commit()
    rest = run(sampled, **call, store=where, max_evaluations=60)
    assert (rest.settings.items, rest.n_evaluations) == ("stream", 60)


def test_one_item_is_enough_with_replacement() -> None:
    result = run(sampled, arms=range(2), items=[4], bounds=(0, 1), replace=True, max_evaluations=40)
    assert result.n_rounds == 20


def test_own_loops_draw_with_replacement_too() -> None:
    luck = random.Random(0)  # noqa: S311
    race = Race(range(2), items=[0.5, 1.5, 2.5], replace=True, max_evaluations=100)
    while not race.finished:
        for todo in race.ask():
            race.tell(todo, {arm: todo.item + arm + luck.random() for arm in todo.arms})
    assert race.result().target == "items"
