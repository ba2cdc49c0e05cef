"""LUCB with known variances, a baseline of the paper."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.elimination import NO_DIFFERENCES
from bestarm.algorithms.game import Elimination, Game
from bestarm.algorithms.variances import KnownVariances, check_variances, variance_vector
from bestarm.board import QUERIES, ROUNDS, new_duel
from bestarm.checks import check_open_unit
from bestarm.comparisons.boundary import CHUNK, boundary_chunk


@dataclass(frozen=True)
class LUCBIntervals:
    """LUCB's radius ``sigma_i sqrt(2 log(5 K t^4 / (4 delta)) / n_i)``, without its ``sigma_i / sqrt(n_i)``."""

    bounds: ClassVar[None] = None

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Radius in standard errors, and offset 0."""
        slope = np.sqrt(2.0 * (np.log(1.25 * n_arms) + 4.0 * np.log(rounds) - np.log(delta)))
        return slope, np.zeros_like(slope)


@dataclass(frozen=True)
class LUCB:
    """LUCB with known variances: query the leader and its most likely challenger (Section 7 of the paper).

    All arms are queried in the first round; then, in each round, the arm with the largest mean and the one with the
    highest upper bound among the others, until the first one's lower bound lies above it. Nobody is eliminated before
    that: then all others are.

    **Guarantee.** Rounds independent and identically distributed, arm ``i`` Gaussian or sub-Gaussian with at most the
    variance given, one best arm: it is returned with probability at least ``1 - delta``.

    Parameters
    ----------
    delta : probability of error allowed, in (0, 1)
    variances : the variance of each arm, or one number for all

    References
    ----------
    Kalyanakrishnan, Tewari, Auer, Stone (2012), PAC subset selection in stochastic multi-armed bandits.

    """

    delta: float = 0.05
    variances: KnownVariances = 1.0

    def __post_init__(self) -> None:
        check_open_unit("delta", self.delta)
        check_variances(self)

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        sds = np.sqrt(variance_vector(self.variances, n_arms))
        return Game(n_arms, _LUCBLearner(sds, self.delta))


class _LUCBLearner:
    """Counts and sums of each arm; the pair of the next round."""

    def __init__(self, sds: NDArray[np.float64], delta: float) -> None:
        from bestarm.kernels import lucb

        self._kernel = lucb
        self._duel = new_duel(sds.size)
        self._sds = sds
        self._delta = delta
        self._decided = False

    @property
    def n_rounds(self) -> int:
        return int(self._duel.tally[ROUNDS])

    @property
    def n_queries(self) -> int:
        return int(self._duel.tally[QUERIES])

    def queried(self) -> NDArray[np.int64]:
        return np.arange(self._sds.size) if self.n_rounds == 0 else np.sort(self._duel.pair)

    def absorb(self, rows: NDArray[np.float64]) -> int:
        used = 0
        while used < len(rows) and not self._decided:
            start = self.n_rounds % CHUNK
            block = rows[used : used + CHUNK - start]
            n_used, self._decided = self._kernel(block, self._widths()[start:], self._sds, self._duel)
            used += n_used
        return used

    def _widths(self) -> NDArray[np.float64]:
        return boundary_chunk(LUCBIntervals(), self._sds.size, self._delta, self.n_rounds // CHUNK)[0]

    @property
    def reason(self) -> str | None:
        return "decided" if self._decided else None

    def means(self) -> NDArray[np.float64]:
        return self._duel.sums / np.maximum(self._duel.counts, 1)

    def counts(self) -> NDArray[np.int64]:
        return self._duel.counts.copy()

    def candidates(self) -> tuple[int, ...]:
        return (int(self._duel.pair[0]),) if self._decided else tuple(range(self._sds.size))

    def eliminations(self) -> list[Elimination]:
        if not self._decided:
            return []
        chunk, place = divmod(self.n_rounds - 1, CHUNK)
        width = boundary_chunk(LUCBIntervals(), self._sds.size, self._delta, chunk)[0][place]
        means, radii = self.means(), width * self._sds / np.sqrt(self._duel.counts)
        leader = int(self._duel.pair[0])
        margins = (means[leader] - radii[leader]) - (means + radii)
        return [
            Elimination(arm=arm, round=self.n_rounds, by=leader, margin=float(margins[arm]))
            for arm in range(means.size)
            if arm != leader
        ]

    def contradiction(self) -> None:
        return None

    def lead_bound(self, i: int, j: int, simultaneous: bool) -> float:
        raise TypeError(NO_DIFFERENCES)

    def disqualify(self, arm: int) -> None:
        raise TypeError(
            "LUCB asks for two arms at a time and cannot do without one of them: use an elimination algorithm"
        )

    def diagnostics(self) -> dict[str, int]:
        return {}
