"""Bets on the leader so far whose gains are bounded by a tanh: one wealth against each arm, for symmetric differences.

Letters of docs/theory.md: ``Y`` is the reward of the rival of an arm minus its own, ``lambda`` the bet, ``kappa`` the
share of the wealth that one round can win or lose.
"""

import math

import numpy as np

from bestarm.kernels.board import CANDIDATES, ENDED, NEXT_LEAVE, QUERIED, WITHIN_EPSILON
from bestarm.kernels.boundaries import leader_within, may_be_beaten, radius
from bestarm.kernels.compiling import compiled, part
from bestarm.kernels.rounds import absorb_squares, begin_round, eliminate, leader_place, let_leave, mark, may_go_on

KAPPA = 0.9
SHARE = 0.2  # of the wealth, divided by the round, that is spread over the bets again: fixed share
REACH = 4.0  # bets are at most so many standard errors: they shrink, and every lead is found
GROWTH = 0.02  # the rivals are renewed when the rounds have grown by this share
RIDGE = 1.0  # rounds of the pooled variance that are added to those of a difference
DISTINCT = 10  # values that differences have taken before a boundary for Gaussian ones judges them
ROUNDING = 1e-13  # of the rewards: differences that are closer are the same
SMALLEST = 1e-300  # a variance below it is none, and must not be divided by
EXHAUSTED = 1e-280  # less wealth than this is none: it would only make the arithmetic slow


@part
def _bet(rows, r, t, board, rivals, zone):  # type: ignore[no-untyped-def]
    """Multiply the wealth of every bet by ``1 + kappa tanh(lambda (Y + zone) / kappa)``, and share some of it out.

    A bet on an arm that fails in this round loses as much as any bet can: its reward would have done no more harm.
    """
    reach, share, n_bets = REACH / math.sqrt(t), SHARE / t, rivals.effects.size
    for a in range(board.tally[QUERIED]):
        i = board.arms[a]
        j = rivals.rival[i]
        if board.bar[a] > 0.0 or j < 0:
            continue
        wealth, failed = rivals.wealth[i], rivals.failing[j]
        Y = 0.0 if failed else rows[r, j] - rows[r, i] + zone
        total, last, factor = 0.0, -1.0, 1.0 - KAPPA
        for k in range(n_bets):
            effect = min(rivals.effects[k], reach)
            if not failed and effect != last:
                factor = 1.0 + KAPPA * math.tanh(effect * (Y / rivals.scale[i]) / KAPPA)
                last = effect
            wealth[k] *= factor
            total += wealth[k]
        if total < EXHAUSTED:
            total = 0.0
        for k in range(n_bets):
            wealth[k] = (1.0 - share) * wealth[k] + share * total / n_bets
        rivals.total[i] = total


@part
def _standing(board, failing):  # type: ignore[no-untyped-def]
    """The places of queried candidates, and of those that were until they failed in the round that comes next."""
    places, n = np.empty(board.arms.size, dtype=np.int64), 0
    for a in range(board.arms.size):
        if (a < board.tally[QUERIED] and board.bar[a] == 0.0) or failing[board.arms[a]]:
            places[n] = a
            n += 1
    return places[:n]


@part
def _pooled_variance(t, standing, means, squares):  # type: ignore[no-untyped-def]
    """The variance of differences after ``t`` rounds, averaged over pairs; after the first round their mean square."""
    summed, n = 0.0, standing.size
    for at in range(n):
        a = standing[at]
        for b in standing[:at]:
            summed += squares[a, b] if t > 1 else (means[a] - means[b]) ** 2
    return max(summed / max(1.0, 0.5 * n * (n - 1)) / max(1.0, t - 1.0), SMALLEST)


@part
def _first_two(standing, means, arms):  # type: ignore[no-untyped-def]
    """The places of the largest mean and of the second, ties by number; -1 where there is none."""
    first, second = -1, -1
    for a in standing:
        if first < 0 or means[a] > means[first] or (means[a] == means[first] and arms[a] < arms[first]):
            first, second = a, first
        elif second < 0 or means[a] > means[second] or (means[a] == means[second] and arms[a] < arms[second]):
            second = a
    return first, second


@compiled
def renew_rivals(t, board, rivals, zone):  # type: ignore[no-untyped-def]
    """Choose after round ``t`` who is bet on: the leader, and against the leader the second; with a zone nobody.

    Arms that fail in the round that comes next can be chosen until it is over: who fails must not change the bets.
    """
    standing = _standing(board, rivals.failing)
    first, second = _first_two(standing, board.means, board.arms)
    ridge = RIDGE * _pooled_variance(t, standing, board.means, board.squares)
    for a in standing:
        b = first if a != first else second if zone == 0.0 else -1
        rivals.rival[board.arms[a]] = board.arms[b] if b >= 0 else -1
        if b >= 0:
            square = board.squares[max(a, b), min(a, b)]
            rivals.scale[board.arms[a]] = math.sqrt((square + ridge) / (t - 1.0 + RIDGE))
    rivals.renewal[0] = t + 1 + max(1, np.int64(GROWTH * (t + 1)))


