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
    """Which shifts are left for one leader and some arms, of the `WIDTH` from the place ``first`` on."""

    def __init__(self, inquiry: Inquiry, first: int) -> None:
        self.inquiry = inquiry
        self.first = first
        self.n_rounds = 0

    def covers(self, arms: Sequence[int]) -> bool:
        """Whether all these arms are asked about."""
        return set(arms) <= set(self.inquiry.arms.tolist())

    def ruled_out_from(self, arms: Sequence[int]) -> dict[int, int]:
        """By arm, the place of the first shift that is ruled out."""
        left = dict(zip(self.inquiry.arms.tolist(), self.inquiry.n_left.tolist(), strict=True))
        return {arm: self.first + left[arm] for arm in arms}


class Inquiries:
    """The largest shift by which the leader may be worse than other arms, up to a twentieth: kept up as a game goes on.

    Some shifts are told apart at a time: first the largest, and when these are ruled out for all arms, those below. So
    an answer costs the same after any number of rounds, but for the rounds in which it falls to other shifts or there
    is another leader, of whom it is worked out from the first round on. Shifts are of rewards scaled to length one.
    """

    def __init__(self, evidence: "LeaderEvidence", shifts: Array) -> None:
        self._evidence = evidence
        self._shifts = np.unique(np.maximum(shifts, evidence.rule.zone))  # with a zone the best leads at least by that
        self._of: dict[int, Asked] = {}  # by leader
        betting = evidence.betting
        bets = np.array(betting.bets), np.array(betting.weights)
        self._on_pair = mixture(*bets, betting.reserve, LONGEST)

    def largest_shift(self, leader: int, arms: Sequence[int]) -> float:
        """The largest shift by which the leader may be worse than one of these arms.

        Of arms for which all that are told apart are ruled out, the smallest of these is taken: that is no less.
        """
        if not arms:
            return 0.0
        asked = self._of.pop(leader, None)
        if asked is None or not asked.covers(arms):
            asked = self._new(arms, self._shifts.size - WIDTH)
        self._go_on(asked, leader)
        while asked.first > 0 and max(asked.ruled_out_from(arms).values()) == asked.first:
            asked = self._new(arms, asked.first - WIDTH)
            self._go_on(asked, leader)
        self._of[leader] = asked
        for forgotten in list(self._of)[:-REMEMBERED]:
            del self._of[forgotten]
        return max(self._largest(leader, arm, place) for arm, place in asked.ruled_out_from(arms).items())

    def about(self, leader: int) -> Inquiry:
        """The wealth behind the last answer about a leader."""
        return self._of[leader].inquiry

    def _largest(self, leader: int, arm: int, place: int) -> float:
        """Up to a shift that was ruled out, and no more than what is left of a pool can make of it."""
        rule, n = self._evidence.rule, shared_rounds(self._evidence.board, leader, arm)
        shift = float(self._shifts[place]) if place < self._shifts.size else 1.0
        if rule.pool == 0 or n == 0:
            return shift
        behind = -n * self._evidence.lead(leader, arm) * rule.scale
        return min(shift, max(0.0, (behind + rule.pool - n) / rule.pool))

    def _new(self, arms: Sequence[int], first: int) -> Asked:
        """What is known before the first round about the shifts from a place on."""
        evidence, begin = self._evidence, max(0, first)
        shifts = self._shifts[begin : first + WIDTH] - evidence.rule.zone
        weights, pair_weights = evidence.leaders.weights, self._on_pair.weights
        K = evidence.board.arms.size
        return Asked(new_inquiry(K, np.array(sorted(arms)), shifts, weights, pair_weights), begin)

    def _go_on(self, asked: Asked, leader: int) -> None:
        """Make the bets of all rounds that are new, as long as there are shifts left."""
        from bestarm.kernels import ask_again

        evidence, pair = self._evidence, self._on_pair
        course, leaders = evidence.course, evidence.leaders
        bets = leaders.bets, leaders.weights, leaders.sizes, pair.bets, pair.weights, pair.first_rounds
        for begun, arms, rows in evidence.history.blocks(asked.n_rounds):
            if not asked.inquiry.n_left.any():
                break
            column_of = np.full(evidence.board.arms.size, -1)
            column_of[arms] = np.arange(arms.size)
            ask_again(rows, column_of, begun, leader, course, bets, asked.inquiry, evidence.rule)
        asked.n_rounds = evidence.history.n_rounds
