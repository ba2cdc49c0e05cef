"""The rewards of a game, kept for those who look at them again: bounds on leads, and bets that are made once more."""

from collections.abc import Iterator

import numpy as np

from bestarm.comparisons.evidence import shared_rounds
from bestarm.kernels.state import Board
from bestarm.values import Array, Indices

CELLS_OF_STRETCH = 2**16  # rewards that memory is taken for at a time, at most
FEWEST_ROUNDS = 16  # that memory is taken for, at least


class Stretch:
    """Rounds one after the other with the same arms: a row for each round, and memory for more of them."""

    def __init__(self, arms: Indices, n_rows: int) -> None:
        self.arms = arms
        self.n_rounds = 0
        self._rows = np.empty((n_rows, arms.size))

    @property
    def n_free(self) -> int:
        """How many more rounds there is memory for."""
        return len(self._rows) - self.n_rounds

    @property
    def nbytes(self) -> int:
        """The memory that is taken."""
        return self.arms.nbytes + self._rows.nbytes

    @property
    def rows(self) -> Array:
        """The rewards of its rounds, a column for each arm."""
        return self._rows[: self.n_rounds]

    def add(self, rows: Array) -> None:
        """Take rounds, as whole rows, of which the arms of this stretch are kept."""
        end = self.n_rounds + len(rows)
        self._rows[self.n_rounds : end] = rows if self.arms.size == rows.shape[1] else rows[:, self.arms]
        self.n_rounds = end

    def trim(self) -> None:
        """Give back the memory that is left."""
        if self.n_free:
            self._rows = self.rows.copy()


class History:
    """The rewards of all rounds played on a board; an arm has some up to its last round, and none after it."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._stretches: list[Stretch] = []

    @property
    def nbytes(self) -> int:
        """The memory that is taken."""
        return sum(stretch.nbytes for stretch in self._stretches)

    @property
    def n_rounds(self) -> int:
        """The number of rounds whose rewards are kept."""
        return sum(stretch.n_rounds for stretch in self._stretches)

    def blocks(self, after: int = 0) -> Iterator[tuple[int, Indices, Array]]:
        """The rounds after the first so many: how many went before, the arms that were queried, and their rewards."""
        begun = 0
        for stretch in self._stretches:
            end = begun + stretch.n_rounds
            if end > after:
                first = max(begun, after)
                yield first, stretch.arms, stretch.rows[first - begun :]
            begun = end

    def differences(self, a: int, b: int) -> Array:
        """The rewards of arm a minus those of arm b in the rounds that the two shared."""
        n = shared_rounds(self._board, a, b)
        shared = [(np.searchsorted(arms, (a, b)), rows) for begun, arms, rows in self.blocks() if begun < n]
        return np.concatenate([np.empty(0), *(rows[:, at_a] - rows[:, at_b] for (at_a, at_b), rows in shared)])

    def add(self, rows: Array) -> None:
        """Take the rounds that were just played, as whole rows: those of arms that had left are not kept."""
        done, last = self._board.n_rounds, self._board.last_round
        begun = done - len(rows)
        changes = np.unique(last[(last > begun) & (last < done)]).tolist() if len(rows) > 1 else []
        for end in (*changes, done):  # the rounds after which the arms were others, and the last
            if end > begun:
                self._add(np.flatnonzero(last >= end), rows[: end - begun], begun)
                rows, begun = rows[end - begun :], end

    def _add(self, arms: Indices, rows: Array, begun: int) -> None:
        """Take rounds with the same arms: into the last stretch, if it is one of these arms and there is memory."""
        while len(rows):
            now = self._stretches[-1] if self._stretches else None
            n_free = 0 if now is None else now.n_free
            if now is None or not n_free or now.arms.size != arms.size:
                if now is not None:
                    now.trim()
                doubled = max(FEWEST_ROUNDS, begun)  # as many rounds again, up to a limit
                n_free = max(len(rows), min(doubled, max(1, CELLS_OF_STRETCH // max(1, arms.size))))
                now = Stretch(arms, n_free)
                self._stretches.append(now)
            fit = rows[:n_free]
            now.add(fit)
            rows = rows[len(fit) :]
