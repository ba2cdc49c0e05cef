"""Games in which the wealth of bets says who is out."""

import numpy as np

from bestarm.kernels.bets import bet_on_pairs, bet_portfolio
from bestarm.kernels.board import POOL_EXHAUSTED, WITHIN_EPSILON
from bestarm.kernels.compiling import compiled, inlined, part
from bestarm.kernels.leaders import bet_on_leaders, name_leaders, protect_leader, renew_leaders
from bestarm.kernels.rounds import (
    all_candidates_queried,
    begin_round,
    eliminate,
    leader_place,
    mark_beaten,
    may_go_on,
    remove_arms,
    remove_arms_without_pairs,
)


@part
def _wealth_against(i, sums, row_of, total, chosen, rule):
    """The summed wealth of the bets against an arm, and on whom most of that on pairs was made.

    ``chosen`` is the wealth against each arm on chosen opponents, where there is any; ``sums`` is None without bets on
    pairs. With a zone only pairs with arms that are ahead on the rounds they share count, ties by number.
    """
    summed, by = 0.0, -1
    if chosen is not None:
        summed += rule.chosen * chosen[i]
    if sums is not None:
        zone, row = rule.zone, row_of[i]
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
    leader is within epsilon, with a positive ``pool`` after so many rounds. It stops when there is no room left in the
    log of the leaders and, if the rule says so, when these were chosen anew. Returns the rows used.

    Numba leaves out the branch of `if x is not None:` where x is None only if that is the whole condition: hence the
    nested ifs.
    """
    progress, arms, means, is_out, deviation = board.progress[0], board.arms, board.means, board.is_out, board.deviation
    sums = row_of = total = chosen = None
    if pairs is not None:
        sums, row_of, total = pairs.sums, pairs.better.row_of, pairs.better.total
    if on_leaders is not None:
        leaders, log = on_leaders.leaders, on_leaders.log
        chosen, schedule, n_entries, room = leaders.total, leaders.progress[0], log.n_entries, log.first_rounds.size
    if portfolio is not None:
        chosen = portfolio.wealth
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
            bet_on_pairs(rows, r, t, board, pairs, near, rule)
        found = any_beaten(progress.n_queried, arms, is_out, sums, row_of, total, chosen, rule)
        if found:
            mark_by_summed_wealth(board, sums, row_of, total, chosen, rule, t)
            if on_leaders is not None:
                name_leaders(board, leaders, t)
        if found or rule.epsilon > 0.0 or t == rule.pool or progress.next_exit <= t:
            end_round(board, wins, near, portfolio, rule, t, found)
        if on_leaders is not None:  # noqa: SIM102
            if found or schedule.any_failing or t + 1 >= schedule.next_renewal:
                for arm in range(leaders.failing.size):
                    leaders.failing[arm] = False
                schedule.any_failing = False
                renew_leaders(t, board, leaders, log, rule.zone)
                if rule.pause:
                    return r + 1
    return rows.shape[0]
