"""Boundaries of a user's own: what a race takes from them, and what it refuses."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from bestarm.algorithms import PairwiseBAI
from bestarm.comparisons import PairBoundary
from bestarm.values import Array
from small_race import run


@dataclass(frozen=True)
class Signs(PairBoundary):
    """For scores 0 and 1: the sign test, which is about arms that are no better and says nothing about leads."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    supports_epsilon: ClassVar[bool] = False

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        level = np.log(n_arms * rounds * (rounds + 1.0) / delta)
        room = rounds**2 - 2.0 * level * rounds
        slopes = np.sqrt(2.0 * level * (rounds - 1.0) / np.where(room > 0, room, 1.0))
        return np.where(room > 0, slopes, np.inf), np.zeros_like(rounds)


# --- without the proof for leads --------------------------------------------------------------------------------------


def test_nothing_is_said_about_leads_without_their_proof() -> None:
    game = PairwiseBAI(comparison=Signs()).start(2)
    game.play(np.tile([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]], (10, 1)))
    assert (game.lead_bound(0, 1), game.lead(0, 1), game.intervals(), game.regret_bound) == (None,) * 4


def test_a_race_says_nothing_about_leads_without_their_proof() -> None:
    result = run(comparison=Signs(), bounds=None, max_evaluations=30)
    assert (result.reason, result.intervals) == ("budget", None)
    assert np.isnan(result.regret_bound)
    assert not np.isfinite(result.lead("high", "low")[1:]).any()


@pytest.mark.parametrize("aim", ["epsilon", "indifference_zone"])
def test_no_tolerance_without_the_proof_for_leads(aim: str) -> None:
    options: dict[str, Any] = {aim: 0.1}
    with pytest.raises(ValueError, match=rf"^{aim} needs a comparison that supports .*{aim}=0\.1 with .*Signs"):
        PairwiseBAI(comparison=Signs(), **options)
    with pytest.raises(ValueError, match=f"{aim} needs a comparison"):
        run(comparison=Signs(), bounds=None, **options)
