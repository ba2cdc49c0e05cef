"""What all games do in a round: absorb it, mark who is beaten, eliminate, let arms leave."""

import numpy as np

from bestarm.kernels.board import (
    CANDIDATES,
    ENDED,
    FOREVER,
    GOING_ON,
    MAX_QUERIES,
    MAX_ROUNDS,
    NEXT_LEAVE,
    QUERIED,
    QUERIES,
    ROUNDS,
)
from bestarm.kernels.compiling import compiled, inlined, part, summing

LONG = 9e18  # rounds beyond any game, and still an integer


@summing
def affine(noise, root, widths, means):  # type: ignore[no-untyped-def]
    """``noise @ root.T + means``, where row ``i`` of the root has ``widths[i]`` entries before its zeros.

    Each row by itself: unlike with BLAS, no digit of a row depends on the block in which it is drawn.
    """
    rows = np.empty((noise.shape[0], means.size))
    for r in range(rows.shape[0]):
        for i in range(means.size):
            x = means[i]
            for k in range(widths[i]):
                x += noise[r, k] * root[i, k]
            rows[r, i] = x
    return rows


@compiled
def all_within(rows, low, high):  # type: ignore[no-untyped-def]
    """Whether every number is finite and in the interval [low, high]."""
    flat = rows.reshape(-1)
    inside = True
    for k in range(flat.size):
        inside &= (flat[k] >= low) & (flat[k] <= high)
    return inside


@inlined
def mark(board, arm, t, by, margin):  # type: ignore[no-untyped-def]
    """Note that an arm was beaten in this round; `eliminate` decides what follows."""
    board.beaten_round[arm] = t
    board.beaten_by[arm] = by
    board.margin[arm] = margin


@inlined
def leader_place(board):  # type: ignore[no-untyped-def]
    """The place of the candidate with the largest mean, the first of them."""
    leader = -1
    for a in range(board.tally[QUERIED]):
        if board.bar[a] == 0.0 and (leader < 0 or board.means[a] > board.means[leader]):
            leader = a
    return leader


@part
def all_candidates_queried(board):  # type: ignore[no-untyped-def]
    """Whether none of the candidates was withdrawn: only then can one arm be compared with all of them."""
    queried = 0
    for a in range(board.tally[QUERIED]):
        queried += board.bar[a] == 0.0
    return queried == board.tally[CANDIDATES]


@part
def eliminate(board, keep, t, leader):  # type: ignore[no-untyped-def]
    """Take the candidates marked in this round out of S; if all are, the one at the place of the leader stays."""
    arms, bar, tally = board.arms, board.bar, board.tally
    beaten = 0
    for a in range(tally[QUERIED]):
        beaten += bar[a] == 0.0 and board.beaten_round[arms[a]] == t
    contradiction = beaten == tally[CANDIDATES]
    for a in range(tally[QUERIED]):
        arm = arms[a]
        if bar[a] == 0.0 and board.beaten_round[arm] == t and not (contradiction and a == leader):
            bar[a] = np.inf
            tally[CANDIDATES] -= 1
            last = keep * t + 1e-9
            board.last_round[arm] = np.int64(last) if last < LONG else FOREVER
            tally[NEXT_LEAVE] = min(tally[NEXT_LEAVE], board.last_round[arm])


@part
def _order_of_leaving(board, t):  # type: ignore[no-untyped-def]
    """By place: the place before, those first that stay when round ``t`` is over; and how many these are."""
    n = board.tally[QUERIED]
    before, stay, end = np.empty(n, dtype=np.int64), 0, n
    for a in range(n):
        if board.last_round[board.arms[a]] > t:
            before[stay] = a
            stay += 1
        else:  # from the end on: the first of them is the last
            end -= 1
            before[end] = a
    return before, stay


@part
def _close_up(board, before, stay):  # type: ignore[no-untyped-def]
    """Stop querying those that leave."""
    tally = board.tally
    if stay < before.size:
        _rearrange(board, before)
    tally[QUERIED], tally[NEXT_LEAVE] = stay, FOREVER
    for a in range(stay):
        tally[NEXT_LEAVE] = min(tally[NEXT_LEAVE], board.last_round[board.arms[a]])


