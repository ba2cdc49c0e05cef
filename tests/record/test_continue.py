"""A race that was interrupted, killed or stopped by its budget goes on as if nothing had happened."""

import json
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from attacks.kills import killed
from bestarm import Race, StoreError, load_result, race
from bestarm.algorithms import LUCB, ConvexBAI, KimNelson, PairwiseBAI, Reason
from bestarm.comparisons import Betting, Portfolio
from killing import ARMS, outcome, quick, score, share, stored_scores
from race_files import RaceFile, tell_rounds

ALL = list(ARMS)


def cost(arm: str, item: int) -> float:
    return -score(arm, item)


def fails_at_times(arm: str, item: int) -> float:
    if arm == "best" and share(arm, item) > 0.97:
        raise RuntimeError("out of memory")
    return share(arm, item)


def all_at_once(arms: tuple[str, ...], item: int) -> list[float]:
    return [score(arm, item) for arm in arms]


def everything(result: bestarm.RaceResult[Any]) -> dict[str, Any]:
    intervals = result.intervals
    return outcome(result) | {
        "scores": result.scores.tolist(),
        "regret_bound": result.regret_bound,
        "intervals": None if intervals is None else (intervals.low.tolist(), intervals.high.tolist()),
        "weights": [out.weights for out in result.eliminations],
        "contradiction": result.contradiction,
        "saved": result.saved,
        "settings": result.settings.to_plain(),
        "text": str(result),
    }


def same(one: bestarm.RaceResult[Any], other: bestarm.RaceResult[Any]) -> None:
    assert json.dumps(everything(one)) == json.dumps(everything(other))  # as text: what is not a number equals itself


# Races of all kinds: the function, and how it is called.
KINDS: dict[str, tuple[Callable[..., Any], Callable[[], dict[str, Any]]]] = {
    "seeds": (score, lambda: {}),
    "pool": (share, lambda: {"items": range(60), "bounds": (0, 1)}),
    "exhausted pool": (score, lambda: {"items": range(14), "seed": 3}),
    "costs of a stream": (cost, lambda: {"items": count(5), "lower_is_better": True}),
    "exhausted stream": (score, lambda: {"items": iter(range(14))}),
    "bounded costs": (
        lambda a, i: 1 - share(a, i),
        lambda: {"items": range(40), "bounds": (-0.1, 1.1), "lower_is_better": True},
    ),
    "three in flight": (score, lambda: {"rounds_in_flight": 3}),
    "five in flight": (share, lambda: {"items": range(60), "bounds": (0, 1), "rounds_in_flight": 5}),
    "epsilon": (score, lambda: {"epsilon": 0.15}),
    "budget": (score, lambda: {"max_evaluations": 70, "rounds_in_flight": 2}),
    "jointly": (all_at_once, lambda: {"jointly": True, "max_evaluations": 120}),
    "disqualify": (fails_at_times, lambda: {"items": range(60), "bounds": (0, 1), "on_error": "disqualify"}),
    "disqualify in flight": (
        fails_at_times,
        lambda: {"on_error": "disqualify", "rounds_in_flight": 3, "max_evaluations": 120},
    ),
    "worst": (fails_at_times, lambda: {"items": range(60), "bounds": (0, 1), "on_error": "worst"}),
    "KN": (score, lambda: {"algorithm": KimNelson(0.05, indifference_zone=0.2)}),
    "Convex-BAI": (
        share,
        lambda: {"items": range(60), "algorithm": ConvexBAI(0.1, comparison=Portfolio()), "rounds_in_flight": 2},
    ),
    "LUCB": (share, lambda: {"algorithm": LUCB(0.1, variances=0.05), "max_evaluations": 100}),
}
every_kind = pytest.mark.parametrize("kind", list(KINDS))


def run(kind: str, evaluate: Callable[..., Any] | None = None, **changes: Any) -> bestarm.RaceResult[Any]:
    function, settings = KINDS[kind]
    return race(evaluate or function, arms=ALL, **settings() | changes)


class Interrupted:
    """A function that raises after so many evaluations, and keeps a list of those it has begun."""

    def __init__(self, function: Callable[..., Any], after: int, error: BaseException) -> None:
        self.function, self.after, self.error = function, after, error
        self.begun: list[tuple[str, int]] = []

    def __call__(self, arm: Any, item: int) -> Any:
        if self.after <= 0:
            raise self.error
        self.after -= 1
        self.begun += [(name, item) for name in ([arm] if isinstance(arm, str) else arm)]
        return self.function(arm, item)


