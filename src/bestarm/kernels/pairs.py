"""Games in which a boundary on moments says who beats whom."""

import numpy as np

from bestarm.board import CANDIDATES, ENDED, NEXT_LEAVE, QUERIED, WITHIN_EPSILON
from bestarm.kernels.base import all_candidates_queried, eliminate, leader_place, let_leave, mark, may_go_on
from bestarm.kernels.compiling import compiled, part
from bestarm.kernels.moments import absorb_squares, begin_round

ROUNDING = 1.0 - 1e-9  # the screen without square roots is looser than the test by more than rounding


@part
def may_be_beaten(m, means, squares, bar, slope, offset, scale):  # type: ignore[no-untyped-def]
    """Whether any candidate may be beaten: never false when one is. No square roots and no branches, for speed."""
    slope_squared = slope * slope * scale * ROUNDING
    for a in range(m):
        mean_a, bar_a = means[a], bar[a]
        crossed = False
        for b in range(a):
            d = means[b] - mean_a
            lead = abs(d) - offset - (bar_a if d >= 0.0 else bar[b])
            crossed |= (lead >= 0.0) & (lead * lead >= slope_squared * squares[a, b])
        if crossed:
            return True
    return False


@part
def radius(square, slope, offset, scale, linear):  # type: ignore[no-untyped-def]
    """How far ahead an arm must be of another: ``slope * spread + offset``; at least 0 with a linear spread (KN)."""
    if linear:
        return max(0.0, slope * square + offset)
    return slope * np.sqrt(square * scale) + offset


@part
def _judge_pairs(board, slope, offset, scale, linear, ties, t):  # type: ignore[no-untyped-def]
    """Mark every candidate that is beaten, by the arm that beats it by most, all from the same statistics.

    Only an arm with a larger mean can beat another; with ``ties`` also one with the same mean and a lower number.
    """
    arms, means, m = board.arms, board.means, board.tally[QUERIED]
    for a in range(m):
        if board.bar[a] > 0.0:
            continue
        by, most = -1, 0.0
        for b in range(m):
            lead = means[b] - means[a]
            if lead > 0.0 or (ties and lead == 0.0 and b < a):
                square = board.squares[max(a, b), min(a, b)]
                margin = lead - radius(square, slope, offset, scale, linear)
                if margin > most:
                    by, most = b, margin
        if by >= 0:
            mark(board, arms[a], t, arms[by], most)


@part
def leader_within(board, epsilon, slope, offset, scale):  # type: ignore[no-untyped-def]
    """Whether the leader is shown to be less than epsilon worse than every other candidate."""
    if not all_candidates_queried(board):
        return False
    means, leader = board.means, leader_place(board)
    for a in range(board.tally[QUERIED]):
        if board.bar[a] == 0.0 and a != leader:
            square = board.squares[max(a, leader), min(a, leader)]
            if not means[leader] - means[a] + epsilon > radius(square, slope, offset, scale, False):
                return False
    return True


@compiled
def race_pairs(rows, slopes, offsets, board, rule):  # type: ignore[no-untyped-def]
    """Play rounds by a `PairRule`, with slopes and offsets of the rounds of ``rows``. Returns the rows used."""
    means, own, squares = board.means, board.own, board.squares
    bar, deviation, tally = board.bar, board.deviation, board.tally
    zone, epsilon, linear = rule.zone, rule.epsilon, rule.linear
    for r in range(rows.shape[0]):
        if not may_go_on(board.tally, board.limits):
            return r
        t = begin_round(rows, r, board.tally, board.arms, board.means, board.deviation)
        m = tally[QUERIED]
        if t <= rule.learn_until:
            absorb_squares(1.0 - 1.0 / t, m, deviation, own, squares)
        slope, offset, scale = slopes[r], offsets[r] - zone, 1.0 / (t - 1.0)
        if slope < np.inf:  # an infinite slope beats nobody, also where the spread is 0
            if linear or may_be_beaten(m, means, squares, bar, slope, offset, scale):
                _judge_pairs(board, slope, offset, scale, linear, zone > 0.0, t)
                eliminate(board, rule.keep, t, leader_place(board))
            if epsilon > 0.0 and tally[CANDIDATES] > 1 and leader_within(board, epsilon, slope, offsets[r], scale):
                tally[ENDED] = WITHIN_EPSILON
        if tally[NEXT_LEAVE] <= t:
            let_leave(board, t)
    return rows.shape[0]
