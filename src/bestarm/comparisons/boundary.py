"""Comparisons on moments: a boundary for the lead of one arm over another.

Arm ``j`` beats arm ``i`` after round ``t`` when ``mean_j - mean_i > slope_t * sd_ij + offset_t``, with ``sd_ij`` the
standard deviation of the difference. Slopes and offsets depend on the round, the number of arms and delta only, so they
are computed once for a chunk of rounds and shared by every pair, every game and every thread.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from bestarm.board import ENDED, QUERIED, ROUNDS, PairRule, Thresholds
from bestarm.comparisons.evidence import TRIED, Evidence, Goal, Role, first_round, shared_rounds

Array = NDArray[np.float64]

CHUNK = 2048  # rounds computed together: rounds 1..2048, 2049..4096, ...
LARGEST_SLOPE = 1e150  # its square is still a number; beyond it a boundary counts as infinite
CHUNKS_REMEMBERED = 4096  # 16 bytes per round: at most 64 MiB, four million rounds
PAIRS_TRIED = 2**18  # of places on a board that is copied to try a floor: copies of larger ones save nothing


class Boundary(Protocol):
    """Slope and offset of each round: of the lead of a pair, of the interval of one arm, of KN's region."""

    def __hash__(self) -> int: ...

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Slope and offset after each of these rounds; an infinite slope beats nobody."""
        ...


@lru_cache(maxsize=CHUNKS_REMEMBERED)
def boundary_chunk(boundary: Boundary, n_arms: int, delta: float, index: int) -> Thresholds:
    """Slopes and offsets of rounds ``index * CHUNK + 1`` to ``(index + 1) * CHUNK``, read-only."""
    rounds = np.arange(index * CHUNK + 1, (index + 1) * CHUNK + 1, dtype=np.float64)
    slopes, offsets = (np.array(part, dtype=np.float64) for part in boundary.boundary(rounds, n_arms, delta))
    for part in (slopes, offsets):
        if part.shape != rounds.shape or np.isnan(part).any():
            name, seen = type(boundary).__name__, f"{slopes.shape} and {offsets.shape}"
            raise ValueError(
                f"{name}.boundary must return a slope and an offset for each of the {CHUNK} rounds that it is given, "
                f"and no NaN, got arrays of shape {seen}"
            )
    slopes[slopes > LARGEST_SLOPE] = np.inf
    slopes.setflags(write=False)
    offsets.setflags(write=False)
    return Thresholds(slopes, offsets)


def thresholds_after(boundary: Boundary, n_arms: int, delta: float, n_rounds: int) -> Thresholds:
    """Slopes and offsets of the rounds after the first ``n_rounds``, as far as their chunk goes."""
    chunk, start = divmod(n_rounds, CHUNK)
    slopes, offsets = boundary_chunk(boundary, n_arms, delta, chunk)
    return Thresholds(slopes[start:], offsets[start:])


def in_chunks(
    rows: Array, boundary: Boundary, n_arms: int, delta: float, n_rounds: int
) -> Iterator[tuple[Array, Thresholds]]:
    """Rows that follow the first ``n_rounds``, in blocks with the thresholds of their rounds."""
    used = 0
    while used < len(rows):
        thresholds = thresholds_after(boundary, n_arms, delta, n_rounds + used)
        block = rows[used : used + thresholds.slopes.size]
        yield block, thresholds
        used += len(block)


class BoundaryEvidence(Evidence):
    """Moments of the arms, judged by a boundary.

    The kernel is called with the rows, the slopes and offsets of their rounds, the board, and what is its own; it
    returns the number of rows used.
    """

    def __init__(self, n_arms: int, boundary: Boundary, delta: float, kernel: Callable[..., int], *own: Any) -> None:
        super().__init__(n_arms)
        self._boundary = boundary
        self._delta = delta
        self._kernel = kernel
        self._own = own

    def play(self, rows: Array) -> int:
        """Play rounds from whole rows until the end; the number of rows used."""
        board, used = self.board, 0
        for block, thresholds in in_chunks(
            rows, self._boundary, board.arms.size, self._delta, int(board.tally[ROUNDS])
        ):
            played = self._kernel(block, *thresholds, board, *self._own)
            used += played
            if played < len(block):
                break
        return used


class PairEvidence(BoundaryEvidence):
    """Moments of all differences, judged by the boundary of a comparison of pairs."""

    def __init__(self, n_arms: int, boundary: "PairBoundary", goal: Goal) -> None:
        from bestarm.kernels import race_pairs

        rule = PairRule(float(goal.keep), float(goal.indifference_zone), float(goal.epsilon))
        super().__init__(n_arms, boundary, goal.delta, race_pairs, rule)
        self._floor = boundary.floor

    def play(self, rows: Array) -> int:
        """Play rounds from whole rows until the end; the number of rows used.

        The boundary itself is computed for the chunks of rounds in which somebody crosses its floor.
        """
        used = 0
        while used < len(rows):
            block = rows[used : used + CHUNK - int(self.board.tally[ROUNDS]) % CHUNK]
            played = self._play_below_floor(block)
            if played is None:
                played = super().play(block)
            used += played
            if played < len(block):
                break
        return used

    def _play_below_floor(self, block: Array) -> int | None:
        """Play a whole chunk of rounds in which nobody crosses the floor; None, and nothing is played, if it is not so.

        Statistics do not depend on the boundary, and who does not cross the floor does not cross the boundary.
        """
        board = self.board
        begun, n_arms = int(board.tally[ROUNDS]), board.arms.size
        if len(block) < CHUNK or begun == 0 or board.squares.size > PAIRS_TRIED:
            return None
        rounds = np.arange(begun + 1, begun + CHUNK + 1, dtype=np.float64)
        floor = self._floor(rounds, n_arms, self._delta)
        if floor is None:
            return None
        before = [part.copy() for part in self._state()]
        ended, beaten_round = board.tally[ENDED], board.beaten_round.copy()
        played = self._kernel(block, *floor, board, *self._own)
        if board.tally[ENDED] == ended and np.array_equal(board.beaten_round, beaten_round):
            return played
        for part, old in zip(self._state(), before, strict=True):
            part[...] = old
        return None

    def _state(self) -> Sequence[NDArray[Any]]:
        """All that a round changes."""
        return self.board

    def lead(self, a: int, b: int) -> float:
        """The mean of arm a minus that of arm b over the rounds that the two shared; NaN if there are none."""
        return self._lead_and_square(a, b)[0] if shared_rounds(self.board, a, b) else np.nan

    def lead_bound(self, a: int, b: int, simultaneous: bool) -> float:
        """A lower confidence bound for ``mu_a - mu_b``: where the boundary lies below the lead seen."""
        return self._lower_bound(a, b, self._delta / self.board.arms.size if simultaneous else self._delta)

    def _lower_bound(self, a: int, b: int, delta: float) -> float:
        """The same, by the boundary for this delta."""
        n, K = shared_rounds(self.board, a, b), self.board.arms.size
        if n < 2:
            return -np.inf
        slopes, offsets = thresholds_after(self._boundary, K, delta, n - 1)
        if np.isinf(slopes[0]):
            return -np.inf
        lead, square = self._lead_and_square(a, b)
        return float(lead - slopes[0] * np.sqrt(square / (n - 1)) - offsets[0])

    def rounds_apart(self, ahead: Array, behind: Array, shift: float) -> float:
        """In which round the boundary would be crossed, with the lead seen and the variance of different items."""
        slopes, offsets = self._boundary.boundary(TRIED, self.board.arms.size, self._delta)
        sd = np.sqrt(np.var(ahead, ddof=1) + np.var(behind, ddof=1))
        radius = np.where(np.isfinite(slopes), slopes, 0.0) * sd + offsets
        return first_round(np.isfinite(slopes) & (ahead.mean() - behind.mean() + shift > radius))

    def _lead_and_square(self, a: int, b: int) -> tuple[float, float]:
        """``mean_a - mean_b`` over the rounds shared, and the centred sum of squares of the difference."""
        board = self.board
        at_a, at_b = (int(np.flatnonzero(board.arms == arm)[0]) for arm in (a, b))
        both_queried = max(at_a, at_b) < board.tally[QUERIED]
        lead = board.means[at_a] - board.means[at_b] if both_queried else board.parted[b, a]
        return float(lead), float(board.squares[max(at_a, at_b), min(at_a, at_b)])


class BoundaryComparison(ABC):
    """What comparisons that are boundaries share. A subclass is a frozen dataclass with a method ``boundary``."""

    bounds: ClassVar[tuple[float, float] | None] = None
    pool: ClassVar[int | None] = None

    @property
    def assumption(self) -> str:
        """What the guarantee rests on: it completes the sentence "This assumes that ..." for readers of a result."""
        return f"what {type(self).__name__} assumes holds (see its documentation)"

    def adapted(self, bounds: tuple[float, float] | None, pool: int | None) -> Self:
        """The same comparison: a boundary has bounds of its own or none, and its target is no pool."""
        return self

    @abstractmethod
    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Slope and offset after each of these rounds; an infinite slope beats nobody."""


