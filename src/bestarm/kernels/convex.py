"""Games in which an arm is compared with convex combinations of the others.

Arm ``i`` is beaten when ``<w, m> - slope sqrt(w' A w) - offset > 0`` for some weights ``w`` on the other queried arms,
with ``m_j = mean_j - mean_i`` and ``A`` the covariance of the differences ``X_j - X_i``. With ``n = m - offset`` and
``B = slope^2 A`` this is ``<w, n> > sqrt(w' B w)``, a condition that does not change when ``w >= 0`` is scaled, and it
holds for some ``w`` exactly if the minimum of ``w' B w / 2 - <w, n>`` over ``w >= 0`` is below ``-1/2``.
"""

import numpy as np

from bestarm.kernels.compiling import compiled, part
from bestarm.kernels.rounds import (
    absorb_squares,
    begin_round,
    eliminate,
    leader_place,
    mark_beaten,
    may_go_on,
    remove_arms,
)

POSITIVE, UNKNOWN, NEGATIVE = 1, 0, -1
ROUNDING = 1e-14  # share of the largest possible w' B w that is left to rounding
RIDGE = 1e-13  # added to the diagonal, as a share of it: singular covariances can be solved
LEAST_RIDGE = 1e-300  # the same where the diagonal is 0
SLACK = 1e-11  # added to n in standard deviations: a little above what the ridge and rounding leave


@part
def _is_positive(n, B, w):
    """Whether these weights prove that the supremum is positive, rounding allowed for."""
    lead, square, scale = 0.0, 0.0, 0.0
    for j in range(n.size):
        if w[j] > 0.0:
            lead += w[j] * n[j]
            scale += w[j] * np.sqrt(B[j, j])
            for k in range(n.size):
                square += w[j] * w[k] * B[j, k]
    return lead > 0.0 and lead > np.sqrt(max(square, 0.0) + ROUNDING * scale * scale)


@part
def _is_negative(n, B, w, Bw):
    """Whether ``y = s w`` proves for some ``s`` that the supremum is not positive, rounding allowed for.

    If ``y' B y <= 1`` and ``B y >= n`` in every entry then ``<v, n> <= v' B y <= sqrt(v' B v)`` for all ``v >= 0``.
    """
    square, scale = 0.0, 0.0
    for j in range(n.size):
        square += w[j] * Bw[j]
        scale += w[j] * np.sqrt(B[j, j])
    square += ROUNDING * scale * scale
    least, most = 0.0, (1.0 / np.sqrt(square) if square > 0.0 else np.inf)
    for j in range(n.size):
        sure = Bw[j] - ROUNDING * scale * np.sqrt(B[j, j])  # entries of B w may cancel
        if sure > 0.0:
            least = max(least, n[j] / sure)
        elif n[j] > 0.0 or (n[j] == 0.0 and sure < 0.0):
            return False
        elif sure < 0.0:
            most = min(most, n[j] / sure)
    return least <= most


@part
def _solve(B, n, active, z):
    """Solve ``B z = n`` on the first ``active.size`` rows and columns named, by Cholesky with a little ridge.

    The ridge makes a singular covariance harmless; whatever comes out is judged by certificates only.
    """
    q = active.size
    L = np.empty((q, q))
    for a in range(q):
        for b in range(a + 1):
            x = B[active[a], active[b]]
            if a == b:
                x += RIDGE * B[active[a], active[a]] + LEAST_RIDGE
            for k in range(b):
                x -= L[a, k] * L[b, k]
            L[a, b] = np.sqrt(max(x, LEAST_RIDGE)) if a == b else x / L[b, b]
    for a in range(q):
        x = n[active[a]]
        for k in range(a):
            x -= L[a, k] * z[k]
        z[a] = x / L[a, a]
    for a in range(q - 1, -1, -1):
        x = z[a]
        for k in range(a + 1, q):
            x -= L[k, a] * z[k]
        z[a] = x / L[a, a]


@part
def _minimise_on_support(n, B, w):
    """Move ``w`` to the minimum over its support, dropping the arms whose weight would become negative."""
    z = np.empty(n.size)
    for _ in range(n.size + 1):  # each pass drops an arm, or is the last
        active = np.flatnonzero(w > 0.0)
        if active.size == 0:
            return
        _solve(B, n, active, z)
        step = 1.0
        for a in range(active.size):
            if z[a] <= 0.0:
                step = min(step, w[active[a]] / (w[active[a]] - z[a]))
        for a in range(active.size):
            j = active[a]
            moved = w[j] + step * (z[a] - w[j])
            w[j] = moved if z[a] > 0.0 or moved > 1e-12 * w[j] else 0.0
        if step == 1.0:
            return


@part
def _times(B, w, Bw):
    """``B w`` for weights of which most are zero."""
    for k in range(w.size):
        Bw[k] = 0.0
    for j in range(w.size):
        if w[j] > 0.0:
            for k in range(w.size):
                Bw[k] += w[j] * B[j, k]


@part
def _add_to_support(n, B, w, Bw):
    """Give a first weight to the arm outside the support that promises the steepest descent; whether there is one."""
    enter, steepest = -1, 0.0
    for j in range(n.size):
        if w[j] == 0.0 and B[j, j] > 0.0 and (n[j] - Bw[j]) / np.sqrt(B[j, j]) > steepest:
            enter, steepest = j, (n[j] - Bw[j]) / np.sqrt(B[j, j])
    if enter >= 0:
        w[enter] = (n[enter] - Bw[enter]) / B[enter, enter]
    return enter >= 0


