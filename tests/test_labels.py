"""Arms by their labels: what is equal to a label is not that label, unless it is of the same type, or is its name."""

from typing import Any

import pytest

from bestarm import Race

ALIKE = [1, 1.0, True]  # all equal, and one key of a dictionary


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
@pytest.mark.parametrize("arms", [ALIKE, ALIKE[::-1]])
def test_arms_that_are_equal_are_told_apart_by_their_type(arms: list[Any], order: list[int]) -> None:
    race = Race(arms, items=range(50), bounds=(0, 1))
    todo = race.ask()[0]
    assert [type(arm) for arm in todo.arms] == [type(arm) for arm in arms]
    for k in order:
        race.tell(todo, {arms[k]: k / 10})
    assert race.result().scores[0].tolist() == [0.0, 0.1, 0.2]


@pytest.mark.parametrize("stranger", [1.0, True, 2.0, 1 + 0j])
def test_a_label_of_another_type_is_no_arm(stranger: Any) -> None:
    race = Race([1, 2], items=range(50), bounds=(0, 1))
    todo = race.ask()[0]
    with pytest.raises(ValueError, match=r"there is no arm .*: the arms are 1, 2"):
        race.tell(todo, {stranger: 0.5})
    race.tell(todo, {1: 0.25, 2: 0.75})
    assert race.result().scores.tolist() == [[0.25, 0.75]]


def test_a_name_is_as_good_as_a_label() -> None:
    race = Race([1, 2.0, True], items=range(50), bounds=(0, 1))
    race.tell(race.ask()[0], {"True": 0.125, "2.0": 0.25, "1": 0.5})
    assert race.result().scores.tolist() == [[0.5, 0.25, 0.125]]


def test_text_is_no_number() -> None:
    race = Race(["1", "2"], items=range(50), bounds=(0, 1))
    todo = race.ask()[0]
    with pytest.raises(ValueError, match=r"there is no arm 1: the arms are 1, 2"):
        race.tell(todo, {1: 0.5})  # type: ignore[dict-item]
    race.tell(todo, {"1": 0.25, "2": 0.75})
    assert race.result().scores.tolist() == [[0.25, 0.75]]
