"""Games in which the wealth of bets says who is out: bets on pairs, portfolios, and what follows from their wealth."""

import numpy as np

from bestarm.kernels.compiling import compiled, inlined, part
from bestarm.kernels.convex import differences_from, nonnegative_minimum
from bestarm.kernels.leaders import bet_on_leaders, name_who_beat, protect_leader, renew_leaders
from bestarm.kernels.rounds import (
    IMPOSSIBLE,
    absorb_squares,
    all_candidates_queried,
    begin_round,
    eliminate,
    leader_place,
    mark_beaten,
    may_go_on,
    null_mean,
    remove_arms,
    remove_arms_without_pairs,
)
from bestarm.kernels.state import POOL_EXHAUSTED, WITHIN_EPSILON

FOLD = 32  # rounds after which the growth of a bet is folded into its logarithm

# --- bets on pairs ----------------------------------------------------------------------------------------------------


@inlined
def _bet_row(row, bets, gain, largest, folded, growth, asleep, total):
    """Multiply the bets of a row by ``1 + lambda * gain`` and sum their wealth; a gain of 0 changes nothing."""
    columns = gain.size
    for j in range(columns):
        total[row, j] = asleep[row, j]
    for g in range(bets.size):
        bet = bets[g]
        for j in range(columns):
            grown = growth[row, g, j] * (1.0 + min(bet, largest[j]) * gain[j])
            growth[row, g, j] = grown
            total[row, j] += folded[row, g, j] * grown


@inlined
def _fold(i, row, n_arms, weights, log_wealth, folded, growth):
    """Take the growth of the bets against ``i`` into their logarithms."""
    for j in range(n_arms):
        if j != i:
            for g in range(weights.size):
                log_wealth[row, g, j] += np.log(growth[row, g, j])
                folded[row, g, j] = weights[g] * np.exp(log_wealth[row, g, j])
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
def _set_differences(rows, r, i, m, arms, rule, differences):
    """By how much each queried arm is better than ``i`` in a round, scaled; with signs only whether it is."""
    for b in range(m):
        x, y = rows[r, arms[b]], rows[r, i]
        differences[arms[b]] = 1.0 * (x > y) - 1.0 * (x < y) if rule.signs else (x - y) * rule.scale


@part
def bet_on_all(rows, r, t, nu, board, sums, wealth, rule):
    """Bet that each queried arm is better by more than ``nu`` than each candidate.

    Every bet ``lambda`` is cut to ``lambda (1 + y) <= cap`` where ``y`` is the null mean of this round: no more than
    that share of the wealth can be lost. If ``y`` is below the smallest possible difference the null is impossible.
    """
    # Arrays are taken out before the loop: inside of it their references would be counted.
    arms, is_out, differences, m = board.arms, board.is_out, wealth.differences, board.progress[0].n_queried
    bets, weights, row_of, gain, largest = wealth.bets, wealth.weights, wealth.row_of, wealth.gain, wealth.largest
    log_wealth, folded, growth = wealth.log_wealth, wealth.folded, wealth.growth
    asleep, total = wealth.asleep, wealth.total
    for a in range(m):
        if is_out[a]:
            continue
        i = arms[a]
        row = row_of[i]
        _set_differences(rows, r, i, m, arms, rule, differences)
        _set_gains(i, m, arms, differences, nu, rule.cap, gain, largest)
        if rule.pool > 0:  # each null mean follows from what is left of the pool
            for b in range(m):
                j = arms[b]
                y = null_mean(nu, rule.pool, t, sums[i, j])
                gain[j] = differences[j] - y if j != i else 0.0
                largest[j] = rule.cap / (1.0 + y) if y > -1.0 else np.inf
        _bet_row(row, bets, gain, largest, folded, growth, asleep, total)
        if rule.pool > 0:
            for b in range(m):
                j = arms[b]
                if j != i and null_mean(nu, rule.pool, t, sums[i, j]) < IMPOSSIBLE:
                    total[row, j] = np.inf
        if t % FOLD == 0:
            _fold(i, row, row_of.size, weights, log_wealth, folded, growth)