@compiled
def may_be_judged(first, i, j, t, square, constant_from):  # type: ignore[no-untyped-def]
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
            new &= abs(difference - values[v]) > ROUNDING * size
        if new:
            values[found] = difference
            found += 1
            if found == needed:
                return True
    return found == 1 and t >= constant_from and square <= t * (ROUNDING * size) ** 2


@part
def _judge_wealth(board, rivals, threshold, t):  # type: ignore[no-untyped-def]
    """Mark every candidate against which the wealth has reached the threshold; whether there is one."""
    found = False
    for a in range(board.tally[QUERIED]):
        i = board.arms[a]
        if board.bar[a] == 0.0 and rivals.total[i] >= threshold:
            mark(board, i, t, rivals.rival[i], math.log(rivals.total[i]) - math.log(threshold))
            found = True
    return found


@part
def _judge_pairs(board, first, slope, offset, rule, t):  # type: ignore[no-untyped-def]
    """Mark every other candidate that is beaten by a boundary, of the pairs that may be judged; whether there is one.

    With a zone, the same mean and a lower number is enough, as in `race_pairs`.
    """
    arms, means, scale, found = board.arms, board.means, 1.0 / (t - 1.0), False
    for a in range(board.tally[QUERIED]):
        if board.bar[a] > 0.0 or board.beaten_round[arms[a]] == t:
            continue
        by, most = -1, 0.0
        for b in range(board.tally[QUERIED]):
            lead = means[b] - means[a]
            if lead > 0.0 or (rule.zone > 0.0 and lead == 0.0 and b < a):
                square = board.squares[max(a, b), min(a, b)]
                margin = lead - radius(square, slope, offset, scale, False)
                if margin > most and may_be_judged(first, arms[a], arms[b], t, square, rule.constant_from):
                    by, most = b, margin
        if by >= 0:
            mark(board, arms[a], t, arms[by], most)
            found = True
    return found


@part
def _leader_near(board, first, slope, offset, rule, t):  # type: ignore[no-untyped-def]
    """Whether the leader is shown to be within epsilon of every other candidate, all pairs of which may be judged."""
    if not leader_within(board, rule.epsilon, slope, offset, 1.0 / (t - 1.0)):
        return False
    leader = leader_place(board)
    for a in range(board.tally[QUERIED]):
        other, square = board.bar[a] == 0.0 and a != leader, board.squares[max(a, leader), min(a, leader)]
        if other and not may_be_judged(first, board.arms[a], board.arms[leader], t, square, rule.constant_from):
            return False
    return True


@part
def _protect_leader(board, rivals):  # type: ignore[no-untyped-def]
    """With a zone the candidate with the largest mean is never out: no more wealth is kept against it than at first."""
    arm = board.arms[leader_place(board)]
    if rivals.total[arm] > 1.0:
        rivals.total[arm] = 1.0
        rivals.wealth[arm] = 1.0 / rivals.effects.size


@part
def _judge(board, rivals, slope, offset, rule, t):  # type: ignore[no-untyped-def]
    """Eliminate who is out by the wealth against it or by the boundary; whether somebody is."""
    found = _judge_wealth(board, rivals, rule.threshold, t)
    if slope < np.inf:
        m, scale = board.tally[QUERIED], 1.0 / (t - 1.0)
        if may_be_beaten(m, board.means, board.squares, board.bar, slope, offset - rule.zone, scale):
            found |= _judge_pairs(board, rivals.first, slope, offset - rule.zone, rule, t)
    if found:
        eliminate(board, rule.keep, t, leader_place(board))
    look = rule.epsilon > 0.0 and slope < np.inf and board.tally[CANDIDATES] > 1
    if look and _leader_near(board, rivals.first, slope, offset, rule, t):
        board.tally[ENDED] = WITHIN_EPSILON
    return found


@compiled
def race_symmetric(rows, slopes, offsets, board, rivals, rule):  # type: ignore[no-untyped-def]
    """Play rounds by bets on rivals, and by a boundary with slopes and offsets of the rounds of ``rows``.

    Returns the rows used.
    """
    for r in range(rows.shape[0]):
        if not may_go_on(board.tally, board.limits):
            return r
        t = begin_round(rows, r, board.tally, board.arms, board.means, board.deviation)
        m = board.tally[QUERIED]
        absorb_squares(1.0 - 1.0 / t, m, board.deviation, board.own, board.squares)
        if t <= rivals.first.shape[0]:
            for a in range(m):
                rivals.first[t - 1, board.arms[a]] = rows[r, board.arms[a]]
        _bet(rows, r, t, board, rivals, rule.zone)
        if rule.zone > 0.0:
            _protect_leader(board, rivals)
        found = _judge(board, rivals, slopes[r], offsets[r], rule, t)
        if board.tally[NEXT_LEAVE] <= t:
            let_leave(board, t)
        if found or t + 1 >= rivals.renewal[0]:
            rivals.failing[:] = False
            renew_rivals(t, board, rivals, rule.zone)
    return rows.shape[0]
