"""Which tests are long, and so are left out of the coverage: they add nothing to it. And what tests share."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from bestarm.errors import ParameterError

ANYTHING = object()
Refused = Callable[..., AbstractContextManager[None]]

# Many games, by statements that quicker tests go through as well.
LONG = {
    "test_betting",
    "test_convex_game",
    "test_convex_solver",
    "test_differences",
    "test_guarantee",
    "test_portfolio",
    "test_reference",
    "test_sharp_games",
    "test_student_mixture",
}


def is_long(item: pytest.Item) -> bool:
    """Every promise of the kit is traced on two algorithms, and the reference, without the compiler, on all."""
    if item.name.startswith("test_algorithms_keep_their_promises"):
        return not any(word in item.name for word in ("the_reference_agrees", "TopTwo", "HoeffdingRace"))
    return item.path.stem in LONG


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in filter(is_long, items):
        item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def refused() -> Refused:
    """Expect an error about a parameter: ``with refused("delta", 1.5): ...``.

    ``kind`` is the exception's type, ``problem`` the beginning of what it says after the parameter's name.
    """

    @contextmanager
    def refused(
        parameter: str, value: Any = ANYTHING, kind: type[Exception] = ValueError, problem: str = ""
    ) -> Iterator[None]:
        with pytest.raises(ParameterError) as caught:
            yield
        assert isinstance(caught.value, kind)
        assert caught.value.parameter == parameter
        assert caught.value.problem.startswith(problem)
        assert value is ANYTHING or repr(caught.value.value) == repr(value)

    return refused