@inlined
def bet_on_pairs(rows, r, t, board, sums, better, near, rule):
    """One round of bets on all pairs, and with epsilon of those that show who is near."""
    bet_on_all(rows, r, t, -rule.zone, board, sums, better, rule)
    if near is not None:
        bet_on_all(rows, r, t, -rule.epsilon, board, sums, near, rule)
    arms, is_out, differences, m = board.arms, board.is_out, better.differences, board.progress[0].n_queried
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
RIDGE_ROUNDS = 30.0  # rounds worth of ridge in the second moments that they are learned from
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
            moments[j, j] *= 1.0 + RIDGE_ROUNDS / t
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


# --- who is out -------------------------------------------------------------------------------------------------------


@part
def _wealth_against(i, sums, row_of, total, chosen, rule):
    """The summed wealth of the bets against an arm, and on whom most of that on pairs was made.

    ``chosen`` is the wealth against each arm on chosen opponents; without bets on pairs the other arrays are empty.
    With a zone only pairs with arms that are ahead on the rounds they share count, ties by number.
    """
    zone, row, summed, by = rule.zone, row_of[i], rule.chosen * chosen[i], -1
    for j in range(sums.shape[0]):
        if j != i and (zone == 0.0 or sums[i, j] > 0.0 or (sums[i, j] == 0.0 and j < i)):
            summed += total[row, j]
            if by < 0 or total[row, j] > total[row, by]:
                by = j
    return summed, by


@part
def any_beaten(m, arms, is_out, sums, row_of, total, chosen, rule):
    """Whether the summed wealth has reached the threshold against any candidate."""
    found = False
    for a in range(m):
        if not is_out[a]:
            summed, _ = _wealth_against(arms[a], sums, row_of, total, chosen, rule)
            found |= summed >= rule.threshold
    return found


@part
def mark_by_summed_wealth(board, sums, row_of, total, chosen, rule, t):
    """Mark every candidate against which the summed wealth has reached the threshold."""
    for a in range(board.progress[0].n_queried):
        i = board.arms[a]
        if not board.is_out[a]:
            summed, by = _wealth_against(i, sums, row_of, total, chosen, rule)
            if summed >= rule.threshold:
                mark_beaten(board, i, t, by, np.log(summed) - np.log(rule.threshold))


@part
def _most_beaten_by(a, board, wins):
    """The place of the other queried candidate that is furthest ahead of the one at a place, and by how much."""
    by, most = -1, -np.inf
    for b in range(board.progress[0].n_queried):
        ahead = wins[board.arms[a], board.arms[b]]
        if b != a and not board.is_out[b] and ahead > most:
            by, most = b, ahead
    return by, most


@inlined
def _leader_place_by_criterion(board, wins):
    """The place of the leader: the candidate with the largest mean, or in wins the one that others lead by least."""
    if wins is None:
        return leader_place(board)
    leader, least = -1, np.inf
    for a in range(board.progress[0].n_queried):
        if not board.is_out[a]:
            _, behind = _most_beaten_by(a, board, wins)
            if leader < 0 or behind < least:
                leader, least = a, behind
    return leader


@part
def _leader_near(board, wins, near, threshold):
    """Whether the wealth of the leader, shifted by epsilon, has reached the threshold against every other candidate."""
    if not all_candidates_queried(board):
        return False
    leader = _leader_place_by_criterion(board, wins)
    for a in range(board.progress[0].n_queried):
        if board.is_out[a] or a == leader:
            continue
        if near.total[near.row_of[board.arms[a]], board.arms[leader]] < threshold:
            return False
    return True


@inlined
def _settle(board, t):
    """The pool is exhausted, its means are known: whoever is behind the leader is out (up to rounding)."""
    leader = leader_place(board)
    best = board.means[leader]
    for a in range(board.progress[0].n_queried):
        if not board.is_out[a] and best - board.means[a] > 1e-12 * max(1.0, abs(best)):
            mark_beaten(board, board.arms[a], t, board.arms[leader], best - board.means[a])
    eliminate(board, 1.0, t, leader)


