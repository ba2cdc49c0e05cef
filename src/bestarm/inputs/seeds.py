"""Fresh seeds: one for each round of a race without items."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np

SWAPS = 6  # rounds of the Feistel network; four are enough for a pseudorandom permutation (Luby, Rackoff 1988)
HALF = 2**16
WEYL = 0x9E3779B1  # odd, so that the progression has no repetition within 2**32 rounds


def fresh_seeds(seed: int) -> Iterator[int]:
    """Seeds that look random and all differ within 2**32 rounds, each below 2**32, which every generator accepts.

    They are a permutation of the numbers of the rounds, keyed by ``seed``. Simple generators turn seeds that are
    related, such as those of an arithmetic progression, into first draws that are related.
    """
    tables = _tables(seed)
    return (permuted(k % HALF**2, tables) for k in count())


def permuted(number: int, tables: Sequence[Sequence[int]]) -> int:
    """A Feistel network on the two halves of a number below 2**32: a permutation, whatever the tables."""
    left, right = divmod(number, HALF)
    for table in tables:
        left, right = right, left ^ table[right]
    return left * HALF + right


def _tables(seed: int) -> list[memoryview]:
    """Random functions of 16 bits, by a hash: the same on every machine and with every version of Python and NumPy."""
    bits = hashlib.shake_256(f"fresh seeds {seed}".encode()).digest(2 * HALF * SWAPS)
    tables = np.frombuffer(bits, dtype="<u2").astype(np.uint16).reshape(SWAPS, HALF)
    return [memoryview(table.data) for table in tables]


def seeds_in_progression(seed: int) -> Iterator[int]:
    """The seeds of races that were begun by versions without `fresh_seeds`: an arithmetic progression."""
    start = int(np.random.SeedSequence(seed).generate_state(1)[0])
    return ((start + WEYL * k) % HALF**2 for k in count())
