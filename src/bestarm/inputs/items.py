"""The items of a race: in which order they come, and what they are called in files and messages."""

import hashlib
import json
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import check_count
from bestarm.inputs.arms import ADDRESS
from bestarm.inputs.seeds import fresh_seeds
from bestarm.inputs.texts import short

STDIN = "-"  # in place of the name of a file
LONGEST_TEXT = 200  # characters of an item that are kept

Kind = Literal["pool", "stream", "seeds"]


@dataclass(frozen=True)
class Items:
    """The items in the order of the rounds, and what is known about them in advance."""

    kind: Kind
    order: Iterator[Any]
    n_items: int | None = None
    digest: str | None = None


def items_in_order(items: Sequence[Any] | Iterable[Any] | None, seed: int) -> Items:
    """A sequence is a finite pool in random order, an iterator a stream, None a fresh seed for each round."""
    check_count("seed", seed, least=0)
    if items is None:
        return Items("seeds", fresh_seeds(seed))
    if isinstance(items, str | bytes | Mapping | set | frozenset) or hasattr(items, "columns"):
        raise TypeError(f"items must be a list or another sequence, or an iterator, got {short(repr(items))}")
    if not hasattr(items, "__len__"):
        if not isinstance(items, Iterable):
            raise TypeError(f"items must be a list or another sequence, or an iterator, got {short(repr(items))}")
        return Items("stream", iter(items))
    pool = items if isinstance(items, Sequence) else _listed(items)
    if len(pool) < 2:
        raise ValueError(f"items must hold at least two items, got {len(pool)}")
    order = shuffled(len(pool), seed).tolist()
    return Items("pool", (pool[k] for k in order), len(pool), digest(full_text(item) for item in pool))


def _listed(items: Any) -> list[Any]:
    """The items of a collection that is no sequence: an array, or what has only a length and numbered parts."""
    return list(items) if isinstance(items, Iterable) else [items[k] for k in range(len(items))]


def shuffled(n_items: int, seed: int) -> NDArray[np.int64]:
    """The order in which the items of a pool are used."""
    return np.random.default_rng(np.random.SeedSequence(seed)).permutation(n_items)


def drawn(items: Iterable[Any], seed: int) -> Iterator[Any]:
    """Items drawn again and again, with replacement: independent rounds, as long as they are needed."""
    check_count("seed", seed, least=0)
    pool = [] if isinstance(items, str | bytes | Mapping | set | frozenset) else list(items)
    if not pool:
        raise ValueError(f"items must be a sequence of at least one item, got {items!r}")
    luck = random.Random(f"items {seed}")  # noqa: S311 - no secrets here
    return (luck.choice(pool) for _ in count())


def full_text(item: Any) -> str:
    """An item as text, the same in every run: JSON where it can be, its repr without addresses where it cannot."""
    if isinstance(item, str):
        return item
    if type(item) is int:  # seeds, one per round
        return str(item)
    try:
        return json.dumps(item, sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError):
        return ADDRESS.sub("", repr(item))


def item_text(item: Any) -> str:
    """An item as records and messages hold it."""
    return full_text(item)[:LONGEST_TEXT]


def digest(texts: Iterable[str]) -> str:
    """One fingerprint of many texts, in their order."""
    fingerprint = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        fingerprint.update(len(encoded).to_bytes(8, "little"))
        fingerprint.update(encoded)
    return fingerprint.hexdigest()


def read_items(path: Path) -> list[str]:
    """The lines of a file, or of standard input, that are not empty: one item per line."""
    if str(path) != STDIN and not path.is_file():
        raise ValueError(f"there is no file {path}, or it is a directory")
    try:
        text = sys.stdin.buffer.read().decode() if str(path) == STDIN else path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be a text file in UTF-8: {error}") from error
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines and str(path) == STDIN:
        raise ValueError("there are no items on standard input: pipe them in, one per line (to resume, the same ones)")
    return lines
