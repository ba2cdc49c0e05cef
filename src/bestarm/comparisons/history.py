"""The rewards of a game so far: what was queried, and nothing else."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bestarm.board import ROUNDS, Board
from bestarm.comparisons.evidence import shared_rounds

CELLS = 2**16  # rewards that room is made for at a time, at most
FEWEST = 16  # rounds that room is made for, at least


class Stretch:
    """Rounds one after the other with the same arms: a row for each round, with room for more."""

    def __init__(self, arms: NDArray[np.int64], room: int) -> None:
        self.arms = arms
        self.n_rounds = 0
        self._rows = np.empty((room, arms.size))

    @property
    def room(self) -> int:
        """How many rounds still fit in."""
        return len(self._rows) - self.n_rounds

    @property
    def nbytes(self) -> int:
        """The memory that is taken."""
        return self.arms.nbytes + self._rows.nbytes

    def add(self, rows: NDArray[np.float64]) -> None:
        """Take rounds, as whole rows, of which the arms of this stretch are kept."""
        end = self.n_rounds + len(rows)
        self._rows[self.n_rounds : end] = rows if self.arms.size == rows.shape[1] else rows[:, self.arms]
        self.n_rounds = end

    def close(self) -> None:
        """Give back the room that is left."""
        if self.room:
            self._rows = self._rows[: self.n_rounds].copy()

    def rows(self, after: int) -> NDArray[np.float64]:
        """The rewards of its rounds after the first so many, a column for each arm."""
        return self._rows[after : self.n_rounds]

    def of(self, arm: int) -> NDArray[np.float64]:
        """The rewards of an arm."""
        return self._rows[: self.n_rounds, int(np.searchsorted(self.arms, arm))]


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

    def blocks(self, after: int) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
        """The rounds after the first so many: how many went before, the arms that were queried, and their rewards."""
        begun = 0
        for stretch in self._stretches:
            end = begun + stretch.n_rounds
            if end > after:
                first = max(begun, after)
                yield first, stretch.arms, stretch.rows(first - begun)
            begun = end

    def add(self, rows: NDArray[np.float64]) -> None:
        """Take the rounds that were just played, as whole rows: those of arms that had left are not kept."""
        done = int(self._board.tally[ROUNDS])
        begun, last = done - len(rows), self._board.last_round
        for end in self._ends(begun, done):
            if end > begun:
                self._add(np.flatnonzero(last >= end), rows[: end - begun], begun)
                rows, begun = rows[end - begun :], end

    def _ends(self, begun: int, done: int) -> list[int]:
        """The rounds after which the arms were others, of those between two, and the last."""
        if done - begun == 1:
            return [done]
        last = self._board.last_round
        return [*np.unique(last[(last > begun) & (last < done)]).tolist(), done]

    def _add(self, arms: NDArray[np.int64], rows: NDArray[np.float64], begun: int) -> None:
        """Take rounds with the same arms: into the last stretch, if it is one of these arms and has room."""
        while len(rows):
            now = self._stretches[-1] if self._stretches else None
            if now is None or not now.room or now.arms.size != arms.size:
                if now is not None:
                    now.close()
                room = min(
                    max(FEWEST, begun), max(1, CELLS // max(1, arms.size))
                )  # as many rounds again, up to a limit
                now = Stretch(arms, max(room, len(rows)))
                self._stretches.append(now)
            fit = rows[: now.room]
            now.add(fit)
            rows = rows[len(fit) :]

    def differences(self, a: int, b: int, after: int = 0) -> NDArray[np.float64]:
        """The rewards of arm a minus those of arm b in the rounds that the two shared, after the first so many."""
        n = shared_rounds(self._board, a, b)
        found = np.empty(max(0, n - after))
        begun = 0
        for stretch in self._stretches:
            end = begun + stretch.n_rounds
            if begun == n:
                break
            if end > after:
                part = slice(max(0, after - begun), None)
                np.subtract(
                    stretch.of(a)[part], stretch.of(b)[part], out=found[max(begun, after) - after : end - after]
                )
            begun = end
        return found
