"""LUCB with known variances, a baseline of the paper."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.game import Arms, Game, Rewards
from bestarm.algorithms.statements import Elimination, Guarantee, Reason
from bestarm.algorithms.variances import KNOWN_VARIANCES, KnownVariances, check_variances, variance_vector
from bestarm.board import Thresholds, new_duel
from bestarm.checks import check_delta
from bestarm.comparisons.boundary import in_chunks, thresholds_after
from bestarm.values import shortest_call


@dataclass(frozen=True)
class LUCBIntervals:
    """LUCB's radius ``sigma_i sqrt(2 log(5 K t^4 / (4 delta)) / n_i)``, without its ``sigma_i / sqrt(n_i)``."""

    def boundary(
        self, rounds: NDArray[np.float64], n_arms: int, delta: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Radius in standard errors, and offset 0."""
        slope = np.sqrt(2.0 * (np.log(1.25 * n_arms) + 4.0 * np.log(rounds) - np.log(delta)))
        return slope, np.zeros_like(slope)


@dataclass(frozen=True, repr=False)
class LUCB:
    """LUCB with known variances: query the leader and its most likely challenger (Section 7 of the paper).

    All arms are queried in the first round; then, in each round, the arm with the largest mean and the one with the
    highest upper bound among the others, until the first one's lower bound lies above it. Nobody is eliminated before
    that: then all others are.

    **Guarantee.** Rounds independent and identically distributed, arm ``i`` Gaussian or sub-Gaussian with at most the
    variance given, one best arm: it is returned with probability at least ``1 - delta``.

    Parameters
    ----------
    delta : accepted probability of a wrong answer, in (0, 1)
    variances : the variance of each arm, or one number for all

    References
    ----------
    Kalyanakrishnan, Tewari, Auer, Stone (2012), PAC subset selection in stochastic multi-armed bandits.

    """

    delta: float = 0.05
    _: KW_ONLY
    variances: KnownVariances = 1.0

    def __post_init__(self) -> None:
        check_delta(self.delta)
        check_variances(self)

    __repr__ = shortest_call

    def start(self, n_arms: int) -> Game:
        """A new game with this many arms."""
        sds = np.sqrt(variance_vector(self.variances, n_arms))
        return LUCBGame(sds, self.delta)


class LUCBGame(Game):
    """Counts and sums of each arm; the pair of the next round."""

    works_ahead: ClassVar[bool] = False

    def __init__(self, sds: NDArray[np.float64], delta: float) -> None:
        from bestarm.kernels import lucb

        super().__init__(sds.size, guarantee=Guarantee(delta, KNOWN_VARIANCES))
        self._kernel = lucb
        self._duel = new_duel(sds.size)
        self._sums, self._counts = self._duel.sums, self._duel.counts
        self._sds = sds
        self._decided = False

    def next_arms(self) -> Arms:
        """All arms at first, then the leader and its challenger."""
        return np.arange(self.n_arms) if self.n_rounds == 0 else np.sort(self._duel.pair)

    @property
    def reason(self) -> Reason | None:
        """Why the game has ended, or None while it goes on."""
        return Reason.DECIDED if self._decided else None

    @property
    def candidates(self) -> tuple[int, ...]:
        """All arms until the end."""
        return (int(self._duel.pair[0]),) if self._decided else super().candidates

    @property
    def eliminations(self) -> list[Elimination[int]]:
        """Everybody but the winner, at the end."""
        if not self._decided:
            return []
        width = self._thresholds(self.n_rounds - 1).slopes[0]
        means, radii = self.means, width * self._sds / np.sqrt(self._counts)
        leader = self.candidates[0]
        margins = (means[leader] - radii[leader]) - (means + radii)
        return [
            Elimination(arm=arm, round=self.n_rounds, by=leader, margin=float(margins[arm]))
            for arm in range(self.n_arms)
            if arm != leader
        ]

    @property
    def no_disqualification(self) -> str:
        """Why an arm cannot be taken out of the game."""
        return "LUCB asks for two arms at a time and cannot do without one of them: use an elimination algorithm"

    def _thresholds(self, n_rounds: int) -> Thresholds:
        return thresholds_after(LUCBIntervals(), self.n_arms, self.guarantee.delta, n_rounds)

    def _absorb_round(self, asked: Arms, row: Rewards) -> None:
        self._absorb_block(row)

    def _absorb_block(self, rows: Rewards) -> int:
        used = 0
        for block, widths in in_chunks(rows, LUCBIntervals(), self.n_arms, self.guarantee.delta, self.n_rounds):
            n_used, self._decided = self._kernel(block, widths.slopes, self._sds, self._duel)
            used += n_used
            if self._decided:
                break
        self.n_rounds, self.n_queries = self._duel.tally.tolist()
        return used
