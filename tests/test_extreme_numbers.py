"""Numbers at the ends of floating point, sets, and names of columns: one sentence, or the right answer."""

import random
import re
import subprocess
import sys
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import EvaluationError, Race, ScoreTable, race, race_commands, race_table
from bestarm.algorithms import LUCB, KimNelson, PairwiseBAI
from bestarm.arms import GaussianArms, TableArms
from bestarm.checks import MOST_IN_FLIGHT, check_in_flight
from bestarm.comparisons import Betting, StudentMixture
from small_race import run

HUGE = 10**5000


def refused(text: str, kind: type[Exception] = ValueError) -> Any:
    return pytest.raises(kind, match=f"^{re.escape(text)}")


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 1e-320}, "epsilon must be 0, or a number from 1e-150 to 1e+150, got 1e-320"),
    ({"epsilon": HUGE}, "epsilon must be a finite number of at least 0, got a number of more than 100 digits"),
    ({"epsilon": Decimal("0.1")}, "epsilon must be a finite number of at least 0, got Decimal('0.1')"),
    ({"indifference_zone": 1e200}, "indifference_zone must be 0, or a number from 1e-150 to 1e+150, got 1e+200"),
    ({"delta": np.longdouble(0.1)}, "delta must lie strictly between 0 and 1, got np.longdouble("),
    ({"bounds": (0, 1e308)}, "bounds must lie within ±1e+150, got (0, 1e+308): give scores in another unit"),
    ({"bounds": (-1e308, 1e308)}, "bounds must lie within ±1e+150"),
    ({"bounds": (0, 1e-320)}, "bounds are too close together for floating point, got (0.0, 1e-320)"),
    ({"bounds": (1, 1 + 1e-15)}, "bounds are too close together for floating point"),
    ({"bounds": (0, HUGE)}, "bounds must be two finite numbers, the lower one first, got <tuple without a text"),
    ({"rounds_in_flight": 10**9}, "rounds_in_flight must be a whole number of at most 10,000, got 1000000000"),
    ({"max_evaluations": HUGE}, "max_evaluations must be a whole number of at most 1e+300, got a number of more"),
    ({"seed": HUGE}, "seed must be a whole number of at most 1e+300, got a number of more than 100 digits"),
    ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
    ({"retries": 10**30}, "retries must be a whole number of at most 4,611,686,018,427,387,904"),
]


@pytest.mark.parametrize(("options", "text"), OPTIONS)
def test_numbers_that_no_race_can_work_with_are_refused(options: dict[str, Any], text: str) -> None:
    with refused(text):
        run(**options)


def test_numbers_that_are_large_and_harmless_are_taken() -> None:
    expected = run(items=range(60))
    for options in ({"max_evaluations": 10**30}, {"delta": np.float32(0.05)}, {"bounds": np.array([0.0, 1.0])}):
        assert run(items=range(60), **options).best == expected.best
    assert run(items=range(60), seed=10**299).best == expected.best
    assert check_in_flight(np.int64(MOST_IN_FLIGHT)) == MOST_IN_FLIGHT  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout", [1e308, 3e6, float("nan"), float("inf"), 10**400, True, 0])
def test_a_timeout_is_one_that_a_system_can_wait_for(timeout: Any) -> None:
    with refused("timeout must be "):
        race_commands(["true", "false"], timeout=timeout)


@pytest.mark.parametrize("value", [1e151, -1e155, 1e308])
def test_scores_whose_squares_overflow_are_failures(value: float) -> None:
    text = f"evaluate('low', 2147327825) returned {value!r}: a score must lie within ±1e+150"
    with refused(text, EvaluationError):
        run(lambda arm, item: value, items=None, bounds=None)
    with refused(f"rewards must lie within ±1e+150, got {value!r} for arm 0 in round 1"):
        PairwiseBAI(0.05).start(2).play([[value, 0.0]])
    with refused(f"scores must lie within ±1e+150, got {value} in row 1 (1), column '0'"):
        race_table([[value, 0.0], [0.0, 1.0]])
    with refused("scores must lie within ±1e+150, got scores[0, 0] = "):
        TableArms([[value, 0.0]])
    with pytest.raises(EvaluationError, match="a score must lie within"):
        told_at_once(value)


def told_at_once(value: float) -> None:
    contest = Race(["a", "b"])
    [todo] = contest.ask()
    contest.tell(todo, {"a": value})


@pytest.mark.parametrize("unit", [1e-140, 1e-100, 1e100, 1e149])
@pytest.mark.filterwarnings("error")
def test_a_race_does_not_depend_on_the_unit_of_its_scores(unit: float) -> None:
    def evaluate(arm: str, item: int) -> float:
        return random.Random(item).gauss(0, 0.05) + 0.1 * {"a": 0, "b": 1, "c": 2}[arm]  # noqa: S311

    def noisy(arm: str, item: int) -> float:
        return evaluate(arm, item) + random.Random(f"{arm} {item}").gauss(0, 0.1)  # noqa: S311

    call: dict[str, Any] = {"arms": ["a", "b", "c"], "progress": False, "max_evaluations": 3000}
    expected = race(noisy, **call)
    result = race(lambda arm, item: unit * noisy(arm, item), **call)
    assert (result.best, result.n_rounds, expected.answered) == (expected.best, expected.n_rounds, True)
    assert [shape.problem for shape in result.shapes] == [shape.problem for shape in expected.shapes]
    assert str(result)


