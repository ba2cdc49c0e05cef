"""Games in which the wealth of bets says who is out."""

import numpy as np

from bestarm.board import CANDIDATES, ENDED, NEXT_LEAVE, POOL_EXHAUSTED, QUERIED, WITHIN_EPSILON
from bestarm.kernels.base import all_candidates_queried, eliminate, leader_place, let_leave, mark, may_go_on
from bestarm.kernels.bets import add_differences, bet_on_all, null_mean
from bestarm.kernels.compiling import compiled
from bestarm.kernels.convex import differences_from, nonnegative_minimum
from bestarm.kernels.moments import absorb_squares, begin_round

RENEWAL = 0.1  # the bets of a portfolio are renewed when the rounds have grown by this share
FADING = 30.0  # rounds worth of ridge in the second moments that they are learned from
MOST = 0.95  # the largest share of a portfolio that is bet


@compiled
def _invest(rows, r, t, board, sums, folio, rule):  # type: ignore[no-untyped-def]
    """One round of the portfolios, with the bets chosen before it; no more than the cap of one can be lost."""
    arms, m = board.arms, board.tally[QUERIED]
    for a in range(m):
        if board.bar[a] > 0.0:
            continue
        i = arms[a]
        gain, stake = 0.0, 0.0
        for b in range(m):
            j = arms[b]
            if j != i and folio.bets[i, j] > 0.0:
                y = null_mean(0.0, rule.pool, t, sums[i, j])
                gain += folio.bets[i, j] * ((rows[r, j] - rows[r, i]) * rule.scale - y)
                stake += folio.bets[i, j] * (1.0 + y)
        if stake > rule.cap:
            gain *= rule.cap / stake
        folio.log_wealth[i] += np.log(1.0 + gain)


@compiled
def _renew_bets(t, board, folio, scale):  # type: ignore[no-untyped-def]
    """Choose the bets that would have grown fastest, to second order: ``max <b, m> - b' M b / 2``, ``b >= 0``.

    ``m`` and ``M`` are the means and second moments of the differences so far, the latter with a ridge that fades: in
    the beginning there is more to fit than to learn.
    """
    m, arms = board.tally[QUERIED], board.arms
    means, moments, w = np.empty(m - 1), np.empty((m - 1, m - 1)), np.empty(m - 1)
    for a in range(m):
        if board.bar[a] > 0.0:
            continue
        i = arms[a]
        others = np.concatenate((arms[:a], arms[a + 1 : m]))
        differences_from(a, board, m, t, means, moments)
        for j in range(m - 1):
            means[j] *= scale
        for j in range(m - 1):
            for k in range(m - 1):
                moments[j, k] = moments[j, k] * scale * scale + means[j] * means[k]
        for j in range(m - 1):
            moments[j, j] *= 1.0 + FADING / t
            w[j] = folio.bets[i, others[j]]
        nonnegative_minimum(means, moments, w, 3 * m)
        total = w.sum()
        for j in range(m - 1):
            folio.bets[i, others[j]] = w[j] * min(1.0, MOST / total) if total > 0.0 else 0.0
        folio.bets[i, i] = 0.0


@compiled
def _wealth_against(i, row, sums, total, log_wealth, zone):  # type: ignore[no-untyped-def]
    """The summed wealth of the bets against an arm, and on whom most of it was made.

    With a zone only the wealth of arms that are ahead on the rounds they share counts, ties by number. A portfolio
    counts as much as all pairs together.
    """
    K, by = sums.shape[0], -1
    summed = (K - 1) * np.exp(log_wealth[i]) if log_wealth.size == K else 0.0
    for j in range(K):
        if j != i and (zone == 0.0 or sums[i, j] > 0.0 or (sums[i, j] == 0.0 and j < i)):
            summed += total[row, j]
            if by < 0 or total[row, j] > total[row, by]:
                by = j
    return summed, by


@compiled
def _any_beaten(m, arms, bar, sums, row_of, total, log_wealth, rule):  # type: ignore[no-untyped-def]
    """Whether the summed wealth has reached the threshold against any candidate."""
    found = False
    for a in range(m):
        if bar[a] == 0.0:
            summed, _ = _wealth_against(arms[a], row_of[arms[a]], sums, total, log_wealth, rule.zone)
            found |= summed >= rule.threshold
    return found


@compiled
def _judge_wealth(board, sums, purse, folio, rule, t):  # type: ignore[no-untyped-def]
    """Mark every candidate against which the summed wealth has reached the threshold."""
    for a in range(board.tally[QUERIED]):
        i = board.arms[a]
        if board.bar[a] == 0.0:
            summed, by = _wealth_against(i, purse.row_of[i], sums, purse.total, folio.log_wealth, rule.zone)
            if summed >= rule.threshold:
                mark(board, i, t, by, np.log(summed) - np.log(rule.threshold))


