"""Items in groups: whole groups are drawn, weighed by their sizes for the mean over the items."""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import bestarm
from bestarm import EvaluationError, OutOfBoundsError, Race, RaceResult, StoreError, race_table, read_table
from bestarm.algorithms import Game, PairwiseBAI
from bestarm.comparisons import Betting, EmpiricalBernstein, LeaderBetting, StudentMixture
from conftest import Cli
from naive import Matrix
from statistics_helpers import contradicts

ARMS = ["a", "b", "c", "d"]
N_GROUPS = 120
SURE = "with probability at least 0.95"


def made(seed: int = 0, low: float = 0.0, high: float = 1.0) -> tuple[Matrix, list[str]]:
    """Scores of items that share much with the others of their group, in groups of 1 to 6 items, mixed up."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(N_GROUPS), rng.integers(1, 7, N_GROUPS)))
    shared = 0.2 * rng.random((N_GROUPS, 1)) + 0.3 * rng.random((N_GROUPS, 4))
    scores = [0.0, 0.1, 0.2, 0.35] + shared[labels] + 0.15 * rng.random((labels.size, 4))
    return low + (high - low) * scores, [f"doc {label}" for label in labels]


def run(scores: Matrix, groups: Any, **options: Any) -> RaceResult[Any]:
    usual: dict[str, Any] = {"items": range(len(scores)), "bounds": (0, 1), "progress": False}
    return bestarm.race(
        lambda arm, item: float(scores[item, ARMS.index(arm)]), arms=ARMS, groups=groups, **usual | options
    )


def drawn(scores: Matrix, groups: list[str], seed: int) -> tuple[Matrix, NDArray[np.int64]]:
    """The mean scores of the groups and their sizes, in the order of the rounds."""
    parts = [[k for k, label in enumerate(groups) if label == name] for name in dict.fromkeys(groups)]
    order = np.random.default_rng(np.random.SeedSequence(seed)).permutation(len(parts))
    means = np.array([[math.fsum(scores[part, arm]) / len(part) for arm in range(4)] for part in parts])
    return means[order], np.array([len(part) for part in parts])[order]


def by_hand(algorithm: PairwiseBAI, rewards: Matrix) -> Game:
    game = algorithm.start(rewards.shape[1])
    for row in rewards:
        if game.finished:
            break
        game.tell(row[game.ask()])
    return game


def course(eliminations: Any, label: Callable[[Any], Any] = lambda arm: arm) -> list[tuple[Any, ...]]:
    return [(label(out.arm), out.round, label(out.by), pytest.approx(out.margin, rel=1e-9)) for out in eliminations]


# --- against a slow reference ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 5.0)])
@pytest.mark.parametrize("seed", [0, 7])
def test_a_group_counts_by_its_size(seed: int, low: float, high: float, lower_is_better: bool) -> None:
    """Bets on ``low + w (m - low)``, w the size over the largest size: its mean is that of all items times a number."""
    scores, groups = made(seed, low, high)
    options: dict[str, Any] = {"bounds": (low, high), "seed": seed, "lower_is_better": lower_is_better}
    result = run(scores, groups, target="items", **options)
    means, sizes = drawn(scores, groups, seed)
    rewards = low + (sizes / sizes.max())[:, None] * ((low + high - means if lower_is_better else means) - low)
    game = by_hand(PairwiseBAI(comparison=LeaderBetting((low, high), pool=N_GROUPS)), rewards)
    assert result.settings.group_sizes == tuple(sizes)
    assert course(result.eliminations) == course(game.eliminations, ARMS.__getitem__)
    assert (result.reason, result.n_rounds) == ("decided", game.n_rounds)
    assert result.best == ARMS[game.best] == ARMS[(np.argmin if lower_is_better else np.argmax)(scores.mean(axis=0))]
    np.testing.assert_allclose(
        result.scores, np.where(np.isnan(result.scores), np.nan, means[: result.n_rounds]), rtol=1e-12
    )
    unit = sizes.max() * N_GROUPS / len(scores)
    for a, b in (("a", "b"), ("d", "a")):
        known = game.lead(ARMS.index(a), ARMS.index(b), simultaneous=True)
        assert known is not None
        assert result.lead(a, b)[1:] == pytest.approx((known.low * unit, known.high * unit), rel=1e-9)


@pytest.mark.parametrize("lower_is_better", [False, True])
@pytest.mark.parametrize("rounds_in_flight", [1, 4])
def test_means_and_numbers_are_those_of_the_items(rounds_in_flight: int, lower_is_better: bool) -> None:
    scores, groups = made(1)
    options: dict[str, Any] = {"rounds_in_flight": rounds_in_flight, "lower_is_better": lower_is_better}
    result = run(scores, groups, target="items", **options)
    rounds = [[k for k, label in enumerate(groups) if label == name] for name in result.items]
    n_asked = 0
    for k, arm in enumerate(ARMS):
        asked = [
            item
            for part, score in zip(rounds, result.scores[:, k], strict=True)
            if not math.isnan(score)
            for item in part
        ]
        assert result[arm].n_items == len(asked)
        assert result[arm].mean == pytest.approx(scores[asked, k].mean(), rel=1e-12)
        assert result.means[k] == result[arm].mean
        leads = scores[asked, k] - scores[asked, ARMS.index(str(result.leader))]
        assert result[arm].behind == pytest.approx(leads.mean() * (1 if lower_is_better else -1), rel=1e-9, abs=1e-15)
        n_asked += len(asked)
    assert result.n_evaluations == n_asked or rounds_in_flight > 1
    assert result.n_evaluations >= n_asked
    assert result.saved == pytest.approx(1 - result.n_evaluations / scores.size, rel=1e-12)
    assert (result.settings.n_items, result.guarantee.pool) == (len(scores), N_GROUPS)


def test_groups_of_equal_sizes_are_items_of_their_means() -> None:
    scores, _ = made(2)
    scores = scores[:300]
    means = scores.reshape(100, 3, 4).mean(axis=1)
    result = run(scores, [k // 3 for k in range(300)])
    items = run(means, None)
    assert course(result.eliminations) == course(items.eliminations)
    assert result.n_evaluations == 3 * items.n_evaluations
    assert result.saved == pytest.approx(items.saved)
    assert result.regret_bound == items.regret_bound == 0.0


@pytest.mark.parametrize("options", [{"epsilon": 0.12}, {"epsilon": 0.12, "comparison": Betting(), "bounds": None}])
def test_epsilon_is_in_units_of_items(options: dict[str, Any], tmp_path: Path) -> None:
    scores, groups = made(3)
    result = run(scores, groups, target="items", **options)
    _, sizes = drawn(scores, groups, 0)
    share = len(scores) / (sizes.max() * N_GROUPS)
    assert result.guarantee.epsilon == pytest.approx(0.12 * share, rel=1e-12)
    assert result.reason == "within epsilon"
    assert result.verdict.startswith(f"BEST OR WITHIN 0.12 OF IT: {result.best} ")
    for told in (result.explain(), page_of(result, tmp_path)):
        assert "at most 0.12 from the best" in told
    best = scores.mean(axis=0)
    assert best.max() - best[ARMS.index(str(result.best))] <= 0.12
    assert 0 < result.regret_bound <= 0.12 * (1 + 1e-9)


def test_the_zone_is_in_units_of_items() -> None:
    scores, groups = made(3)
    result = run(scores, groups, indifference_zone=0.05, target="items")
    assert f" {SURE}, if the best leads by at least 0.05.\n" in result.explain()
    assert "the best leads by at least 0.05" in str(result)
    _, sizes = drawn(scores, groups, 0)
    assert result.guarantee.indifference_zone == pytest.approx(0.05 * len(scores) / (sizes.max() * N_GROUPS))


def test_the_pool_of_a_comparison_counts_groups() -> None:
    scores, groups = made(3)
    words = f"for a pool of {len(scores)} items, but there are {N_GROUPS} groups, each of which counts as one"
    with pytest.raises(ValueError, match=words):
        run(scores, groups, comparison=Betting(pool=len(scores)))


def test_a_test_that_knows_no_pool_takes_epsilon_as_it_is() -> None:
    scores, groups = made(3)
    result = run(scores, groups, comparison=EmpiricalBernstein(), epsilon=0.12)
    assert (result.guarantee.epsilon, result.target, result.unit) == (0.12, "population", 1.0)


def test_the_regret_bound_is_in_units_of_items() -> None:
    scores, groups = made(4)
    result = run(scores, groups, max_evaluations=250, target="items")
    means, sizes = drawn(scores, groups, 0)
    game = by_hand(
        PairwiseBAI(comparison=LeaderBetting(pool=N_GROUPS)), (sizes[:, None] / sizes.max() * means)[: result.n_rounds]
    )
    assert (result.reason, game.finished) == ("budget", False)
    unit = sizes.max() * N_GROUPS / len(scores)
    assert game.regret_bound is not None
    assert result.regret_bound == pytest.approx(game.regret_bound * unit, rel=1e-9)
    overall = scores.mean(axis=0)
    assert overall.max() - overall[ARMS.index(str(result.leader))] <= result.regret_bound < 1


@pytest.mark.parametrize("budget", [50, 333, 700])
def test_the_budget_is_one_of_items(budget: int) -> None:
    scores, groups = made(5)
    calls: list[int] = []

    def evaluate(arm: str, item: int) -> float:
        calls.append(item)
        return float(scores[item, ARMS.index(arm)])

    options: dict[str, Any] = {"bounds": (0, 1), "delta": 1e-9, "max_evaluations": budget, "progress": False}
    result = bestarm.race(evaluate, arms=ARMS, items=range(len(scores)), groups=groups, **options)
    _, sizes = drawn(scores, groups, 0)
    rounds = int(np.searchsorted(np.cumsum(4 * sizes), budget, side="right"))
    assert (result.reason, result.n_rounds) == ("budget", rounds)
    assert result.n_evaluations == len(calls) == 4 * sizes[:rounds].sum() <= budget
    table = race_table(scores, arms=ARMS, groups=groups, bounds=(0, 1), delta=1e-9, max_evaluations=budget)
    assert (table.reason, table.n_rounds, table.n_evaluations) == ("budget", rounds, result.n_evaluations)


# --- every way to run a race -----------------------------------------------------------------------------------------


def same(result: RaceResult[Any], expected: RaceResult[Any]) -> None:
    assert result.eliminations == expected.eliminations
    for part in ("best", "reason", "n_evaluations", "n_rounds", "regret_bound", "for_population", "verdict"):
        assert getattr(result, part) == getattr(expected, part), part
    np.testing.assert_allclose(result.means, expected.means, rtol=1e-12)
    np.testing.assert_allclose(result.scores, expected.scores, rtol=1e-12)


def test_jointly_awaited_by_a_function_and_told_it_is_the_same_race() -> None:
    scores, groups = made(6)
    expected = run(scores, groups)
    given: list[tuple[Any, int]] = []

    def jointly(arms: tuple[str, ...], item: int) -> dict[str, float]:
        given.append((arms, item))
        return {arm: float(scores[item, ARMS.index(arm)]) for arm in arms}

    async def awaited(arm: str, item: int) -> float:
        await asyncio.sleep(0)
        return float(scores[item, ARMS.index(arm)])

    async def both(arms: tuple[str, ...], item: int) -> list[float]:
        return list(jointly(arms, item).values())

    options: dict[str, Any] = {"items": range(len(scores)), "groups": groups, "bounds": (0, 1), "progress": False}
    same(bestarm.race(jointly, arms=ARMS, jointly=True, **options), expected)
    assert sum(len(arms) for arms, _ in given) == expected.n_evaluations
    same(bestarm.race(awaited, arms=ARMS, rounds_in_flight=1, **options), expected)
    same(bestarm.race(both, arms=ARMS, jointly=True, rounds_in_flight=1, **options), expected)
    same(run(scores, lambda item: groups[item]), expected)
    same(run(scores, iter(groups)), expected)
    same(race_table(scores, arms=ARMS, groups=groups, bounds=(0, 1), live=True), expected)


def test_own_loops_are_given_whole_groups_and_tell_their_means() -> None:
    scores, groups = made(6)
    race = Race(ARMS, items=range(len(scores)), groups=groups, bounds=(0, 1))
    seen: list[str] = []
    while not race.finished:
        for todo in race.ask():
            seen.append(groups[todo.item[0]])
            assert todo.item == tuple(k for k, label in enumerate(groups) if label == seen[-1])
            race.tell(todo, {arm: scores[list(todo.item), ARMS.index(arm)].mean() for arm in todo.arms})
    same(race.result(), run(scores, groups))
    assert list(race.result().items) == seen


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "Arrow": pa.table,
    "mapping": lambda columns: columns,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_column_of_a_table_holds_the_groups(kind: str) -> None:
    scores, groups = made(7)
    columns = dict(zip(ARMS, scores.T.tolist(), strict=True))
    expected = race_table(scores, arms=ARMS, groups=groups, seed=3)
    assert expected.settings.group_sizes is not None
    mixed = {"a": columns["a"], "doc": groups} | columns
    same(race_table(FRAMES[kind](mixed), groups="doc", seed=3), expected)
    same(race_table(FRAMES[kind](columns), groups=groups, seed=3), expected)
    numbered = [int(label.removeprefix("doc ")) for label in groups]
    same(race_table(FRAMES[kind](columns | {"doc": numbered}), groups="doc", seed=3), expected)


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_of_a_file_holds_the_groups(cli: Cli, tmp_path: Path, ending: str, long: bool) -> None:
    scores, groups = made(8)
    frame = pd.DataFrame({"item": [f"q{k}" for k in range(len(scores))], "doc": groups})
    frame = frame.join(pd.DataFrame(scores, columns=pd.Index(ARMS)))
    columns = {"item_column": "item", "group_column": "doc"}
    if long:
        frame = frame.melt(["item", "doc"], ARMS, "arm", "score")
        columns |= {"arm_column": "arm", "score_column": "score"}
    path = tmp_path / f"scores.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "jsonl":
        path.write_text("\n".join(map(json.dumps, frame.to_dict("records"))), encoding="utf-8")
    else:
        frame.to_parquet(path)
    table = read_table(path, **columns)
    assert (table.arms, table.groups) == (tuple(ARMS), tuple(groups))
    expected = race_table(scores, arms=ARMS, groups=groups)
    same(race_table(table), expected)
    words = [word for name, value in columns.items() for word in (f"--{name.replace('_', '-')}", value)]
    ended = cli("table", path, *words, "--json")
    plain = json.loads(ended.stdout)
    assert (ended.exit_code, plain["best"], plain["n_evaluations"]) == (0, expected.best, expected.n_evaluations)
    assert tuple(plain["settings"]["group_sizes"]) == expected.settings.group_sizes
    shown = " ".join(cli("table", path, *words).stdout.split())
    assert "Holds if new items score in [" in shown
    assert "and these groups are a random sample." in shown


def test_missing_cells_of_groups() -> None:
    scores, groups = made(9)
    scores[3, 1] = scores[10, 2] = np.nan
    whole = [k for k in range(len(scores)) if k not in (3, 10)]
    dropped = race_table(scores, arms=ARMS, groups=groups, missing="drop", bounds=(0, 1))
    same(dropped, race_table(scores[whole], arms=ARMS, groups=[groups[k] for k in whole], bounds=(0, 1)))
    worst = race_table(scores, arms=ARMS, groups=groups, missing="worst", bounds=(0, 1))
    filled = race_table(np.nan_to_num(scores), arms=ARMS, groups=groups, bounds=(0, 1))
    assert worst.eliminations == filled.eliminations


def test_a_stored_race_goes_on_and_is_loaded(tmp_path: Path) -> None:
    scores, groups = made(10)
    whole, store = run(scores, groups), tmp_path / "race.sqlite"
    first = run(scores, groups, store=store, max_evaluations=200)
    assert (first.reason, 180 < first.n_evaluations <= 200) == ("budget", True)
    same(bestarm.load_result(store), first)
    same(run(scores, groups, store=store), whole)
    loaded = bestarm.load_result(store)
    same(loaded, whole)
    assert loaded.settings == whole.settings
    assert loaded.to_json() == whole.to_json()
    swapped = [*groups[1:], groups[0]]
    with pytest.raises(StoreError, match="the items or their groups are not the same"):
        run(scores, swapped, store=store)
    with pytest.raises(StoreError, match="holds another race"):
        run(scores, None, store=store)


# --- what is said ----------------------------------------------------------------------------------------------------


def page_of(result: RaceResult[Any], folder: Path) -> str:
    """The page of a result as one line."""
    result.to_html(folder / "race.html")
    return " ".join((folder / "race.html").read_text(encoding="utf-8").split())


def test_the_verdict_speaks_of_groups(tmp_path: Path) -> None:
    scores, groups = made(11)
    result = run(scores, groups, target="items")
    assert result.verdict.startswith(f"BEST: {result.best}   (95% confidence, these {len(scores)} items)\n")
    assert "Holds if scores lie in [0, 1] and groups come in random order." in str(result)
    said = " ".join(result.explain().split())
    assert f"{result.best} is the best on these {len(scores)} items as scored here {SURE}." in said
    assert f"On groups of items like these it is the best too, {SURE}." in said
    assert (
        "This assumes that all scores lie in [0, 1] and the groups of items come in random order; for groups of items "
        "like these, also that these are a random sample of them."
    ) in said
    for_law = run(scores, groups)
    assert for_law.verdict.startswith(f"BEST: {for_law.best}   (95% confidence, groups of items like these)\n")
    assert "Holds if scores lie in [0, 1] and these groups are a random sample." in str(for_law)
    assert f"{for_law.best} is the best on groups of items like these {SURE}." in for_law.explain()
    mean = "best mean over all groups of items that the groups of items of this race are a random sample of."
    assert mean in page_of(for_law, tmp_path)
    assert "<dt>groups</dt><dd>120, a whole one in each round</dd>" in page_of(result, tmp_path)


@pytest.mark.parametrize("options", [{"target": "population"}, {"comparison": StudentMixture(), "bounds": None}])
def test_for_the_population_all_groups_count_the_same(options: dict[str, Any]) -> None:
    scores, groups = made(12)
    result = run(scores, groups, **options)
    means, _ = drawn(scores, groups, 0)
    comparison = StudentMixture(min_rounds=10) if "comparison" in options else LeaderBetting()
    game = by_hand(PairwiseBAI(comparison=comparison), means)
    assert course(result.eliminations) == course(game.eliminations, ARMS.__getitem__)
    assert (result.target, result.unit, result.guarantee.pool) == ("population", 1.0, None)
    for k, arm in enumerate(ARMS):
        used = means[: next((out.round for out in result.eliminations if out.arm == arm), result.n_rounds), k]
        assert result[arm].mean == pytest.approx(used.mean(), rel=1e-12)


@pytest.mark.long
def test_items_of_one_group_are_no_sample_of_their_own() -> None:
    """Groups drawn from a law with two equal arms; the negative control takes the items as independent."""
    games, delta, lost = 300, 0.2, {"groups": 0, "items": 0}
    for seed in range(games):
        rng = np.random.default_rng(seed)
        coins = (rng.random((40, 2)) < 0.5).astype(float)
        scores, groups = np.repeat(coins, 15, axis=0), np.repeat(np.arange(40), 15).tolist()
        for kind in lost:
            given = groups if kind == "groups" else None
            options: dict[str, Any] = {"bounds": (0, 1), "delta": delta, "target": "population", "seed": seed}
            lost[kind] += "0" not in race_table(scores, groups=given, **options).candidates
    assert not contradicts(lost["groups"], games, delta, cells=1)
    assert contradicts(lost["items"], games, delta, cells=1)


# --- bad input -------------------------------------------------------------------------------------------------------

LIST = "groups are those of a list of items that is used without replacement, got "
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "too many": ({"groups": [0, 0, 1, 1, 2]}, "groups must hold one label for each of the 4 items, got 5"),
    "NaN": ({"groups": [0, 0, 1, math.nan]}, "groups must be names or numbers, one for each item, got nan"),
    "empty": ({"groups": ["a", "b", "", "b"]}, "groups must be names or numbers, one for each item, got ''"),
    "lists": ({"groups": [[0], [0], [1], [1]]}, r"groups must be names or numbers, one for each item, got \[0\]"),
    "function": ({"groups": lambda item: None}, "groups must be names or numbers, one for each item, got None"),
    "replace": ({"groups": [0, 0, 1, 1], "replace": True}, f"{LIST}draws with replacement"),
    "stream": ({"groups": [0, 0, 1, 1], "items": iter(range(4))}, f"{LIST}<range_iterator"),
    "seeds": ({"groups": [0, 0, 1, 1], "items": None}, f"{LIST}None"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_groups_are_refused_before_anything_runs(case: str) -> None:
    options, message = BAD[case]
    usual: dict[str, Any] = {"items": range(4), "bounds": (0, 1)}
    with pytest.raises(ValueError, match=message):
        Race(["a", "b"], **usual | options)
    with pytest.raises(ValueError, match=message):
        bestarm.race(lambda arm, item: pytest.fail("was evaluated"), arms=["a", "b"], **usual | options)


TABLE = {"a": [0, 1, 0, 1], "b": [1, 1, 0, 1]}
BAD_TABLES: dict[str, tuple[Any, Any, str]] = {
    "too few": (TABLE, ["x", "x", "y"], "groups must hold one label for each of the 4 items, got 3"),
    "no column": (TABLE, "g", r"groups must name a column of the table, got 'g' \(its columns: a, b\)"),
    "no names": (np.eye(4), "g", r"groups must name a column of the table, got 'g' \(its columns: without names\)"),
    "one group": (TABLE | {"g": ["x"] * 4}, "g", "groups must name at least two groups, got 1"),
    "missing": (TABLE | {"g": ["x", "x", None, "y"]}, "g", "groups must be names or numbers, one for each item"),
    "missing, pandas": (pd.DataFrame(TABLE | {"g": [1, 1, None, 2]}), "g", "one for each item, got nan"),
    "missing, polars": (pl.DataFrame(TABLE | {"g": [1, 1, None, 2]}), "g", "one for each item, got None"),
    "one arm": ({"a": [0, 1], "g": ["x", "y"]}, "g", "there must be at least two arms to compare, got 1"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_groups_of_tables_are_refused(case: str) -> None:
    frame, groups, message = BAD_TABLES[case]
    with pytest.raises(ValueError, match=message):
        race_table(frame, groups=groups)


def test_bad_groups_of_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("item,doc,a,b\n1,x,0,1\n2,,1,1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"scores\.csv has no column 'author': its columns are item, doc, a, b"):
        read_table(path, group_column="author")
    with pytest.raises(ValueError, match="groups must be names or numbers, one for each item, got ''"):
        read_table(path, group_column="doc")
    path.write_text("item,doc,m,s\n1,x,a,0\n1,y,b,1\n2,y,a,1\n2,y,b,0\n", encoding="utf-8")
    with pytest.raises(ValueError, match="row 2 puts item '1' into group 'y', but it was in 'x'"):
        read_table(path, item_column="item", arm_column="m", score_column="s", group_column="doc")


@pytest.mark.parametrize("jointly", [False, True])
@pytest.mark.parametrize("on_error", ["raise", "worst", "disqualify"])
def test_a_score_out_of_bounds_inside_a_group_is_an_error(on_error: Any, jointly: bool) -> None:
    """Also where the mean over the group lies within the bounds."""

    def evaluate(arm: Any, item: int) -> Any:
        value = 1.5 if item == 2 else 0.25
        return [value for _ in arm] if jointly else value

    options: dict[str, Any] = {"bounds": (0, 1), "on_error": on_error, "jointly": jointly, "progress": False}
    with pytest.raises(
        OutOfBoundsError, match=r"evaluate\('a', 2\) returned 1\.5, which is outside of bounds=\(0, 1\)"
    ):
        bestarm.race(evaluate, arms=["a", "b"], items=range(4), groups=[0, 0, 1, 1], **options)


def test_a_failure_inside_a_group_is_one_of_the_group() -> None:
    def evaluate(arm: str, item: int) -> float:
        if (arm, item) == ("a", 2):
            raise OSError("disk full")
        return math.nan if (arm, item) == ("b", 3) else 0.5

    options: dict[str, Any] = {"arms": ["a", "b"], "items": range(6), "groups": list("xxyyzz"), "progress": False}
    with pytest.raises(EvaluationError, match=r"evaluate\('a', 2\) failed: OSError: disk full"):
        bestarm.race(evaluate, bounds=(0, 1), **options)
    result = bestarm.race(evaluate, bounds=(0, 1), on_error="worst", **options)
    assert {one.arm: one.worst for one in result.failures} == {"a": 1, "b": 1}
    assert result.means.tolist() == pytest.approx([1 / 3, 1 / 3])


def test_a_mapping_says_the_group_of_each_item() -> None:
    groups = {k: k // 3 for k in range(30)}

    def evaluate(arm: int, item: int) -> float:
        return (31 * item + 7 * arm) % 10 / 10

    options: dict[str, Any] = {"arms": range(3), "items": range(30), "bounds": (0, 1), "progress": False}
    by_mapping = bestarm.race(evaluate, groups=groups, **options)
    assert by_mapping.settings == bestarm.race(evaluate, groups=lambda item: item // 3, **options).settings
    rows = np.random.default_rng(0).random((30, 2))
    named = {str(k + 1): k // 3 for k in range(30)}  # the rows of a table are numbered from 1
    table = bestarm.race_table(rows, groups=named, bounds=(0, 1))
    assert table.settings.group_sizes == (3,) * 10


def test_means_of_groups_stay_within_the_range_of_their_scores() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (90, 2)) * 0.1
    rows[::3] = rows[1::3] = rows[2::3]  # the mean of three times 0.1 is larger, by rounding
    result = bestarm.race_table(rows, arms=["a", "b"], groups=[k // 3 for k in range(90)])
    assert result.scores.max() == 0.1


def test_a_grouped_leaderboard_ranks_by_the_means_that_it_shows() -> None:
    groups = [0] * 60 + list(range(1, 41))
    rows = np.random.default_rng(1).random((100, 2)) * 0.1
    rows[:60, 0] += 0.8  # the first is better in the one large group, the second in most groups
    rows[60:, 1] += 0.8
    result = bestarm.race_table(rows, arms=["large", "many"], groups=groups)
    assert result.means[1] > result.means[0]
    assert [record.arm for record in result.records] == ["many", "large"]
    assert result["large"].behind == pytest.approx(result.means[1] - result.means[0])
