"""How much better than the leader the best arm can be: what the wealth would be if the leader were worse.

A bet against the best arm on the average of some leaders is fair, or worse for the bettor, if its null mean is the true
one. The wealth of these bets reaches ``1 / delta`` with probability at most ``delta``. It is not less than the wealth
that eliminates arms, nor than the same wealth as if one arm, whichever it is, were worse than the best by no more than
it truly is. So everything that is ruled out in this way holds at one and the same level: see ``docs/theory.md``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bestarm.comparisons.evidence import LONGEST, shared_rounds
from bestarm.comparisons.sleeping import mixture
from bestarm.wagers import Inquiry, new_inquiry

if TYPE_CHECKING:
    from bestarm.comparisons.leader_betting import LeaderEvidence

Array = NDArray[np.float64]
WIDTH = 32  # shifts that are told apart at a time: it costs no more than a few, for they are whole vectors
SHIFTS: Array = 10.0 ** (np.arange(1 - 8 * WIDTH, 1) / 48)  # steps of a twentieth, down to 5e-6 of the range of rewards
REMEMBERED = 4  # leaders whose wealth is kept; of another one it is computed anew from the first round on


class Asked:
    """What is known about the shifts by which one leader may be worse than some arms, of those that are told apart."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.n_rounds = 0

    def covers(self, arms: Sequence[int]) -> bool:
        """Whether all these arms are asked about."""
        return set(arms) <= set(self.inquiry.arms.tolist())

    def n_left(self, arms: Sequence[int]) -> dict[int, int]:
        """How many of the shifts are left, by arm."""
        left = dict(zip(self.inquiry.arms.tolist(), self.inquiry.n_left.tolist(), strict=True))
        return {arm: left[arm] for arm in arms}


class Inquiries:
    """The largest shift by which the leader may be worse than other arms, up to a twentieth: kept up as a game goes on.

    So an answer costs the same after any number of rounds, but for the rounds in which there is another leader or the
    answer falls into another part of the shifts: some are told apart for all arms, and between two of them all those
    that matter, for the arms that matter. Shifts are in units of rewards scaled to length one.
    """

    def __init__(self, evidence: "LeaderEvidence", shifts: Array) -> None:
        self._evidence = evidence
        self._shifts = np.unique(np.maximum(shifts, evidence.rule.zone))  # with a zone the best leads at least by that
        self._of: dict[tuple[int, int], Asked] = {}  # by leader and part of the shifts, -1 for every `WIDTH`th
        betting = evidence.betting
        bets = np.array(betting.bets), np.array(betting.weights)
        self._on_pair = mixture(*bets, betting.reserve, LONGEST)

    def largest_shift(self, leader: int, arms: Sequence[int]) -> float:
        """The largest shift by which the leader may be worse than one of these arms; 0 if none is left."""
        if not arms:
            return 0.0
        ends = np.append(np.arange(WIDTH - 1, self._shifts.size - 1, WIDTH), self._shifts.size - 1)
        parts = self._now(leader, arms, ends, -1)
        part = max(parts.values())
        if part == ends.size:
            return max(self._largest(leader, arm, 1.0) for arm in arms)
        first = int(ends[part - 1]) + 1 if part else 0
        within = [arm for arm in arms if parts[arm] == part]
        left = self._now(leader, within, np.arange(first, ends[part] + 1), part)
        return max(self._largest(leader, arm, float(self._shifts[first + left[arm]])) for arm in within)

    def _largest(self, leader: int, arm: int, shift: float) -> float:
        """Up to a shift that was ruled out, and no more than what is left of a pool can make of it."""
        rule, n = self._evidence.rule, shared_rounds(self._evidence.board, leader, arm)
        if rule.pool == 0:
            return shift
        behind = -float(self._evidence.history.differences(leader, arm).sum()) * rule.scale
        return min(shift, max(0.0, (behind + rule.pool - n) / rule.pool))

    def _now(self, leader: int, arms: Sequence[int], places: NDArray[np.int64], part: int) -> dict[int, int]:
        """How many of the shifts at these places are left for each arm after all rounds so far."""
        asked = self._of.pop((leader, part), None)
        if asked is None or not asked.covers(arms):
            asked = Asked(self._new(arms, self._shifts[places]))
        self._go_on(asked, leader)
        self._of[leader, part] = asked
        for forgotten in list(self._of)[: -2 * REMEMBERED]:
            del self._of[forgotten]
        return asked.n_left(arms)

    def _new(self, arms: Sequence[int], shifts: Array) -> Inquiry:
        evidence = self._evidence
        weights, pair_weights = evidence.leaders.weights, self._on_pair.weights
        return new_inquiry(
            evidence.board.arms.size, np.array(sorted(arms)), shifts - evidence.rule.zone, weights, pair_weights
        )

    def _go_on(self, asked: Asked, leader: int) -> None:
        """Make the bets of all rounds that are new."""
        from bestarm.kernels import ask_again

        evidence, pair = self._evidence, self._on_pair
        course, leaders = evidence.course, evidence.leaders
        bets = leaders.bets, leaders.weights, leaders.sizes, pair.bets, pair.weights, pair.first_rounds
        for begun, arms, rows in evidence.history.blocks(asked.n_rounds):
            column_of = np.full(evidence.board.arms.size, -1)
            column_of[arms] = np.arange(arms.size)
            ask_again(rows, column_of, begun, leader, course, bets, asked.inquiry, evidence.rule)
        asked.n_rounds = evidence.history.n_rounds