@compiled
def _most_beaten_by(a, board, sums):  # type: ignore[no-untyped-def]
    """The place of the other queried candidate that is furthest ahead of the one at a place, and by how much."""
    by, most = -1, -np.inf
    for b in range(board.tally[QUERIED]):
        ahead = sums[board.arms[a], board.arms[b]]
        if b != a and board.bar[b] == 0.0 and ahead > most:
            by, most = b, ahead
    return by, most


@compiled
def _leader(board, sums, signs):  # type: ignore[no-untyped-def]
    """The place of the candidate that leads: by its mean, or in wins that which another is least ahead of."""
    if not signs:
        return leader_place(board)
    leader, least = -1, np.inf
    for a in range(board.tally[QUERIED]):
        if board.bar[a] == 0.0:
            _, behind = _most_beaten_by(a, board, sums)
            if leader < 0 or behind < least:
                leader, least = a, behind
    return leader


@compiled
def _leader_near(board, sums, near, rule):  # type: ignore[no-untyped-def]
    """Whether the wealth of the leader, shifted by epsilon, has reached the threshold against every other candidate."""
    if not all_candidates_queried(board):
        return False
    leader = _leader(board, sums, rule.signs)
    for a in range(board.tally[QUERIED]):
        if board.bar[a] > 0.0 or a == leader:
            continue
        if near.total[near.row_of[board.arms[a]], board.arms[leader]] < rule.threshold:
            return False
    return True


@compiled
def _settle(board, t):  # type: ignore[no-untyped-def]
    """The pool is exhausted, its means are known: whoever is behind the leader is out (up to rounding)."""
    leader = leader_place(board)
    best = board.means[leader]
    for a in range(board.tally[QUERIED]):
        if board.bar[a] == 0.0 and best - board.means[a] > 1e-12 * max(1.0, abs(best)):
            mark(board, board.arms[a], t, board.arms[leader], best - board.means[a])
    eliminate(board, 1.0, t, leader)


@compiled
def _settle_wins(board, sums, t):  # type: ignore[no-untyped-def]
    """The pool is exhausted, all wins are counted: whom another candidate beats is out, unless that is everybody."""
    unbeaten = 0
    for a in range(board.tally[QUERIED]):
        unbeaten += board.bar[a] == 0.0 and _most_beaten_by(a, board, sums)[1] <= 0.0
    if unbeaten == 0:
        return
    for a in range(board.tally[QUERIED]):
        by, ahead = _most_beaten_by(a, board, sums)
        if board.bar[a] == 0.0 and ahead > 0.0:
            mark(board, board.arms[a], t, board.arms[by], ahead / t)
    eliminate(board, 1.0, t, _leader(board, sums, True))


@compiled
def race_wealth(rows, board, sums, purse, near, folio, rule):  # type: ignore[no-untyped-def]
    """Play rounds where arm ``i`` is out when the wealth of the bets against it, summed, reaches the threshold.

    With a positive ``epsilon`` the game also ends when the leader is within it, with a positive ``pool`` after so many
    rounds. With a folio of all arms half of the wealth is in portfolios. Returns the rows used.
    """
    tally, limits, arms, means, bar = board.tally, board.limits, board.arms, board.means, board.bar
    deviation, row_of, total, log_wealth = board.deviation, purse.row_of, purse.total, folio.log_wealth
    places = (arms, bar, sums, deviation)
    for r in range(rows.shape[0]):
        if not may_go_on(tally, limits):
            return r
        t = begin_round(rows, r, tally, arms, means, deviation)
        if log_wealth.size == arms.size:
            absorb_squares(1.0 - 1.0 / t, tally[QUERIED], board.deviation, board.own, board.squares)
            _invest(rows, r, t, board, sums, folio, rule)
            if t == folio.renewal[0]:
                _renew_bets(t, board, folio, rule.scale)
                folio.renewal[0] = t + max(1, np.int64(RENEWAL * t))
        m = tally[QUERIED]
        bet_on_all(rows, r, t, -rule.zone, m, places, rule, purse)
        if rule.epsilon > 0.0:
            bet_on_all(rows, r, t, -rule.epsilon, m, places, rule, near)
        add_differences(rows, r, m, places, rule)
        if _any_beaten(m, arms, bar, sums, row_of, total, log_wealth, rule):
            _judge_wealth(board, sums, purse, folio, rule, t)
            eliminate(board, rule.keep, t, _leader(board, sums, rule.signs))
        if tally[CANDIDATES] > 1:
            if rule.epsilon > 0.0 and _leader_near(board, sums, near, rule):
                tally[ENDED] = WITHIN_EPSILON
            elif t == rule.pool and all_candidates_queried(board):
                if rule.signs:
                    _settle_wins(board, sums, t)
                else:
                    _settle(board, t)
                tally[ENDED] = POOL_EXHAUSTED
        if tally[NEXT_LEAVE] <= t:
            let_leave(board, t)
    return rows.shape[0]