def in_haste(action: int, name: str | None, value: str | None, *_: str | None) -> int:
    ignored = action == sqlite3.SQLITE_PRAGMA and name == "synchronous" and value is not None
    return sqlite3.SQLITE_IGNORE if ignored else sqlite3.SQLITE_OK


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written reaches other connections and copies all the same."""
    connect = sqlite3.connect

    def hasty(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.execute("PRAGMA synchronous=OFF")
        connection.set_authorizer(in_haste)
        return connection

    monkeypatch.setattr(sqlite3, "connect", hasty)


def test_scores_are_in_the_file_before_they_count(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    told = set()
    with Race(ALL, rounds_in_flight=3, max_evaluations=40, store=store) as contest:
        while not contest.finished:
            for todo in reversed(contest.ask()):
                for arm in reversed(todo.arms):
                    contest.tell(todo, {arm: score(arm, todo.item)})
                    told.add((arm, todo.item))
                    assert stored_scores(store) == told


def test_every_round_is_in_the_file_when_the_next_is_evaluated(tmp_path: Path) -> None:
    begun: list[tuple[str, int]] = []

    def evaluate(arm: str, item: int) -> float:
        assert {done for done in begun if done[1] != item} == stored_scores(tmp_path / "race.sqlite")
        begun.append((arm, item))
        return quick(arm, item)

    assert race(evaluate, arms=ALL, store=tmp_path / "race.sqlite").n_evaluations == len(begun)


@pytest.mark.parametrize("name", ["threads", "disqualify"])
def test_a_race_killed_at_random_moments_ends_as_the_uninterrupted_one_and_repeats_nothing(
    name: str, tmp_path: Path
) -> None:
    """Three kills of a process; benchmarks/faults.py does the same with fourteen races and 1,000 kills."""
    said: list[str] = []
    killed(name, 3, random.Random(2), tmp_path, said.append)  # noqa: S311 - no secrets here
    assert sum(word.startswith("kill after") for word in said) >= 3


@pytest.mark.parametrize("kind", ["three in flight", "disqualify"])
def test_a_race_goes_on_from_whatever_part_of_the_log_a_kill_has_left(kind: str, tmp_path: Path) -> None:
    store, left = tmp_path / "race.sqlite", tmp_path / "left"
    left.mkdir()
    kept: list[bytes] = []

    def evaluate(arm: str, item: int) -> float:
        kept[:] = [Path(f"{store}{end}").read_bytes() for end in ("", "-wal")]
        return KINDS[kind][0](arm, item)  # type: ignore[no-any-return]

    expected = run(kind, evaluate, store=store, max_evaluations=72)
    main, log = kept
    assert len(log) > 40_000
    for size in [*np.random.default_rng(1).integers(0, len(log), 24).tolist(), len(log)]:
        (left / "race.sqlite").write_bytes(main)
        (left / "race.sqlite-wal").write_bytes(log[:size])
        known = stored_scores(left / "race.sqlite")
        logged = Interrupted(KINDS[kind][0], 10**6, KeyboardInterrupt())
        same(run(kind, logged, store=left / "race.sqlite", max_evaluations=72), expected)
        assert known.isdisjoint(logged.begun)


@every_kind
def test_a_finished_race_is_not_evaluated_again(kind: str, tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    expected = run(kind)
    same(run(kind, store=store), expected)
    scores = RaceFile(store).rows("SELECT * FROM scores")
    nothing = Interrupted(KINDS[kind][0], 0, AssertionError("evaluated again"))
    same(run(kind, nothing, store=store), expected)
    assert RaceFile(store).rows("SELECT * FROM scores") == scores


@pytest.mark.parametrize("after", [1, 12])
@every_kind
def test_a_race_interrupted_again_and_again_ends_as_the_uninterrupted_one(
    kind: str, after: int, tmp_path: Path
) -> None:
    store = tmp_path / "race.sqlite"
    expected = run(kind)
    begun: list[tuple[str, int]] = []
    for n in count():
        known = stored_scores(store)
        assert known == set(begun)  # nothing that came back is lost
        part = Interrupted(KINDS[kind][0], after + n, KeyboardInterrupt())
        result = run(kind, part, store=store)
        begun += part.begun
        if result.reason != "interrupted":
            break
    same(result, expected)
    assert len(begun) == len(set(begun))


@pytest.mark.parametrize("kind", ["seeds", "pool", "five in flight", "costs of a stream"])
def test_a_race_that_failed_again_and_again_ends_as_the_one_that_did_not(kind: str, tmp_path: Path) -> None:
    begun: list[tuple[str, int]] = []
    for n in count(1):
        part = Interrupted(KINDS[kind][0], n, RuntimeError("no connection"))
        try:
            result = run(kind, part, store=tmp_path / "race.sqlite")
        except bestarm.EvaluationError:
            begun += part.begun
            continue
        break
    assert n > 5
    same(result, run(kind))
    begun += part.begun
    assert len(begun) == len(set(begun))


def test_threads_that_failed_again_and_again_end_as_the_sequential_race(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    expected = run("three in flight")
    failed = 0
    while True:
        known = stored_scores(store)
        part = Interrupted(score, 20, RuntimeError("no connection"))
        with ExitStack() as stack:
            executor = stack.enter_context(ThreadPoolExecutor(3))
            try:
                result = run("three in flight", part, executor=executor, store=store)
                break
            except bestarm.EvaluationError:
                failed += 1
        assert known.isdisjoint(part.begun)
    assert failed > 2
    same(result, expected)


@pytest.mark.parametrize("rounds_in_flight", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_parts_told_in_any_order_and_closed_at_any_time_make_the_same_race(
    rounds_in_flight: int, seed: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng([seed, rounds_in_flight])
    settings: dict[str, Any] = {
        "items": range(60),
        "bounds": (0, 1),
        "rounds_in_flight": rounds_in_flight,
        "on_error": "disqualify",
    }
    told: set[tuple[str, int]] = set()
    reopened = 0
    while True:
        with Race(ALL, store=tmp_path / "race.sqlite", **settings) as contest:
            asked: list[tuple[int, str, int]] = []
            for _ in range(int(rng.integers(0, 40))):
                if contest.finished:
                    break
                asked += [(todo.number, arm, todo.item) for todo in contest.ask() for arm in todo.arms]
                assert told.isdisjoint((arm, item) for _, arm, item in asked)
                number, arm, item = asked.pop(int(rng.integers(len(asked))))
                contest.tell(number, {arm: outcome_of(arm, item)})
                told.add((arm, item))
            if contest.finished:
                same(contest.result(), race(fails_at_times, arms=ALL, **settings))
                break
        reopened += 1
    assert reopened > 3


def outcome_of(arm: str, item: int) -> float | Exception:
    try:
        return fails_at_times(arm, item)
    except RuntimeError as error:
        return error


# A pool with bounds, a stream without: what is changed, and what the refusal names.
SAMPLE: dict[str, Any] = {"arms": ALL, "items": list(range(40)), "bounds": (0, 1)}
POOL: dict[str, Any] = SAMPLE | {"target": "items"}
GROUPS: dict[str, Any] = POOL | {"groups": [k % 9 for k in range(40)], "epsilon": 0.02}
STREAM: dict[str, Any] = {"arms": ALL, "items": range(40)}
REFUSED: list[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    (POOL, {"delta": 0.1}, ("delta", "0.05", "0.1")),
    (POOL, {"bounds": (0, 2)}, ("bounds", "[0.0, 1.0]", "[0.0, 2.0]")),
    (SAMPLE, {"bounds": None}, ("bounds", "[0.0, 1.0]", "None")),
    (POOL, {"epsilon": 0.01}, ("epsilon", "0.0", "0.01")),
    (POOL, {"indifference_zone": 0.1}, ("indifference_zone", "0.0", "0.1")),
    (POOL, {"seed": 1}, ("seed", "0", "1")),
    (POOL, {"lower_is_better": True}, ("lower_is_better", "False", "True")),
    (POOL, {"on_error": "worst"}, ("on_error", "'raise'", "'worst'")),
    (POOL, {"rounds_in_flight": 2}, ("rounds_in_flight", "1", "2")),
    (POOL, {"items": [*range(39), 40]}, ("items",)),
    (POOL, {"items": list(range(40))[::-1]}, ("items",)),
    (POOL, {"items": range(41)}, ("n_items", "40", "41")),
    (SAMPLE, {"items": None}, ("n_items", "40", "None")),
    (SAMPLE, {"replace": True}, ("replace", "False", "True")),
    (POOL, {"groups": [k // 2 for k in range(40)]}, ("groups", "not given", "given")),
    (POOL, {"criterion": "wins"}, ("criterion", "'mean'", "'wins'")),
    (POOL, {"target": "population"}, ("target", "'items'", "'population'")),
    (GROUPS, {"target": "population"}, ("target", "'items'", "'population'")),  # not epsilon, in other units
    (GROUPS | {"target": None}, {"target": "items"}, ("target", "'population'", "'items'")),
    (SAMPLE, {"target": "items"}, ("target", "'population'", "'items'")),
    (SAMPLE | {"criterion": "wins"}, {"target": "items"}, ("target", "'population'", "'items'")),
    (POOL, {"arms": ALL[::-1]}, ("arms", "bad, fair, good, best", "best, good, fair, bad")),
    (POOL, {"arms": ALL[:3]}, ("arms", "bad, fair, good, best", "bad, fair, good")),
    (STREAM, {"min_rounds": 12}, ("min_rounds", "10", "12")),
    (STREAM, {"bounds": (-9, 9)}, ("bounds", "None", "[-9.0, 9.0]")),
    (STREAM, {"algorithm": LUCB()}, ("algorithm", "'PairwiseBAI'", "'LUCB'")),
    (STREAM, {"items": None}, ("items", "'stream'", "'seeds'")),
    (STREAM, {"items": range(1, 40)}, ("round 1", "'0'", "'1'")),
    (STREAM, {"items": [0, 1, 2, 3, 77]}, ("round 5", "'4'", "'77'")),
    (STREAM, {"items": range(4)}, ("round 5",)),
    (
        {"arms": ALL, "algorithm": PairwiseBAI(max_queries=100)},
        {"algorithm": PairwiseBAI(max_queries=200)},
        ("max_queries", "100", "200"),
    ),
]


@pytest.mark.parametrize(("before", "change", "named"), REFUSED)
def test_another_setting_is_refused_and_named_with_both_values(
    before: dict[str, Any], change: dict[str, Any], named: tuple[str, ...], tmp_path: Path
) -> None:
    def opened(settings: dict[str, Any]) -> Race[Any]:
        if before is STREAM and settings["items"] is not None:
            settings = settings | {"items": iter(settings["items"])}
        return Race(store=tmp_path / "race.sqlite", **settings)

    with opened(before) as contest:
        tell_rounds(contest, 6, share)
    content = (tmp_path / "race.sqlite").read_bytes()
    with pytest.raises(StoreError) as refusal:
        opened(before | change)
    path, words = str(refusal.value).split("race.sqlite", 1)
    assert path.endswith(f"{tmp_path}/")
    assert re.search(".*".join(map(re.escape, named)), words), words
    assert (tmp_path / "race.sqlite").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["race.sqlite"]
    with opened(before) as contest:
        assert contest.result().n_rounds == 6


def test_without_in_flight_a_continued_race_keeps_that_of_its_file(tmp_path: Path) -> None:
    interrupted = run("five in flight", Interrupted(share, 30, KeyboardInterrupt()), store=tmp_path / "race.sqlite")
    assert interrupted.reason == "interrupted"
    with ThreadPoolExecutor(2) as executor:
        result = race(
            share, arms=ALL, items=range(60), bounds=(0, 1), executor=executor, store=tmp_path / "race.sqlite"
        )
    same(result, run("five in flight"))


@pytest.mark.parametrize("rounds_in_flight", [1, 3])
def test_a_larger_budget_ends_as_if_it_had_been_there_from_the_start(rounds_in_flight: int, tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    begun: list[tuple[str, int]] = []
    for budget in (4, 5, 11, 40, 41, 60, 90, 10_000, None):
        logged = Interrupted(score, 10**6, KeyboardInterrupt())
        result = race(logged, arms=ALL, rounds_in_flight=rounds_in_flight, max_evaluations=budget, store=store)
        same(result, race(score, arms=ALL, rounds_in_flight=rounds_in_flight, max_evaluations=budget))
        stored = RaceFile(store).settings()
        assert (stored["max_evaluations"], stored["reason"]) == (budget, result.reason)
        begun += logged.begun
        assert len(begun) == len(set(begun))
    assert result.reason == "decided"


def test_a_smaller_budget_ends_a_race_at_once_with_all_that_is_known(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    before = race(score, arms=ALL, max_evaluations=60, store=store)
    nothing = Interrupted(score, 0, AssertionError("evaluated"))
    after = race(nothing, arms=ALL, max_evaluations=20, store=store)
    assert after.reason == "budget"
    assert outcome(after) == outcome(before)


@every_kind
@pytest.mark.parametrize("after", [1, 30, 10**6])
def test_the_result_of_a_file_is_that_of_the_race(kind: str, after: int, tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    result = run(kind, Interrupted(KINDS[kind][0], after, KeyboardInterrupt()), store=store)
    content = store.read_bytes()
    if result.reason == "interrupted":  # the file does not say that nobody works on it any more
        result = replace(result, reason=Reason.RUNNING)
    same(load_result(store), result)
    same(load_result(str(store)), result)
    assert store.read_bytes() == content


# --- the target with which a race was begun ---------------------------------------------------------------------------

TARGETS: dict[str, dict[str, Any]] = {
    "default": {},
    "wins": {"criterion": "wins"},
    "groups": {"groups": [k % 9 for k in range(40)]},
    "groups and epsilon": {"groups": [k % 9 for k in range(40)], "epsilon": 0.02},
    "groups and a zone": {"groups": [k % 9 for k in range(40)], "indifference_zone": 0.02},
    "a comparison": {"comparison": Betting()},
    "combinations": {"comparison": Portfolio(), "epsilon": 0.02},
}


@pytest.mark.parametrize("begun", ["items", "population"])
@pytest.mark.parametrize("case", TARGETS)
def test_a_call_without_a_target_goes_on_with_the_one_that_the_race_was_begun_with(
    case: str, begun: Any, tmp_path: Path
) -> None:
    """By default it was the items in earlier versions, whose calls are still in people's programs."""
    store, call = tmp_path / "race.sqlite", SAMPLE | TARGETS[case] | {"progress": False}
    whole = race(share, target=begun, **call)
    part = race(share, store=store, target=begun, max_evaluations=60, **call)
    assert (part.reason, part.target) == ("budget", begun)
    rest = race(share, store=store, **call)
    assert rest.target == begun
    same(rest, whole)
    same(race(share, store=store, target=begun, **call), whole)  # finished; given, it is the same


