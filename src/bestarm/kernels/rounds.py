"""What all games do in a round: absorb it, mark who is beaten, eliminate, remove arms; and what is done with rows."""

import numpy as np

from bestarm.kernels.compiling import compiled, inlined, part, summing
from bestarm.kernels.state import FOREVER, GOING_ON

LONG = 9e18  # rounds beyond any game, and still an integer
IMPOSSIBLE = -1.0 - 1e-9  # a mean below the smallest possible difference, by more than rounding

# --- a round begins ---------------------------------------------------------------------------------------------------


@part
def may_go_on(progress):
    """Whether there is another round: the game is undecided and the budget allows it."""
    return (
        progress.n_candidates > 1
        and progress.ended == GOING_ON
        and progress.n_rounds < progress.max_rounds
        and progress.n_queries + progress.n_queried <= progress.max_queries
    )


@part
def begin_round(rows, r, progress, arms, means, deviation):
    """Count the round and its queries, and absorb row ``r`` into the means; returns the number of the round.

    The deviations from the means before it are left for `absorb_squares`.
    """
    t = progress.n_rounds + 1
    progress.n_rounds = t
    progress.n_queries += progress.n_queried
    share = 1.0 / t
    for a in range(progress.n_queried):
        deviation[a] = rows[r, arms[a]] - means[a]
        means[a] += deviation[a] * share
    return t


@part
def absorb_squares(t, m, deviation, sum_squares, squares):
    """The centred sums of squares of every arm and every difference, from the deviations of round ``t``."""
    weight = 1.0 - 1.0 / t
    for a in range(m):
        deviation_a = deviation[a]
        sum_squares[a] += weight * deviation_a * deviation_a
        for b in range(a):
            d = deviation[b] - deviation_a
            squares[a, b] += weight * d * d


@inlined
def null_mean(nu, pool, t, sum_so_far):
    """The largest mean that the next difference can have if that of all rounds is at most ``nu``.

    ``nu`` itself when rounds are independent (``pool`` 0); the mean of what is left of a pool drawn without
    replacement.
    """
    if pool == 0:
        return nu
    return (pool * nu - sum_so_far) / (pool - t + 1)


# --- who is beaten ----------------------------------------------------------------------------------------------------


@inlined
def leader_place(board):
    """The place of the candidate with the largest mean, the first of them."""
    leader = -1
    for a in range(board.progress[0].n_queried):
        if not board.is_out[a] and (leader < 0 or board.means[a] > board.means[leader]):
            leader = a
    return leader


@part
def all_candidates_queried(board):
    """Whether none of the candidates was withdrawn: only then can one arm be compared with all of them."""
    queried = 0
    for a in range(board.progress[0].n_queried):
        queried += not board.is_out[a]
    return queried == board.progress[0].n_candidates


@inlined
def mark_beaten(board, arm, t, by, margin):
    """Note that an arm was beaten in this round; `eliminate` decides what follows."""
    board.beaten_round[arm] = t
    board.beaten_by[arm] = by
    board.margin[arm] = margin


@part
def eliminate(board, keep, t, leader):
    """Take those marked in this round out of the candidates; if all are marked, the one at ``leader`` stays."""
    arms, is_out, progress = board.arms, board.is_out, board.progress[0]
    beaten = 0
    for a in range(progress.n_queried):
        beaten += not is_out[a] and board.beaten_round[arms[a]] == t
    contradiction = beaten == progress.n_candidates
    for a in range(progress.n_queried):
        arm = arms[a]
        if not is_out[a] and board.beaten_round[arm] == t and not (contradiction and a == leader):
            is_out[a] = True
            progress.n_candidates -= 1
            last = keep * t + 1e-9
            board.last_round[arm] = np.int64(last) if last < LONG else FOREVER
            progress.next_exit = min(progress.next_exit, board.last_round[arm])


# --- who is no longer queried -----------------------------------------------------------------------------------------


@part
def remove_arms(board, t):
    """Stop querying the arms whose last round this was: they move behind the others, which close up in their order."""
    before, stay = _order_after(board, t)
    if stay < before.size and board.squares.size > 0:
        _note_leads(board, before, stay)
        _rearrange_squares(board.squares, before)
    _move_to_new_places(board, before, stay)


@part
def remove_arms_without_pairs(board, t):
    """`remove_arms` for a board without arrays of pairs: the code that rearranges them is not compiled."""
    before, stay = _order_after(board, t)
    _move_to_new_places(board, before, stay)


@part
def _order_after(board, t):
    """The old place of the arm at each new place, first those that stay after round ``t``; and how many these are."""
    n = board.progress[0].n_queried
    before, stay, end = np.empty(n, dtype=np.int64), 0, n
    for a in range(n):
        if board.last_round[board.arms[a]] > t:
            before[stay] = a
            stay += 1
        else:  # those that leave are filled in from the end, so they stand in reverse order
            end -= 1
            before[end] = a
    return before, stay


@part
def _move_to_new_places(board, before, stay):
    """Bring all arrays indexed by place into the new order, and query only the arms that stay."""
    arms, means = board.arms.copy(), board.means.copy()
    sum_squares, is_out = board.sum_squares.copy(), board.is_out.copy()
    for a in range(before.size):
        board.arms[a] = arms[before[a]]
        board.means[a] = means[before[a]]
        board.sum_squares[a] = sum_squares[before[a]]
        board.is_out[a] = is_out[before[a]]
    progress = board.progress[0]
    progress.n_queried, progress.next_exit = stay, FOREVER
    for a in range(stay):
        progress.next_exit = min(progress.next_exit, board.last_round[board.arms[a]])


@part
def _note_leads(board, before, stay):
    """Note how far everybody is ahead of those that leave, and they of everybody."""
    arms, means, lead_at_exit = board.arms, board.means, board.lead_at_exit
    for k in range(stay, before.size):
        a = before[k]
        for b in range(before.size):
            lead_at_exit[arms[a], arms[b]] = means[b] - means[a]
            lead_at_exit[arms[b], arms[a]] = means[a] - means[b]


@part
def _rearrange_squares(squares, before):
    """Bring squares of differences into the new order: of the arms that were queried, and of those before them."""
    n = before.size
    old = squares[:n, :n].copy()
    for a in range(n):
        for b in range(a):
            squares[a, b] = old[max(before[a], before[b]), min(before[a], before[b])]
    for a in range(n, squares.shape[0]):
        row = squares[a, :n].copy()
        for b in range(n):
            squares[a, b] = row[before[b]]


@compiled
def withdraw_arms(board, t):
    """`remove_arms` as Python calls it, between two rounds."""
    remove_arms(board, t)


# --- rows -------------------------------------------------------------------------------------------------------------


@summing
def affine(noise, root, widths, means):
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
def all_within(rows, low, high):
    """Whether every number is finite and in the interval [low, high]."""
    flat = rows.reshape(-1)
    inside = True
    for k in range(flat.size):
        inside &= (flat[k] >= low) & (flat[k] <= high)
    return inside
