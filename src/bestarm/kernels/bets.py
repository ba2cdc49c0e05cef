"""Bets on single differences, and portfolios of them: what a round makes of their wealth."""

import numpy as np

from bestarm.kernels.compiling import compiled, inlined, part
from bestarm.kernels.convex import differences_from, nonnegative_minimum
from bestarm.kernels.rounds import absorb_squares

IMPOSSIBLE = -1.0 - 1e-9  # a mean below the smallest possible difference, by more than rounding
FOLD = 32  # rounds after which the growth of a bet is folded into its logarithm


@inlined
def null_mean(nu, pool, t, sum_so_far):
    """The largest mean that the next difference can have if that of all rounds is at most ``nu``.

    ``nu`` itself when rounds are independent (``pool`` 0); the mean of what is left of a pool drawn without
    replacement.
    """
    if pool == 0:
        return nu
    return (pool * nu - sum_so_far) / (pool - t + 1)


@inlined
def _bet_row(row, bets, gain, largest, wealth, growth, asleep, total):
    """Multiply the bets of a row by ``1 + lambda * gain`` and sum their wealth; a gain of 0 changes nothing."""
    columns = gain.size
    for j in range(columns):
        total[row, j] = asleep[row, j]
    for g in range(bets.size):
        bet = bets[g]
        for j in range(columns):
            grown = growth[row, g, j] * (1.0 + min(bet, largest[j]) * gain[j])
            growth[row, g, j] = grown
            total[row, j] += wealth[row, g, j] * grown


@inlined
def _fold(i, row, n_arms, weights, log_wealth, wealth, growth):
    """Take the growth of the bets against ``i`` into their logarithms."""
    for j in range(n_arms):
        if j != i:
            for g in range(weights.size):
                log_wealth[row, g, j] += np.log(growth[row, g, j])
                wealth[row, g, j] = weights[g] * np.exp(log_wealth[row, g, j])
                growth[row, g, j] = 1.0


@inlined
def _set_gains(i, m, arms, differences, nu, cap, gain, largest):
    """What the bets against ``i`` gain in a round that is independent of the past; 0 for arms not queried."""
    most = cap / (1.0 + nu) if nu > -1.0 else np.inf
    for j in range(gain.size):
        gain[j] = 0.0
        largest[j] = most
    for b in range(m):
        gain[arms[b]] = differences[arms[b]] - nu
    gain[i] = 0.0


@inlined
def _set_pool_gains(i, t, nu, m, arms, differences, sums, rule, gain, largest):
    """What they gain in a pool without replacement, where each null mean follows from what is left of the pool."""
    for j in range(gain.size):
        gain[j] = 0.0
    for b in range(m):
        j = arms[b]
        y = null_mean(nu, rule.pool, t, sums[i, j])
        gain[j] = differences[j] - y
        largest[j] = rule.cap / (1.0 + y) if y > -1.0 else np.inf
    gain[i] = 0.0


@inlined
def _set_differences(rows, r, i, m, arms, rule, differences):
    """By how much each queried arm is better than ``i`` in a round, scaled; with signs only whether it is."""
    for b in range(m):
        x, y = rows[r, arms[b]], rows[r, i]
        differences[arms[b]] = 1.0 * (x > y) - 1.0 * (x < y) if rule.signs else (x - y) * rule.scale


@part
def bet_on_all(rows, r, t, nu, m, arms, is_out, differences, sums, wealth, rule):
    """Bet that each of the ``m`` queried arms is better by more than ``nu`` than each candidate.

    Every bet ``lambda`` is cut to ``lambda (1 + y) <= cap`` where ``y`` is the null mean of this round: no more than
    that share of the wealth can be lost. If ``y`` is below the smallest possible difference the null is impossible.
    """
    # Taken out of the wealth before the loop: inside of it their references would be counted.
    bets, weights, row_of, gain, largest = wealth.bets, wealth.weights, wealth.row_of, wealth.gain, wealth.largest
    log_wealth, folded, growth, asleep, total = (
        wealth.log_wealth,
        wealth.wealth,
        wealth.growth,
        wealth.asleep,
        wealth.total,
    )
    for a in range(m):
        if is_out[a]:
            continue
        i = arms[a]
        row = row_of[i]
        _set_differences(rows, r, i, m, arms, rule, differences)
        if rule.pool == 0:
            _set_gains(i, m, arms, differences, nu, rule.cap, gain, largest)
        else:
            _set_pool_gains(i, t, nu, m, arms, differences, sums, rule, gain, largest)
        _bet_row(row, bets, gain, largest, folded, growth, asleep, total)
        if rule.pool > 0:
            for b in range(m):
                j = arms[b]
                if j != i and null_mean(nu, rule.pool, t, sums[i, j]) < IMPOSSIBLE:
                    total[row, j] = np.inf
        if t % FOLD == 0:
            _fold(i, row, row_of.size, weights, log_wealth, folded, growth)


