"""Races kept in an object of the user, and options that are said once."""

import inspect
import random
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

import pytest

import bestarm
from bestarm import StoreError
from bestarm.algorithms import LUCB, Elimination
from bestarm.racing import Record, StoredRace, options
from bestarm.record.record import RoundRow, ScoreRow


class Memory:
    """Everything in lists."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] | None = None
        self.arms: tuple[str, ...] = ()
        self.rounds: list[RoundRow] = []
        self.scores: list[ScoreRow] = []
        self.out: list[Elimination[int]] = []
        self.closed = 0

    def __str__(self) -> str:
        return "my memory"

    def load(self) -> StoredRace | None:
        if self.settings is None:
            return None
        record = Record.of_rows(sorted(self.rounds), sorted(self.scores, key=lambda row: row[:2]), ahead=9)
        return StoredRace(self.settings, self.arms, record)

    def create(self, settings: dict[str, Any], arms: Sequence[str]) -> None:
        self.settings, self.arms = settings, tuple(arms)

    def update(self, settings: dict[str, Any]) -> None:
        assert self.settings is not None
        self.settings |= settings

    def save(self, rounds: Sequence[RoundRow], scores: Sequence[ScoreRow]) -> None:
        self.rounds += rounds
        self.scores += scores

    def save_eliminations(self, eliminations: Iterable[Elimination[int]]) -> None:
        self.out = list(eliminations)

    def close(self) -> None:
        self.closed += 1


def score(arm: str, item: int) -> float:
    return {"a": 0.3, "b": 0.5, "c": 0.7}[arm] + 0.3 * random.Random(f"{arm} {item}").random()  # noqa: S311


def test_a_race_is_kept_in_an_own_store_and_continued() -> None:
    expected = bestarm.race(score, arms=list("abc"), items=range(500), bounds=(0, 1), progress=False)
    memory, called = Memory(), list[Any]()

    def counted(arm: str, item: int) -> float:
        called.append((arm, item))
        return score(arm, item)

    for limit in (30, 60, None):
        result = bestarm.race(
            counted,
            arms=list("abc"),
            items=range(500),
            bounds=(0, 1),
            store=memory,
            max_evaluations=limit,
            progress=False,
        )
    assert str(result) == str(expected)
    assert len(called) == len(set(called)) == expected.n_evaluations
    assert (memory.closed, memory.settings and memory.settings["reason"]) == (3, "decided")
    assert tuple(memory.out) == expected.outcome.eliminations
    with pytest.raises(StoreError, match=r"^my memory holds another race \(.*: delta was 0\.05 when the race began"):
        bestarm.race(score, arms=list("abc"), items=range(500), bounds=(0, 1), store=memory, delta=0.1, progress=False)


@pytest.mark.parametrize("arm", [-1, 7])
def test_scores_of_arms_that_do_not_exist_are_refused(arm: int) -> None:
    memory = Memory()
    bestarm.race(
        score, arms=list("abc"), items=range(500), bounds=(0, 1), store=memory, max_evaluations=30, progress=False
    )
    memory.scores[4] = (memory.scores[4][0], arm, 0.5, None)
    with pytest.raises(StoreError, match="there are scores of arms that do not exist"):
        bestarm.race(score, arms=list("abc"), items=range(500), bounds=(0, 1), store=memory, progress=False)


def test_what_is_no_store_is_refused() -> None:
    for store in (7, object(), ["race.sqlite"], Memory):
        with pytest.raises(TypeError, match=r"^store must be the path of a file"):
            bestarm.Race(["a", "b"], store=store)  # type: ignore[arg-type]


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
