"""What is raced: arms by their labels, items from lists and files, their texts and fingerprints, and fresh seeds."""

import io
import math
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import AssumptionWarning, Race
from bestarm.sources import items
from bestarm.sources.items import HALF, SWAPS, fresh_seeds, permuted, read_items, seeds_in_progression
from conftest import Refused
from small_race import run

# --- arms ------------------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize(
    ("arms", "stranger"), [([1, 2], 1.0), ([1, 2], True), ([1, 2], 2.0), ([1, 2], 1 + 0j), (["1", "2"], 1)]
)
def test_a_label_of_another_type_is_no_arm(arms: list[Any], stranger: Any) -> None:
    race = Race(arms, items=range(50), bounds=(0, 1))
    todo = race.ask()[0]
    with pytest.raises(ValueError, match=r"there is no arm .*: the arms are 1, 2"):
        race.tell(todo, {stranger: 0.5})
    race.tell(todo, {arms[0]: 0.25, arms[1]: 0.75})
    assert race.result().scores.tolist() == [[0.25, 0.75]]


def test_a_name_is_as_good_as_a_label() -> None:
    race = Race([1, 2.0, True], items=range(50), bounds=(0, 1))
    race.tell(race.ask()[0], {"True": 0.125, "2.0": 0.25, "1": 0.5})
    assert race.result().scores.tolist() == [[0.5, 0.25, 0.125]]


# --- sets, texts and fingerprints ------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameter", ["items", "arms"])
def test_sets_are_refused_as_lists(parameter: str, refused: Refused) -> None:
    with refused(parameter, frozenset({1, 2, 3}), TypeError):
        run(**{parameter: frozenset({1, 2, 3})})


@pytest.mark.parametrize("item", [{"b", "a"}, frozenset("ab"), [1, {"b", "a"}], {"words": {"b", "a"}}])
@pytest.mark.parametrize("stream", [False, True])
def test_sets_are_refused_as_items(item: Any, stream: bool) -> None:
    with pytest.raises(TypeError, match=r"^an item must not be a set, .*: give \('a', 'b'\) instead"):
        run(lambda arm, item: 0.5, items=iter([item, item]) if stream else [item, item])


def test_the_texts_of_other_items_do_not_depend_on_the_hash_seed() -> None:
    program = (
        "from bestarm.sources.items import full_text\n"
        "class Thing: pass\n"
        "print(full_text({'b': 1, 'a': (2, None)}), full_text(3.5), full_text(b'x'), full_text(Thing()))"
    )
    for seed in ("1", "2"):
        words, env = [sys.executable, "-c", program], {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        printed = subprocess.run(words, env=env, capture_output=True, text=True, check=True).stdout  # noqa: S603
        assert printed == """{"a": [2, null], "b": 1} 3.5 b'x' <__main__.Thing object>\n"""


@pytest.mark.parametrize("other", [["a", "bc", "d"], ["abc", "", "d"], ["d", "ab", "c"], ["ab", "cd", ""]])
def test_items_that_run_into_each_other_are_other_items(other: list[str], tmp_path: Path) -> None:
    options: dict[str, Any] = {"arms": ["x", "y"], "store": tmp_path / "race.sqlite"}
    run(lambda arm, item: 0.5, items=["ab", "c", "d"], **options)
    run(lambda arm, item: 0.5, items=("ab", "c", "d"), **options)
    with pytest.raises(bestarm.StoreError, match="the items are not the same"):
        run(lambda arm, item: 0.5, items=other, **options)


# --- files of items --------------------------------------------------------------------------------------------------

MARKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # where str.splitlines would end a line too
Given = Callable[[bytes], list[Path]]


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Given:
    """Something to read as a file, and from standard input."""

    def paths(content: bytes) -> list[Path]:
        (tmp_path / "items.txt").write_bytes(content)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        return [tmp_path / "items.txt", Path("-")]

    return paths


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_on_every_system_and_nowhere_else(end: str, given: Given) -> None:
    expected = ["first", *(f"a{mark}b" for mark in MARKS), "  kept  ", "last\ufeff"]
    content = ("\ufeff" + end.join([*expected[:2], "", " \t", *expected[2:]])).encode()
    for path in [*given(content), given(content + end.encode())[0]]:
        assert read_items(path) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\0c\n", "must be a text file in UTF-8: it holds NUL bytes"),
        ("a\nb\n".encode("utf-16"), "must be a text file in UTF-8: it holds NUL bytes"),
        (b"caf\xe9\n", "must be a text file in UTF-8: 'utf-8' codec can't decode byte 0xe9"),
        (b"x\n" * 11, "must hold at most 10 lines, one per item"),
        (b"x\r" * 11, "must hold at most 10 lines, one per item"),
        (b"x" * 101, "must hold at most 100 bytes"),
    ],
)
def test_what_is_no_text_or_too_long(
    content: bytes, message: str, given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items, "MOST_BYTES", 100)
    monkeypatch.setattr(items, "MOST_LINES", 10)
    for path in given(content):
        with pytest.raises(ValueError, match=re.escape(message)):
            read_items(path)
    assert len(read_items(given(b"\n".join(b"%d" % k for k in range(10)) + b"\n")[0])) == 10


