"""Bets on the leaders so far: one wealth against each arm, O(K) a round, and their regret bounds."""

from typing import NamedTuple

import numpy as np

from bestarm.kernels.compiling import compiled, inlined, part
from bestarm.kernels.rounds import IMPOSSIBLE, leader_place, null_mean
from bestarm.kernels.state import EXHAUSTED, FIRST, GROWTH, REACH, SHARE

PRIOR = 3.0  # rounds that variances are believed to have been seen in before the first
PRIOR_VARIANCE = 0.25  # of a difference in them
SAME = 1e-12  # averages whose values differ by less are equally good, and the smaller is taken


@part
def _averages_ahead(values, n, sizes, ahead):
    """By how much the average of the first ``m`` columns, the column itself left out, is ahead of each column.

    Returns how many of the sizes can be had with ``n`` columns.
    """
    total, summed = 0.0, 0
    for h in range(sizes.size):
        m = sizes[h]
        if m > n - 1:
            return h
        while summed < m:
            total += values[summed]
            summed += 1
        for c in range(m):
            ahead[h, c] = (total + values[m] - values[c]) / m - values[c]
        for c in range(m, n):
            ahead[h, c] = total / m - values[c]
    return sizes.size


@inlined
def largest_bet(t, risked, variance):
    """The largest bet of a round before which ``t - 1`` were seen: ``4 / sqrt(t (q + 3 V) / (t - 1 + 3))``."""
    return REACH / np.sqrt(t * (risked + PRIOR * variance) / (t - 1.0 + PRIOR))


@inlined
def _bet_on_averages(t, n, leaders, rule):
    """Multiply the wealth of every bet on leaders by ``1 + lambda (Y - y)``, against all arms."""
    bets, wealth, choice, reach = leaders.bets, leaders.wealth, leaders.choice, leaders.reach
    risked, against, behind, V = leaders.risked, leaders.against, leaders.behind, leaders.progress[0].pooled_variance
    left = rule.pool - t + 1.0
    stretch = rule.pool / left if rule.pool > 0 else 1.0
    for c in range(n):
        reach[c] = stretch * largest_bet(t, risked[c], V)
    for k in range(bets.size):
        bet = stretch * bets[k]
        for c in range(n):
            h = choice[k, c]
            if h < 0:
                continue
            y = -rule.zone if rule.pool == 0 else -(rule.pool * rule.zone + behind[h, c]) / left
            if y < IMPOSSIBLE:
                wealth[k, c] = np.inf
            else:
                most = rule.cap / (1.0 + y) if y > -1.0 else np.inf
                wealth[k, c] *= 1.0 + min(bet, most, reach[c]) * (against[h, c] - y)


@inlined
def _spread(t, n, leaders):
    """Spread a share of the wealth over the bets, and count what was risked."""
    weights, wealth, choice, summed = leaders.weights, leaders.wealth, leaders.choice, leaders.reach
    risked, against, arms, total, share = leaders.risked, leaders.against, leaders.arms, leaders.total, SHARE / t
    for c in range(n):
        h = choice[0, c]
        if h >= 0:
            risked[c] += against[h, c] ** 2
        summed[c] = 0.0
    for k in range(weights.size):
        for c in range(n):
            summed[c] += wealth[k, c]
    for c in range(n):
        summed[c] = summed[c] if summed[c] >= EXHAUSTED else 0.0
        total[arms[c]] = summed[c]
    for k in range(weights.size):
        for c in range(n):
            if summed[c] < np.inf:
                wealth[k, c] = (1.0 - share) * wealth[k, c] + share * weights[k] * summed[c]


