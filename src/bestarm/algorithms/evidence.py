"""The evidence of Pairwise-BAI about differences: moments with a boundary, or the wealth of bets."""

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.elimination import NO_DIFFERENCES, BoundaryEvidence
from bestarm.board import FOREVER, QUERIED, ROUNDS, Board, new_board, new_folio, new_purse
from bestarm.comparisons.betting import CAP, Betting
from bestarm.comparisons.boundary import CHUNK, Boundary, boundary_chunk

SOLVER_STEPS = 200  # far beyond what the solver needs; then an arm counts as not beaten


def shared_rounds(board: Board, i: int, j: int) -> int:
    """The number of rounds in which both arms were queried."""
    return int(min(board.last_round[i], board.last_round[j], board.tally[ROUNDS]))


class PairEvidence:
    """Moments of all differences, judged by the boundary of a comparison."""

    def __init__(
        self, n_arms: int, comparison: Boundary, delta: float, keep: float, zone: float, epsilon: float
    ) -> None:
        from bestarm.kernels import race_pairs

        settings = (float(keep), float(zone), float(epsilon), False, FOREVER)
        self._judged = BoundaryEvidence(new_board(n_arms), comparison, delta, race_pairs, settings)
        self.board = self._judged.board
        self.play = self._judged.play
        self.forget = self._judged.forget
        self._comparison = comparison
        self._delta = delta

    def diagnostics(self) -> dict[str, int]:
        return {}

    def weights(self, arm: int) -> None:
        return None

    def lead_bound(self, i: int, j: int, simultaneous: bool) -> float:
        n, K = shared_rounds(self.board, i, j), self.board.arms.size
        if n < 2:
            return -np.inf
        chunk, place = divmod(n - 1, CHUNK)
        delta = self._delta / K if simultaneous else self._delta
        slopes, offsets = boundary_chunk(self._comparison, K, delta, chunk)
        if np.isinf(slopes[place]):
            return -np.inf
        lead, square = self._lead_and_square(i, j)
        return float(lead - slopes[place] * np.sqrt(square / (n - 1)) - offsets[place])

    def _lead_and_square(self, i: int, j: int) -> tuple[float, float]:
        """``mean_j - mean_i`` over the rounds shared, and the centred sum of squares of the difference."""
        board = self.board
        a, b = (int(np.flatnonzero(board.arms == arm)[0]) for arm in (i, j))
        both_queried = max(a, b) < board.tally[QUERIED]
        lead = board.means[b] - board.means[a] if both_queried else board.parted[i, j]
        return float(lead), float(board.squares[max(a, b), min(a, b)])


class WealthEvidence:
    """The wealth of bets on all differences.

    Bounds on differences need the rewards themselves, so these are kept.
    """

    def __init__(
        self,
        n_arms: int,
        betting: Betting,
        delta: float,
        keep: float,
        zone: float,
        epsilon: float,
        portfolio: bool = False,
    ) -> None:
        from bestarm.kernels import race_wealth

        self.board = new_board(n_arms)
        self._kernel = race_wealth
        self._betting = betting
        weights, scale = np.array(betting.weights), betting.scale
        self._state = (
            np.zeros((n_arms, n_arms)),
            new_purse(n_arms, weights),
            new_purse(n_arms if epsilon > 0 else 1, weights),
            new_folio(n_arms if portfolio else 0),
        )
        self._settings = (float(keep), zone * scale, epsilon * scale, scale, betting.pool or 0)
        self._threshold = (2 if portfolio else 1) * (n_arms - 1) / delta
        self._bets = (np.array(betting.bets), weights, CAP, self._threshold)
        self._history: list[NDArray[np.float64]] = []

    def play(self, rows: NDArray[np.float64], max_rounds: int, max_queries: int) -> int:
        used = int(self._kernel(rows, max_rounds, max_queries, self.board, *self._state, *self._settings, *self._bets))
        self._history.append(rows[:used].copy())
        return used

    def diagnostics(self) -> dict[str, int]:
        return {}

    def weights(self, arm: int) -> None:
        return None

    def lead_bound(self, i: int, j: int, simultaneous: bool) -> float:
        n, K = shared_rounds(self.board, i, j), self.board.arms.size
        if n == 0:
            return -1.0 / self._betting.scale
        self._history = [np.concatenate(self._history)]
        differences = self._history[0][:n, j] - self._history[0][:n, i]
        if n == self._betting.pool:
            return float(differences.mean())
        log_threshold = np.log(self._threshold) + (np.log(K) if simultaneous else 0.0)
        return self._betting.lower_bound(differences, float(log_threshold))

    def forget(self, arm: int) -> None:
        _, purse, near, folio = self._state
        if folio.log_wealth.size:
            raise TypeError("arms that a portfolio has bet on cannot be disqualified: use PairwiseBAI with Betting")
        # Averaged wealth that stops when a round is seen is no supermartingale; wealth that is lost then is one.
        for bets in (purse, near)[: 2 if len(near.total) > 1 else 1]:
            bets.log_wealth[:, :, arm] = -np.inf
            bets.wealth[:, :, arm] = 0.0
            bets.total[:, arm] = 0.0


class ConvexEvidence:
    """Moments of all differences, judged by a boundary for convex combinations."""

    def __init__(
        self, n_arms: int, comparison: Boundary, delta: float, keep: float, growth: float, sparsity: int
    ) -> None:
        from bestarm.kernels import race_convex

        self._proofs = np.zeros((n_arms, n_arms))
        self.counts = np.zeros(3, dtype=np.int64)
        warm, next_check = np.zeros((n_arms, n_arms)), np.zeros(1, dtype=np.int64)
        settings = (float(keep), float(growth), sparsity, SOLVER_STEPS, warm, self._proofs, self.counts, next_check)
        self._judged = BoundaryEvidence(new_board(n_arms), comparison, delta, race_convex, settings)
        self.board = self._judged.board
        self.play = self._judged.play

    def diagnostics(self) -> dict[str, int]:
        rounds, arms, uncertified = self.counts.tolist()
        return {"rounds looked at": rounds, "arms solved": arms, "not certified": uncertified}

    def forget(self, arm: int) -> None:
        raise TypeError("arms that were compared in combinations cannot be disqualified: use PairwiseBAI")

    def weights(self, arm: int) -> dict[int, float]:
        return {int(j): float(self._proofs[arm, j]) for j in np.flatnonzero(self._proofs[arm])}

    def lead_bound(self, i: int, j: int, simultaneous: bool) -> float:
        raise TypeError(NO_DIFFERENCES)
