"""The bets on leaders made again, as if one arm were worse than the arm that they are against.

Letters as in `bestarm.kernels.leaders`. The leader that is asked about is in an average of ``m`` leaders with weight
``pi = 1 / m`` or not at all; if it is worse by a shift ``rho``, the null mean of ``Y`` is lower by ``pi rho``.
"""

import numpy as np

from bestarm.kernels.bets import IMPOSSIBLE, null_mean
from bestarm.kernels.compiling import compiled, inlined, part
from bestarm.kernels.leaders import EXHAUSTED, SHARE, largest_bet
from bestarm.wagers import FIRST

NOBODY = FIRST + 1  # the place of arms that are not among the first leaders


@part
def _grow(a, k, wealth, totals, shifts, wager, spread):  # type: ignore[no-untyped-def]
    """Multiply the wealth by ``1 + lambda (gain - y)`` for each shift, with which the null mean ``y`` falls.

    Before that a share of the total before this round is spread: what is kept, and what is added of it. The total of
    this round grows by the wealth. Shifts that are ruled out are not left out: whole vectors of them are quicker.
    """
    (bet, gain, y, fall, cap), (kept, added) = wager, spread
    first, rise = 1.0 + bet * (gain - y), bet * fall
    if bet * (1.0 + y) <= cap:
        for s in range(shifts.size):
            grown = (kept * wealth[a, k, s] + added * totals[a, 0, s]) * (first + rise * shifts[s])
            wealth[a, k, s] = grown
            totals[a, 1, s] += grown
        return
    for s in range(shifts.size):  # the bet is cut, for the smallest shifts at least
        null = y - fall * shifts[s]
        most = cap / (1.0 + null) if null > -1.0 else np.inf
        grown = (kept * wealth[a, k, s] + added * totals[a, 0, s]) * (1.0 + min(bet, most) * (gain - null))
        wealth[a, k, s] = grown
        totals[a, 1, s] += grown


@part
def _possible(n, y, fall, shifts):  # type: ignore[no-untyped-def]
    """How many of the shifts, the smallest, leave a null mean that is possible."""
    while n > 0 and y - fall * shifts[n - 1] < IMPOSSIBLE:
        n -= 1
    return n


@part
def _add_up_leaders(row, column_of, leaders, sums, place, firsts, rule):  # type: ignore[no-untyped-def]
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
def _ahead(firsts, which, m, place, own):  # type: ignore[no-untyped-def]
    """By how much the average of the first ``m`` leaders, an arm left out, is ahead of that arm."""
    return (firsts[which, m] if place >= m else firsts[which, m + 1] - own) / m - own


@part
def _on_leaders(row, t, entry, where, course, bets, inquiry, rule):  # type: ignore[no-untyped-def]
    """One round of the bets on leaders, against all arms that are asked about."""
    column_of, asked = where
    choice, V = course.choice, course.variances[entry]
    leader_bets, weights, sizes = bets[0], bets[1], bets[2]
    arms, shifts, wealth, _, risked, n_left, sums, place, firsts, totals, _ = inquiry
    stretch = rule.pool / (rule.pool - t + 1.0) if rule.pool > 0 else 1.0
    share = SHARE / (t - 1.0) if t > 2 else 0.0  # of what the round before has left
    for a in range(arms.size):
        arm, squares = arms[a], 0.0
        if column_of[arm] < 0 or n_left[a] == 0:
            continue
        reward, reach = (row[column_of[arm]] - rule.low) * rule.scale, stretch * largest_bet(t, risked[a], V)
        rank = place[asked] - 1 if place[arm] < place[asked] else place[asked]  # the arm itself left out
        for s in range(shifts.size):
            totals[a, 0, s] = totals[a, 1, s] if totals[a, 1, s] >= EXHAUSTED else 0.0
            totals[a, 1, s] = 0.0
        for k in range(weights.size):
            h = choice[entry, k, arm]
            bet, gain, y, fall = 0.0, 0.0, 0.0, 0.0
            if h >= 0:
                m = sizes[h]
                bet, fall = min(stretch * leader_bets[k], reach), stretch / m if rank < m else 0.0
                gain = _ahead(firsts, 0, m, place[arm], reward)
                y = null_mean(-rule.zone, rule.pool, t, _ahead(firsts, 1, m, place[arm], sums[arm]))
                squares = gain * gain if k == 0 else squares
            n_left[a] = _possible(n_left[a], y, fall, shifts)
            wager, spread = (bet, gain, y, fall, rule.cap), (1.0 - share, share * weights[k])
            _grow(a, k, wealth, totals, shifts, wager, spread)
        risked[a] += squares


