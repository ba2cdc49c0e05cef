from pathlib import Path

import numpy as np
import pytest

from killing import RACES, kill_race

# benchmarks/kill_race.py does the same with all races and 200 kills.


@pytest.mark.parametrize("name", ["threads", "disqualify"])
def test_a_race_killed_at_random_moments_ends_as_the_uninterrupted_one_and_repeats_nothing(
    name: str, tmp_path: Path
) -> None:
    tally = kill_race(name, 3, tmp_path, np.random.default_rng([2, list(RACES).index(name)]))
    assert tally.faults == []
    assert tally.kills == len(tally.moments) == 3
    assert tally.stored > 0
    assert tally.resumes > 0
