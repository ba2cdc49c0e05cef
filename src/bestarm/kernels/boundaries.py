"""Games in which a boundary on moments says who beats whom, and the baselines with one interval per arm."""

import numpy as np

from bestarm.kernels.board import CANDIDATES, ENDED, NEXT_LEAVE, QUERIED, QUERIES, ROUNDS, WITHIN_EPSILON
from bestarm.kernels.compiling import compiled, part
from bestarm.kernels.rounds import (
    absorb_own_squares,
    absorb_squares,
    all_candidates_queried,
    begin_round,
    eliminate,
    leader_place,
    let_leave,
    mark,
    may_go_on,
)

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


@compiled
def race_intervals(rows, slopes, offsets, board, learn):  # type: ignore[no-untyped-def]
    """Play rounds with an interval for each arm, ``mean -+ (slope_t * sd + offset_t)``: ``j`` beats ``i`` from above.

    The standard deviations are learned, or with ``learn`` false ``board.own`` holds the known variances. Beaten arms
    leave at once. Returns the rows used.
    """
    arms, means, own, tally = board.arms, board.means, board.own, board.tally
    sd = np.empty(arms.size)
    for r in range(rows.shape[0]):
        if not may_go_on(board.tally, board.limits):
            return r
        t = begin_round(rows, r, board.tally, board.arms, board.means, board.deviation)
        m = tally[QUERIED]
        if learn:
            absorb_own_squares((t - 1.0) / t, m, board.deviation, own)
        highest = 0
        for a in range(m):
            sd[a] = np.sqrt(own[a] / (t - 1.0)) if learn else np.sqrt(own[a])
            if means[a] - slopes[r] * sd[a] > means[highest] - slopes[r] * sd[highest]:
                highest = a
        low = means[highest] - slopes[r] * sd[highest]
        beaten = False
        for a in range(m):
            margin = low - (means[a] + slopes[r] * sd[a]) - 2.0 * offsets[r]
            if margin > 0.0:
                mark(board, arms[a], t, arms[highest], margin)
                beaten = True
        if beaten:
            eliminate(board, 1.0, t, leader_place(board))
            let_leave(board, t)
    return rows.shape[0]


@compiled
def lucb(rows, widths, sds, duel):  # type: ignore[no-untyped-def]
    """Play LUCB rounds with interval radii ``widths_t * sd_i / sqrt(n_i)``; all arms in the first round, then two.

    Returns the rows used and whether the leader's interval lies above all others.
    """
    sums, counts, pair, tally = duel.sums, duel.counts, duel.pair, duel.tally
    K = sums.size
    for r in range(rows.shape[0]):
        if tally[ROUNDS] == 0:
            for i in range(K):
                sums[i] += rows[r, i]
                counts[i] += 1
            tally[QUERIES] += K
        else:
            for i in pair:
                sums[i] += rows[r, i]
                counts[i] += 1
            tally[QUERIES] += 2
        tally[ROUNDS] += 1
        leader = 0
        for i in range(1, K):
            if sums[i] / counts[i] > sums[leader] / counts[leader]:
                leader = i
        challenger, highest = -1, -np.inf
        for i in range(K):
            upper = sums[i] / counts[i] + widths[r] * sds[i] / np.sqrt(counts[i])
            if i != leader and (challenger < 0 or upper > highest):
                challenger, highest = i, upper
        pair[0], pair[1] = leader, challenger
        lower = sums[leader] / counts[leader] - widths[r] * sds[leader] / np.sqrt(counts[leader])
        if lower > highest:
            return r + 1, True
    return rows.shape[0], False
