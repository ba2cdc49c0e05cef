"""Fresh seeds are as good as random: no generator, however simple, relates the rounds of a race to each other."""

import math
import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.sources.items import HALF, SWAPS, fresh_seeds, permuted, seeds_in_progression

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


@pytest.mark.parametrize("seed", [0, 7])
def test_every_bit_is_even_and_so_is_every_change_of_it(seed: int) -> None:
    seeds = np.fromiter(fresh_seeds(seed), dtype=np.int64, count=10**5)
    for words in (seeds, seeds[1:] ^ seeds[:-1]):
        shares = [(words >> bit & 1).mean() for bit in range(32)]
        assert np.abs(np.array(shares) - 0.5).max() < 4.5 * 0.5 / np.sqrt(words.size)


def test_seeds_are_the_same_on_every_machine() -> None:
    assert list(islice(fresh_seeds(0), 3)) == [2147327825, 3455370340, 325992862]
    assert list(islice(seeds_in_progression(2), 3)) == [2834126987, 1193595452, 3848031213]


def test_a_race_begun_with_seeds_in_progression_goes_on_with_them(tmp_path: Path) -> None:
    """Files of earlier versions have no such setting; `test_frozen_files` continues real ones."""
    frozen = Path(__file__).resolve().parent / "data" / "frozen" / "worst.sqlite"
    result = bestarm.load_result(frozen)
    assert not result.settings.hashed_seeds
    assert result.record.items[:3] == [str(seed) for seed in islice(seeds_in_progression(0), 3)]


def test_a_race_keeps_its_fresh_seeds_in_its_file(tmp_path: Path) -> None:
    seen: list[int] = []

    def score(arm: str, seed: int) -> float:
        seen.append(seed)
        return 0.5

    call: dict[str, Any] = {"arms": ["a", "b"], "bounds": (0, 1), "seed": 5, "store": tmp_path / "race.sqlite"}
    for budget in (20, 40):
        result = bestarm.race(score, max_evaluations=budget, **call)
    assert result.settings.hashed_seeds
    assert seen[::2] == list(islice(fresh_seeds(5), 20))


def test_other_races_have_no_seeds() -> None:
    result = bestarm.race(lambda arm, item: arm + item, arms=[0.0, 0.5], items=[0.1, 0.2, 0.3], bounds=(0, 1))
    assert not result.settings.hashed_seeds
