"""The compiled inner loops.

No validation here; the arrays of `bestarm.board` are changed in place; every kernel releases the GIL and is cached on
disk. Rows hold the rewards of *all* arms, but only the columns of the arms queried are ever read.
"""

from typing import Any

import numpy as np
from numba import njit

from bestarm.board import CANDIDATES, FOREVER, NEXT_LEAVE, QUERIED, QUERIES, ROUNDS

compiled: Any = njit(nogil=True, cache=True, error_model="numpy")

ROUNDING = 1.0 - 1e-9  # the screen without square roots is looser than the test by more than rounding


@compiled
def affine(noise, factor, means):  # type: ignore[no-untyped-def]
    """``noise @ factor + means``, one release of the GIL for both."""
    rows = np.dot(noise, factor)
    for r in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            rows[r, i] += means[i]
    return rows


@compiled
def all_within(rows, low, high):  # type: ignore[no-untyped-def]
    """Whether every number is finite and in the interval [low, high]."""
    flat = rows.reshape(-1)
    inside = True
    for k in range(flat.size):
        inside &= (flat[k] >= low) & (flat[k] <= high)
    return inside


@compiled
def _absorb_means(rows, r, share, m, arms, means, deviation):  # type: ignore[no-untyped-def]
    """Update the means of the first ``m`` places with row ``r``, and leave the deviations from the old means."""
    for a in range(m):
        deviation[a] = rows[r, arms[a]] - means[a]
        means[a] += deviation[a] * share


@compiled
def _absorb_squares(weight, m, deviation, own, squares):  # type: ignore[no-untyped-def]
    """Welford's update of the centred sums of squares of every arm and every difference."""
    for a in range(m):
        deviation_a = deviation[a]
        own[a] += weight * deviation_a * deviation_a
        for b in range(a):
            d = deviation[b] - deviation_a
            squares[a, b] += weight * d * d


@compiled
def _may_be_beaten(m, means, squares, bar, slope, offset, scale):  # type: ignore[no-untyped-def]
    """Whether any candidate may be beaten: never false when one is. No square roots and no branches, for speed."""
    slope_squared = slope * slope * scale * ROUNDING
    for a in range(m):
        mean_a, bar_a = means[a], bar[a]
        crossed = False
        for b in range(a):
            d = means[b] - mean_a
            lead = abs(d) - offset - (bar_a if d > 0.0 else bar[b])
            crossed |= (lead >= 0.0) & (lead * lead >= slope_squared * squares[a, b])
        if crossed:
            return True
    return False


@compiled
def _radius(square, slope, offset, scale, linear):  # type: ignore[no-untyped-def]
    """How far ahead an arm must be of another: ``slope * spread + offset``, at least 0."""
    spread = square if linear else np.sqrt(square * scale)
    return max(0.0, slope * spread + offset)


@compiled
def _judge_pairs(board, slope, offset, scale, linear, t):  # type: ignore[no-untyped-def]
    """Mark every candidate that is beaten, by the arm that beats it by most, all from the same statistics."""
    arms, means, m = board.arms, board.means, board.tally[QUERIED]
    for a in range(m):
        if board.bar[a] > 0.0:
            continue
        by, most = -1, 0.0
        for b in range(m):
            if b != a:
                square = board.squares[max(a, b), min(a, b)]
                margin = means[b] - means[a] - _radius(square, slope, offset, scale, linear)
                if margin > most:
                    by, most = b, margin
        if by >= 0:
            _mark(board, arms[a], t, arms[by], most)


@compiled
def _mark(board, arm, t, by, margin):  # type: ignore[no-untyped-def]
    board.beaten_round[arm] = t
    board.beaten_by[arm] = by
    board.margin[arm] = margin


@compiled
def _eliminate(board, keep, t):  # type: ignore[no-untyped-def]
    """Take the candidates marked in this round out of S; if all are, the one with the largest mean stays."""
    arms, means, bar, tally = board.arms, board.means, board.bar, board.tally
    leader, beaten = -1, 0
    for a in range(tally[QUERIED]):
        if bar[a] == 0.0:
            beaten += board.beaten_round[arms[a]] == t
            if leader < 0 or means[a] > means[leader]:
                leader = a
    contradiction = beaten == tally[CANDIDATES]
    for a in range(tally[QUERIED]):
        arm = arms[a]
        if bar[a] == 0.0 and board.beaten_round[arm] == t and not (contradiction and a == leader):
            bar[a] = np.inf
            tally[CANDIDATES] -= 1
            board.last_round[arm] = np.int64(keep * t + 1e-9)
            tally[NEXT_LEAVE] = min(tally[NEXT_LEAVE], board.last_round[arm])


