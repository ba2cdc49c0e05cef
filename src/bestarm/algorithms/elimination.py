"""The game of every algorithm that eliminates arms on a board."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.data_kind import DataWatch
from bestarm.algorithms.game import Arms, Game, Rewards
from bestarm.algorithms.statements import Elimination, Guarantee, Reason
from bestarm.board import CANDIDATES, FOREVER, POOL_EXHAUSTED, WITHIN_EPSILON
from bestarm.checks import check_arm, check_count
from bestarm.comparisons.evidence import Comparison, Evidence, Goal


def check_budget(max_rounds: int | None, max_queries: int | None) -> None:
    """Refuse limits that are not whole numbers of at least 1."""
    if max_rounds is not None:
        check_count("max_rounds", max_rounds)
    if max_queries is not None:
        check_count("max_queries", max_queries)


class EliminationGame(Game):
    """A board with the evidence on it: who is queried shrinks to those that are not beaten."""

    shrinks: ClassVar[bool] = True

    def __init__(
        self,
        evidence: Evidence,
        bounds: tuple[float, float] | None,
        guarantee: Guarantee,
        watch: DataWatch | None = None,
        max_rounds: int | None = None,
        max_queries: int | None = None,
    ) -> None:
        n_arms = evidence.board.arms.size
        super().__init__(n_arms, bounds, guarantee, watch)
        if max_queries is not None and max_queries < n_arms:
            raise ValueError(f"max_queries must allow for one round of all {n_arms} arms, got {max_queries}")
        self.evidence = evidence
        self._board = evidence.board
        self._max_rounds = FOREVER if max_rounds is None else max_rounds
        self._max_queries = FOREVER if max_queries is None else max_queries
        self._board.limits[:] = self._max_rounds, self._max_queries
        self._read_tally()

    def _read_tally(self) -> None:
        tally = self._board.tally.tolist()
        self.n_rounds, self.n_queries, self._n_queried, n_candidates, _, ended_by = tally
        self._reason = self._why_ended(n_candidates, ended_by)

    def _why_ended(self, n_candidates: int, ended_by: int) -> Reason | None:
        if ended_by == POOL_EXHAUSTED:
            return Reason.ALL_ITEMS_USED
        if n_candidates == 1:
            return Reason.DECIDED
        if ended_by == WITHIN_EPSILON:
            return Reason.WITHIN_EPSILON
        if self.n_rounds >= self._max_rounds or self.n_queries + self._n_queried > self._max_queries:
            return Reason.BUDGET
        return None

    def next_arms(self) -> Arms:
        """The arms that are still queried, in increasing order."""
        return self._board.arms[: self._n_queried].copy()

    def _due(self) -> Arms:
        return self.next_arms() if self._asked is None else self._asked  # the board's own: nothing to check

    @property
    def reason(self) -> Reason | None:
        """Why the game has ended, or None while it goes on."""
        return self._reason

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean reward of each arm over the rounds in which it was queried; NaN before the first."""
        means = np.empty_like(self._board.means)
        means[self._board.arms] = self._board.means
        return np.where(self.counts > 0, means, np.nan)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of rounds in which each arm was queried."""
        counts: NDArray[np.int64] = np.minimum(self._board.last_round, self.n_rounds)
        return counts

    @property
    def candidates(self) -> tuple[int, ...]:
        """The arms that may still be the best, in increasing order."""
        return tuple(sorted(self._board.arms[self._board.bar == 0].tolist()))

    @property
    def best(self) -> int:
        """The candidate that leads so far, by its mean or as the evidence has it: the answer, once it is decided."""
        leader = self.evidence.leader(self.candidates) if self.n_rounds else None
        return super().best if leader is None else leader

    @property
    def eliminations(self) -> list[Elimination[int]]:
        """Who was beaten so far, in the order of rounds and arms."""
        standing = self.candidates
        out = [self._record(int(arm)) for arm in np.flatnonzero(self._board.beaten_round) if arm not in standing]
        return sorted(out, key=lambda elimination: (elimination.round, elimination.arm))

    @property
    def contradiction(self) -> Elimination[int] | None:
        """None, or the evidence against `best`, if every remaining candidate was beaten in the same round."""
        standing = self.candidates
        return self._record(standing[0]) if self._board.beaten_round[standing[0]] else None

    def _record(self, arm: int) -> Elimination[int]:
        board = self._board
        return Elimination(
            arm=arm,
            round=int(board.beaten_round[arm]),
            by=int(board.beaten_by[arm]),
            margin=float(board.margin[arm]),
            weights=self.evidence.weights(arm),
        )

    @property
    def diagnostics(self) -> dict[str, int]:
        """Counts of the work behind the game."""
        return self.evidence.diagnostics()

    def lead_bound(self, a: int, b: int, simultaneous: bool = False) -> float | None:
        """A lower confidence bound for ``mu_a - mu_b``, or None where no statistics of differences are kept."""
        return self.evidence.lead_bound(check_arm(a, self.n_arms), check_arm(b, self.n_arms), simultaneous)

    @property
    def regret_bound(self) -> float | None:
        """How much better than `best` any arm can still be, with probability at least ``1 - delta``, at all times."""
        best = self.best
        smallest = self.evidence.smallest_lead_bound(best, [arm for arm in self.candidates if arm != best])
        return None if smallest is None else float(max(0.0, -smallest))

    def lead_seen(self, a: int, b: int) -> float:
        """By how much arm a is ahead of arm b on the rounds that both shared."""
        seen = self.evidence.lead(check_arm(a, self.n_arms), check_arm(b, self.n_arms))
        return super().lead_seen(a, b) if seen is None else seen

    def rounds_apart(self, ahead: Rewards, behind: Rewards, shift: float = 0.0) -> float | None:
        """In which round an arm would be out if the two arms had these rewards, but on items of their own."""
        return self.evidence.rounds_apart(ahead, behind, shift)

    @property
    def no_disqualification(self) -> str | None:
        """Why an arm cannot be taken out of the game; None where it can."""
        return self.evidence.no_disqualification

    def withdraw(self, arm: int) -> None:
        """Query an arm no more, though it may still be the best: what is known about it is kept.

        For rounds whose arms somebody else has chosen, from the past alone: a record that is played again. While a
        candidate is withdrawn the game does not end within epsilon or with its pool: nobody was compared with it.
        """
        if check_count("arm", arm, least=0) not in self._due():
            raise ValueError(f"only an arm that is queried can be withdrawn, got {arm}")
        self._leave([arm])

    def keep_only(self, arms: Sequence[int]) -> None:
        """Withdraw all arms but these."""
        self._leave(np.setdiff1d(self._due(), arms).tolist())

    def _leave(self, arms: list[int]) -> None:
        from bestarm.kernels import let_leave

        self._board.last_round[arms] = self.n_rounds
        let_leave(self._board, self.n_rounds)
        self._read_tally()
        self._asked = None

    def _absorb_round(self, asked: Arms, row: Rewards) -> None:
        self._absorb_block(row)

    def _absorb_block(self, rows: Rewards) -> int:
        if self._n_queried == 0:
            return 0  # all candidates were withdrawn: there is nothing to be learned
        try:
            return self.evidence.play(rows)
        finally:  # a boundary may raise on the way
            self._read_tally()

    def take_out(self, arm: int) -> None:
        """Query an arm no more, and let nobody be beaten by it."""
        self.evidence.forget(arm)
        board = self._board
        place = int(np.flatnonzero(board.arms == arm)[0])
        if board.bar[place] == 0.0:
            board.bar[place] = np.inf
            board.tally[CANDIDATES] -= 1
        self._leave([arm])


def comparison_game(
    comparison: Comparison, goal: Goal, n_arms: int, max_rounds: int | None, max_queries: int | None
) -> EliminationGame:
    """A game played with this comparison for this goal."""
    evidence = comparison.evidence(n_arms, goal)
    about = evidence.criterion
    guarantee = Guarantee(
        goal.delta,
        comparison.assumption,
        goal.epsilon,
        goal.indifference_zone,
        comparison.pool,
        about,
        nearly_gaussian=comparison.bounds is None and about == "mean",
    )
    watch = DataWatch(comparison.bounds) if about == "mean" else None  # wins assume nothing that could look wrong
    return EliminationGame(evidence, comparison.bounds, guarantee, watch, max_rounds, max_queries)
