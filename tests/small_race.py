"""A small race that several files look at: three arms, items that are as hard for all, scores between 0 and 1."""

import random
from typing import Any

from bestarm import race

LEVEL = {"low": 0.2, "mid": 0.5, "high": 0.8}


def share(arm: str, item: object) -> float:
    return LEVEL[arm] + random.Random(str(item)).uniform(-0.2, 0.2)  # noqa: S311 - no secrets here


def run(evaluate: Any = share, arms: Any = tuple(LEVEL), **options: Any) -> Any:
    usual: dict[str, Any] = {"items": range(500), "bounds": (0, 1), "progress": False}
    return race(evaluate, arms=arms, **usual | options)
