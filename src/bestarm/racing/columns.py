"""Long columns in little memory: texts in one piece, and the scores of a record arm by arm."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

CONTINUES = 0b1100_0000, 0b1000_0000  # of a byte in UTF-8: bits that say whether it begins a character, and that not


class Texts:
    """Texts by number, in one piece of memory; None where there is none."""

    def __init__(self, texts: Iterable[str | None] = ()) -> None:
        self._bytes = bytearray()
        self._ends = array("q", [0])
        self._none: set[int] = set()
        for text in texts:
            self.append(text)

    @classmethod
    def of_bytes(cls, joined: bytearray, ends: "array[int]") -> Self:
        """Texts in UTF-8, one after the other, and where they end, after a 0; `UnicodeError` if one is no text."""
        if not joined.isascii():
            joined.decode()
            starts = np.frombuffer(ends, dtype=np.int64)[:-1]
            starts = starts[starts < len(joined)]
            if ((np.frombuffer(joined, dtype=np.uint8)[starts] & CONTINUES[0]) == CONTINUES[1]).any():
                raise UnicodeError("a text begins within a character")
        texts = cls()
        texts._bytes, texts._ends = joined, ends
        return texts

    def append(self, text: str | None) -> None:
        """Add a text, or that there is none."""
        if text is None:
            self._none.add(len(self))
        else:
            self._bytes += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._bytes))

    def extend(self, texts: Sequence[str]) -> None:
        """Add many texts."""
        joined = "".join(texts).encode("utf-8", "surrogatepass")
        sizes = map(len, texts) if joined.isascii() else (len(text.encode("utf-8", "surrogatepass")) for text in texts)
        self._ends.extend(accumulate(sizes, initial=len(self._bytes)))
        del self._ends[-len(texts) - 1]  # where they begin is where the others end
        self._bytes += joined

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> str | None:
        if place in self._none:
            return None
        return self._bytes[self._ends[place] : self._ends[place + 1]].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str | None]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return NotImplemented
        return (self._none, self._ends, self._bytes) == (other._none, other._ends, other._bytes)

    __hash__ = None  # type: ignore[assignment]

    def first(self, n: int) -> Self:
        """A copy of the first of them."""
        part = type(self)()
        part._ends = self._ends[: n + 1]
        part._bytes = self._bytes[: part._ends[-1]]
        part._none = {place for place in self._none if place < n}
        return part


class ByArm:
    """The scores of a record arm by arm, each with its round, numbered from 0; scores that are missing are left out."""

    def __init__(self, rounds: NDArray[np.int32], arms: NDArray[np.int32], scores: NDArray[np.float64], n_arms: int):
        there = ~np.isnan(scores)
        if not there.all():
            rounds, arms, scores = rounds[there], arms[there], scores[there]
        if arms.size % n_arms == 0 and (arms.reshape(-1, n_arms) == np.arange(n_arms)).all():  # nobody has left
            self._rounds, self._scores = rounds.reshape(-1, n_arms).T.ravel(), scores.reshape(-1, n_arms).T.ravel()
        else:
            kind = np.uint16 if n_arms <= 2**16 else np.int32  # the sort of short numbers is far quicker
            order = np.argsort(arms.astype(kind), kind="stable")
            self._rounds, self._scores = rounds[order], scores[order]
        self._ends = np.append(0, np.cumsum(np.bincount(arms, minlength=n_arms)))

    def of(self, arm: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The rounds and scores of an arm."""
        part = slice(self._ends[arm], self._ends[arm + 1])
        return self._rounds[part], self._scores[part]

    def shared(self, a: int, b: int) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """The rounds in which both arms have scores, and these scores."""
        (rounds_a, scores_a), (rounds_b, scores_b) = self.of(a), self.of(b)
        n = min(rounds_a.size, rounds_b.size)
        if np.array_equal(rounds_a[:n], rounds_b[:n]):  # one left before the other, as a rule
            return rounds_a[:n], scores_a[:n], scores_b[:n]
        both, in_a, in_b = np.intersect1d(rounds_a, rounds_b, assume_unique=True, return_indices=True)
        return both, scores_a[in_a], scores_b[in_b]

    def table(self, a: int, b: int, last: int) -> NDArray[np.float64]:
        """The scores that two arms share in the rounds up to the last, a row for each."""
        rounds, scores_a, scores_b = self.shared(a, b)
        n = int(np.searchsorted(rounds, last))
        return np.column_stack([scores_a[:n], scores_b[:n]])
