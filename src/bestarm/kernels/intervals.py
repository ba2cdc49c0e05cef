"""The baselines with one interval per arm."""

import numpy as np

from bestarm.board import QUERIED, QUERIES, ROUNDS
from bestarm.kernels.base import eliminate, leader_place, let_leave, mark, may_go_on
from bestarm.kernels.compiling import compiled
from bestarm.kernels.moments import absorb_own_squares, begin_round


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
