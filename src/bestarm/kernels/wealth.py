"""Games in which the wealth of bets says who is out."""

import numpy as np

from bestarm.kernels.bets import add_differences, bet_on_all, invest
from bestarm.kernels.board import CANDIDATES, ENDED, NEXT_LEAVE, POOL_EXHAUSTED, QUERIED, WITHIN_EPSILON
from bestarm.kernels.compiling import compiled, inlined, part
from bestarm.kernels.leaders import bet_on_leaders, name_leaders, protect_leader, renew_leaders
from bestarm.kernels.rounds import (
    all_candidates_queried,
    begin_round,
    eliminate,
    leader_place,
    let_leave,
    let_leave_alone,
    mark,
    may_go_on,
)
from bestarm.kernels.wealth_state import RENEWAL


@inlined
def bet_on_pairs(rows, r, t, m, places, rule, purse, near):  # type: ignore[no-untyped-def]
    """One round of bets on all pairs, and with epsilon of those that show who is near; places as in `bet_on_all`."""
    bet_on_all(rows, r, t, -rule.zone, m, places, rule, purse)
    if near is not None:
        bet_on_all(rows, r, t, -rule.epsilon, m, places, rule, near)
    add_differences(rows, r, m, places, rule)


@part
def _wealth_against(i, sums, row_of, total, single, rule):  # type: ignore[no-untyped-def]
    """The summed wealth of the bets against an arm, and on whom most of that on pairs was made.

    ``single`` is the wealth against each arm that is not on pairs, where the rule has any. With a zone only pairs with
    arms that are ahead on the rounds they share count, ties by number.
    """
    zone, by = rule.zone, -1
    summed = rule.single * single[i] if rule.single > 0.0 else 0.0
    if not rule.paired:
        return summed, by
    row = row_of[i]
    for j in range(sums.shape[0]):
        if j != i and (zone == 0.0 or sums[i, j] > 0.0 or (sums[i, j] == 0.0 and j < i)):
            summed += total[row, j]
            if by < 0 or total[row, j] > total[row, by]:
                by = j
    return summed, by


@part
def any_beaten(m, arms, bar, sums, row_of, total, single, rule):  # type: ignore[no-untyped-def]
    """Whether the summed wealth has reached the threshold against any candidate."""
    found = False
    for a in range(m):
        if bar[a] == 0.0:
            summed, _ = _wealth_against(arms[a], sums, row_of, total, single, rule)
            found |= summed >= rule.threshold
    return found


@part
def mark_beaten(board, sums, row_of, total, single, rule, t):  # type: ignore[no-untyped-def]
    """Mark every candidate against which the summed wealth has reached the threshold."""
    for a in range(board.tally[QUERIED]):
        i = board.arms[a]
        if board.bar[a] == 0.0:
            summed, by = _wealth_against(i, sums, row_of, total, single, rule)
            if summed >= rule.threshold:
                mark(board, i, t, by, np.log(summed) - np.log(rule.threshold))


@part
def _most_beaten_by(a, board, wins):  # type: ignore[no-untyped-def]
    """The place of the other queried candidate that is furthest ahead of the one at a place, and by how much."""
    by, most = -1, -np.inf
    for b in range(board.tally[QUERIED]):
        ahead = wins[board.arms[a], board.arms[b]]
        if b != a and board.bar[b] == 0.0 and ahead > most:
            by, most = b, ahead
    return by, most


@inlined
def _leader(board, wins):  # type: ignore[no-untyped-def]
    """The place of the candidate that leads: by its mean, or in wins that which another is least ahead of."""
    if wins is None:
        return leader_place(board)
    leader, least = -1, np.inf
    for a in range(board.tally[QUERIED]):
        if board.bar[a] == 0.0:
            _, behind = _most_beaten_by(a, board, wins)
            if leader < 0 or behind < least:
                leader, least = a, behind
    return leader


@part
def _leader_near(board, wins, near, threshold):  # type: ignore[no-untyped-def]
    """Whether the wealth of the leader, shifted by epsilon, has reached the threshold against every other candidate."""
    if not all_candidates_queried(board):
        return False
    leader = _leader(board, wins)
    for a in range(board.tally[QUERIED]):
        if board.bar[a] > 0.0 or a == leader:
            continue
        if near.total[near.row_of[board.arms[a]], board.arms[leader]] < threshold:
            return False
    return True