@pytest.mark.parametrize("name", ["pool_budget", "lower_with_epsilon"])
def test_a_file_of_an_earlier_version_is_about_its_items(name: str, tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    shutil.copyfile(Path(__file__).parents[1] / "data" / "frozen" / f"{name}.sqlite", store)
    before = load_result(store)
    assert before.target == "items"
    options: dict[str, Any] = {"bounds": (0, 1), "seed": before.settings.seed, "items": range(300)}
    options |= {"lower_is_better": before.settings.lower_is_better, "epsilon": before.guarantee.epsilon or None}
    with Race(before.arms, store=store, **options) as contest:
        assert contest.result().target == "items"
    with pytest.raises(StoreError, match="target was 'items' when the race began and is 'population' now"):
        Race(before.arms, store=store, target="population", **options)


# --- the unit of the scores -------------------------------------------------------------------------------------------


def test_the_unit_is_stored_and_may_change(tmp_path: Path) -> None:
    store, call = tmp_path / "race.sqlite", SAMPLE | {"store": tmp_path / "race.sqlite", "progress": False}
    for given, shown in [("points", "points"), (None, "points"), ("%", "%"), (None, "%")]:
        result = race(share, max_evaluations=40, unit=given, **call)
        loaded = load_result(store)
        assert (result.settings.unit, loaded.settings.unit) == (shown, shown)
        assert f"mean, {shown}" in str(loaded)
        assert str(loaded) == str(result)
    rest = race(share, unit="points", **call)
    plain = race(share, unit="points", **SAMPLE, progress=False)
    same(rest, plain)


def test_a_file_without_a_unit_gets_that_of_the_call(tmp_path: Path) -> None:
    call = SAMPLE | {"store": tmp_path / "race.sqlite", "progress": False, "max_evaluations": 40}
    race(share, **call)
    RaceFile(tmp_path / "race.sqlite").execute("DELETE FROM settings WHERE name = 'unit'")
    assert load_result(tmp_path / "race.sqlite").settings.unit is None
    assert race(share, unit="s", **call).settings.unit == "s"
    assert load_result(tmp_path / "race.sqlite").settings.unit == "s"


@pytest.mark.parametrize("unit", ["\x1b[31m", "a\nb", "seconds of wall time", "\u202es"])
def test_units_that_would_spoil_a_screen_are_refused(unit: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^unit must be at most 16 visible characters, such as 's', got"):
        Race(ALL, unit=unit)
    Race(ALL, store=tmp_path / "race.sqlite").close()
    RaceFile(tmp_path / "race.sqlite").put("unit", json.dumps(unit))
    with pytest.raises(StoreError, match="unit must be at most 16 visible characters"):
        load_result(tmp_path / "race.sqlite")
