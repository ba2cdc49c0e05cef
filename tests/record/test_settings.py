"""Settings in race files: defaults, former names, formats, and rules of one's own."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.comparisons import Betting, PairBoundary, StudentMixture
from bestarm.racing import RaceSettings
from race_files import RaceFile
from small_race import run

OPTIONAL = ("format", "reason", "source", "max_evaluations", "rounds_in_flight", "on_error", "seed", "lower_is_better")


def test_a_setting_that_is_missing_has_its_default(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    begun = run(store=store, max_evaluations=30, comparison=Betting())
    for name in OPTIONAL:
        RaceFile(store).execute("DELETE FROM settings WHERE name = ?", values=(name,))
    plain = RaceFile(store).settings()["algorithm"]
    for name in ("keep", "epsilon", "indifference_zone", "max_rounds", "max_queries"):
        del plain[name]
    del plain["comparison"]["bets"], plain["comparison"]["weights"]
    RaceFile(store).put("algorithm", plain)
    assert bestarm.load_result(store).to_records() == begun.to_records()
    assert bestarm.load_result(store).settings.algorithm == begun.settings.algorithm
    assert run(store=store).to_json() == run(comparison=Betting()).to_json()


@pytest.mark.parametrize("given", [{}, {"comparison": Betting()}])
def test_a_race_from_before_bets_could_sleep_goes_on_without_them(given: dict[str, Any], tmp_path: Path) -> None:
    store, former = tmp_path / "race.sqlite", Betting(reserve=0.0)
    run(store=store, max_evaluations=30, comparison=former)
    plain = RaceFile(store).settings()["algorithm"]
    assert plain["comparison"].pop("reserve") == 0.0
    RaceFile(store).put("algorithm", plain)
    assert bestarm.load_result(store).settings.algorithm.comparison.reserve == 0.0  # type: ignore[attr-defined]
    assert run(store=store, **given).to_json() == run(comparison=former).to_json()
    with pytest.raises(bestarm.StoreError, match=r"reserve .*0\.0 .*0\.25"):
        run(store=store, comparison=Betting(reserve=0.25))


def test_a_race_with_bets_that_sleep_keeps_them(tmp_path: Path) -> None:
    for budget in (30, 60, 5000):
        options: dict[str, Any] = {"max_evaluations": budget, "comparison": Betting(), "target": "items"}
        result = run(store=tmp_path / "race.sqlite", **options)
    assert result.to_json() == run(**options).to_json()
    assert bestarm.load_result(tmp_path / "race.sqlite").settings == result.settings
    assert result.settings.algorithm.comparison == Betting(pool=result.settings.n_items)


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
    assert RaceFile(store).settings()["format"] == 1
    RaceFile(store).put("format", 2)
    before = store.read_bytes()
    message = "format 2"
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


def test_a_race_by_an_algorithm_of_ones_own_is_not_shown(tmp_path: Path) -> None:
    run(store=tmp_path / "race.sqlite", max_evaluations=30, algorithm=Nested(), bounds=None)
    with pytest.raises(bestarm.StoreError, match="Nested"):
        bestarm.load_result(tmp_path / "race.sqlite")


def test_settings_within_settings_of_ones_own_have_their_present_names(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    run(store=store, max_evaluations=30, algorithm=Nested(), bounds=None)
    plain = RaceFile(store).settings()["algorithm"]
    plain["test"]["comparison"]["first_rounds"] = plain["test"]["comparison"].pop("min_rounds")
    RaceFile(store).put("algorithm", plain)
    assert run(store=store, algorithm=Nested(), bounds=None).answered


@dataclass(frozen=True)
class EmpiricalBernstein(Mine):
    """A comparison of one's own with the name of one of bestarm's."""

    bounds = (0.0, 1.0)
    factor: float = field(default=1.5, init=False)


@pytest.mark.parametrize("own_first", [True, False])
def test_a_class_of_ones_own_does_not_continue_a_race_of_its_namesake(own_first: bool, tmp_path: Path) -> None:
    comparisons = (EmpiricalBernstein(), bestarm.comparisons.EmpiricalBernstein())
    first, second = comparisons if own_first else comparisons[::-1]
    store = tmp_path / "race.sqlite"
    run(store=store, max_evaluations=9, comparison=first)
    was, now = ("'EmpiricalBernstein of your own'", "'EmpiricalBernstein'")[:: 1 if own_first else -1]
    with pytest.raises(bestarm.StoreError, match=f"comparison was {was} when the race began and is {now} now$"):
        run(store=store, comparison=second)
    assert run(store=store, comparison=first).n_evaluations > 9


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