@inlined
def _settle(board, t):  # type: ignore[no-untyped-def]
    """The pool is exhausted, its means are known: whoever is behind the leader is out (up to rounding)."""
    leader = leader_place(board)
    best = board.means[leader]
    for a in range(board.tally[QUERIED]):
        if board.bar[a] == 0.0 and best - board.means[a] > 1e-12 * max(1.0, abs(best)):
            mark(board, board.arms[a], t, board.arms[leader], best - board.means[a])
    eliminate(board, 1.0, t, leader)


@part
def _settle_wins(board, wins, t):  # type: ignore[no-untyped-def]
    """The pool is exhausted, all wins are counted: whom another candidate beats is out, unless that is everybody."""
    unbeaten = 0
    for a in range(board.tally[QUERIED]):
        unbeaten += board.bar[a] == 0.0 and _most_beaten_by(a, board, wins)[1] <= 0.0
    if unbeaten == 0:
        return
    for a in range(board.tally[QUERIED]):
        by, ahead = _most_beaten_by(a, board, wins)
        if board.bar[a] == 0.0 and ahead > 0.0:
            mark(board, board.arms[a], t, board.arms[by], ahead / t)
    eliminate(board, 1.0, t, _leader(board, wins))


@inlined
def end_round(board, wins, near, folio, rule, t, found):  # type: ignore[no-untyped-def]
    """What follows from a round that was judged: who is out, whether the game ends, who is no longer queried.

    ``wins`` are the sums of differences where these are wins, and None where means decide who leads. Where there is a
    ``folio``, the board keeps squares of differences.
    """
    tally = board.tally
    if found:
        eliminate(board, rule.keep, t, _leader(board, wins))
    if tally[CANDIDATES] > 1:
        if near is not None and _leader_near(board, wins, near, rule.threshold):
            tally[ENDED] = WITHIN_EPSILON
        elif t == rule.pool and all_candidates_queried(board):
            if wins is None:
                _settle(board, t)
            else:
                _settle_wins(board, wins, t)
            tally[ENDED] = POOL_EXHAUSTED
    if tally[NEXT_LEAVE] <= t:
        if folio is None:
            let_leave_alone(board, t)
        else:
            let_leave(board, t)


@compiled
def race_wealth(rows, board, pairs, near, wins, led, folio, rule):  # type: ignore[no-untyped-def]  # noqa: PLR0912
    """Play rounds where arm ``i`` is out when the wealth of the bets against it, summed, reaches the threshold.

    ``pairs`` are the sums of differences and the bets on them. Beside these there may be one wealth against each arm on
    opponents that are chosen: ``led``, averages of leaders with the course of the game, or a portfolio. With bets
    ``near`` the game also ends when the leader is within epsilon, with a positive ``pool`` after so many rounds. It
    stops when there is no room left in its course and, if the rule says so, when leaders were chosen anew. Returns the
    rows used. What follows a condition on None, and on nothing else, is not compiled where it does not hold.
    """
    (sums, purse), single = pairs, board.means  # which is not used
    tally, limits, arms, means, bar = board.tally, board.limits, board.arms, board.means, board.bar
    deviation, row_of, total = board.deviation, purse.row_of, purse.total
    places = (arms, bar, sums, deviation)
    if led is not None:
        leaders, course = led
        single, counts, n_entries, room = leaders.total, leaders.counts, course.n_entries, course.first_rounds.size
    if folio is not None:
        single = folio.wealth
    for r in range(rows.shape[0]):
        if not may_go_on(tally, limits):
            return r
        if led is not None:  # noqa: SIM102 - and on nothing else, see above
            if n_entries[0] == room:
                return r
        t = begin_round(rows, r, tally, arms, means, deviation)
        if led is not None:
            bet_on_leaders(rows, r, t, leaders, rule)
            if rule.zone > 0.0:
                protect_leader(board, leaders)
        if folio is not None:
            invest(rows, r, t, board, sums, folio, rule)
        if rule.paired:
            bet_on_pairs(rows, r, t, tally[QUERIED], places, rule, purse, near)
        found = any_beaten(tally[QUERIED], arms, bar, sums, row_of, total, single, rule)
        if found:
            mark_beaten(board, sums, row_of, total, single, rule, t)
            if led is not None:
                name_leaders(board, leaders, t)
        if found or rule.epsilon > 0.0 or t == rule.pool or tally[NEXT_LEAVE] <= t:
            end_round(board, wins, near, folio, rule, t, found)
        if led is not None:  # noqa: SIM102
            if found or t + 1 >= counts[RENEWAL]:
                for arm in range(leaders.failing.size):
                    leaders.failing[arm] = False
                renew_leaders(t, board, leaders, course, rule.zone)
                if rule.pause:
                    return r + 1
    return rows.shape[0]