@inlined
def _learn(t, n, n_sizes, leaders):
    """Take the round into the sums that the averages are chosen by: after the bets, which must not know it."""
    rewards, sums = leaders.scratch, leaders.sums
    against, gained, squares = leaders.against, leaders.gained, leaders.squares
    for h in range(n_sizes):
        for c in range(n):
            Y = against[h, c]
            gained[h, c] += Y
            squares[h, c] += Y * Y
    if t > 1:
        centre = 0.0
        for c in range(n):
            centre += rewards[c] - sums[c] / (t - 1.0)
        centre /= n
        spread = 0.0
        for c in range(n):
            spread += (rewards[c] - sums[c] / (t - 1.0) - centre) ** 2
        leaders.progress[0].pooled_squares += 2.0 * (t - 1.0) / t * spread / (n - 1.0)
    for c in range(n):
        sums[c] += rewards[c]


@part
def bet_on_leaders(rows, r, t, leaders, rule):
    """One round of the bets on leaders; there are none in the first. An arm that failed in it has the worst reward."""
    n, rewards, arms, failing = leaders.progress[0].n_columns, leaders.scratch, leaders.arms, leaders.failing
    if n < 2:
        return
    for c in range(n):
        rewards[c] = 0.0 if failing[arms[c]] else (rows[r, arms[c]] - rule.low) * rule.scale
    n_sizes = 0
    if t > 1:
        n_sizes = _averages_ahead(rewards, n, leaders.sizes, leaders.against)
        if rule.pool > 0:
            _averages_ahead(leaders.sums, n, leaders.sizes, leaders.behind)
        _bet_on_averages(t, n, leaders, rule)
        _spread(t, n, leaders)
        leaders.progress[0].n_seen += 1
    _learn(t, n, n_sizes, leaders)


@inlined
def _is_ahead(one, other, leaders):
    """Whether the arm of a column has the larger mean than that of another, ties by number."""
    sums, arms = leaders.sums, leaders.arms
    return sums[one] > sums[other] or (sums[one] == sums[other] and arms[one] < arms[other])


@part
def _in_order(kept, n, leaders):
    """The columns that are kept, those with the largest means first and in order, the others as they were."""
    order, n_first, n_kept = leaders.order, 0, 0
    for c in range(n):
        if not kept[leaders.arms[c]]:
            continue
        at = n_kept  # the first places are in order; one that falls out of them goes to the end
        n_kept += 1
        order[at] = c
        if n_first < FIRST:
            n_first += 1
        elif _is_ahead(c, order[FIRST - 1], leaders):
            order[at] = order[FIRST - 1]
        else:
            continue
        at = n_first - 1
        while at > 0 and _is_ahead(c, order[at - 1], leaders):
            order[at] = order[at - 1]
            at -= 1
        order[at] = c
    return n_kept


@part
def _move(values, order, n, scratch):
    """Bring the values of columns into a new order."""
    for c in range(n):
        scratch[c] = values[order[c]]
    for c in range(n):
        values[c] = scratch[c]


@part
def _move_columns(n, leaders):
    """Bring all that is kept by column into the new order."""
    order, scratch = leaders.order, leaders.scratch
    for k in range(leaders.bets.size):
        _move(leaders.wealth[k], order, n, scratch)
    for h in range(leaders.sizes.size):
        _move(leaders.gained[h], order, n, scratch)
        _move(leaders.squares[h], order, n, scratch)
    _move(leaders.sums, order, n, scratch)
    _move(leaders.risked, order, n, scratch)
    for c in range(n):
        order[c] = leaders.arms[order[c]]
    for c in range(n):
        leaders.arms[c] = order[c]
        leaders.column_of[order[c]] = c
    leaders.progress[0].n_columns = n


