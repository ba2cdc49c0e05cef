"""The race as it is meant to run: who is asked when, whatever the order of arrival, the items, the arms."""

import asyncio
import itertools
import multiprocessing
import operator
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

from bestarm import Race, RaceResult, load_result
from bestarm.algorithms import LUCB, Algorithm, ConvexBAI, Game, PairwiseBAI
from bestarm.comparisons import ConvexBernstein, LeaderBetting, StudentMixture
from naive import Matrix
from row_races import (
    ALGORITHMS,
    N_ARMS,
    Bounds,
    Evaluate,
    bounded_rows,
    gaussian_rows,
    play,
    reads,
    run,
    score,
    told,
)

# --- a slow reference ------------------------------------------------------------------------------------------------


def verdict(result: RaceResult[Any]) -> dict[str, Any]:
    return {
        "queries": result.n_evaluations,
        "rounds": result.n_rounds,
        "eliminations": [(out.arm, out.round, out.by, out.margin) for out in result.eliminations],
        "candidates": tuple(sorted(result.candidates)),
        "reason": result.reason,
        "best": result.leader,
    }


def game_after(algorithm: Algorithm, rows: Matrix, n_rounds: int) -> Game:
    game = algorithm.start(rows.shape[1])
    for row in rows[:n_rounds]:
        if game.finished:
            break
        game.tell(row[game.ask()])
    return game


def reference(
    algorithm: Algorithm, rows: Matrix, rounds_in_flight: int = 1, max_evaluations: int | None = None
) -> tuple[list[tuple[int, ...]], dict[str, Any]]:
    """Round r is decided by a game that was told the rounds up to r - rounds_in_flight and nothing else."""
    asked: list[tuple[int, ...]] = []
    end = "ran out of items"
    while not (known := game_after(algorithm, rows, max(0, len(asked) + 1 - rounds_in_flight))).finished:
        arms = tuple(known.ask().tolist())
        if max_evaluations is not None and sum(map(len, asked)) + len(arms) > max_evaluations:
            end = "budget"
            break
        if len(asked) == len(rows):
            break
        asked.append(arms)
    game = game_after(algorithm, rows, len(asked))
    return asked, {
        "queries": sum(map(len, asked)),
        "rounds": game.n_rounds,
        "eliminations": [(out.arm, out.round, out.by, out.margin) for out in game.eliminations],
        "candidates": game.candidates,
        "reason": game.reason or end,
        "best": game.best,
    }


BY_LUCB = LUCB(0.2, variances=0.05)


CASES = [(*case, rounds_in_flight) for case in ALGORITHMS for rounds_in_flight in (1, 3, 13)]


@pytest.mark.parametrize(("algorithm", "make_rows", "rounds_in_flight"), [*CASES, (BY_LUCB, gaussian_rows, 1)])
def test_round_r_is_decided_from_the_rounds_up_to_r_minus_in_flight(
    algorithm: Algorithm, make_rows: Callable[..., Matrix], rounds_in_flight: int
) -> None:
    rows = make_rows(rounds_in_flight, 120)
    asked, expected = reference(algorithm, rows, rounds_in_flight)
    race = Race(range(N_ARMS), items=iter(range(120)), algorithm=algorithm, rounds_in_flight=rounds_in_flight)
    rounds = play(race, reads(rows))
    assert [todo.number for todo in rounds] == list(range(1, len(rounds) + 1))
    assert [todo.arms for todo in rounds] == asked[: len(rounds)]
    assert len(rounds) >= expected["rounds"]
    assert verdict(race.result()) == expected
    assert (
        verdict(run(reads(rows), items=iter(range(120)), algorithm=algorithm, rounds_in_flight=rounds_in_flight))
        == expected
    )