class PairBoundary(BoundaryComparison):
    """A comparison of pairs that is a boundary: a frozen dataclass with a method ``boundary`` inherits from it.

    Its guarantee: with probability at least ``1 - delta`` no arm ever beats the best one. In the first round, which has
    no standard deviation, nobody is beaten.
    """

    role: ClassVar[Role] = "pairs"
    supports_epsilon: ClassVar[bool] = True

    def floor(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array] | None:
        """Slopes and offsets that are nowhere larger than those of the boundary, and far quicker; None if unknown.

        Decisions are never based on them: they tell in which rounds the boundary need not be known.
        """
        return None

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The evidence of a new game: moments of all differences."""
        return PairEvidence(n_arms, self, goal)


def paper_alpha(rounds: Array, n_arms: int, delta: float, first_round: int = 3) -> Array:
    """The paper's ``alpha(t, delta) = sqrt(log(1 / delta_t) / (t - 1))``, ``delta_t = delta / (2 K^2 t (t + 1))``.

    Infinite before ``first_round``: Algorithm 1 plays two rounds before it looks.
    """
    t = np.maximum(rounds, first_round)
    log_inverse_delta_t = np.log(2.0 * n_arms**2 * t * (t + 1.0)) - np.log(delta)
    alpha: Array = np.sqrt(log_inverse_delta_t / (t - 1.0))
    return np.where(rounds < first_round, np.inf, alpha)