@part
def _choose(t, n, leaders, zone):
    """For each arm and bet the average that promises most: the largest ``d - (l / 2) (v + d^2)``, after ``t`` rounds.

    ``d`` is the lead of the average, ``v`` the variance of ``Y``, and ``l`` the bet. With a zone only arms ahead count.
    """
    seen, V = max(1.0, float(leaders.progress[0].n_seen)), leaders.progress[0].pooled_variance
    n_sizes = _averages_ahead(leaders.sums, n, leaders.sizes, leaders.against)
    for c in range(n):
        reach = largest_bet(t + 1.0, leaders.risked[c], V)
        for k in range(leaders.bets.size):
            bet, best = min(leaders.bets[k], reach), -np.inf
            leaders.choice[k, c] = -1
            for h in range(n_sizes):
                m = leaders.sizes[h]
                if zone > 0.0 and m > c:
                    break
                d = leaders.against[h, c] / t + zone
                squares = leaders.squares[h, c] - leaders.gained[h, c] ** 2 / seen
                v = (squares + PRIOR * V * (0.5 + 0.5 / m)) / (seen - 1.0 + PRIOR)
                value = d - 0.5 * bet * (v + d * d)
                if value > best + SAME:
                    leaders.choice[k, c], best = h, value


@part
def _note_choice(t, n, leaders, past):
    """Note what is bet on after round ``t``; there is room for it."""
    entry = past.n_entries[0]
    past.first_rounds[entry], past.variances[entry] = t + 1, leaders.progress[0].pooled_variance
    for c in range(FIRST):
        past.leaders[entry, c] = leaders.arms[c] if c < n else -1
    for k in range(leaders.bets.size):
        for arm in range(leaders.arms.size):
            past.choice[entry, k, arm] = -1
        for c in range(n):
            past.choice[entry, k, leaders.arms[c]] = leaders.choice[k, c]
    past.n_entries[0] += 1


@part
def renew_leaders(t, board, leaders, past, zone):
    """Put the columns in order after round ``t``, without arms that left, and choose for the rounds that come.

    Arms that fail in the round that comes next stay until it is over: who fails must not change what was bet on.
    """
    kept = leaders.failing.copy()
    for a in range(board.progress[0].n_queried):
        kept[board.arms[a]] |= not board.is_out[a]
    n = _in_order(kept, leaders.progress[0].n_columns, leaders)
    _move_columns(n, leaders)
    progress = leaders.progress[0]
    progress.pooled_variance = (progress.pooled_squares + PRIOR * PRIOR_VARIANCE) / (t - 1.0 + PRIOR)
    _choose(t, n, leaders, zone)
    _note_choice(t, n, leaders, past)
    progress.next_renewal = t + 1 + max(1, np.int64(GROWTH * (t + 1)))


@part
def protect_leader(board, leaders):
    """With a zone the candidate with the largest mean is never out: no more wealth is kept against it than at first.

    All bets are cut in proportion, so that none is ever richer than without it.
    """
    arm = board.arms[leader_place(board)]
    total = leaders.total[arm]
    if total > 1.0:
        leaders.total[arm] = 1.0
        for k in range(leaders.bets.size):
            wealth = leaders.wealth[k, leaders.column_of[arm]]
            leaders.wealth[k, leaders.column_of[arm]] = wealth / total if total < np.inf else leaders.weights[k]


@part
def name_who_beat(board, leaders, t):
    """Where no bets on pairs say who beat an arm of this round: the first of the leaders that is another one."""
    for a in range(board.progress[0].n_queried):
        arm, c = board.arms[a], 0
        if board.beaten_round[arm] == t and board.beaten_by[arm] < 0:
            while leaders.arms[c] == arm or leaders.failing[leaders.arms[c]]:
                c += 1
            board.beaten_by[arm] = leaders.arms[c]


NOBODY = FIRST + 1  # the place of arms that are not among the first leaders


class Wager(NamedTuple):
    """A bet of one round, what it gains on, the null mean of that, and how far this falls with a shift."""

    bet: float
    gain: float
    y: float
    fall: float


