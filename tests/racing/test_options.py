"""The options of a race: their names and defaults, and the test that they choose."""

import inspect
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any

import pytest

import bestarm
from bestarm.algorithms import LUCB, ConvexBAI, Game, KimNelson, PairwiseBAI
from bestarm.comparisons import Betting, ConvexBernstein, EmpiricalBernstein, LeaderBetting, Portfolio, StudentMixture
from bestarm.racing import options
from small_race import run


def test_options_have_the_same_names_and_defaults_everywhere() -> None:
    signature = inspect.signature(bestarm.race).parameters
    for field in fields(options.Options):
        if field.name not in ("usual_in_flight", "origin", "own_range"):
            assert signature[field.name].default == field.default
    for kind in (options.PlanOptions, options.TableOptions, options.CommandOptions, options.RaceOptions):
        assert set(kind.__annotations__) <= set(signature)


@pytest.mark.parametrize("name", ["detla", "usual_in_flight", "origin", "own_range", "executor"])
def test_options_that_do_not_exist_are_refused_as_python_does(name: str) -> None:
    with pytest.raises(TypeError, match=f"^Race\\(\\) got an unexpected keyword argument '{name}'"):
        bestarm.Race(["a", "b"], **{name: 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^race_table\(\) got an unexpected keyword argument 'store'"):
        bestarm.race_table([[1.0, 2.0], [2.0, 1.0]], store="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^plan\(\) got an unexpected keyword argument 'algorithm'"):
        bestarm.plan([[1.0, 2.0]] * 9, algorithm=LUCB())  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^race_commands\(\) got an unexpected keyword argument 'rounds_in_flight'"):
        bestarm.race_commands(["true", "false"], rounds_in_flight=2)  # type: ignore[call-arg]


CHOSEN: dict[str, tuple[dict[str, Any], Any]] = {
    "default": ({}, PairwiseBAI(0.05, comparison=LeaderBetting())),
    "these items": ({"target": "items"}, PairwiseBAI(0.05, comparison=LeaderBetting(pool=500))),
    "other bounds": (
        {"comparison": Betting(), "bounds": (-1, 2), "target": "items"},
        PairwiseBAI(0.05, comparison=Betting((-1, 2), pool=500)),
    ),
    "its own bounds": (
        {"comparison": Betting((-1, 2)), "bounds": None, "target": "items"},
        PairwiseBAI(0.05, comparison=Betting((-1, 2), pool=500)),
    ),
    "same bounds": (
        {"comparison": Betting((0, 2)), "bounds": (0, 2)},
        PairwiseBAI(0.05, comparison=Betting((0, 2))),
    ),
    "stream": ({"comparison": Betting(), "items": iter(range(500))}, PairwiseBAI(0.05, comparison=Betting())),
    "own bets": (
        {"comparison": Betting(bets=(0.5, 0.1)), "delta": 0.01, "epsilon": 0.02, "indifference_zone": 0.03},
        PairwiseBAI(0.01, comparison=Betting(bets=(0.5, 0.1)), epsilon=0.02, indifference_zone=0.03),
    ),
    "combinations": (
        {"comparison": Portfolio(), "epsilon": 0.1, "target": "items"},
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
        r"^bounds=\(0, 1\) do not fit Betting\(\(0.0, 2.0\)\), which is for scores in \(0, 2\): leave one of",
    ),
    "no bounds": ({"comparison": StudentMixture()}, r"^bounds=\(0, 1\) do not fit StudentMixture\(\), which uses no"),
    "fixed bounds": (
        {"comparison": EmpiricalBernstein(), "bounds": (0, 2)},
        r"^bounds=\(0, 2\) do not fit EmpiricalBernstein\(\), which is for scores in \(0, 1\): "
        "bring the scores into these, or leave the comparison out$",
    ),
    "other pool": ({"comparison": Betting(pool=9)}, "^the comparison is for a pool of 9 items, but there are 500"),
    "zone": (
        {"comparison": Portfolio(), "indifference_zone": 0.1},
        r"^indifference_zone needs a comparison of pairs, got 0.1 with Portfolio\(\)$",
    ),
    "epsilon": ({"comparison": ConvexBernstein(), "epsilon": 0.1}, "^epsilon needs a comparison that supports it"),
    "epsilon wider than the bounds": (
        {"epsilon": 2, "bounds": (0, 1)},
        r"^epsilon must be below 1, in units of scores, which lie in \[0, 1\]: got 2$",
    ),
    "zone as wide as the bounds": (
        {"indifference_zone": 8, "bounds": (-3, 5)},
        r"^indifference_zone must be below 8, in units of scores, which lie in \[-3, 5\]: got 8$",
    ),
    "min_rounds": (
        {"comparison": Betting(), "min_rounds": 5},
        "^min_rounds is a setting of StudentMixture, got 5 with",
    ),
    "min_rounds, bounds": ({"min_rounds": 5}, "^min_rounds is a setting of StudentMixture, got 5 with the test for"),
    "beside an algorithm": (
        {"algorithm": PairwiseBAI(), "comparison": Betting()},
        r"^comparison=Betting\(\) is given together with algorithm=PairwiseBAI\(\): leave algorithm out",
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


def test_a_comparison_that_does_not_adapt_is_refused() -> None:
    class Stiff:
        role = "pairs"

    with pytest.raises(TypeError, match=r"^Stiff needs a method adapted\(bounds, pool\)"):
        run(comparison=Stiff())


def test_a_confidence_is_not_taken_for_delta() -> None:
    with pytest.raises(ValueError, match=r"at most 0.5 in a race, got 0.95: for 95% certainty give 0.05"):
        run(delta=0.95)
    with pytest.raises(ValueError, match=r"^delta must lie strictly between 0 and 1, got '0.05'$"):
        run(delta="0.05")


def test_min_rounds_of_an_algorithm_is_its_own_or_that_of_its_comparison() -> None:
    assert run(algorithm=KimNelson(0.1, min_rounds=20), min_rounds=20, bounds=None).best == "high"
    with pytest.raises(ValueError, match=r"^min_rounds is 5 here and 20 in KimNelson"):
        run(algorithm=KimNelson(0.1, min_rounds=20), min_rounds=5, bounds=None)


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
