"""Whether counted errors contradict a promised error rate, over many cells at once."""

from zlib import crc32

from scipy.stats import binom

FALSE_ALARM = 0.01  # chance that any cell at all is rejected although every one keeps its promise


def seed_of(cell: str) -> int:
    """The seed of a cell's games: another cell in the list changes nothing about it."""
    return crc32(cell.encode())


def binomial_p_value(errors: int, games: int, delta: float) -> float:
    """Chance of at least this many errors if each game errs with probability delta (one-sided, exact)."""
    return float(binom.sf(errors - 1, games, delta))


def sidak_level(cells: int, false_alarm: float = FALSE_ALARM) -> float:
    """The level of each of several independent tests such that one or more reject by chance with ``false_alarm``."""
    return float(1.0 - (1.0 - false_alarm) ** (1.0 / cells))


def contradicts(errors: int, games: int, delta: float, cells: int) -> bool:
    """Whether so many errors speak against an error rate of at most delta, in one of so many cells."""
    return binomial_p_value(errors, games, delta) < sidak_level(cells)


def fewest_contradicting(games: int, delta: float, cells: int) -> int:
    """The smallest number of errors that `contradicts`."""
    return next(errors for errors in range(games + 1) if contradicts(errors, games, delta, cells))


def power(rate: float, games: int, delta: float, cells: int) -> float:
    """Exact chance that a cell whose true error rate is ``rate`` is found out."""
    return float(binom.sf(fewest_contradicting(games, delta, cells) - 1, games, rate))