@pytest.mark.parametrize("rounds_in_flight", [1, 4])
@pytest.mark.parametrize(("bounds", "target"), [(None, None), ((0.0, 1.0), None), ((0.0, 1.0), "items")])
def test_a_pool_is_raced_with_the_usual_comparison_in_the_order_of_its_items(
    bounds: Bounds, target: Any, rounds_in_flight: int
) -> None:
    rows = gaussian_rows(3) if bounds is None else bounded_rows(3)
    race = Race(
        range(N_ARMS),
        items=range(400),
        bounds=bounds,
        target=target,
        rounds_in_flight=rounds_in_flight,
        seed=7,
        delta=0.01,
        epsilon=0.02,
    )
    order = [todo.item for todo in play(race, reads(rows))]
    rest = [item for item in range(400) if item not in order]  # never asked
    pool = 400 if target == "items" else None
    comparison = StudentMixture(min_rounds=10) if bounds is None else LeaderBetting(bounds=bounds, pool=pool)
    _, expected = reference(
        PairwiseBAI(0.01, comparison=comparison, epsilon=0.02), rows[order + rest], rounds_in_flight
    )
    assert expected["reason"] in ("decided", "within epsilon")
    assert verdict(race.result()) == expected
    assert race.result().saved == 1 - expected["queries"] / (400 * N_ARMS)


@pytest.mark.parametrize("max_evaluations", [5, 9, 10, 83, 248, 251, 275])
@pytest.mark.parametrize("rounds_in_flight", [1, 3, 8])
def test_the_race_ends_before_it_would_ask_for_more_than_the_budget(
    max_evaluations: int, rounds_in_flight: int
) -> None:
    rows = bounded_rows(2)
    _, expected = reference(PairwiseBAI(comparison=LeaderBetting()), rows, rounds_in_flight, max_evaluations)
    result = run(
        reads(rows),
        items=iter(range(400)),
        bounds=(0, 1),
        max_evaluations=max_evaluations,
        rounds_in_flight=rounds_in_flight,
    )
    assert expected["reason"] == "budget"
    assert result.n_evaluations <= max_evaluations
    assert verdict(result) == expected


@pytest.mark.parametrize("rounds_in_flight", [1, 2, 6])
def test_all_rounds_in_flight_are_spent_when_the_race_ends_and_no_item_is_drawn_beyond_them(
    rounds_in_flight: int,
) -> None:
    drawn: list[int] = []
    items = (drawn.append(k) or k for k in itertools.count())  # type: ignore[func-returns-value]
    result = run(reads(bounded_rows(0, K=2)), range(2), items, bounds=(0, 1), rounds_in_flight=rounds_in_flight)
    assert drawn == list(range(result.n_rounds - 1 + rounds_in_flight))
    assert (result.reason, result.n_evaluations) == ("decided", 2 * len(drawn))
    assert result.counts.tolist() == [result.n_rounds, result.n_rounds]
    assert result.scores.shape == (result.n_rounds, 2)


