"""Races kept in a store of the user's own, and what is no store."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import bestarm
from bestarm import StoreError
from bestarm.comparisons import PairBoundary
from bestarm.comparisons.boundaries import boundary_chunk
from bestarm.racing import Record, StoredRace
from bestarm.values import Array
from race_files import Memory
from small_race import run, share


def test_a_race_is_kept_in_an_own_store_and_continued() -> None:
    memory, called, expected = Memory(), list[Any](), run()

    def counted(arm: str, item: int) -> float:
        called.append((arm, item))
        return share(arm, item)

    for limit in (18, 36, None):
        result = run(counted, store=memory, max_evaluations=limit)
    assert str(result) == str(expected)
    assert len(called) == len(set(called)) == expected.n_evaluations
    assert (memory.closed, memory.settings and memory.settings["reason"]) == (3, "decided")
    assert tuple(memory.out) == expected.outcome.eliminations
    with pytest.raises(StoreError, match=r"^my memory .* delta .*0\.05 .*0\.1"):
        run(store=memory, delta=0.1)


def test_a_store_may_give_the_names_of_the_arms_as_a_list() -> None:
    memory: Any = Memory()
    run(store=memory, max_evaluations=18)
    memory.arms = list(memory.arms)
    assert str(run(store=memory)) == str(run())


@pytest.mark.parametrize("arm", [-1, 7])
def test_scores_of_arms_that_do_not_exist_are_refused(arm: int) -> None:
    memory = Memory()
    run(store=memory, max_evaluations=30)
    memory.scores[4] = (memory.scores[4][0], arm, 0.5, None)
    with pytest.raises(StoreError, match="my memory"):
        run(store=memory)


@pytest.mark.parametrize("on_error", ["raise", "worst"])
def test_a_score_that_is_missing_is_refused_where_failures_disqualify_nobody(on_error: str) -> None:
    memory = Memory()
    run(store=memory, max_evaluations=9, on_error=on_error)
    memory.scores[4] = (2, 1, None, None)
    with pytest.raises(StoreError, match=f"round 2 has no score of arm mid, .* on_error='{on_error}'$"):
        run(store=memory, on_error=on_error)


def test_a_missing_score_disqualifies_where_the_race_says_so() -> None:
    memory = Memory()
    run(store=memory, max_evaluations=9, on_error="disqualify")
    memory.scores[4] = (2, 1, None, None)
    assert [one.arm for one in run(store=memory, on_error="disqualify").disqualified] == ["mid"]


def test_rows_that_no_race_has_written_are_refused_in_the_name_of_the_store() -> None:
    memory = Memory()
    run(store=memory, max_evaluations=9)
    memory.scores.append(memory.scores[0])
    with pytest.raises(StoreError, match=r"^the race in my memory cannot be continued: it is damaged: .* two scores"):
        run(store=memory)


RECORD = Record.of_rows([], [], ahead=1)
LOADED: dict[str, tuple[Any, str]] = {
    "parts": (({}, (), RECORD), r"got \("),
    "settings": ({"seed": 0}, r"got \{"),
    "settings as text": (StoredRace("{}", (), RECORD), "got settings='{}'"),  # type: ignore[arg-type]
    "one name": (StoredRace({}, "high", RECORD), "got arms='high'"),  # type: ignore[arg-type]
    "rows": (StoredRace({}, (), []), r"got record=\[\]"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", LOADED)
def test_a_store_that_loads_something_else_is_told_what_to_return(case: str) -> None:
    class Wrong(Memory):
        def load(self) -> Any:
            return LOADED[case][0]

    must = r"^my memory: load must return None or a bestarm\.racing\.StoredRace of"
    with pytest.raises(StoreError, match=f"{must} .*, {LOADED[case][1]}"):
        run(store=Wrong())


@dataclass(frozen=True)
class Drifting(PairBoundary):
    """A comparison that its author changes between two calls."""

    bounds = (0.0, 1.0)
    offset: ClassVar[float] = 0.4  # the lead of high over low is 0.6, that over mid 0.3

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        return np.where(rounds < 4, np.inf, 0.0), np.full_like(rounds, self.offset)


def test_a_race_whose_comparison_was_changed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    call: dict[str, Any] = {"comparison": Drifting(), "bounds": None, "items": range(50)}
    run(store=memory, max_evaluations=40, **call)
    boundary_chunk.cache_clear()
    monkeypatch.setattr(Drifting, "offset", 0.9)
    with pytest.raises(StoreError, match=r"scores are missing, or its comparison decides differently now$"):
        run(store=memory, **call)
    boundary_chunk.cache_clear()


def test_what_is_no_store_is_refused() -> None:
    for store in (7, object(), ["race.sqlite"], Memory):
        with pytest.raises(TypeError, match=r"^store must be "):
            bestarm.Race(["a", "b"], store=store)  # type: ignore[arg-type]