@part
def _settle_wins(board, wins, t):
    """The pool is exhausted, all wins are counted: whom another candidate beats is out, unless that is everybody."""
    unbeaten = 0
    for a in range(board.progress[0].n_queried):
        unbeaten += not board.is_out[a] and _most_beaten_by(a, board, wins)[1] <= 0.0
    if unbeaten == 0:
        return
    for a in range(board.progress[0].n_queried):
        by, ahead = _most_beaten_by(a, board, wins)
        if not board.is_out[a] and ahead > 0.0:
            mark_beaten(board, board.arms[a], t, board.arms[by], ahead / t)
    eliminate(board, 1.0, t, _leader_place_by_criterion(board, wins))


@inlined
def end_round(board, wins, near, portfolio, rule, t, found):
    """What follows from a round that was judged: who is out, whether the game ends, who is no longer queried.

    ``wins`` are the sums of differences where these are wins, and None where means decide who leads. Where there is a
    ``portfolio``, the board keeps squares of differences.
    """
    progress = board.progress[0]
    if found:
        eliminate(board, rule.keep, t, _leader_place_by_criterion(board, wins))
    if progress.n_candidates > 1:
        if near is not None and _leader_near(board, wins, near, rule.threshold):
            progress.ended = WITHIN_EPSILON
        elif t == rule.pool and all_candidates_queried(board):
            if wins is None:
                _settle(board, t)
            else:
                _settle_wins(board, wins, t)
            progress.ended = POOL_EXHAUSTED
    if progress.next_exit <= t:
        if portfolio is None:
            remove_arms_without_pairs(board, t)
        else:
            remove_arms(board, t)


@compiled
def race_wealth(rows, board, pairs, near, wins, on_leaders, portfolio, rule):  # noqa: PLR0912
    """Play rounds where arm ``i`` is out when the wealth of the bets against it, summed, reaches the threshold.

    There may be bets on ``pairs``, and beside them one wealth against each arm on opponents that are chosen: averages
    of leaders, or a ``portfolio``. Each is None in a game without it. With bets ``near`` the game also ends when the
    leader is within epsilon, with a positive ``pool`` after so many rounds. It stops when there is no room left to
    note who leads and, if the rule says so, when these were chosen anew. Returns the rows used.

    Numba leaves out the branch of `if x is not None:` where x is None only if that is the whole condition: hence the
    nested ifs.
    """
    progress, arms, means, is_out, deviation = board.progress[0], board.arms, board.means, board.is_out, board.deviation
    if pairs is not None:
        sums, better = pairs.sums, pairs.better
        row_of, total = better.row_of, better.total
    else:  # no None here: a name that may be None is checked at every use
        sums, total = np.empty((0, 0)), np.empty((0, 0))
        row_of = arms  # of the right type and length: there is no row to be found
    if on_leaders is not None:
        leaders, past = on_leaders.leaders, on_leaders.past
        chosen, schedule, n_entries, room = leaders.total, leaders.progress[0], past.n_entries, past.first_rounds.size
    elif portfolio is not None:
        chosen = portfolio.wealth
    else:
        chosen = np.zeros(arms.size)
    for r in range(rows.shape[0]):
        if not may_go_on(progress):
            return r
        if on_leaders is not None:  # noqa: SIM102 - nested for Numba, see above
            if n_entries[0] == room:
                return r
        t = begin_round(rows, r, progress, arms, means, deviation)
        if on_leaders is not None:
            bet_on_leaders(rows, r, t, leaders, rule)
            if rule.zone > 0.0:
                protect_leader(board, leaders)
        if portfolio is not None:
            bet_portfolio(rows, r, t, board, sums, portfolio, rule)
        if pairs is not None:
            bet_on_pairs(rows, r, t, board, sums, better, near, rule)
        found = any_beaten(progress.n_queried, arms, is_out, sums, row_of, total, chosen, rule)
        if found:
            mark_by_summed_wealth(board, sums, row_of, total, chosen, rule, t)
            if on_leaders is not None:
                name_who_beat(board, leaders, t)
        if found or rule.epsilon > 0.0 or t == rule.pool or progress.next_exit <= t:
            end_round(board, wins, near, portfolio, rule, t, found)
        if on_leaders is not None:  # noqa: SIM102
            if found or schedule.any_failing or t + 1 >= schedule.next_renewal:
                for arm in range(leaders.failing.size):
                    leaders.failing[arm] = False
                schedule.any_failing = False
                renew_leaders(t, board, leaders, past, rule.zone)
                if rule.pause:
                    return r + 1
    return rows.shape[0]