@part
def _grow_wealth(wealth, totals, shifts, wager, cap, kept, added):
    """Multiply the wealth by ``1 + lambda (gain - y)`` for each shift, with which the null mean ``y`` falls.

    Before that a share of the total before this round is spread: ``kept`` of the wealth stays, ``added`` of the total
    comes to it. The total of this round grows by the wealth. Shifts that are ruled out are not left out: whole vectors
    of them are quicker.
    """
    bet, gain, y, fall = wager.bet, wager.gain, wager.y, wager.fall
    first, rise = 1.0 + bet * (gain - y), bet * fall
    if bet * (1.0 + y) <= cap:
        for s in range(shifts.size):
            grown = (kept * wealth[s] + added * totals[0, s]) * (first + rise * shifts[s])
            wealth[s] = grown
            totals[1, s] += grown
        return
    for s in range(shifts.size):  # the bet is cut, for the smallest shifts at least
        null = y - fall * shifts[s]
        most = cap / (1.0 + null) if null > -1.0 else np.inf
        grown = (kept * wealth[s] + added * totals[0, s]) * (1.0 + min(bet, most) * (gain - null))
        wealth[s] = grown
        totals[1, s] += grown


@part
def _possible(n, y, fall, shifts):
    """How many of the shifts, the smallest, leave a null mean that is possible."""
    while n > 0 and y - fall * shifts[n - 1] < IMPOSSIBLE:
        n -= 1
    return n


@part
def _add_up_leaders(row, column_of, leaders, sums, place, firsts, rule):
    """Add up rewards and sums of the first leaders. One that is not in the row has failed: its reward is the worst."""
    for arm in range(place.size):
        place[arm] = NOBODY
    for c in range(FIRST):
        arm = leaders[c]
        if arm < 0:
            break
        place[arm] = c
        column = column_of[arm]
        reward = 0.0 if column < 0 else (row[column] - rule.low) * rule.scale
        firsts[0, c + 1] = firsts[0, c] + reward
        firsts[1, c + 1] = firsts[1, c] + sums[arm]


@inlined
def _ahead(firsts, m, place, value):
    """By how much the average of the first ``m`` leaders, an arm left out, is ahead of that arm.

    ``firsts`` are the values of the leaders, added up; place and value are those of the arm.
    """
    return (firsts[m] if place >= m else firsts[m + 1] - value) / m - value


@part
def _replay_on_leaders(row, t, entry, column_of, past, leaders, shifted, rule):
    """One round of the bets on leaders, against all arms that are asked about."""
    choice, V = past.choice, past.variances[entry]
    bets, weights, sizes = leaders.bets, leaders.weights, leaders.sizes
    arms, shifts, wealth, totals = shifted.arms, shifted.shifts, shifted.on_leaders, shifted.totals
    risked, n_left, sums, place = shifted.risked, shifted.n_left, shifted.sums, shifted.place
    rewards_of_first, sums_of_first = shifted.firsts[0], shifted.firsts[1]
    stretch = rule.pool / (rule.pool - t + 1.0) if rule.pool > 0 else 1.0
    share = SHARE / (t - 1.0) if t > 2 else 0.0  # of what the round before has left
    for a in range(arms.size):
        arm, squares = arms[a], 0.0
        if column_of[arm] < 0 or n_left[a] == 0:
            continue
        reward, reach = (row[column_of[arm]] - rule.low) * rule.scale, stretch * largest_bet(t, risked[a], V)
        rank = place[shifted.leader]
        if place[arm] < rank:  # the arm itself is left out
            rank -= 1
        for s in range(shifts.size):
            totals[a, 0, s] = totals[a, 1, s] if totals[a, 1, s] >= EXHAUSTED else 0.0
            totals[a, 1, s] = 0.0
        for k in range(weights.size):
            h = choice[entry, k, arm]
            bet, gain, y, fall = 0.0, 0.0, 0.0, 0.0
            if h >= 0:
                m = sizes[h]
                bet, fall = min(stretch * bets[k], reach), stretch / m if rank < m else 0.0
                gain = _ahead(rewards_of_first, m, place[arm], reward)
                y = null_mean(-rule.zone, rule.pool, t, _ahead(sums_of_first, m, place[arm], sums[arm]))
                squares = gain * gain if k == 0 else squares
            n_left[a] = _possible(n_left[a], y, fall, shifts)
            wager = Wager(bet, gain, y, fall)
            _grow_wealth(wealth[a, k], totals[a], shifts, wager, rule.cap, 1.0 - share, share * weights[k])
        risked[a] += squares


