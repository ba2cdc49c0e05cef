"""Games in which a boundary on moments says who beats whom, and the baselines with one interval per arm."""

import numpy as np

from bestarm.kernels.compiling import compiled, part
from bestarm.kernels.rounds import (
    absorb_squares,
    all_candidates_queried,
    begin_round,
    eliminate,
    leader_place,
    mark_beaten,
    may_go_on,
    remove_arms,
)
from bestarm.kernels.state import WITHIN_EPSILON

LOOSER = 1.0 - 1e-9  # the screen without square roots is looser than the test by more than rounding
DISTINCT = 10  # values that differences have taken before a boundary for Gaussian ones judges them
SAME_DIFFERENCE = 1e-13  # of the rewards: differences that are closer are the same


@part
def may_be_beaten(m, means, squares, is_out, slope, offset, scale):
    """Whether any candidate may be beaten: never false when one is. No square roots and no branches, for speed."""
    slope_squared = slope * slope * scale * LOOSER
    for a in range(m):
        mean_a, out_a = means[a], is_out[a]
        crossed = False
        for b in range(a):
            d = means[b] - mean_a
            lead = abs(d) - offset
            out = out_a if d >= 0.0 else is_out[b]
            crossed |= (lead >= 0.0) & (lead * lead >= slope_squared * squares[a, b]) & (not out)
        if crossed:
            return True
    return False


@part
def radius(square, slope, offset, scale, linear):
    """How far ahead an arm must be of another: ``slope * spread + offset``; at least 0 with a linear spread (KN)."""
    if linear:
        return max(0.0, slope * square + offset)
    return slope * np.sqrt(square * scale) + offset


@compiled
def may_be_judged(first, i, j, t, square, constant_from):
    """Whether the differences of two arms have taken enough values in ``t`` rounds for a test of Gaussian ones.

    Ten of them, in the first rounds as many as there are rounds: looked for in the rounds that are kept. Or always the
    same one, so that their centred sum of squares is rounding, and for so long that no symmetric difference would have
    done so, unless that is its mean.
    """
    found, size, needed = 0, 0.0, min(t, DISTINCT)
    values = np.empty(DISTINCT)
    for s in range(min(t, first.shape[0])):
        size = max(size, abs(first[s, i]), abs(first[s, j]))
        difference, new = first[s, i] - first[s, j], True
        for v in range(found):
            new &= abs(difference - values[v]) > SAME_DIFFERENCE * size
        if new:
            values[found] = difference
            found += 1
            if found == needed:
                return True
    return found == 1 and t >= constant_from and square <= t * (SAME_DIFFERENCE * size) ** 2


@part
def judge_pairs(board, slope, offset, linear, rule, t, first):
    """Mark every other candidate that is beaten, by the arm that beats it by most; whether there is one.

    Only an arm with a larger mean can beat another; with a zone also one with the same mean and a lower number. Where
    there are rewards of the ``first`` rounds, only pairs that `may_be_judged` are looked at.
    """
    arms, means, m, scale, found = board.arms, board.means, board.progress[0].n_queried, 1.0 / (t - 1.0), False
    for a in range(m):
        if board.is_out[a] or board.beaten_round[arms[a]] == t:
            continue
        by, most = -1, 0.0
        for b in range(m):
            lead = means[b] - means[a]
            if lead > 0.0 or (rule.zone > 0.0 and lead == 0.0 and b < a):
                square = board.squares[max(a, b), min(a, b)]
                margin = lead - radius(square, slope, offset, scale, linear)
                if margin > most:
                    if first is not None:  # noqa: SIM102 - nested for Numba, as in `race_wealth`
                        if not may_be_judged(first, arms[a], arms[b], t, square, rule.constant_from):
                            continue
                    by, most = b, margin
        if by >= 0:
            mark_beaten(board, arms[a], t, arms[by], most)
            found = True
    return found


@part
def leader_within(board, slope, offset, rule, t, first):
    """Whether the leader is shown to be less than epsilon worse than every other candidate; ``first`` as above."""
    if not all_candidates_queried(board):
        return False
    arms, means, leader, scale = board.arms, board.means, leader_place(board), 1.0 / (t - 1.0)
    for a in range(board.progress[0].n_queried):
        if board.is_out[a] or a == leader:
            continue
        square = board.squares[max(a, leader), min(a, leader)]
        if not means[leader] - means[a] + rule.epsilon > radius(square, slope, offset, scale, False):
            return False
        if first is not None:  # noqa: SIM102
            if not may_be_judged(first, arms[a], arms[leader], t, square, rule.constant_from):
                return False
    return True


