"""What all games on a board share: marking who is beaten, eliminating, leaving, and checks of whole rows.

No kernel validates; the arrays of `bestarm.board` are changed in place; every kernel releases the GIL and is cached on
disk. Rows hold the rewards of *all* arms, but only the columns of the arms queried are ever read.
"""

import numpy as np

from bestarm.board import (
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
from bestarm.kernels.compiling import compiled, summing

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


@compiled
def mark(board, arm, t, by, margin):  # type: ignore[no-untyped-def]
    """Note that an arm was beaten in this round; `eliminate` decides what follows."""
    board.beaten_round[arm] = t
    board.beaten_by[arm] = by
    board.margin[arm] = margin


@compiled
def leader_place(board):  # type: ignore[no-untyped-def]
    """The place of the candidate with the largest mean, the first of them."""
    leader = -1
    for a in range(board.tally[QUERIED]):
        if board.bar[a] == 0.0 and (leader < 0 or board.means[a] > board.means[leader]):
            leader = a
    return leader


@compiled
def all_candidates_queried(board):  # type: ignore[no-untyped-def]
    """Whether none of the candidates was withdrawn: only then can one arm be compared with all of them."""
    queried = 0
    for a in range(board.tally[QUERIED]):
        queried += board.bar[a] == 0.0
    return queried == board.tally[CANDIDATES]


@compiled
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


@compiled
def let_leave(board, t):  # type: ignore[no-untyped-def]
    """Stop querying the arms whose last round this was."""
    tally = board.tally
    a = 0
    while a < tally[QUERIED]:
        if board.last_round[board.arms[a]] <= t:
            _move_behind(board, a)
        else:
            a += 1
    tally[NEXT_LEAVE] = FOREVER
    for a in range(tally[QUERIED]):
        tally[NEXT_LEAVE] = min(tally[NEXT_LEAVE], board.last_round[board.arms[a]])


@compiled
def _move_pairs_behind(board, place, end):  # type: ignore[no-untyped-def]
    """The same for what is kept of pairs."""
    squares, K = board.squares, board.arms.size
    for b in range(end + 1):
        board.parted[board.arms[place], board.arms[b]] = board.means[b] - board.means[place]
        board.parted[board.arms[b], board.arms[place]] = board.means[place] - board.means[b]
    moved = np.empty(K)
    for b in range(K):
        moved[b] = squares[max(place, b), min(place, b)]
    for a in range(K):
        to_a = a - (place < a <= end)
        for b in range(a):
            if place not in (a, b):
                squares[to_a, b - (place < b <= end)] = squares[a, b]
    for b in range(K):
        to_b = b - (place < b <= end)
        if b != place:
            squares[max(end, to_b), min(end, to_b)] = moved[b]


@compiled
def _move_behind(board, place):  # type: ignore[no-untyped-def]
    """Move the arm at a place behind the queried ones; the others close up in their order."""
    end = board.tally[QUERIED] - 1
    board.tally[QUERIED] = end
    if board.squares.size > 0:
        _move_pairs_behind(board, place, end)
    arm, mean, own, bar = board.arms[place], board.means[place], board.own[place], board.bar[place]
    for a in range(place, end):
        board.arms[a] = board.arms[a + 1]
        board.means[a] = board.means[a + 1]
        board.own[a] = board.own[a + 1]
        board.bar[a] = board.bar[a + 1]
    board.arms[end], board.means[end], board.own[end], board.bar[end] = arm, mean, own, bar


@compiled
def may_go_on(tally, limits):  # type: ignore[no-untyped-def]
    """Whether there is another round: the game is undecided and the budget allows it."""
    return (
        tally[CANDIDATES] > 1
        and tally[ENDED] == GOING_ON
        and tally[ROUNDS] < limits[MAX_ROUNDS]
        and tally[QUERIES] + tally[QUERIED] <= limits[MAX_QUERIES]
    )
