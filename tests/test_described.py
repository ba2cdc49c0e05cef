"""Values of the user's in messages: on one line, short, whatever they are; and what is no law or algorithm."""

from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import complexity
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import equicorrelated_arms
from bestarm.text import LONGEST_DESCRIPTION, short_repr


class Mute:
    """An object that cannot say what it is."""

    def __repr__(self) -> str:
        raise OSError


def _nested() -> list[Any]:
    inner: list[Any] = []
    for _ in range(20_000):
        inner = [inner]
    return inner


VALUES = [Mute(), [Mute()], 10**5000, [10**5000], np.eye(3), "a" * 5000, "a\nb\x1b", _nested()]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_a_value_is_described_in_one_short_line(place: int) -> None:
    text = short_repr(VALUES[place])
    assert 0 < len(text) <= LONGEST_DESCRIPTION
    assert text.isprintable()


def test_an_array_is_described_without_its_line_ends() -> None:
    assert short_repr(np.eye(2)) == "array([[1., 0.], [0., 1.]])"


@pytest.mark.parametrize("name", [name for name in complexity.__all__ if name.startswith(("bound", "gaussian"))])
@pytest.mark.parametrize("arms", [None, 5, "arms", bestarm.arms.GaussianArms])
def test_what_is_no_law_is_refused(name: str, arms: Any) -> None:
    more = {"delta": 0.1} if name in ("bounded_rounds", *[one for one in complexity.__all__ if "bound_" in one]) else {}
    with pytest.raises(TypeError, match=r"^arms must be a law such as bestarm.arms.GaussianArms"):
        getattr(complexity, name)(arms, **more)


def test_arms_of_a_bound_are_those_that_there_are() -> None:
    arms = equicorrelated_arms(3)
    with pytest.raises(ValueError, match=r"^arm must be a whole number of at most 2, got 3"):
        complexity.convex_cost(arms, 3)
    with pytest.raises(ValueError, match=r"^arm must be another than the best one, got 2"):
        complexity.bound_convex(arms, 0.1, arm=2)


def test_simulate_refuses_what_it_cannot_play() -> None:
    with pytest.raises(TypeError, match=r"^algorithm must be an algorithm such as"):
        bestarm.simulate(PairwiseBAI, equicorrelated_arms(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^arms must be a law such as"):
        bestarm.simulate(PairwiseBAI(0.1), 3)  # type: ignore[arg-type]


def test_a_time_is_no_whole_number() -> None:
    with pytest.raises(ValueError, match=r"^repetitions must be a whole number of at least 1, got np.timedelta64"):
        bestarm.simulate(PairwiseBAI(0.1), equicorrelated_arms(3), repetitions=np.timedelta64(5, "s"))  # type: ignore[arg-type]


def test_a_lazy_frame_is_to_be_collected() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"got a LazyFrame: call its collect"):
        bestarm.race_table(polars.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4]}).lazy())