def test_what_never_ends_or_is_not_there_is_refused_at_once(tmp_path: Path, given: Given) -> None:
    no_file = "is a pipe, a socket or a device: give the path of a file"
    below = given(b"x")[0] / "below a file"
    paths = {
        tmp_path: f"{tmp_path} is a folder: give the path of a file",
        tmp_path / "absent": f"there is no file {tmp_path / 'absent'}: check its name and its folder",
        below: f"there is no file {below}: check its name and its folder",
    }
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        paths |= {tmp_path / "pipe": f"{tmp_path / 'pipe'} {no_file}", Path("/dev/zero"): f"/dev/zero {no_file}"}
    for path, message in paths.items():
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            read_items(path)


def test_items_that_are_repeated_are_kept_and_said(given: Given) -> None:
    for path in given(b"a\nb\nb\nc\n\na\n"):
        with pytest.warns(AssumptionWarning, match=r"repeats 2 items \(the first: 'b'\): each counts"):
            assert read_items(path) == ["a", "b", "b", "c", "a"]


def test_an_empty_file_has_no_items_and_empty_input_is_refused(given: Given) -> None:
    file, piped = given(b"\xef\xbb\xbf\n \n")
    assert read_items(file) == []
    with pytest.raises(ValueError, match="there are no items on standard input: pipe them in, one per line"):
        read_items(piped)


# --- fresh seeds: no generator, however simple, relates the rounds of a race to each other ---------------------------

N = 20_000
LAGS = range(1, 9)
SIMPLE: dict[str, Callable[[int], float]] = {
    "linear congruential": lambda seed: (1103515245 * seed + 12345) % 2**31 / 2**31,
    "Park-Miller": lambda seed: 16807 * seed % (2**31 - 1) / (2**31 - 1),
    "the seed itself": lambda seed: seed / 2**32,
}
GOOD: dict[str, Callable[[int], float]] = {
    "random.Random": lambda seed: random.Random(seed).random(),  # noqa: S311 - no secrets here
    "default_rng": lambda seed: float(np.random.default_rng(seed).random()),
}


def largest_correlation(seeds: Iterator[int], draw: Callable[[int], float], n: int) -> float:
    """Of first draws that are up to eight rounds apart, in units of its standard error where there is none."""
    draws = np.array([draw(seed) for seed in islice(seeds, n)])
    return max(abs(float(np.corrcoef(draws[lag:], draws[:-lag])[0, 1])) for lag in LAGS) * math.sqrt(n)


@pytest.mark.parametrize("generator", [*SIMPLE, *GOOD])
@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_first_draws_of_consecutive_rounds_do_not_correlate(generator: str, seed: int) -> None:
    n = N if generator in SIMPLE else N // 10
    assert largest_correlation(fresh_seeds(seed), (SIMPLE | GOOD)[generator], n) < 4.5


@pytest.mark.parametrize("generator", SIMPLE)
def test_with_seeds_in_progression_they_do(generator: str) -> None:
    assert largest_correlation(seeds_in_progression(0), SIMPLE[generator], N) > 0.3 * np.sqrt(N)


def undone(seed: int, tables: list[list[int]]) -> int:
    left, right = divmod(seed, HALF)
    for table in reversed(tables):
        left, right = right ^ table[left], left
    return left * HALF + right


def test_seeds_are_a_permutation_whatever_the_tables() -> None:
    luck = np.random.default_rng(3)
    tables = luck.integers(HALF, size=(SWAPS, HALF)).tolist()
    numbers = [0, 1, HALF - 1, HALF, HALF**2 - 1, *luck.integers(HALF**2, size=2000).tolist()]
    assert [undone(permuted(number, tables), tables) for number in numbers] == numbers
    seeds = np.fromiter(fresh_seeds(0), dtype=np.int64, count=10**6)
    assert np.unique(seeds).size == 10**6
    assert 0 <= seeds.min() < seeds.max() < 2**32


def test_seeds_are_the_same_on_every_machine() -> None:
    assert list(islice(fresh_seeds(0), 3)) == [2147327825, 3455370340, 325992862]
    assert list(islice(seeds_in_progression(2), 3)) == [2834126987, 1193595452, 3848031213]


def test_a_race_keeps_its_kind_of_seeds_in_its_file(tmp_path: Path) -> None:
    frozen = Path(__file__).resolve().parents[1] / "data" / "frozen" / "worst.sqlite"  # earlier versions had no setting
    old = bestarm.load_result(frozen)
    assert not old.settings.hashed_seeds
    assert old.record.items[:3] == [str(seed) for seed in islice(seeds_in_progression(0), 3)]
    seen: list[int] = []

    def score(arm: str, seed: int) -> float:
        seen.append(seed)
        return 0.5

    call: dict[str, Any] = {"arms": ["a", "b"], "bounds": (0, 1), "seed": 5, "store": tmp_path / "race.sqlite"}
    for budget in (20, 40):
        result = bestarm.race(score, max_evaluations=budget, **call)
    assert result.settings.hashed_seeds
    assert seen[::2] == list(islice(fresh_seeds(5), 20))
    listed = bestarm.race(lambda arm, item: arm + item, arms=[0.0, 0.5], items=[0.1, 0.2, 0.3], bounds=(0, 1))
    assert not listed.settings.hashed_seeds
