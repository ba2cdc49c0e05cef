"""Portfolios: the wealth of one bet on all differences of an arm, learned from the past."""

import numpy as np

from bestarm.board import QUERIED
from bestarm.kernels.bets import null_mean
from bestarm.kernels.compiling import inlined, part
from bestarm.kernels.convex import differences_from, nonnegative_minimum
from bestarm.kernels.moments import absorb_squares

RENEWAL = 0.1  # the bets of a portfolio are renewed when the rounds have grown by this share
FADING = 30.0  # rounds worth of ridge in the second moments that they are learned from
MOST = 0.95  # the largest share of a portfolio that is bet


@part
def _invest(rows, r, t, board, sums, folio, rule):  # type: ignore[no-untyped-def]
    """One round of the portfolios, with the bets chosen before it; no more than the cap of one can be lost."""
    arms, m = board.arms, board.tally[QUERIED]
    for a in range(m):
        if board.bar[a] > 0.0:
            continue
        i = arms[a]
        gain, stake = 0.0, 0.0
        for b in range(m):
            j = arms[b]
            if j != i and folio.bets[i, j] > 0.0:
                y = null_mean(0.0, rule.pool, t, sums[i, j])
                gain += folio.bets[i, j] * ((rows[r, j] - rows[r, i]) * rule.scale - y)
                stake += folio.bets[i, j] * (1.0 + y)
        if stake > rule.cap:
            gain *= rule.cap / stake
        folio.log_wealth[i] += np.log(1.0 + gain)
        folio.wealth[i] = np.exp(folio.log_wealth[i])


@part
def _renew_bets(t, board, folio, scale):  # type: ignore[no-untyped-def]
    """Choose the bets that would have grown fastest, to second order: ``max <b, m> - b' M b / 2``, ``b >= 0``.

    ``m`` and ``M`` are the means and second moments of the differences so far, the latter with a ridge that fades: in
    the beginning there is more to fit than to learn.
    """
    m, arms = board.tally[QUERIED], board.arms
    means, moments, w = np.empty(m - 1), np.empty((m - 1, m - 1)), np.empty(m - 1)
    for a in range(m):
        if board.bar[a] > 0.0:
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
            w[j] = folio.bets[i, others[j]]
        nonnegative_minimum(means, moments, w, 3 * m)
        total = w.sum()
        for j in range(m - 1):
            folio.bets[i, others[j]] = w[j] * min(1.0, MOST / total) if total > 0.0 else 0.0
        folio.bets[i, i] = 0.0


@inlined
def invest(rows, r, t, board, sums, folio, rule):  # type: ignore[no-untyped-def]
    """One round of the portfolios, and from time to time a choice of what the next rounds bet on."""
    absorb_squares(1.0 - 1.0 / t, board.tally[QUERIED], board.deviation, board.own, board.squares)
    _invest(rows, r, t, board, sums, folio, rule)
    if t == folio.renewal[0]:
        _renew_bets(t, board, folio, rule.scale)
        folio.renewal[0] = t + max(1, np.int64(RENEWAL * t))
