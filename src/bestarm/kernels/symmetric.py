"""Bets on the leader so far whose gains are bounded by a tanh: one wealth against each arm, for symmetric differences.

Letters of docs/theory.md: ``Y`` is the reward of the rival of an arm minus its own, ``lambda`` the bet, ``kappa`` the
share of the wealth that one round can win or lose.
"""

import math

import numpy as np

from bestarm.kernels.boundaries import judge_pairs, leader_within, may_be_beaten
from bestarm.kernels.compiling import compiled, part
from bestarm.kernels.rounds import (
    absorb_squares,
    begin_round,
    eliminate,
    leader_place,
    mark_beaten,
    may_go_on,
    remove_arms,
)
from bestarm.kernels.state import EXHAUSTED, GROWTH, REACH, SHARE, WITHIN_EPSILON

KAPPA = 0.9
RIDGE = 1.0  # rounds of the pooled variance that are added to those of a difference
SMALLEST = 1e-300  # a variance below it is none, and must not be divided by


@part
def _bet_on_rivals(rows, r, t, board, rivals, zone):
    """Multiply the wealth of every bet by ``1 + kappa tanh(lambda (Y + zone) / kappa)``, and share some of it out.

    A bet on an arm that fails in this round loses as much as any bet can: its reward would have done no more harm.
    """
    reach, share, n_bets = REACH / math.sqrt(t), SHARE / t, rivals.effects.size
    for a in range(board.progress[0].n_queried):
        i = board.arms[a]
        j = rivals.rival[i]
        if board.is_out[a] or j < 0:
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
def _standing(board, failing):
    """The places of queried candidates, and of those that were until they failed in the round that comes next."""
    places, n = np.empty(board.arms.size, dtype=np.int64), 0
    for a in range(board.arms.size):
        if (a < board.progress[0].n_queried and not board.is_out[a]) or failing[board.arms[a]]:
            places[n] = a
            n += 1
    return places[:n]


@part
def _pooled_variance(t, standing, means, squares):
    """The variance of differences after ``t`` rounds, averaged over pairs; after the first round their mean square."""
    summed, n = 0.0, standing.size
    for at in range(n):
        a = standing[at]
        for b in standing[:at]:
            summed += squares[a, b] if t > 1 else (means[a] - means[b]) ** 2
    return max(summed / max(1.0, 0.5 * n * (n - 1)) / max(1.0, t - 1.0), SMALLEST)


@part
def _two_largest_means(standing, means, arms):
    """The places of the largest and the second largest mean, ties by number; -1 where there is none."""
    first, second = -1, -1
    for a in standing:
        if first < 0 or means[a] > means[first] or (means[a] == means[first] and arms[a] < arms[first]):
            first, second = a, first
        elif second < 0 or means[a] > means[second] or (means[a] == means[second] and arms[a] < arms[second]):
            second = a
    return first, second


@compiled
def renew_rivals(t, board, rivals, zone):
    """Choose after round ``t`` who is bet on: the leader, and against the leader the second; with a zone nobody.

    Arms that fail in the round that comes next can be chosen until it is over: who fails must not change the bets.
    """
    standing = _standing(board, rivals.failing)
    first, second = _two_largest_means(standing, board.means, board.arms)
    ridge = RIDGE * _pooled_variance(t, standing, board.means, board.squares)
    for a in standing:
        b = first if a != first else second if zone == 0.0 else -1
        rivals.rival[board.arms[a]] = board.arms[b] if b >= 0 else -1
        if b >= 0:
            square = board.squares[max(a, b), min(a, b)]
            rivals.scale[board.arms[a]] = math.sqrt((square + ridge) / (t - 1.0 + RIDGE))
    rivals.progress[0].next_renewal = t + 1 + max(1, np.int64(GROWTH * (t + 1)))


@part
def _mark_by_wealth(board, rivals, threshold, t):
    """Mark every candidate against which the wealth has reached the threshold; whether there is one."""
    found = False
    for a in range(board.progress[0].n_queried):
        i = board.arms[a]
        if not board.is_out[a] and rivals.total[i] >= threshold:
            mark_beaten(board, i, t, rivals.rival[i], math.log(rivals.total[i]) - math.log(threshold))
            found = True
    return found


@part
def _protect_mean_leader(board, rivals):
    """With a zone the candidate with the largest mean is never out: no more wealth is kept against it than at first."""
    arm = board.arms[leader_place(board)]
    if rivals.total[arm] > 1.0:
        rivals.total[arm] = 1.0
        rivals.wealth[arm] = 1.0 / rivals.effects.size


@part
def _judge_round(board, rivals, slope, offset, rule, t):
    """Eliminate who is out by the wealth against it or by the boundary; whether somebody is."""
    found = _mark_by_wealth(board, rivals, rule.threshold, t)
    if slope < np.inf:
        m, scale = board.progress[0].n_queried, 1.0 / (t - 1.0)
        if may_be_beaten(m, board.means, board.squares, board.is_out, slope, offset - rule.zone, scale):
            found |= judge_pairs(board, slope, offset - rule.zone, False, rule, t, rivals.first)
    if found:
        eliminate(board, rule.keep, t, leader_place(board))
    look = rule.epsilon > 0.0 and slope < np.inf and board.progress[0].n_candidates > 1
    if look and leader_within(board, slope, offset, rule, t, rivals.first):
        board.progress[0].ended = WITHIN_EPSILON
    return found


@compiled
def race_symmetric(rows, slopes, offsets, board, rivals, rule):
    """Play rounds by bets on rivals, and by a boundary with slopes and offsets of the rounds of ``rows``.

    Returns the rows used.
    """
    progress, schedule = board.progress[0], rivals.progress[0]
    for r in range(rows.shape[0]):
        if not may_go_on(progress):
            return r
        t = begin_round(rows, r, progress, board.arms, board.means, board.deviation)
        m = progress.n_queried
        absorb_squares(t, m, board.deviation, board.sum_squares, board.squares)
        if t <= rivals.first.shape[0]:
            for a in range(m):
                rivals.first[t - 1, board.arms[a]] = rows[r, board.arms[a]]
        _bet_on_rivals(rows, r, t, board, rivals, rule.zone)
        if rule.zone > 0.0:
            _protect_mean_leader(board, rivals)
        found = _judge_round(board, rivals, slopes[r], offsets[r], rule, t)
        if progress.next_exit <= t:
            remove_arms(board, t)
        if found or schedule.any_failing or t + 1 >= schedule.next_renewal:
            rivals.failing[:] = False
            schedule.any_failing = False
            renew_rivals(t, board, rivals, rule.zone)
    return rows.shape[0]
