"""Where rounds are absorbed: means, and centred sums of squares (Welford's updates)."""

from bestarm.board import QUERIED, QUERIES, ROUNDS
from bestarm.kernels.compiling import inlined, part


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