@part
def let_leave(board, t):  # type: ignore[no-untyped-def]
    """Stop querying the arms whose last round this was: they move behind the others, which close up in their order."""
    before, stay = _order_of_leaving(board, t)
    if stay < before.size and board.squares.size > 0:
        _part(board, before, stay)
        _rearrange_squares(board.squares, before, stay)
    _close_up(board, before, stay)


@part
def let_leave_alone(board, t):  # type: ignore[no-untyped-def]
    """The same on a board that keeps nothing of pairs: what they would need is not compiled."""
    before, stay = _order_of_leaving(board, t)
    _close_up(board, before, stay)


@part
def _part(board, before, stay):  # type: ignore[no-untyped-def]
    """Note how far everybody is ahead of those that leave, and they of everybody."""
    arms, means, parted = board.arms, board.means, board.parted
    for k in range(stay, before.size):
        a = before[k]
        for b in range(before.size):
            parted[arms[a], arms[b]] = means[b] - means[a]
            parted[arms[b], arms[a]] = means[a] - means[b]


@part
def _rearrange(board, before):  # type: ignore[no-untyped-def]
    """Bring what is kept by place into the new order."""
    arms, means, own, bar = board.arms.copy(), board.means.copy(), board.own.copy(), board.bar.copy()
    for a in range(before.size):
        board.arms[a] = arms[before[a]]
        board.means[a] = means[before[a]]
        board.own[a] = own[before[a]]
        board.bar[a] = bar[before[a]]


@part
def _rearrange_squares(squares, before, stay):  # type: ignore[no-untyped-def]
    """The same by two places: the rows of those that stay only move up, those of the others are taken out first."""
    n = before.size
    moved = np.empty((n - stay, n))
    for k in range(stay, n):
        for b in range(n):
            moved[k - stay, b] = squares[max(before[k], b), min(before[k], b)]
    first = before[n - 1]  # of those that leave: what is before it stays where it is
    for a in range(first, stay):
        for b in range(a):
            squares[a, b] = squares[before[a], before[b]]
    for a in range(stay, n):
        for b in range(a):
            squares[a, b] = moved[a - stay, before[b]]
    row = np.empty(n)
    for a in range(n, squares.shape[0]):
        for b in range(first, n):
            row[b] = squares[a, b]
        for b in range(first, n):
            squares[a, b] = row[before[b]]


@part
def may_go_on(tally, limits):  # type: ignore[no-untyped-def]
    """Whether there is another round: the game is undecided and the budget allows it."""
    return (
        tally[CANDIDATES] > 1
        and tally[ENDED] == GOING_ON
        and tally[ROUNDS] < limits[MAX_ROUNDS]
        and tally[QUERIES] + tally[QUERIED] <= limits[MAX_QUERIES]
    )


@part
def _absorb_means(rows, r, share, m, arms, means, deviation):  # type: ignore[no-untyped-def]
    """Update the means of the first ``m`` places with row ``r``, and leave the deviations from the old means."""
    for a in range(m):
        deviation[a] = rows[r, arms[a]] - means[a]
        means[a] += deviation[a] * share


@part
def begin_round(rows, r, tally, arms, means, deviation):  # type: ignore[no-untyped-def]
    """Count the round and its queries, and absorb its means; returns its number."""
    m = tally[QUERIED]
    t = tally[ROUNDS] + 1
    tally[ROUNDS] = t
    tally[QUERIES] += m
    _absorb_means(rows, r, 1.0 / t, m, arms, means, deviation)
    return t


@part
def absorb_squares(weight, m, deviation, own, squares):  # type: ignore[no-untyped-def]
    """The centred sums of squares of every arm and every difference, from the deviations of the round."""
    for a in range(m):
        deviation_a = deviation[a]
        own[a] += weight * deviation_a * deviation_a
        for b in range(a):
            d = deviation[b] - deviation_a
            squares[a, b] += weight * d * d


@inlined
def absorb_own_squares(weight, m, deviation, own):  # type: ignore[no-untyped-def]
    """The same for the arms alone."""
    for a in range(m):
        own[a] += weight * deviation[a] * deviation[a]


# Parts of other kernels that Python calls too.
let_leave_kernel = compiled(let_leave)