@compiled
def _let_leave(board, t):  # type: ignore[no-untyped-def]
    """Stop querying the arms whose last round this was."""
    tally = board.tally
    a = 0
    while a < tally[QUERIED]:
        if board.last_round[board.arms[a]] <= t:
            _move_behind(board, a)
        else:
            a += 1
    tally[NEXT_LEAVE] = FOREVER
    for a in range(tally[QUERIED]):
        tally[NEXT_LEAVE] = min(tally[NEXT_LEAVE], board.last_round[board.arms[a]])


@compiled
def _move_behind(board, place):  # type: ignore[no-untyped-def]
    """Move the arm at a place behind the queried ones; the others close up in their order."""
    squares, K = board.squares, board.arms.size
    end = board.tally[QUERIED] - 1
    board.tally[QUERIED] = end
    moved = np.empty(K)
    for b in range(K):
        moved[b] = squares[max(place, b), min(place, b)]
    for a in range(K):
        to_a = a - (place < a <= end)
        for b in range(a):
            if place not in (a, b):
                squares[to_a, b - (place < b <= end)] = squares[a, b]
    for b in range(K):
        to_b = b - (place < b <= end)
        if b != place:
            squares[max(end, to_b), min(end, to_b)] = moved[b]
    arm, mean, own, bar = board.arms[place], board.means[place], board.own[place], board.bar[place]
    for a in range(place, end):
        board.arms[a] = board.arms[a + 1]
        board.means[a] = board.means[a + 1]
        board.own[a] = board.own[a + 1]
        board.bar[a] = board.bar[a + 1]
    board.arms[end], board.means[end], board.own[end], board.bar[end] = arm, mean, own, bar


@compiled
def race_pairs(rows, slopes, offsets, max_rounds, max_queries, board, keep, linear, learn_until):  # type: ignore[no-untyped-def]
    """Play rounds where ``j`` beats ``i`` if ``mean_j - mean_i > slope_t * spread_ij + offset_t``.

    The spread is the standard deviation of the difference, or with ``linear`` its centred sum of squares as it was
    after round ``learn_until``. Slopes and offsets are those of the rounds of ``rows``. Returns the rows used.
    """
    arms, means, own, squares = board.arms, board.means, board.own, board.squares
    bar, deviation, tally = board.bar, board.deviation, board.tally
    t, m = tally[ROUNDS], tally[QUERIED]
    for r in range(rows.shape[0]):
        if tally[CANDIDATES] == 1 or t >= max_rounds or tally[QUERIES] + m > max_queries:
            return r
        t += 1
        tally[ROUNDS] = t
        tally[QUERIES] += m
        share = 1.0 / t
        _absorb_means(rows, r, share, m, arms, means, deviation)
        if t <= learn_until:
            _absorb_squares(1.0 - share, m, deviation, own, squares)
        scale = 1.0 / (t - 1.0)
        # An infinite slope beats nobody, also where the spread is 0.
        if slopes[r] < np.inf and (linear or _may_be_beaten(m, means, squares, bar, slopes[r], offsets[r], scale)):
            _judge_pairs(board, slopes[r], offsets[r], scale, linear, t)
            _eliminate(board, keep, t)
        if tally[NEXT_LEAVE] <= t:
            _let_leave(board, t)
            m = tally[QUERIED]
    return rows.shape[0]


@compiled
def race_intervals(rows, slopes, offsets, max_rounds, max_queries, board, learn):  # type: ignore[no-untyped-def]
    """Play rounds with one interval an arm, ``mean -+ (slope_t * sd + offset_t)``: ``j`` beats ``i`` if its lies above.

    The standard deviations are learned, or with ``learn`` false ``board.own`` holds the known variances. Beaten arms
    leave at once. Returns the rows used.
    """
    arms, means, own, tally = board.arms, board.means, board.own, board.tally
    sd = np.empty(arms.size)
    for r in range(rows.shape[0]):
        t, m = tally[ROUNDS] + 1, tally[QUERIED]
        if tally[CANDIDATES] == 1 or t > max_rounds or tally[QUERIES] + m > max_queries:
            return r
        tally[ROUNDS] = t
        tally[QUERIES] += m
        _absorb_means(rows, r, 1.0 / t, m, arms, means, board.deviation)
        weight = (t - 1.0) / t
        highest = 0
        for a in range(m):
            if learn:
                own[a] += weight * board.deviation[a] * board.deviation[a]
                sd[a] = np.sqrt(own[a] / (t - 1.0))
            else:
                sd[a] = np.sqrt(own[a])
            if means[a] - slopes[r] * sd[a] > means[highest] - slopes[r] * sd[highest]:
                highest = a
        low = means[highest] - slopes[r] * sd[highest]
        beaten = False
        for a in range(m):
            margin = low - (means[a] + slopes[r] * sd[a]) - 2.0 * offsets[r]
            if margin > 0.0:
                _mark(board, arms[a], t, arms[highest], margin)
                beaten = True
        if beaten:
            _eliminate(board, 1.0, t)
            _let_leave(board, t)
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
