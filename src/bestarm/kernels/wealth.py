"""Games in which the wealth of bets says who is out."""

import numpy as np

from bestarm.board import CANDIDATES, ENDED, NEXT_LEAVE, POOL_EXHAUSTED, QUERIED, WITHIN_EPSILON
from bestarm.kernels.base import all_candidates_queried, eliminate, leader_place, let_leave, mark, may_go_on
from bestarm.kernels.compiling import compiled, inlined
from bestarm.kernels.convex import differences_from, nonnegative_minimum
from bestarm.kernels.moments import absorb_squares, begin_round

IMPOSSIBLE = -1.0 - 1e-9  # a mean below the smallest possible difference, by more than rounding
RENEWAL = 0.1  # the bets of a portfolio are renewed when the rounds have grown by this share
FADING = 30.0  # rounds worth of ridge in the second moments that they are learned from
MOST = 0.95  # the largest share of a portfolio that is bet
FOLD = 32  # rounds after which the growth of a bet is folded into its logarithm


@compiled
def _null_mean(nu, pool, t, sum_so_far):  # type: ignore[no-untyped-def]
    """The largest mean that the next difference can have if that of all rounds is at most ``nu``.

    ``nu`` itself when rounds are independent (``pool`` 0); the mean of what is left of a pool drawn without
    replacement.
    """
    if pool == 0:
        return nu
    return (pool * nu - sum_so_far) / (pool - t + 1)


@compiled
def _bet(i, bets, gain, largest, wealth, growth, total):  # type: ignore[no-untyped-def]
    """Multiply the bets against ``i`` by ``1 + lambda * gain`` and sum their wealth; a gain of 0 changes nothing."""
    columns = gain.size
    for j in range(columns):
        total[i, j] = 0.0
    for g in range(bets.size):
        bet = bets[g]
        for j in range(columns):
            grown = growth[i, g, j] * (1.0 + min(bet, largest[j]) * gain[j])
            growth[i, g, j] = grown
            total[i, j] += wealth[i, g, j] * grown


@inlined
def _fold(i, purse):  # type: ignore[no-untyped-def]
    """Take the growth of the bets against ``i`` into their logarithms."""
    for j in range(purse.log_wealth.shape[0]):
        if j != i:
            for g in range(purse.weights.size):
                purse.log_wealth[i, g, j] += np.log(purse.growth[i, g, j])
                purse.wealth[i, g, j] = purse.weights[g] * np.exp(purse.log_wealth[i, g, j])
                purse.growth[i, g, j] = 1.0


@inlined
def _set_gains(i, m, arms, differences, nu, cap, gain, largest):  # type: ignore[no-untyped-def]
    """What the bets against ``i`` gain in a round that is independent of the past; 0 for arms not queried."""
    most = cap / (1.0 + nu) if nu > -1.0 else np.inf
    for j in range(gain.size):
        gain[j] = 0.0
        largest[j] = most
    for b in range(m):
        gain[arms[b]] = differences[arms[b]] - nu
    gain[i] = 0.0


@compiled
def _set_null_means(i, m, arms, nu, pool, t, sums, null_means):  # type: ignore[no-untyped-def]
    """The null mean of each difference in this round of a pool without replacement: it follows what is left of it."""
    for b in range(m):
        null_means[arms[b]] = _null_mean(nu, pool, t, sums[i, arms[b]])


@compiled
def _set_pool_gains(i, m, arms, differences, cap, gain, largest):  # type: ignore[no-untyped-def]
    """The same as `_set_gains` with null means of their own, which ``largest`` holds before."""
    for j in range(gain.size):
        gain[j] = 0.0
    for b in range(m):
        j = arms[b]
        y = largest[j]
        gain[j] = differences[j] - y
        largest[j] = cap / (1.0 + y) if y > -1.0 else np.inf
    gain[i] = 0.0


@inlined
def _bet_against(i, t, nu, differences, board, sums, purse, rule):  # type: ignore[no-untyped-def]
    """One round of bets that each queried arm is better than ``i`` by more than ``nu`` on average.

    Every bet ``lambda`` is cut to ``lambda (1 + y) <= cap`` where ``y`` is the null mean of this round: no more than
    that share of a purse can be lost. If ``y`` is below the smallest possible difference the null is impossible.
    """
    arms, m, gain, largest = board.arms, board.tally[QUERIED], purse.gain, purse.largest
    if rule.pool == 0:
        _set_gains(i, m, arms, differences, nu, rule.cap, gain, largest)
    else:
        _set_null_means(i, m, arms, nu, rule.pool, t, sums, largest)
        _set_pool_gains(i, m, arms, differences, rule.cap, gain, largest)
    _bet(i, purse.bets, gain, largest, purse.wealth, purse.growth, purse.total)
    if rule.pool > 0:
        for b in range(m):
            j = arms[b]
            if j != i and _null_mean(nu, rule.pool, t, sums[i, j]) < IMPOSSIBLE:
                purse.total[i, j] = np.inf
    if t % FOLD == 0:
        _fold(i, purse)