@pytest.mark.parametrize("rounds_in_flight", [1, 8])
@pytest.mark.parametrize(
    "options", [{}, {"algorithm": LUCB(0.2, variances=0.01)}, {"groups": [k // 3 for k in range(400)]}]
)
def test_means_numbers_and_differences_are_of_the_same_evaluations(
    options: dict[str, Any], rounds_in_flight: int, tmp_path: Any
) -> None:
    """Of all up to the last round, also of those in flight when an arm left."""
    rows = bounded_rows(2)
    call: dict[str, Any] = {"items": range(400), "store": tmp_path / "race.sqlite"} | options
    call |= {} if "algorithm" in options else {"bounds": (0, 1), "rounds_in_flight": rounds_in_flight}
    result = run(reads(rows), **call)
    there = ~np.isnan(result.scores)
    assert result.counts.tolist() == there.sum(axis=0).tolist()
    assert result.means == pytest.approx(np.nanmean(result.scores, axis=0), rel=1e-12)
    late = [out.arm for out in result.eliminations if result.counts[out.arm] > out.round]
    assert (late != []) == (call.get("rounds_in_flight") == 8)
    sizes = np.array(result.settings.group_sizes or [1] * result.n_rounds)[: result.n_rounds]
    best = int(result.leader or 0)
    for record in result.records:
        shared = there[:, record.arm]
        assert record.n_items == sizes[shared].sum()
        assert record.mean == result.means[record.arm]
        if record.arm != best and not options:
            assert record.behind == pytest.approx(result.scores[shared, best].mean() - record.mean, abs=1e-12)
    loaded = load_result(tmp_path / "race.sqlite")
    assert (loaded.means.tolist(), loaded.counts.tolist()) == (result.means.tolist(), result.counts.tolist())


# --- whatever the order of arrival -----------------------------------------------------------------------------------


@pytest.mark.parametrize("best_is_slow", [True, False])
def test_evaluations_whose_time_goes_with_their_score_give_the_same_race(best_is_slow: bool) -> None:
    rows = bounded_rows(1)
    finished: list[tuple[int, int]] = []

    def evaluate(arm: int, item: int) -> float:
        score = float(rows[item, arm])
        time.sleep(0.004 * (score if best_is_slow else 1 - score))
        finished.append((item, arm))
        return score

    with ThreadPoolExecutor(8) as pool:
        threaded = run(evaluate, items=iter(range(400)), bounds=(0, 1), executor=pool)
    assert (finished != sorted(finished), threaded.settings.rounds_in_flight) == (True, 4)
    assert told(threaded) == told(run(reads(rows), items=iter(range(400)), bounds=(0, 1), rounds_in_flight=4))


def test_processes_give_the_same_race_as_one() -> None:
    race = partial(run, operator.mul, [0.1, 1.0, 0.5], bounded_rows(0).mean(axis=1), bounds=(0, 1), rounds_in_flight=6)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        result = race(executor=pool)
    assert (result.best, result.reason) == (1.0, "decided")
    assert told(result) == told(race())


async def score_later(arm: int, item: int) -> float:
    await asyncio.sleep(0.001 * ((item + arm) % 3))
    return score(arm, item)


class Scorer:
    async def __call__(self, arm: int, item: int) -> float:
        return await score_later(arm, item)


@pytest.mark.parametrize("evaluate", [score_later, partial(score_later), Scorer()], ids=["def", "partial", "call"])
@pytest.mark.parametrize("rounds_in_flight", [None, 1, 7])
def test_coroutines_give_the_same_race(evaluate: Evaluate, rounds_in_flight: int | None) -> None:
    result = run(evaluate, items=range(200), bounds=(0, 1), rounds_in_flight=rounds_in_flight)
    assert told(result) == told(run(score, items=range(200), bounds=(0, 1), rounds_in_flight=rounds_in_flight or 4))


def test_all_coroutines_in_flight_run_at_once() -> None:
    started: list[int] = []
    events: list[asyncio.Event] = []

    async def evaluate(arm: int, item: int) -> float:
        events.extend([] if events else [asyncio.Event()])
        started.append(arm)
        if len(started) == 3 * N_ARMS:
            events[0].set()
        await asyncio.wait_for(events[0].wait(), 30)
        return score(arm, item)

    assert run(evaluate, items=range(200), bounds=(0, 1), rounds_in_flight=3).best == 4


def test_coroutines_are_raced_within_a_running_loop_and_beside_it() -> None:
    async def main() -> list[RaceResult[Any]]:
        beside = asyncio.create_task(asyncio.to_thread(run, score_later, items=range(200), bounds=(0, 1)))
        await asyncio.sleep(0)
        return [run(score_later, items=range(200), bounds=(0, 1)), await beside]

    within, beside = asyncio.run(main())
    assert told(within) == told(beside) == told(run(score, items=range(200), bounds=(0, 1), rounds_in_flight=4))


# --- items -----------------------------------------------------------------------------------------------------------


def items_of(seed: int, items: Any, n: int) -> list[Any]:
    return [todo.item for todo in Race(["a", "b"], items=items, seed=seed, rounds_in_flight=n).ask()]


def test_every_item_of_a_pool_is_used_at_most_once_in_an_order_that_depends_on_the_seed() -> None:
    pool = [f"item {k}" for k in range(50)]
    orders = [tuple(items_of(seed, pool, 60)) for seed in (0, 0, 1, 2)]
    assert orders[0] == orders[1]
    assert len(set(orders)) == 3
    assert all(sorted(order) == sorted(pool) for order in orders)


def test_seeds_differ_are_reproducible_and_fit_every_generator() -> None:
    seeds = items_of(0, None, 10_000)
    assert len(set(seeds)) == 10_000
    assert all(type(seed) is int and 0 <= seed < 2**32 for seed in seeds)
    assert items_of(0, None, 10_000) == seeds
    assert set(seeds).isdisjoint(items_of(1, None, 10))
    calls: list[tuple[int, int]] = []

    def evaluate(arm: int, seed: int) -> float:
        calls.append((seed, arm))
        return (seed % 1000) / 4000 + arm / 8

    run(evaluate, bounds=(0, 1), max_evaluations=20)
    assert calls == [(seed, arm) for seed in seeds[:4] for arm in range(N_ARMS)]


@pytest.mark.parametrize("rounds_in_flight", [1, 3, 20])
def test_when_the_pool_is_exhausted_the_best_mean_over_it_is_known(rounds_in_flight: int) -> None:
    rows = bounded_rows(0, 8)
    means = rows.mean(axis=0)
    options: dict[str, Any] = {"items": range(8), "bounds": (0, 1), "target": "items", "delta": 1e-9}
    result = run(reads(rows), rounds_in_flight=rounds_in_flight, **options)
    assert (result.reason, result.n_rounds, result.n_evaluations) == ("all items used", 8, 8 * N_ARMS)
    assert result.saved == 0.0
    assert result.means == pytest.approx(means, abs=1e-14)
    assert result.candidates == (result.best,) == (int(np.argmax(means)),)
    others = [arm for arm in range(N_ARMS) if arm != result.best]
    assert [(out.arm, out.round) for out in result.eliminations] == [(arm, 8) for arm in others]


@pytest.mark.parametrize("options", [{}, {"bounds": (0, 1)}], ids=["no bounds", "bounds"])
@pytest.mark.parametrize("items", [list, iter], ids=["list", "stream"])
@pytest.mark.parametrize("rounds_in_flight", [1, 3, 20])
def test_when_a_sample_is_exhausted_nothing_is_known_without_a_test(
    options: dict[str, Any], items: Callable[..., Any], rounds_in_flight: int
) -> None:
    rows = bounded_rows(0, 16)
    result = run(reads(rows), items=items(range(16)), rounds_in_flight=rounds_in_flight, delta=1e-9, **options)
    assert (result.reason, result.n_rounds, result.n_evaluations) == ("ran out of items", 16, 16 * N_ARMS)
    assert (result.answered, result.saved) == (False, None)
    assert result.scores.tolist() == rows[[int(item) for item in result.items]].tolist()
    assert result.means == pytest.approx(rows.mean(axis=0), abs=1e-14)
    assert (result.best, result.leader, result.eliminations) == (None, int(np.argmax(rows.mean(axis=0))), ())
    assert set(result.candidates) == set(range(N_ARMS))
    assert 0 < result.regret_bound < np.inf
    assert result.verdict.startswith(f"{N_ARMS} OF {N_ARMS} MAY BE THE BEST: {result.leader} leads ")
    assert ("After all 16 items" if items is list else "No items left") in result.verdict
    said = " ".join(result.explain().split())
    assert f'No answer: the items ran out. "{result.leader}"' in said
    assert ("the best on items like these is" in said) == (items is list)


def test_arms_that_tie_over_the_pool_stay_candidates() -> None:
    rows = np.array([[0.25, 0.5, 0.0], [0.75, 0.25, 0.0], [0.5, 0.75, 0.25], [0.0, 0.0, 0.5]])
    result = run(reads(rows), range(3), range(4), bounds=(0, 1), target="items")
    assert (result.reason, result.candidates, result.best) == ("all items used", (0, 1), 0)
    assert [(out.arm, out.round) for out in result.eliminations] == [(2, 4)]
    sample = run(reads(rows), range(3), range(4))
    assert (sample.reason, sample.candidates, sample.best) == ("ran out of items", (0, 1, 2), None)


# --- arms and scores -------------------------------------------------------------------------------------------------


def low(item: float) -> float:
    return item / 2


def high(item: float) -> float:
    return (1 + item) / 2


ARMS: list[tuple[Any, Evaluate, list[Any]]] = [
    (["low", "high"], lambda arm, u: {"low": low, "high": high}[arm](u), ["low", "high"]),
    ((0, 1), lambda arm, u: (arm + u) / 2, [0, 1]),
    ((k for k in (0.0, 1.0)), lambda arm, u: (arm + u) / 2, [0.0, 1.0]),
    ({"a": low, "b": high}, lambda arm, u: arm(u), ["a", "b"]),
    ({"a": [0.0], "b": [1.0]}, lambda arm, u: (arm[0] + u) / 2, ["a", "b"]),
    ([low, high], lambda arm, u: arm(u), [low, high]),
    ([{"lift": 0}, {"lift": 1}], lambda arm, u: (arm["lift"] + u) / 2, [{"lift": 0}, {"lift": 1}]),
]


@pytest.mark.parametrize(("arms", "evaluate", "labels"), ARMS)
def test_arms_may_be_names_numbers_functions_and_objects(arms: Any, evaluate: Evaluate, labels: list[Any]) -> None:
    result = run(evaluate, arms, np.random.default_rng(0).random(100).tolist(), bounds=(0, 1))
    assert (result.best, result.candidates, result.reason) == (labels[1], (labels[1],), "decided")
    assert [(out.arm, out.by) for out in result.eliminations] == [(labels[0], labels[1])]
    assert result.arms == tuple(labels)
    assert result.means[1] - result.means[0] == pytest.approx(0.5)


def test_arms_that_cannot_be_hashed_may_be_beaten_by_combinations() -> None:
    arms = [{"lift": 0.0}, {"lift": 0.9}]
    algorithm = ConvexBAI(comparison=ConvexBernstein())
    result = run(lambda arm, seed: arm["lift"] + seed / 2**36, arms, algorithm=algorithm)
    assert str(result).startswith("BEST: {'lift': 0.9} ")


def test_lower_is_better_is_the_race_of_the_opposite_scores() -> None:
    for bounds, mirror in ((None, 0.0), ((-1.0, 3.0), 2.0)):
        rows = 4 * bounded_rows(6) - 1
        options: dict[str, Any] = {"items": range(400), "bounds": bounds, "rounds_in_flight": 2}
        options |= {} if bounds is None else {"target": "items"}
        lower = told(run(reads(rows), lower_is_better=True, **options))
        opposite = told(run(reads(mirror - rows), **options))
        for part in ("leader", "best", "candidates", "reason", "n_evaluations", "n_rounds", "eliminations", "counts"):
            assert lower[part] == opposite[part]
        assert lower["leader"] == np.argmin(rows.mean(axis=0))
        assert lower["best"] == (None if bounds is None else lower["leader"])
        assert lower["means"] == pytest.approx(mirror - np.array(opposite["means"]), abs=1e-12)
        assert (np.array(lower["scores"])[0] == mirror - np.array(opposite["scores"])[0]).all()


RETURNED: list[Callable[[dict[str, float]], Any]] = [
    lambda scores: list(scores.values()),
    lambda scores: np.array(list(scores.values())),
    lambda scores: iter(scores.values()),
    lambda scores: scores,
    lambda scores: {int(name): value for name, value in reversed(scores.items())} | {99: 0.0},
]


@pytest.mark.parametrize("returned", RETURNED, ids=["list", "array", "iterator", "by name", "by arm"])
@pytest.mark.parametrize("rounds_in_flight", [1, 3])
def test_scores_of_all_arms_at_once_give_the_same_race(returned: Callable[..., Any], rounds_in_flight: int) -> None:
    given: list[tuple[int, ...]] = []

    def evaluate(arms: tuple[int, ...], item: int) -> Any:
        given.append(arms)
        return returned({str(arm): score(arm, item) for arm in arms})

    async def evaluate_later(arms: tuple[int, ...], item: int) -> Any:
        return evaluate(arms, item)

    options: dict[str, Any] = {"items": range(200), "bounds": (0, 1), "rounds_in_flight": rounds_in_flight}
    expected = told(run(score, **options))
    assert told(run(evaluate, jointly=True, **options)) == expected
    assert given[0] == tuple(range(N_ARMS))
    assert given == sorted(given, key=len, reverse=True)
    assert told(run(evaluate_later, jointly=True, **options)) == expected


@pytest.mark.parametrize("min_rounds", [None, 7, 25])
def test_without_bounds_nobody_is_dropped_before_the_first_look(min_rounds: int | None) -> None:
    rows = 100.0 * np.arange(N_ARMS) + gaussian_rows(0)
    options = {} if min_rounds is None else {"min_rounds": min_rounds}
    result = run(reads(rows), items=iter(range(400)), **options)
    assert [out.round for out in result.eliminations] == [min_rounds or 10] * 4