@inlined
def bet_on_pairs(rows, r, t, board, pairs, near, rule):
    """One round of bets on all pairs, and with epsilon of those that show who is near."""
    arms, is_out, differences, m = board.arms, board.is_out, board.deviation, board.progress[0].n_queried
    sums = pairs.sums
    bet_on_all(rows, r, t, -rule.zone, m, arms, is_out, differences, sums, pairs.better, rule)
    if near is not None:
        bet_on_all(rows, r, t, -rule.epsilon, m, arms, is_out, differences, sums, near, rule)
    for a in range(m):
        if not is_out[a]:
            _set_differences(rows, r, arms[a], m, arms, rule, differences)
            for b in range(m):
                sums[arms[a], arms[b]] += differences[arms[b]]


@compiled
def log_wealth(differences, nu, pool, mixture, cap):
    """The logarithm of the wealth of the mixed bets on these differences against a mean of at most ``nu``.

    The bets are in the order in which they wake; their logarithms are taken only every so many rounds.
    """
    bets, first_rounds = mixture.bets, mixture.first_rounds
    logs, growth = np.log(mixture.weights), np.ones(bets.size)
    sum_so_far, awake = 0.0, 0
    for s in range(differences.size):
        y = null_mean(nu, pool, s + 1, sum_so_far)
        if y < IMPOSSIBLE:
            return np.inf
        largest = cap / (1.0 + y) if y > -1.0 else np.inf
        while awake < bets.size and first_rounds[awake] <= s + 1:
            awake += 1
        for g in range(awake):
            growth[g] *= 1.0 + min(bets[g], largest) * (differences[s] - y)
        if s % FOLD == 0:
            for g in range(awake):
                logs[g] += np.log(growth[g])
                growth[g] = 1.0
        sum_so_far += differences[s]
    logs += np.log(growth)
    top = logs.max()
    return top + np.log(np.exp(logs - top).sum())


PORTFOLIO_GROWTH = 0.1  # the bets of a portfolio are renewed when the rounds have grown by this share
FADING = 30.0  # rounds worth of ridge in the second moments that they are learned from
MOST = 0.95  # the largest share of a portfolio that is bet


@part
def _invest(rows, r, t, board, sums, portfolio, rule):
    """One round of the portfolios, with the bets chosen before it; no more than the cap of one can be lost."""
    arms, m = board.arms, board.progress[0].n_queried
    for a in range(m):
        if board.is_out[a]:
            continue
        i = arms[a]
        gain, stake = 0.0, 0.0
        for b in range(m):
            j = arms[b]
            if j != i and portfolio.bets[i, j] > 0.0:
                y = null_mean(0.0, rule.pool, t, sums[i, j])
                gain += portfolio.bets[i, j] * ((rows[r, j] - rows[r, i]) * rule.scale - y)
                stake += portfolio.bets[i, j] * (1.0 + y)
        if stake > rule.cap:
            gain *= rule.cap / stake
        portfolio.log_wealth[i] += np.log(1.0 + gain)
        portfolio.wealth[i] = np.exp(portfolio.log_wealth[i])


@part
def _learn_portfolio(t, board, portfolio, scale):
    """Choose the bets that would have grown fastest, to second order: ``max <b, m> - b' M b / 2``, ``b >= 0``.

    ``m`` and ``M`` are the means and second moments of the differences so far, the latter with a ridge that fades: in
    the beginning there is more to fit than to learn.
    """
    m, arms = board.progress[0].n_queried, board.arms
    means, moments, w = np.empty(m - 1), np.empty((m - 1, m - 1)), np.empty(m - 1)
    for a in range(m):
        if board.is_out[a]:
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
            w[j] = portfolio.bets[i, others[j]]
        nonnegative_minimum(means, moments, w, 3 * m)
        total = w.sum()
        for j in range(m - 1):
            portfolio.bets[i, others[j]] = w[j] * min(1.0, MOST / total) if total > 0.0 else 0.0
        portfolio.bets[i, i] = 0.0


@inlined
def bet_portfolio(rows, r, t, board, sums, portfolio, rule):
    """One round of the portfolios, and from time to time a choice of what the next rounds bet on."""
    absorb_squares(t, board.progress[0].n_queried, board.deviation, board.sum_squares, board.squares)
    _invest(rows, r, t, board, sums, portfolio, rule)
    if t == portfolio.progress[0].next_renewal:
        _learn_portfolio(t, board, portfolio, rule.scale)
        portfolio.progress[0].next_renewal = t + max(1, np.int64(PORTFOLIO_GROWTH * t))
