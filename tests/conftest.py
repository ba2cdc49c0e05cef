"""Which tests are long, and so are left out of the coverage: they add nothing to it."""

import pytest

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