def test_settings_of_games_are_refused_too() -> None:
    with refused("epsilon must be 0, or a number from 1e-150"):
        PairwiseBAI(0.05, epsilon=1e-320)
    with refused("indifference_zone must be 0, or a number from 1e-150"):
        KimNelson(0.05, indifference_zone=1e-320)
    with refused("max_rounds must be a whole number of at most 4,611,686,018,427,387,904"):
        PairwiseBAI(0.05, max_rounds=10**30)
    with refused("min_rounds must be a whole number of at most"):
        StudentMixture(min_rounds=10**30)
    with refused("variances must be 0, or lie from 1e-150 to 1e+150"):
        LUCB(0.05, variances=1e-320)
    with refused("weights must not differ so much that one of them vanishes, got weights[0] = 1e-100"):
        Betting(bets=[0.1, 0.2], weights=[1e-100, 1e100])
    with refused("bets must lie within ±1e+150, got "):
        Betting(bets=[HUGE])
    with refused("n_arms must be a whole number of at most 10,000,000, got "):
        KimNelson(0.05, indifference_zone=0.1).start(10**400)
    with refused("means must lie within ±1e+150, got means[0] = 1e+300"):
        GaussianArms([1e300, 0.0], np.eye(2))


@pytest.mark.parametrize("arm", [1.0, np.float64(1), True, None, "1", -1, 7])
def test_arms_of_games_are_whole_numbers(arm: Any) -> None:
    game = PairwiseBAI(0.05).start(4)
    game.play(np.random.default_rng(0).random((20, 4)))
    asked: Any
    for asked in (game.disqualify, game.withdraw):  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match=r"^(arm must be a whole number|only an arm that is)"):
            asked(arm)
    for asked in (game.lead, game.lead_bound, game.lead_seen):
        with pytest.raises(ValueError, match=r"^arm must be a whole number"):
            asked(0, arm)
    assert game.lead(np.int64(0), np.uint8(1)) == game.lead(0, 1)  # type: ignore[arg-type]
    game.disqualify(np.int64(1))  # type: ignore[arg-type]
    assert 1 not in game.candidates


# --- sets ------------------------------------------------------------------------------------------------------------


def test_sets_are_refused_as_lists_of_items_and_of_arms() -> None:
    with refused("items must be a list or another sequence, or an iterator, got {1, 2, 3}", TypeError):
        run(items={1, 2, 3})
    with refused("arms must be a sequence, or a mapping", TypeError):
        run(arms=frozenset(["a", "b"]))
    with refused("arm 1 is a set, whose text changes from run to run: give arms as a mapping", TypeError):
        run(arms=["a", {"b", "c"}])


@pytest.mark.parametrize("item", [{"b", "a"}, frozenset("ab"), [1, {"b", "a"}], {"words": {"b", "a"}}])
@pytest.mark.parametrize("stream", [False, True])
def test_sets_are_refused_as_items(item: Any, stream: bool) -> None:
    text = "an item must not be a set, whose order changes from run to run: give ('a', 'b') instead"
    items: Any = [item, item]
    with refused(text, TypeError):
        run(lambda arm, item: 0.5, items=iter(items) if stream else items)


def test_the_texts_of_other_items_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from bestarm.sources.items import full_text\n"
        "print(full_text({'b': 1, 'a': (2, None)}), full_text(3.5), full_text(b'x'))"
    )
    said = {
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert said == {"""{"a": [2, null], "b": 1} 3.5 b'x'\n"""}


# --- names of columns ------------------------------------------------------------------------------------------------

TABLE = np.random.default_rng(0).random((200, 2)) * [0.4, 1.0]


@pytest.mark.parametrize(
    ("arms", "best"),
    [
        ([1000, 2000], "2000"),
        ([0.5, 1.5], "1.5"),
        (np.array([1, 2]), "2"),
        (np.array(["x", "y"]), "y"),
        ([(1, 2), (3, 4)], "(3, 4)"),
        ({"p": 1, "q": 2}, "q"),
        ((len, max), "max"),
    ],
)
def test_columns_may_be_called_by_anything_with_a_name(arms: Any, best: str) -> None:
    result = race_table(TABLE, arms=arms)
    assert result.best == best
    assert all(type(arm) is str for arm in result.arms)
    assert race_table(ScoreTable(tuple(arms), range(200), TABLE)).best == best  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arms", "kind", "text"),
    [
        ([None, "b"], ValueError, "every arm must have a name, but arm 0 is None"),
        (["a", "a"], ValueError, "arms must have different names, but 'a' appears more than once"),
        ([1, "1"], ValueError, "arms must have different names, but '1' appears more than once"),
        (["a", "b", "c"], ValueError, "arms must name the 2 columns, got 3 names"),
        (["a"], ValueError, "there must be at least two arms to compare, got 1"),
        ("ab", TypeError, "arms must be a sequence, or a mapping"),
        (5, TypeError, "arms must be a sequence, or a mapping"),
        ({"a", "b"}, TypeError, "arms must be a sequence, or a mapping"),
    ],
)
def test_names_of_columns_that_are_none_are_refused(arms: Any, kind: type[Exception], text: str) -> None:
    with refused(text, kind):
        race_table(TABLE, arms=arms)


def test_no_warning_of_numpy_reaches_users() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", bestarm.AssumptionWarning)
        for unit in (1e-140, 1e140, 1e149):
            assert str(race_table(unit * (TABLE - 0.5), arms=["a", "b"], comparison=StudentMixture()))
            assert str(race_table(unit * (TABLE - 0.5), arms=["a", "b"]))