@inlined
def _bet_on_all(rows, r, t, board, sums, purse, near, rule):  # type: ignore[no-untyped-def]
    """Bet against every candidate, in the purse and, with epsilon, in the one that shows who is near."""
    differences = board.deviation  # free after the means
    for a in range(board.tally[QUERIED]):
        if board.bar[a] > 0.0:
            continue
        i = board.arms[a]
        for b in range(board.tally[QUERIED]):
            j = board.arms[b]
            differences[j] = (rows[r, j] - rows[r, i]) * rule.scale
        _bet_against(i, t, -rule.zone, differences, board, sums, purse, rule)
        if rule.epsilon > 0.0:
            _bet_against(i, t, -rule.epsilon, differences, board, sums, near, rule)
        for b in range(board.tally[QUERIED]):
            sums[i, board.arms[b]] += differences[board.arms[b]]


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
                y = _null_mean(0.0, rule.pool, t, sums[i, j])
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
def _judge_wealth(board, sums, purse, folio, rule, t):  # type: ignore[no-untyped-def]
    """Mark every candidate against which the summed wealth has reached the threshold; whether there is one.

    With a zone only the wealth of arms that are ahead on the rounds they share counts, ties by number. A portfolio
    counts as much as all pairs together.
    """
    K, found = board.arms.size, False
    zone, threshold = rule.zone, rule.threshold
    for a in range(board.tally[QUERIED]):
        i = board.arms[a]
        if board.bar[a] > 0.0:
            continue
        summed, by = 0.0, -1
        if folio.log_wealth.size == K:
            summed = (K - 1) * np.exp(folio.log_wealth[i])
        for j in range(K):
            if j != i and (zone == 0.0 or sums[i, j] > 0.0 or (sums[i, j] == 0.0 and j < i)):
                summed += purse.total[i, j]
                if by < 0 or purse.total[i, j] > purse.total[i, by]:
                    by = j
        if summed >= threshold:
            mark(board, i, t, by, np.log(summed) - np.log(threshold))
            found = True
    return found


@compiled
def _leader_near(board, near, threshold):  # type: ignore[no-untyped-def]
    """Whether the wealth of the leader, shifted by epsilon, has reached the threshold against every other candidate."""
    if not all_candidates_queried(board):
        return False
    leader = leader_place(board)
    for a in range(board.tally[QUERIED]):
        if board.bar[a] == 0.0 and a != leader and near.total[board.arms[a], board.arms[leader]] < threshold:
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
    eliminate(board, 1.0, t)
    board.tally[ENDED] = POOL_EXHAUSTED


@compiled
def race_wealth(rows, board, sums, purse, near, folio, rule):  # type: ignore[no-untyped-def]
    """Play rounds where arm ``i`` is out when the wealth of the bets against it, summed, reaches the threshold.

    With a positive ``epsilon`` the game also ends when the leader is within it, with a positive ``pool`` after so many
    rounds. With a folio of all arms half of the wealth is in portfolios. Returns the rows used.
    """
    tally = board.tally
    for r in range(rows.shape[0]):
        if not may_go_on(board):
            return r
        t = begin_round(rows, r, board)
        if folio.log_wealth.size == board.arms.size:
            absorb_squares(1.0 - 1.0 / t, tally[QUERIED], board.deviation, board.own, board.squares)
            _invest(rows, r, t, board, sums, folio, rule)
            if t == folio.renewal[0]:
                _renew_bets(t, board, folio, rule.scale)
                folio.renewal[0] = t + max(1, np.int64(RENEWAL * t))
        _bet_on_all(rows, r, t, board, sums, purse, near, rule)
        if _judge_wealth(board, sums, purse, folio, rule, t):
            eliminate(board, rule.keep, t)
        if tally[CANDIDATES] > 1:
            if rule.epsilon > 0.0 and _leader_near(board, near, rule.threshold):
                tally[ENDED] = WITHIN_EPSILON
            elif t == rule.pool and all_candidates_queried(board):
                _settle(board, t)
        if tally[NEXT_LEAVE] <= t:
            let_leave(board, t)
    return rows.shape[0]


@compiled
def log_wealth(differences, nu, pool, bets, weights, cap):  # type: ignore[no-untyped-def]
    """The logarithm of the wealth of the mixed bets on these differences against a mean of at most ``nu``."""
    logs = np.log(weights)
    sum_so_far = 0.0
    for s in range(differences.size):
        d = differences[s]
        y = _null_mean(nu, pool, s + 1, sum_so_far)
        if y < IMPOSSIBLE:
            return np.inf
        largest = cap / (1.0 + y) if y > -1.0 else np.inf
        for g in range(bets.size):
            logs[g] += np.log(1.0 + min(bets[g], largest) * (d - y))
        sum_so_far += d
    top = logs.max()
    return top + np.log(np.exp(logs - top).sum())
