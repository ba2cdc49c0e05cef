"""What takes part in a race: the arms, and the items they are evaluated on."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
WEYL = 0x9E3779B1  # odd, so that the seeds of 2**32 rounds all differ


@dataclass(frozen=True)
class Entrants:
    """The arms: what a result calls them, their names as text, and what `evaluate` is given."""

    labels: tuple[Any, ...]
    names: tuple[str, ...]
    candidates: tuple[Any, ...]

    def place(self, label: Any) -> int:
        """The number of an arm, by its label or its name."""
        for known in (self.labels, self.names):
            for k, other in enumerate(known):
                if type(other) is type(label) and other == label:
                    return k
        raise ValueError(f"there is no arm {label!r}: the arms are {', '.join(self.names)}")


def entrants(arms: Mapping[str, Any] | Iterable[Any]) -> Entrants:
    """The arms of a race, from a sequence, or from a mapping of names to candidates."""
    if isinstance(arms, str | bytes | set | frozenset) or not isinstance(arms, Iterable):
        raise TypeError(f"arms must be a sequence of arms or a mapping of names to candidates, got {short(repr(arms))}")
    labels = tuple(arms)
    candidates = tuple(arms.values()) if isinstance(arms, Mapping) else labels
    names = tuple(map(name_of, labels))
    for k, name in enumerate(names):
        if not name.strip() or labels[k] is None:
            raise ValueError(f"every arm must have a name, that of arm {k} is empty")
        if ADDRESS.search(name):
            raise ValueError(f"arm {k} has no name of its own ({name}): give arms as a mapping of names to candidates")
        if name in names[:k]:
            raise ValueError(f"arms must have different names, {name!r} is there more than once")
    if len(names) < 2:
        raise ValueError(f"there must be at least two arms to compare, got {len(names)}")
    return Entrants(labels, names, candidates)


def name_of(arm: Any) -> str:
    """The name of an arm as text: of functions and classes their own."""
    if isinstance(arm, str):
        return str(arm)  # texts that claim to be markup too
    name = getattr(arm, "__name__", None)
    return name if isinstance(name, str) else str(arm)


@dataclass(frozen=True)
class Items:
    """The items in the order of the rounds, and what is known about them in advance."""

    kind: str  # "pool", "stream" or "seeds"
    order: Iterator[Any]
    n_items: int | None = None
    digest: str | None = None


def items_in_order(items: Sequence[Any] | Iterable[Any] | None, seed: int) -> Items:
    """A sequence is a finite pool in random order, an iterator a stream, None a fresh seed each round."""
    if items is None:
        return Items("seeds", _seeds(seed))
    if isinstance(items, str | bytes | Mapping | set | frozenset) or hasattr(items, "columns"):
        raise TypeError(f"items must be a sequence or an iterator of items, got {short(repr(items))}")
    if not hasattr(items, "__len__"):
        if not isinstance(items, Iterable):
            raise TypeError(f"items must be a sequence or an iterator of items, got {short(repr(items))}")
        return Items("stream", iter(items))
    pool = items if isinstance(items, Sequence) else _listed(items)
    if len(pool) < 2:
        raise ValueError(f"items must hold at least two items, got {len(pool)}")
    order = shuffled(len(pool), seed).tolist()
    return Items("pool", (pool[k] for k in order), len(pool), digest(label_of(item) for item in pool))


def _listed(items: Any) -> list[Any]:
    """The items of a collection that is no sequence: an array, or what has only a length and numbered parts."""
    return list(items) if isinstance(items, Iterable) else [items[k] for k in range(len(items))]


def shuffled(n_items: int, seed: int) -> NDArray[np.int64]:
    """The order in which the items of a pool are used."""
    return np.random.default_rng(np.random.SeedSequence(seed)).permutation(n_items)


def _seeds(seed: int) -> Iterator[int]:
    """Seeds that all differ, each below 2**32, which every generator accepts."""
    start = int(np.random.SeedSequence(seed).generate_state(1)[0])
    return ((start + WEYL * k) % 2**32 for k in count())


def label_of(item: Any) -> str:
    """An item as text, the same in every run: JSON where it can be, its repr without addresses where it cannot."""
    if isinstance(item, str):
        return item
    if type(item) is int:  # seeds, one a round
        return str(item)
    try:
        return json.dumps(item, sort_keys=True, ensure_ascii=False)
    except (TypeError, ValueError):
        return ADDRESS.sub("", repr(item))


def hashable(value: Any) -> bool:
    """Whether something can be a key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def short(text: str) -> str:
    """A text that fits into a message."""
    return text if len(text) <= 80 else f"{text[:79]}…"


def digest(texts: Iterable[str]) -> str:
    """One fingerprint of many texts, in their order."""
    fingerprint = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        fingerprint.update(len(encoded).to_bytes(8, "little"))
        fingerprint.update(encoded)
    return fingerprint.hexdigest()
