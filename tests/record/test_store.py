"""Races kept in a store of the user's own, and what is no store."""

from typing import Any

import pytest

import bestarm
from bestarm import StoreError
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


def test_what_is_no_store_is_refused() -> None:
    for store in (7, object(), ["race.sqlite"], Memory):
        with pytest.raises(TypeError, match=r"^store must be "):
            bestarm.Race(["a", "b"], store=store)  # type: ignore[arg-type]
