"""Small races that the tests of results share."""

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

import bestarm

LEVEL = {"low": 0.2, "mid": 0.5, "high": 0.9}
NEVER: Mapping[str, int] = MappingProxyType({})


def race_of_constants(
    evaluate: Callable[..., Any] | None = None,
    arms: Any = tuple(LEVEL),
    items: Any = range(1000),
    fails: Mapping[str, int] = NEVER,
    error: BaseException | None = None,
    **options: Any,
) -> Any:
    """Race low, mid and high; evaluation number ``fails[arm]`` of an arm raises the error."""
    done = Counter[str]()

    def constant(arm: str, item: Any) -> float:
        done[arm] += 1
        if done[arm] == fails.get(arm):
            raise error or OSError("disk full")
        return LEVEL[arm]

    usual: dict[str, Any] = {"bounds": (0, 1), "progress": False}
    return bestarm.race(evaluate or constant, arms=arms, items=items, **usual | options)


@pytest.fixture(scope="session")
def race() -> Callable[..., Any]:
    """Races whose scores are always 0.2, 0.5 and 0.9."""
    return race_of_constants


@pytest.fixture(scope="session")
def level() -> dict[str, float]:
    """The scores of these races."""
    return dict(LEVEL)


@pytest.fixture
def page_text(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], str]:
    """The page of a result, as it is written."""

    def read(result: Any) -> str:
        path = tmp_path_factory.mktemp("page") / "page.html"
        result.to_html(path)
        return path.read_text(encoding="utf-8")

    return read
