"""The learner of every algorithm that eliminates arms: moments on a board, judged by a boundary."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.game import Elimination
from bestarm.board import FOREVER, Board
from bestarm.checks import check_count
from bestarm.comparisons.boundary import CHUNK, Boundary, boundary_chunk


def check_budget(max_rounds: int | None, max_queries: int | None) -> None:
    """Refuse limits that are not whole numbers of at least 1."""
    if max_rounds is not None:
        check_count("max_rounds", max_rounds)
    if max_queries is not None:
        check_count("max_queries", max_queries)


class EliminationLearner:
    """A board, the boundary that judges it, and the compiled loop that plays on it.

    The kernel is called with the rows, the slopes and offsets of their rounds, the limits, the board, and what is
    its own (``settings``); it returns the number of rows used.
    """

    def __init__(
        self,
        board: Board,
        boundary: Boundary,
        delta: float,
        kernel: Callable[..., int],
        settings: tuple[Any, ...],
        max_rounds: int | None = None,
        max_queries: int | None = None,
    ) -> None:
        self._board = board
        self._boundary = boundary
        self._delta = delta
        self._kernel = kernel
        self._settings = settings
        self._max_rounds = FOREVER if max_rounds is None else max_rounds
        self._max_queries = FOREVER if max_queries is None else max_queries
        self._read_tally()

    def _read_tally(self) -> None:
        self.n_rounds, self.n_queries, self._n_queried, self._n_candidates, _ = self._board.tally.tolist()

    def queried(self) -> NDArray[np.int64]:
        return self._board.arms[: self._n_queried].copy()

    def absorb(self, rows: NDArray[np.float64]) -> int:
        used = 0
        while used < len(rows) and self.reason is None:
            chunk, start = divmod(self.n_rounds, CHUNK)
            slopes, offsets = boundary_chunk(self._boundary, self._board.arms.size, self._delta, chunk)
            used += self._kernel(
                rows[used : used + CHUNK - start],
                slopes[start:],
                offsets[start:],
                self._max_rounds,
                self._max_queries,
                self._board,
                *self._settings,
            )
            self._read_tally()
        return used

    @property
    def reason(self) -> str | None:
        if self._n_candidates == 1:
            return "decided"
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
        board = self._board
        return tuple(int(arm) for arm in board.arms[: self._n_queried][board.bar[: self._n_queried] == 0])

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
        )
