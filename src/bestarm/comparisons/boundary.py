"""What a moment-based comparison is: a boundary for the lead of one arm over another.

Arm ``j`` beats arm ``i`` after round ``t`` when ``mean_j - mean_i > slope_t * spread_ij + offset_t``. Slopes and
offsets depend on the round, the number of arms and delta only, so they are computed once for a chunk of rounds and
shared by every pair, every game and every thread.
"""

from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

CHUNK = 2048  # rounds computed together: rounds 1..2048, 2049..4096, ...
LARGEST_SLOPE = 1e150  # its square is still a number; beyond it a boundary counts as infinite
CHUNKS_REMEMBERED = 4096  # 16 bytes a round: at most 64 MiB, four million rounds


class Boundary(Protocol):
    """Settings of a comparison; hashable, so that its slopes can be shared."""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval that rewards must lie in, if the comparison needs one."""
        ...

    def __hash__(self) -> int: ...

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slope and offset after each of these rounds; an infinite slope beats nobody."""
        ...


@lru_cache(maxsize=CHUNKS_REMEMBERED)
def boundary_chunk(
    comparison: Boundary, n_arms: int, delta: float, index: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Slopes and offsets of rounds ``index * CHUNK + 1`` to ``(index + 1) * CHUNK``, read-only."""
    rounds = np.arange(index * CHUNK + 1, (index + 1) * CHUNK + 1, dtype=np.float64)
    slopes, offsets = comparison.boundary(rounds, n_arms, delta)
    slopes[slopes > LARGEST_SLOPE] = np.inf
    slopes.setflags(write=False)
    offsets.setflags(write=False)
    return slopes, offsets


def paper_alpha(rounds: NDArray[np.float64], n_arms: int, delta: float, first_round: int = 3) -> NDArray[np.float64]:
    """The paper's ``alpha(t, delta) = sqrt(log(1 / delta_t) / (t - 1))``, ``delta_t = delta / (2 K^2 t (t + 1))``.

    Infinite before ``first_round``: Algorithm 1 plays two rounds before it looks.
    """
    t = np.maximum(rounds, first_round)
    log_inverse_delta_t = np.log(2.0 * n_arms**2 * t * (t + 1.0)) - np.log(delta)
    alpha: NDArray[np.float64] = np.sqrt(log_inverse_delta_t / (t - 1.0))
    return np.where(rounds < first_round, np.inf, alpha)
