"""The learner of every algorithm that eliminates arms on a board."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.game import Elimination
from bestarm.board import CANDIDATES, FOREVER, POOL_EXHAUSTED, ROUNDS, WITHIN_EPSILON, Board
from bestarm.checks import check_count
from bestarm.comparisons.boundary import CHUNK, Boundary, boundary_chunk

Rows = NDArray[np.float64]


class Evidence(Protocol):
    """What has been learned about the arms, on a board."""

    @property
    def board(self) -> Board:
        """Where the game stands."""
        ...

    def play(self, rows: Rows, max_rounds: int, max_queries: int) -> int:
        """Play rounds from whole rows until the end; the number of rows used."""
        ...

    def diagnostics(self) -> dict[str, int]:
        """What the evidence counts besides queries."""
        ...

    def weights(self, arm: int) -> dict[int, float] | None:
        """The weights of the combination that beat an arm, where combinations are compared."""
        ...

    def lead_bound(self, i: int, j: int, simultaneous: bool) -> float:
        """A lower confidence bound for ``mu_j - mu_i`` from the rounds that the two shared.

        At the level of one test of the eliminations, or ``simultaneous`` with those of all pairs and both sides.
        """
        ...

    def forget(self, arm: int) -> None:
        """Drop the evidence that others are worse than this arm, which was disqualified in the round now asked."""
        ...


NO_DIFFERENCES = (
    "this algorithm keeps no statistics of differences: regret_bound and intervals() need a game of PairwiseBAI"
)


def check_budget(max_rounds: int | None, max_queries: int | None) -> None:
    """Refuse limits that are not whole numbers of at least 1."""
    if max_rounds is not None:
        check_count("max_rounds", max_rounds)
    if max_queries is not None:
        check_count("max_queries", max_queries)


class BoundaryEvidence:
    """Moments of the arms, judged by a boundary.

    The kernel is called with the rows, the slopes and offsets of their rounds, the limits, the board, and what is its
    own (``settings``); it returns the number of rows used.
    """

    def __init__(
        self, board: Board, boundary: Boundary, delta: float, kernel: Callable[..., int], settings: tuple[Any, ...]
    ) -> None:
        self.board = board
        self._boundary = boundary
        self._delta = delta
        self._kernel = kernel
        self._settings = settings

    def play(self, rows: Rows, max_rounds: int, max_queries: int) -> int:
        used, n_rounds = 0, int(self.board.tally[ROUNDS])
        while used < len(rows):
            chunk, start = divmod(n_rounds + used, CHUNK)
            slopes, offsets = boundary_chunk(self._boundary, self.board.arms.size, self._delta, chunk)
            block = rows[used : used + CHUNK - start]
            played = self._kernel(
                block, slopes[start:], offsets[start:], max_rounds, max_queries, self.board, *self._settings
            )
            used += played
            if played < len(block):
                break
        return used

    def diagnostics(self) -> dict[str, int]:
        return {}

    def weights(self, arm: int) -> None:
        return None

    def lead_bound(self, i: int, j: int, simultaneous: bool) -> float:
        raise TypeError(NO_DIFFERENCES)

    def forget(self, arm: int) -> None:
        """Nothing to drop: arms that are not queried beat nobody, and every test stands for itself."""


class EliminationLearner:
    """A board with its evidence, and when to stop."""

    def __init__(self, evidence: Evidence, max_rounds: int | None = None, max_queries: int | None = None) -> None:
        n_arms = evidence.board.arms.size
        if max_queries is not None and max_queries < n_arms:
            raise ValueError(f"max_queries must allow for one round of all {n_arms} arms, got {max_queries}")
        self.evidence = evidence
        self._board = evidence.board
        self._max_rounds = FOREVER if max_rounds is None else max_rounds
        self._max_queries = FOREVER if max_queries is None else max_queries
        self._read_tally()

    def _read_tally(self) -> None:
        tally = self._board.tally.tolist()
        self.n_rounds, self.n_queries, self._n_queried, self._n_candidates, _, self._ended = tally

    def queried(self) -> NDArray[np.int64]:
        return self._board.arms[: self._n_queried].copy()

    def absorb(self, rows: Rows) -> int:
        used = self.evidence.play(rows, self._max_rounds, self._max_queries)
        self._read_tally()
        return used

    @property
    def reason(self) -> str | None:
        if self._ended == POOL_EXHAUSTED:
            return "pool exhausted"
        if self._n_candidates == 1:
            return "decided"
        if self._ended == WITHIN_EPSILON:
            return "within epsilon"
        if self.n_rounds >= self._max_rounds or self.n_queries + self._n_queried > self._max_queries:
            return "budget"
        return None

    def means(self) -> NDArray[np.float64]:
        means = np.empty_like(self._board.means)
        means[self._board.arms] = self._board.means
        return means

    def counts(self) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = np.minimum(self._board.last_round, self.n_rounds)
        return counts

    def candidates(self) -> tuple[int, ...]:
        board, m = self._board, self._n_queried
        return tuple(board.arms[:m][board.bar[:m] == 0].tolist())

    def eliminations(self) -> list[Elimination]:
        standing = self.candidates()
        out = [self._record(int(arm)) for arm in np.flatnonzero(self._board.beaten_round) if arm not in standing]
        return sorted(out, key=lambda elimination: (elimination.round, elimination.arm))

    def contradiction(self) -> Elimination | None:
        standing = self.candidates()
        return self._record(standing[0]) if self._board.beaten_round[standing[0]] else None

    def _record(self, arm: int) -> Elimination:
        board = self._board
        return Elimination(
            arm=arm,
            round=int(board.beaten_round[arm]),
            by=int(board.beaten_by[arm]),
            margin=float(board.margin[arm]),
            weights=self.evidence.weights(arm),
        )

    def lead_bound(self, i: int, j: int, simultaneous: bool) -> float:
        return self.evidence.lead_bound(i, j, simultaneous)

    def disqualify(self, arm: int) -> None:
        from bestarm.kernels import let_leave

        self.evidence.forget(arm)
        board, t = self._board, self.n_rounds
        place = int(np.flatnonzero(board.arms == arm)[0])
        if board.bar[place] == 0.0:
            board.bar[place] = np.inf
            board.tally[CANDIDATES] -= 1
        board.last_round[arm] = t
        let_leave(board, t)
        self._read_tally()

    def diagnostics(self) -> dict[str, int]:
        return self.evidence.diagnostics()
