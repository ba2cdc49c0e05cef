import random
from pathlib import Path

import pytest

from attacks.kills import killed

# benchmarks/faults.py does the same with fourteen races and 1,000 kills.


@pytest.mark.parametrize("name", ["threads", "disqualify"])
def test_a_race_killed_at_random_moments_ends_as_the_uninterrupted_one_and_repeats_nothing(
    name: str, tmp_path: Path
) -> None:
    said: list[str] = []
    killed(name, 3, random.Random(2), tmp_path, said.append)  # noqa: S311 - no secrets here
    assert sum(word.startswith("kill after") for word in said) >= 3