@part
def _on_pairs(row, t, awake, asleep, where, bets, inquiry, rule):  # type: ignore[no-untyped-def]
    """The same for the bets on the leader alone that are awake; nothing of their wealth is spread."""
    column_of, asked = where
    pair_bets = bets[3]
    arms, shifts, _, wealth, _, n_left, sums, _, _, _, totals = inquiry
    stretch = rule.pool / (rule.pool - t + 1.0) if rule.pool > 0 else 1.0
    for a in range(arms.size):
        arm = arms[a]
        if column_of[arm] < 0 or n_left[a] == 0:
            continue
        gain = (row[column_of[asked]] - row[column_of[arm]]) * rule.scale
        y = null_mean(-rule.zone, rule.pool, t, sums[asked] - sums[arm])
        n_left[a] = _possible(n_left[a], y, stretch, shifts)
        for s in range(shifts.size):
            totals[a, 1, s] = asleep
        for k in range(awake):
            _grow(a, k, wealth, totals, shifts, (pair_bets[k], gain, y, stretch, rule.cap), (1.0, 0.0))


@part
def _rule_out(inquiry, rule):  # type: ignore[no-untyped-def]
    """Leave those shifts with which the wealth against an arm has not reached the threshold; whether there are any."""
    n_left, totals, pair_totals, left = inquiry.n_left, inquiry.totals, inquiry.pair_totals, False
    for a in range(n_left.size):
        n = n_left[a]
        while n > 0 and rule.single * totals[a, 1, n - 1] + pair_totals[a, 1, n - 1] >= rule.threshold:
            n -= 1
        n_left[a] = n
        left |= n > 0
    return left


@compiled
def ask_again(rows, column_of, begun, asked, course, bets, inquiry, rule):  # type: ignore[no-untyped-def]
    """Make the bets of further rounds again, for each shift by which the leader that is asked about may be worse.

    ``rows`` are the rounds after the first ``begun``, in all of which the same arms were queried, with the column of
    each arm or -1. ``bets`` are those on averages of leaders, their weights and the sizes of the averages; and those on
    the pair, their weights and the rounds in which they wake.
    """
    sums, place, firsts, where = inquiry.sums, inquiry.place, inquiry.firsts, (column_of, asked)
    first_rounds, leaders, n_entries = course.first_rounds, course.leaders, course.n_entries
    pair_weights, pair_rounds = bets[4], bets[5]
    entry, awake, asleep = 0, 0, 1.0
    for r in range(rows.shape[0]):
        t, row = begun + r + 1, rows[r]
        while entry + 1 < n_entries[0] and first_rounds[entry + 1] <= t:
            entry += 1
        while awake < pair_rounds.size and pair_rounds[awake] <= t:
            asleep -= pair_weights[awake]
            awake += 1
        if t > 1:
            _add_up_leaders(row, column_of, leaders[entry], sums, place, firsts, rule)
            _on_leaders(row, t, entry, where, course, bets, inquiry, rule)
        if column_of[asked] >= 0:
            _on_pairs(row, t, awake, asleep, where, bets, inquiry, rule)
        if not _rule_out(inquiry, rule):
            return
        for arm in range(column_of.size):
            if column_of[arm] >= 0:
                sums[arm] += (row[column_of[arm]] - rule.low) * rule.scale