@part
def _replay_on_pair(row, t, awake, asleep, column_of, pair_bets, shifted, rule):
    """One round of the bets on the leader alone that are awake; nothing of their wealth is spread."""
    arms, shifts, wealth, totals = shifted.arms, shifted.shifts, shifted.on_pair, shifted.pair_totals
    n_left, sums, leader = shifted.n_left, shifted.sums, shifted.leader
    stretch = rule.pool / (rule.pool - t + 1.0) if rule.pool > 0 else 1.0
    for a in range(arms.size):
        arm = arms[a]
        if column_of[arm] < 0 or n_left[a] == 0:
            continue
        gain = (row[column_of[leader]] - row[column_of[arm]]) * rule.scale
        y = null_mean(-rule.zone, rule.pool, t, sums[leader] - sums[arm])
        n_left[a] = _possible(n_left[a], y, stretch, shifts)
        for s in range(shifts.size):
            totals[a, 1, s] = asleep
        for k in range(awake):
            _grow_wealth(wealth[a, k], totals[a], shifts, Wager(pair_bets[k], gain, y, stretch), rule.cap, 1.0, 0.0)


@part
def _rule_out(shifted, rule):
    """Leave those shifts with which the wealth against an arm has not reached the threshold; whether there are any."""
    n_left, totals, pair_totals, left = shifted.n_left, shifted.totals, shifted.pair_totals, False
    for a in range(n_left.size):
        n = n_left[a]
        while n > 0 and rule.chosen * totals[a, 1, n - 1] + pair_totals[a, 1, n - 1] >= rule.threshold:
            n -= 1
        n_left[a] = n
        left |= n > 0
    return left


@compiled
def replay_shifted(rows, column_of, begun, past, leaders, on_pair, shifted, rule):
    """Make the bets of further rounds again, for each shift by which the leader may be worse.

    ``rows`` are the rounds after the first ``begun``, in all of which the same arms were queried, with the column of
    each arm or -1. ``leaders`` and ``on_pair`` have the bets, on averages of leaders and on the one that may be worse.
    """
    sums, place, firsts = shifted.sums, shifted.place, shifted.firsts
    first_rounds, n_entries = past.first_rounds, past.n_entries
    pair_bets, pair_weights, pair_rounds = on_pair.bets, on_pair.weights, on_pair.first_rounds
    entry, awake, asleep = 0, 0, 1.0
    for r in range(rows.shape[0]):
        t, row = begun + r + 1, rows[r]
        while entry + 1 < n_entries[0] and first_rounds[entry + 1] <= t:
            entry += 1
        while awake < pair_rounds.size and pair_rounds[awake] <= t:
            asleep -= pair_weights[awake]
            awake += 1
        if t > 1:
            _add_up_leaders(row, column_of, past.leaders[entry], sums, place, firsts, rule)
            _replay_on_leaders(row, t, entry, column_of, past, leaders, shifted, rule)
        if column_of[shifted.leader] >= 0:
            _replay_on_pair(row, t, awake, asleep, column_of, pair_bets, shifted, rule)
        if not _rule_out(shifted, rule):
            return
        for arm in range(column_of.size):
            if column_of[arm] >= 0:
                sums[arm] += (row[column_of[arm]] - rule.low) * rule.scale


@compiled
def replace_withdrawn(t, board, leaders, past, zone):
    """`renew_leaders` as Python calls it, between two rounds."""
    renew_leaders(t, board, leaders, past, zone)