@compiled
def nonnegative_minimum(n, B, w, limit):
    """Lawson and Hanson's active-set method for the minimum of ``w' B w / 2 - <w, n>`` over ``w >= 0``, in place."""
    Bw = np.empty(n.size)
    for _ in range(limit):
        _minimise_on_support(n, B, w)
        _times(B, w, Bw)
        if not _add_to_support(n, B, w, Bw):
            return


@compiled
def convex_sign(n, B, w, limit):
    """The sign of the supremum, only if it is certified: `POSITIVE`, `NEGATIVE`, or `UNKNOWN` after so many steps.

    Lawson and Hanson's method from the weights given, which are changed in place, until a certificate is found: a
    positive answer leaves the weights that prove it, up to their sum.
    """
    p = n.size
    single, most = -1, 0.0
    for j in range(p):
        if n[j] - np.sqrt(B[j, j]) > most:
            single, most = j, n[j] - np.sqrt(B[j, j])
    if single >= 0:  # one arm is enough
        for k in range(p):
            w[k] = 1.0 if k == single else 0.0
        return POSITIVE
    Bw, target = np.empty(p), np.empty(p)
    for j in range(p):  # a little more than n, so that rounding does not spoil B w >= n
        target[j] = n[j] + SLACK * np.sqrt(B[j, j])
    for step in range(limit):
        _times(B, w, Bw)
        if _is_positive(n, B, w):
            return POSITIVE
        if _is_negative(n, B, w, Bw):
            return NEGATIVE
        if step > 0 and not _add_to_support(target, B, w, Bw):  # the first look is at the weights given
            return UNKNOWN
        _minimise_on_support(target, B, w)
    return UNKNOWN


@compiled
def sparse_sign(n, B, w, s, limit):
    """The sign of the supremum over weights on at most ``s`` arms, as far as it can be certified.

    No combination at all is enough: negative. The ``s`` heaviest arms of one that is enough are enough by themselves:
    positive. Otherwise unknown.
    """
    p = n.size
    verdict = convex_sign(n, B, w, limit)
    if verdict != POSITIVE:
        return verdict
    support = 0
    for j in range(p):
        support += w[j] > 0.0
    if support <= s:
        return POSITIVE
    order = np.argsort(-w)[:s]
    small_n, small_B, small_w = np.empty(s), np.empty((s, s)), np.empty(s)
    for a in range(s):
        small_n[a], small_w[a] = n[order[a]], w[order[a]]
        for b in range(s):
            small_B[a, b] = B[order[a], order[b]]
    if convex_sign(small_n, small_B, small_w, limit) != POSITIVE:
        return UNKNOWN
    w[:] = 0.0
    for a in range(s):
        w[order[a]] = small_w[a]
    return POSITIVE


@part
def differences_from(place, board, m, t, means, covariance):
    """Means and covariance of the differences of the other queried arms to the one at a place."""
    squares = board.squares
    row = 0
    for a in range(m):
        if a == place:
            continue
        means[row] = board.means[a] - board.means[place]
        square = squares[max(a, place), min(a, place)]
        column = 0
        for b in range(a):
            if b == place:
                continue
            both = square + squares[max(b, place), min(b, place)] - squares[a, b]
            covariance[row, column] = 0.5 * both / (t - 1.0)
            covariance[column, row] = covariance[row, column]
            column += 1
        covariance[row, row] = square / (t - 1.0)
        row += 1


@part
def _judge_convex(board, t, slope, offset, search, rule):
    """Mark every candidate that a combination of the others is certified to beat; whether there is one."""
    m, arms, found = board.progress[0].n_queried, board.arms, False
    weights, proofs, progress = search.weights, search.proofs, search.progress[0]
    n, B, w = np.empty(m - 1), np.empty((m - 1, m - 1)), np.empty(m - 1)
    for a in range(m):
        if board.is_out[a]:
            continue
        i = arms[a]
        differences_from(a, board, m, t, n, B)
        n -= offset
        if n.max() <= 0.0:
            continue
        B *= slope * slope
        others = np.concatenate((arms[:a], arms[a + 1 : m]))
        for k in range(m - 1):
            w[k] = weights[i, others[k]]
        progress.n_solved += 1
        verdict = sparse_sign(n, B, w, min(rule.sparsity, m - 1), rule.steps)
        for k in range(m - 1):
            weights[i, others[k]] = w[k]
        if verdict == UNKNOWN:
            progress.n_uncertified += 1
        elif verdict == POSITIVE:
            w /= w.sum()
            for k in range(m - 1):
                proofs[i, others[k]] = w[k]
            margin = np.dot(w, n) - np.sqrt(max(np.dot(w, np.dot(B, w)), 0.0))
            mark_beaten(board, i, t, others[np.argmax(w)], margin)
            found = True
    return found


@compiled
def race_convex(rows, slopes, offsets, board, search, rule):
    """Play rounds where an arm is out when a convex combination of the others is certified to beat it.

    Returns the rows used.
    """
    progress, looks = board.progress[0], search.progress[0]
    for r in range(rows.shape[0]):
        if not may_go_on(progress):
            return r
        t = begin_round(rows, r, progress, board.arms, board.means, board.deviation)
        absorb_squares(t, progress.n_queried, board.deviation, board.sum_squares, board.squares)
        if slopes[r] < np.inf and t >= looks.next_look:
            looks.n_looks += 1
            looks.next_look = max(t + 1, np.int64(np.ceil(rule.growth * t)))
            if _judge_convex(board, t, slopes[r], offsets[r], search, rule):
                eliminate(board, rule.keep, t, leader_place(board))
        if progress.next_exit <= t:
            remove_arms(board, t)
    return rows.shape[0]
