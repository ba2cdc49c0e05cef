"""Which tests are long, and so are left out of the coverage: they add nothing to it. And what tests share."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bestarm.errors import ParameterError

ANYTHING = object()
Refused = Callable[..., AbstractContextManager[None]]
Cli = Callable[..., Result]
Rejects = Callable[..., None]

# Many games, by statements that quicker tests go through as well.
LONG = {
    "algorithms/test_differences.py",
    "algorithms/test_guarantee.py",
    "algorithms/test_reference.py",
    "algorithms/test_sharp_games.py",
    "comparisons/test_betting.py",
    "comparisons/test_convex.py",
    "comparisons/test_portfolio.py",
    "comparisons/test_student_mixture.py",
    "kernels/test_convex.py",
}


def is_long(item: pytest.Item) -> bool:
    """Every promise of the kit is traced on two algorithms, and the reference, without the compiler, on all."""
    if item.name.startswith("test_algorithms_keep_their_promises"):
        return not any(word in item.name for word in ("the_reference_agrees", "TopTwo", "HoeffdingRace"))
    return "/".join(item.path.parts[-2:]) in LONG


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


@pytest.fixture
def cli() -> Cli:
    """Run a command of bestarm in this process: ``cli("table", path, "--json")``; ``input`` is its standard input."""
    from bestarm.cli import app

    def run(*words: object, input: str | None = None) -> Result:
        return CliRunner().invoke(app, [str(word) for word in words], input=input)

    return run


@pytest.fixture
def rejects(cli: Cli) -> Rejects:
    """Expect that a command is refused: ``rejects("--delta", "table", path, "--delta", 2)``.

    It ends with exit code 2 (or ``code``) and without a result; one line on standard error holds the first argument.
    """

    def run(named: str, *words: object, code: int = 2) -> None:
        ended = cli(*words)
        assert isinstance(ended.exception, SystemExit), ended.exception
        assert (ended.exit_code, ended.stdout) == (code, "")
        (line,) = ended.stderr.splitlines()
        assert line.startswith("error: ")
        assert named in line

    return run
