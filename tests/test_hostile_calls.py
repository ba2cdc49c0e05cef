"""Values that nobody expects, given to public functions: refused in one sentence that names them."""

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from attacks.bad_values import Liar, nested
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import clustered_arms
from bestarm.racing import Record

LONGEST = 600  # characters of a sentence
LONG = "x" * 300
HUGE: Any = 10**400


def holding_itself() -> list[Any]:
    inner: list[Any] = [1]
    inner += [inner, inner]
    return inner


def race(**given: Any) -> Any:
    usual: dict[str, Any] = {"arms": ["a", "b"], "items": range(9), "bounds": (0, 1), "progress": False}
    return bestarm.race(lambda arm, item: 0.5, **usual | given)


def commands(given: Any, **options: Any) -> Any:
    return bestarm.race_commands(given, progress=False, max_evaluations=2, **options)


def told(rewards: Any, n_arms: int = 2) -> None:
    game = PairwiseBAI(0.1).start(n_arms)
    game.ask()
    game.tell(rewards)


BYTE: Any = np.uint8(200)
MASKED = np.ma.masked_array([1.0, 2.0], [True, False])
NARROW: Any = [(1, "x")]
UNORDERED: Any = [(1, "x", 2), ("2", "x", 2)]
# The call, the type of the error, and what it names: the parameter at fault, its place or its value.
CASES: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: race(arms=["a", holding_itself()]), ValueError, "arm 1 holds itself"),
    (lambda: race(arms=["a", nested(101)]), ValueError, "arm 1 holds itself, or is nested"),
    (lambda: race(items=[nested(20_000), 1]), ValueError, "an item is nested too deeply"),
    (lambda: race(items=Liar([1, 2, 3])), ValueError, "says, 5, but there are 3"),
    (lambda: race(items=Liar(range(7)), replace=True), ValueError, "says, 5, but there"),
    (lambda: race(algorithm=PairwiseBAI(0.1), delta=Decimal("sNaN"), bounds=None), ValueError, "delta"),
    (lambda: commands([["true"], ["false"]]), TypeError, "commands must be texts"),
    (lambda: commands(5), TypeError, "commands must be texts"),
    (lambda: commands(Liar(["true", "true"])), ValueError, "'true' appears more than"),
    (lambda: commands({"a": ["sleep", 5], "b": "true"}), TypeError, "the command 'a' must"),
    (lambda: commands({"a": 5, "b": "true"}), TypeError, "the command 'a' must"),
    (lambda: commands(["a", "b"], folder=nested(20_000)), TypeError, "folder must be a path"),
    (lambda: bestarm.read_table(HUGE), TypeError, "path must be a path"),
    (
        lambda: bestarm.ScoreTable(("a", "b"), ("x",), HUGE),
        ValueError,
        "scores must lie within ±1e+150, got a number of",
    ),
    (lambda: told([Fraction(HUGE, 3), 0.5]), ValueError, "rewards must lie within ±1e+150"),
    (lambda: PairwiseBAI(0.1).start(2).play([[HUGE, 0.5]]), ValueError, "rows must lie within"),
    (lambda: told([0.5], 300), ValueError, "rewards must hold one number for each of the 300"),
    (lambda: clustered_arms(256, BYTE), ValueError, "n_clusters must divide n_arms"),
    (lambda: Record.of_rows([(1, "x", 2)], MASKED, 1), ValueError, "scores must be rows"),
    (lambda: Record.of_rows(NARROW, [], 1), ValueError, "rounds must be rows"),
    (lambda: Record.of_rows(UNORDERED, [], 1), ValueError, "the number of a round is no whole number"),
    (lambda: Record.of_rows([(10**9, "x", 2)], [], 10**9), ValueError, "rounds_in_flight must be a whole number of at"),
]


@pytest.mark.parametrize(("call", "error", "named"), CASES, ids=[named for _, _, named in CASES])
def test_values_that_nobody_expects_are_refused_in_one_sentence(
    call: Callable[[], Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=re.escape(named)) as caught:
        call()
    assert len(str(caught.value)) < LONGEST


NAMES_A_PATH: dict[str, Callable[[str], Any]] = {
    "load_result": bestarm.load_result,
    "store": lambda path: race(store=path),
    "read_table": bestarm.read_table,
    "read_table csv": lambda path: bestarm.read_table(f"{path}.csv"),
    "to_json": lambda path: race().to_json(path),
}


@pytest.mark.parametrize("call", NAMES_A_PATH)
@pytest.mark.parametrize("path", [LONG, f"{LONG}/{LONG}", "\r\r\n/x\ny", "a\n" * 300], ids=range(4))
def test_a_path_in_a_message_is_short_and_on_one_line(call: str, path: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, OSError, bestarm.StoreError)) as caught:
        NAMES_A_PATH[call](str(tmp_path / path))
    said = str(caught.value)
    assert len(said) < LONGEST
    assert said.isprintable()


def test_an_error_of_writing_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        race().to_json(tmp_path / "nowhere" / "result.json")
    assert caught.value.filename == str(tmp_path / "nowhere" / "result.json")


def test_arms_of_several_levels_are_raced(tmp_path: Path) -> None:
    shared = {"depth": [1, (2, {"width": 3})]}
    result = race(arms=[shared, [shared, shared], nested(90)], store=tmp_path / "race.sqlite")
    assert len(result.records) == 3
    assert result.to_json()
