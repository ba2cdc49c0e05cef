"""Bad input to `race` and `Race`: refused in one sentence, before anything is evaluated or stored."""

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.algorithms import LUCB, ConvexBAI, PairwiseBAI
from bestarm.comparisons import Betting
from bestarm.errors import ParameterError, ParameterTypeError

INF, NAN = float("inf"), float("nan")
ARMS, ITEMS = ["a", "b", "c"], range(50)
BY_LUCB, CONVEX = LUCB(0.1, variances=1.0), ConvexBAI(0.1)
BETTING = PairwiseBAI(0.1, comparison=Betting(bounds=(0.0, 2.0)))
POOL = PairwiseBAI(0.1, comparison=Betting(pool=60))


class Counted:
    """An evaluation that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, arm: Any, item: Any) -> float:
        self.calls += 1
        return 0.5


def assert_refused(
    parameters: dict[str, Any], error: type[Exception], folder: Path, message: str = ""
) -> BaseException:
    """Race and race refuse with one sentence that starts so; nothing is evaluated, nothing written."""
    evaluate = Counted()
    given: dict[str, Any] = {"arms": ARMS, "items": ITEMS, "store": folder / "race.sqlite"} | parameters
    before = sorted(folder.iterdir())
    with pytest.raises(error, match="^" + re.escape(message)) as caught:
        bestarm.race(evaluate, progress=False, **given)
    assert_one_sentence(caught.value)
    if not {"retries", "executor", "jointly", "shuffle_arms"} & set(given):
        with pytest.raises(error, match="^" + re.escape(message)):
            bestarm.Race(**given)
    assert evaluate.calls == 0
    assert sorted(folder.iterdir()) == before
    return caught.value


def assert_one_sentence(error: BaseException) -> None:
    text = str(error)
    assert "\n" not in text
    assert 10 < len(text) < 400
    assert not text.endswith(".")


class Unnamed:
    """An object whose text holds its address."""


OUT_OF_RANGE: dict[str, tuple[Any, ...]] = {
    "delta": (0, 0.0, 1, 1.0, 2, -0.1, NAN, INF, "0.05"),
    "epsilon": (-1, -1e-9, NAN, INF, "0.1"),
    "indifference_zone": (-0.5, NAN, INF, -INF, "0"),
    "rounds_in_flight": (0, -1, 1.0, 2.5, True, "2"),
    "retries": (-1, 1.0, 0.5, True, None, "2"),
    "seed": (-1, 0.5, 1.0, True, None, "1"),
    "min_rounds": (0, 1, -3, 2.0, True),
    "max_evaluations": (0, -5, 30.0, INF, True, "30", 1, 2),
    "bounds": ((1, 0), (1, 1), (0,), (0, 1, 2), (), (0, INF), (-INF, 0), (NAN, 1), [1.0, -1.0], 1.0, ("0", "1")),
    "on_error": ("ignore", "", "Raise", None, 3, "worst"),
    "items": ([], ["alone"], range(1), np.array([])),
}
WRONG_TYPE: dict[str, tuple[Any, ...]] = {
    "lower_is_better": ("no",),
    "jointly": ("no",),
    "shuffle_arms": ("no",),
    "arms": (None, 5, "abc", b"abc", {1, 2}, frozenset({1, 2}), "name " * 1000),
    "items": (5, "items.txt", b"items", {"a": 1}, {1}, frozenset({1, 2}), "text " * 1000, set(range(1000))),
    "executor": (4, ThreadPoolExecutor),
    "groups": (5, "abc"),
}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (kind, name, value)
        for kind, table in ((ParameterError, OUT_OF_RANGE), (ParameterTypeError, WRONG_TYPE))
        for name, values in table.items()
        for value in values
    ],
    ids=lambda part: str(part)[:20],
)
def test_an_error_names_the_parameter_that_is_refused_and_its_value(
    kind: type[ParameterError], name: str, value: Any, tmp_path: Path
) -> None:
    caught = assert_refused({name: value}, kind, tmp_path)
    assert isinstance(caught, ParameterError)
    assert (caught.parameter, repr(caught.value)) == (name, repr(value))


@pytest.mark.parametrize(
    ("name", "value"), [("algorithm", "PairwiseBAI"), ("algorithm", PairwiseBAI), ("store", 3)], ids=str
)
def test_objects_of_the_wrong_kind_are_refused(name: str, value: Any, tmp_path: Path) -> None:
    caught = assert_refused({name: value}, TypeError, tmp_path, f"{name} must be ")
    assert re.search(re.escape(repr(value)) + "|" + re.escape(type(value).__name__), str(caught))


def test_who_has_an_executor_is_told_to_give_it(tmp_path: Path) -> None:
    """As a client of Dask."""

    class Client:
        def get_executor(self) -> None:
            pass

    caught = assert_refused({"executor": Client()}, TypeError, tmp_path, "executor must be a concurrent.futures.Exec")
    assert str(caught).endswith(": give executor=client.get_executor()")
    assert_refused({"executor": "dask"}, TypeError, tmp_path, "executor must be a concurrent.futures.Executor, got 'da")


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    plain: dict[str, Any] = {"max_evaluations": 6, "rounds_in_flight": 2, "seed": 3, "retries": 1}
    integers = {name: np.int64(value) for name, value in plain.items()}
    floats = {"delta": np.float64(0.125), "epsilon": np.float32(0.5), "bounds": np.array([0.0, 1.0])}
    given: dict[str, Any] = {"progress": False, "store": tmp_path / "race.sqlite", **integers, **floats}
    result = bestarm.race(Counted(), arms=ARMS, items=ITEMS, **given)
    plain |= {"delta": 0.125, "epsilon": 0.5, "bounds": (0, 1)}
    expected = bestarm.race(Counted(), arms=ARMS, items=ITEMS, progress=False, **plain)
    assert result.to_json() == expected.to_json()
    assert bestarm.load_result(tmp_path / "race.sqlite").to_json() == expected.to_json()


@pytest.mark.parametrize(
    ("arms", "named"),
    [
        ([], "got 0"),
        (["a"], "got 1"),
        ({}, "got 0"),
        ({"a": 1}, "got 1"),
        (iter(["a"]), "got 1"),
        (["a", "b", "a"], "'a'"),
        ([1, "1"], "'1'"),
        ([len, "len"], "'len'"),
        (["a", ""], "arm 1 is ''"),
        (["  ", "a"], "arm 0 is '  '"),
        ({"a": 1, "\t": 2}, r"arm 1 is '\t'"),
        (["a", None], "arm 1 is None"),
        (["a", Unnamed()], "arm 1 "),
        ([lambda: 1, lambda: 2], "arm 0 "),
    ],
)
def test_arms_that_cannot_be_told_apart_or_compared(arms: Any, named: str, tmp_path: Path) -> None:
    evaluate = Counted()
    with pytest.raises(ValueError, match=re.escape(named)) as caught:
        bestarm.race(evaluate, arms=arms, items=ITEMS, progress=False, store=tmp_path / "race.sqlite")
    assert_one_sentence(caught.value)
    assert evaluate.calls == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_items", [0, 1, 3])
@pytest.mark.parametrize("bounds", [None, (0, 1)])
def test_a_stream_that_runs_out_is_said_and_what_is_known_is_kept(n_items: int, bounds: Any, tmp_path: Path) -> None:
    evaluate = Counted()
    items: Iterator[int] = iter(range(n_items))
    result = bestarm.race(
        evaluate, arms=ARMS, items=items, bounds=bounds, progress=False, store=tmp_path / "race.sqlite"
    )
    assert (result.reason, result.n_rounds, evaluate.calls) == ("ran out of items", n_items, 3 * n_items)
    assert bestarm.load_result(tmp_path / "race.sqlite").to_json() == result.to_json()


# Algorithms.

MINE = "PairwiseBAI(0.1, comparison=Betting((0.0, 2.0)))"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"algorithm": BETTING, "delta": 0.2}, f"delta is 0.2 here and 0.1 in {MINE}: give it in one place"),
        ({"algorithm": BETTING, "delta": 0.05}, f"delta is 0.05 here and 0.1 in {MINE}: give it in one place"),
        ({"algorithm": BETTING, "epsilon": 0.1}, f"epsilon is 0.1 here and 0.0 in {MINE}: give it in one place"),
        ({"algorithm": BETTING, "indifference_zone": 0.1}, f"indifference_zone is 0.1 here and 0.0 in {MINE}: give it"),
        (
            {"algorithm": BETTING, "min_rounds": 20},
            f"{MINE} has no setting min_rounds, got min_rounds=20 together with it",
        ),
        *(
            ({"algorithm": BY_LUCB, name: 0.1}, f"LUCB(0.1) has no setting {name}, got {name}=0.1 together with it")
            for name in ("epsilon", "indifference_zone")
        ),
        ({"algorithm": BETTING, "bounds": (0, 1)}, "bounds=(0, 1) do not fit Betting((0.0, 2.0)), which is for"),
        (
            {"algorithm": BY_LUCB, "bounds": (0, 1)},
            "bounds=(0, 1) do not fit LUCB(0.1), which uses no bounds",
        ),
        ({"algorithm": BETTING, "bounds": (2, 0)}, "bounds must be two finite numbers, the lower one first, got (2, 0"),
        ({"algorithm": POOL}, "the comparison is for a pool of 60 items, but there are 50 items"),
        ({"algorithm": POOL, "items": None}, "the comparison is for a pool of 60 items, but there is"),
        ({"algorithm": POOL, "items": iter(ITEMS)}, "the comparison is for a pool of 60 items, but"),
        (
            {"algorithm": BY_LUCB, "rounds_in_flight": 2},
            "LUCB chooses every round from the one before it: rounds_in_flight must be 1",
        ),
        (
            {"algorithm": BY_LUCB, "on_error": "disqualify"},
            "on_error cannot be 'disqualify' without an algorithm that compares arms",
        ),
        (
            {"algorithm": CONVEX, "on_error": "disqualify"},
            "on_error cannot be 'disqualify' without an algorithm that compares",
        ),
        (
            {"algorithm": BY_LUCB, "on_error": "worst"},
            "on_error cannot be 'worst' without bounds=(low, high)",
        ),
        ({"algorithm": LUCB(0.1, variances=(1.0, 2.0))}, "variances has 2 entries, the game has 3 arms"),
        ({"algorithm": BETTING, "max_evaluations": 2}, "max_evaluations must allow for one round of all 3 arms, got 2"),
    ],
)
def test_an_algorithm_with_what_does_not_go_with_it(parameters: dict[str, Any], message: str, tmp_path: Path) -> None:
    assert_refused(parameters, ValueError, tmp_path, message)


def test_an_algorithm_with_what_goes_with_it() -> None:
    given: dict[str, Any] = {"progress": False, "max_evaluations": 6}
    assert bestarm.race(Counted(), arms=ARMS, items=ITEMS, algorithm=BETTING, bounds=(0, 2), **given).n_rounds == 2
    assert bestarm.race(Counted(), arms=ARMS, items=range(60), algorithm=POOL, on_error="worst", **given).n_rounds == 2
    assert bestarm.race(Counted(), arms=ARMS, items=ITEMS, algorithm=BY_LUCB, rounds_in_flight=1, **given).n_rounds == 2


# The function.


class Bench:
    def one(self, arm: Any) -> float:
        raise AssertionError("evaluated")

    def two(self, arm: Any, item: Any) -> float:
        return 0.5

    def __call__(self, arm: Any, item: Any, more: Any) -> float:
        raise AssertionError("evaluated")


def one(arm: Any) -> float:
    raise AssertionError("evaluated")


def three(arm: Any, item: Any, more: Any) -> float:
    raise AssertionError("evaluated")


def named(arm: Any, item: Any, *, folder: str) -> float:
    raise AssertionError("evaluated")


async def slow(arm: Any) -> float:
    raise AssertionError("evaluated")


# The function, what it is called in the message, and how its signature begins.
WRONG: dict[str, tuple[Any, str, str]] = {
    "none": (lambda: 0.5, "<lambda>", "(): too many positional arguments"),
    "one": (one, "one", "(arm: "),
    "three": (three, "three", "(arm: "),
    "by name only": (lambda *, arm, item: 0.5, "<lambda>", "(*, arm, item): "),
    "one more by name": (named, "named", "(arm: "),
    "lambda": (lambda arm: 0.5, "<lambda>", "(arm): "),
    "method": (Bench().one, "one", "(arm: "),
    "method of no object": (Bench.two, "two", "(self, arm: "),
    "callable object": (Bench(), "evaluate", "(arm: "),
    "partial": (functools.partial(three, "x", "y"), "evaluate", "("),
    "async": (slow, "slow", "(arm: "),
    "builtin": (len, "len", "(obj, /): "),
    "class": (Unnamed, "Unnamed", "()"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("given", ["arm, item", "arms, item"])
def test_a_function_with_a_wrong_signature_is_refused_before_it_is_called(
    case: str, given: str, tmp_path: Path
) -> None:
    evaluate, name, signature = WRONG[case]
    expected = f"evaluate is called as {name}({given}), but its signature is {name}{signature}"
    options: dict[str, Any] = {"jointly": given == "arms, item", "progress": False, "store": tmp_path / "race.sqlite"}
    with pytest.raises(TypeError, match="^" + re.escape(expected)) as caught:
        bestarm.race(evaluate, arms=ARMS, items=ITEMS, **options)
    assert_one_sentence(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("evaluate", [None, 3, "bench:score", [one]])
def test_what_is_no_function_is_refused(evaluate: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterTypeError) as caught:
        bestarm.race(evaluate, arms=ARMS, items=ITEMS, progress=False, store=tmp_path / "race.sqlite")
    assert (caught.value.parameter, caught.value.value) == ("evaluate", evaluate)
    assert list(tmp_path.iterdir()) == []


def with_default(arm: Any, item: Any, more: int = 3) -> float:
    return 0.5


def anything(*given: Any, **named: Any) -> float:
    return 0.5


@pytest.mark.parametrize(
    "evaluate",
    [
        with_default,
        anything,
        Bench().two,
        functools.partial(three, more=1),
        functools.partial(named, folder="."),
        lambda arm, item: 0.5,
    ],
    ids=["default", "anything", "method", "partial", "partial by name", "lambda"],
)
def test_functions_that_can_be_called_are_called(evaluate: Callable[..., float], tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    if isinstance(evaluate, functools.partial):
        with pytest.raises(bestarm.EvaluationError, match=r"failed: AssertionError: evaluated \(see"):
            bestarm.race(evaluate, arms=ARMS, items=ITEMS, max_evaluations=3, progress=False, store=store)
    else:
        assert (
            bestarm.race(evaluate, arms=ARMS, items=ITEMS, max_evaluations=3, progress=False, store=store).n_rounds == 1
        )
    assert store.exists()


def test_a_builtin_that_tells_nothing_about_itself_is_called() -> None:
    with pytest.raises(ValueError, match="no signature"):
        inspect.signature(max)
    result = bestarm.race(max, arms=[0.25, 0.5], items=iter([0.1, 0.3, 0.7]), progress=False)
    assert result.scores.tolist() == [[0.25, 0.5], [0.3, 0.5], [0.7, 0.7]]


async def awaited(arm: Any, item: Any) -> float:
    return 0.5


class Awaited:
    async def __call__(self, arm: Any, item: Any) -> float:
        return 0.5


@pytest.mark.parametrize("evaluate", [awaited, Awaited(), functools.partial(awaited)], ids=["def", "object", "partial"])
def test_an_async_function_with_an_executor_is_refused(evaluate: Any, tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(
            ValueError, match=r"^an async evaluate runs on an event loop of its own: leave executor out"
        ):
            bestarm.race(evaluate, arms=ARMS, items=ITEMS, executor=executor, progress=False, store=store)
        assert not store.exists()
    assert bestarm.race(evaluate, arms=ARMS, items=ITEMS, max_evaluations=3, progress=False, store=store).n_rounds == 1


# The store.


@pytest.mark.parametrize(
    ("what", "parameters", "message"),
    [
        ("settings", {"delta": 0.1}, "delta was 0.05 when the race began and is 0.1 now"),
        ("settings", {"items": range(1, 51)}, "the items are not the same"),
        ("arms", {"arms": ["a", "b", "d"]}, "they were a, b, c and are a, b, d now"),
    ],
)
def test_another_race_is_not_continued_in_a_store(
    what: str, parameters: dict[str, Any], message: str, tmp_path: Path
) -> None:
    store = tmp_path / "race.sqlite"
    bestarm.race(Counted(), arms=ARMS, items=ITEMS, max_evaluations=9, progress=False, store=store)
    full = f"{store} holds another race (give another file, or the same {what}): {message}"
    assert_refused(parameters, bestarm.StoreError, tmp_path, full)