@compiled
def race_pairs(rows, slopes, offsets, board, rule):
    """Play rounds by a `PairRule`, with slopes and offsets of the rounds of ``rows``. Returns the rows used."""
    means, sum_squares, squares = board.means, board.sum_squares, board.squares
    is_out, deviation, progress = board.is_out, board.deviation, board.progress[0]
    linear = rule.linear
    for r in range(rows.shape[0]):
        if not may_go_on(progress):
            return r
        t = begin_round(rows, r, progress, board.arms, means, deviation)
        m = progress.n_queried
        if t <= rule.learn_until:
            absorb_squares(t, m, deviation, sum_squares, squares)
        slope, offset, scale = slopes[r], offsets[r] - rule.zone, 1.0 / (t - 1.0)
        if slope < np.inf:  # an infinite slope beats nobody, also where the spread is 0
            look = linear or may_be_beaten(m, means, squares, is_out, slope, offset, scale)
            if look and judge_pairs(board, slope, offset, linear, rule, t, None):
                eliminate(board, rule.keep, t, leader_place(board))
            look = rule.epsilon > 0.0 and progress.n_candidates > 1
            if look and leader_within(board, slope, offsets[r], rule, t, None):
                progress.ended = WITHIN_EPSILON
        if progress.next_exit <= t:
            remove_arms(board, t)
    return rows.shape[0]


@compiled
def race_intervals(rows, slopes, offsets, board, variances):
    """Play rounds with an interval for each arm, ``mean -+ (slope_t * sd + offset_t)``: ``j`` beats ``i`` from above.

    ``variances`` are the known ones, by arm; where there are none they are learned. Beaten arms leave at once. Returns
    the rows used.
    """
    arms, means, sum_squares, deviation = board.arms, board.means, board.sum_squares, board.deviation
    progress, known, sd = board.progress[0], variances.size > 0, np.empty(arms.size)
    for r in range(rows.shape[0]):
        if not may_go_on(progress):
            return r
        t = begin_round(rows, r, progress, arms, means, deviation)
        m = progress.n_queried
        highest = 0
        for a in range(m):
            sum_squares[a] += (t - 1.0) / t * deviation[a] * deviation[a]
            sd[a] = np.sqrt(variances[arms[a]] if known else sum_squares[a] / (t - 1.0))
            if means[a] - slopes[r] * sd[a] > means[highest] - slopes[r] * sd[highest]:
                highest = a
        low = means[highest] - slopes[r] * sd[highest]
        beaten = False
        for a in range(m):
            margin = low - (means[a] + slopes[r] * sd[a]) - 2.0 * offsets[r]
            if margin > 0.0:
                mark_beaten(board, arms[a], t, arms[highest], margin)
                beaten = True
        if beaten:
            eliminate(board, 1.0, t, leader_place(board))
            remove_arms(board, t)
    return rows.shape[0]


@compiled
def lucb(rows, widths, sds, duel):
    """Play LUCB rounds with interval radii ``widths_t * sd_i / sqrt(n_i)``; all arms in the first round, then two.

    Returns the rows used and whether the leader's interval lies above all others.
    """
    sums, counts, progress = duel.sums, duel.counts, duel.progress[0]
    K = sums.size
    for r in range(rows.shape[0]):
        for i in range(K):
            if progress.n_rounds == 0 or i in (progress.leader, progress.challenger):
                sums[i] += rows[r, i]
                counts[i] += 1
                progress.n_queries += 1
        progress.n_rounds += 1
        leader = 0
        for i in range(1, K):
            if sums[i] / counts[i] > sums[leader] / counts[leader]:
                leader = i
        challenger, highest = -1, -np.inf
        for i in range(K):
            upper = sums[i] / counts[i] + widths[r] * sds[i] / np.sqrt(counts[i])
            if i != leader and (challenger < 0 or upper > highest):
                challenger, highest = i, upper
        progress.leader, progress.challenger = leader, challenger
        lower = sums[leader] / counts[leader] - widths[r] * sds[leader] / np.sqrt(counts[leader])
        if lower > highest:
            return r + 1, True
    return rows.shape[0], False
