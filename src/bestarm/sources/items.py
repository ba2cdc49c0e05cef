"""What users race: arms, items in their order, groups of items, fresh seeds."""

import hashlib
import json
import random
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms.assumptions import warn_of_assumption
from bestarm.checks import check_flag, check_seed
from bestarm.errors import BestarmError, ParameterError, ParameterTypeError
from bestarm.files import lines_of, read_text, read_text_file
from bestarm.text import (
    file_name,
    first_repeated,
    first_ten_names,
    is_hashable,
    label_text,
    short,
    short_repr,
    storable,
    with_noun,
)

Groups = Callable[[Any], Any] | Mapping[Any, Any] | Iterable[Any]
Kind = Literal["pool", "drawn", "stream", "seeds"]  # drawn: from a list, with replacement
MOST_NESTED = 100  # levels of lists in lists
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
STDIN = "-"  # in place of the name of a file
LONGEST_TEXT = 200  # characters of an item that are kept
MOST_BYTES, MOST_LINES = 2**28, 10**7  # of a file of items
MOST_COMPARED = 10**6  # items among which repeated ones are looked for: that takes memory
SWAPS = 6  # rounds of the Feistel network; four are enough for a pseudorandom permutation (Luby, Rackoff 1988)
HALF = 2**16
WEYL = 0x9E3779B1  # odd, so that the progression has no repetition within 2**32 rounds


# --- arms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RaceArms:
    """What a result calls the arms, their names as text, and what `evaluate` is given for them."""

    labels: tuple[Any, ...]
    names: tuple[str, ...]
    values: tuple[Any, ...]

    def find(self, label: Any) -> int:
        """The number of an arm, by its label or its name."""
        for known in (self.labels, self.names):
            for arm, other in enumerate(known):
                if type(other) is type(label) and other == label:  # True is not the arm 1
                    return arm
        raise ValueError(f"there is no arm {short_repr(label)}: the arms are {first_ten_names(self.names)}")


def race_arms(arms: Mapping[str, Any] | Iterable[Any]) -> RaceArms:
    """The arms of a race, from a sequence, or from a mapping of names to what `evaluate` is given."""
    if isinstance(arms, str | bytes | set | frozenset) or not isinstance(arms, Iterable):
        kinds = "a sequence, or a mapping of names to what evaluate is given"
        raise ParameterTypeError("arms", f"must be {kinds}, got {short_repr(arms)}", arms)
    labels = tuple(arms)
    values = tuple(arms.values()) if isinstance(arms, Mapping) else labels
    names = tuple(_name(arm, label) for arm, label in enumerate(labels))
    twice = first_repeated(names)
    if twice is not None:
        problem = f"must have different names, but {short(twice)!r} appears more than once"
        raise ParameterError("arms", problem, twice)
    if len(names) < 2:
        raise ValueError(f"there must be at least two arms to compare, got {len(names)}")
    return RaceArms(labels, names, values)


def _name(arm: int, label: Any) -> str:
    """The name of an arm, refused if there is none or if it would be another one in the next run."""
    advice = "give arms as a mapping, {'name': ..., ...}"
    if _is_deep(label):
        raise ValueError(f"arm {arm} holds itself, or is nested more than {MOST_NESTED} levels deep: {advice}")
    if isinstance(label, set | frozenset):
        raise TypeError(f"arm {arm} is a set, whose text changes from run to run: {advice}")
    try:
        name = label_text(label)
    except Exception as error:  # whatever a method of the user's does
        raised = f"{type(label).__name__}.__str__ raises {type(error).__name__}"
        raise ValueError(f"arm {arm} has no name: {raised}; {advice}") from error
    if not name.strip() or label is None:
        raise ValueError(f"every arm must have a name, but arm {arm} is {short_repr(label)}")
    if ADDRESS.search(name) or name == "<lambda>":
        raise ValueError(f"arm {arm} has no name of its own ({short(name)}): {advice}")
    return name


def _is_deep(label: Any) -> bool:
    """Whether something is nested so deeply that no file can hold it; what holds itself has no end."""
    level = [label]
    for _ in range(MOST_NESTED):
        parts = chain.from_iterable(one.values() if isinstance(one, Mapping) else one for one in level if _nests(one))
        level = list({id(part): part for part in parts if _nests(part)}.values())  # once, however often it is held
    return bool(level)


def _nests(part: Any) -> bool:
    return isinstance(part, Mapping | tuple | list)


# --- groups ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """The items of one group; a round of a race evaluates all of them."""

    label: str
    items: tuple[Any, ...]


def group_labels(items: Sequence[Any], groups: Groups) -> list[Hashable]:
    """The label of the group of each item: as the function says, or as they are given."""
    if isinstance(groups, str) or not (callable(groups) or isinstance(groups, Iterable)):
        problem = f"must be a label for each item, or a function of an item, got {short_repr(groups)}"
        raise ParameterTypeError("groups", problem, groups)
    labels = _looked_up(items, groups) if isinstance(groups, Mapping) or callable(groups) else list(groups)
    if len(labels) != len(items):
        raise ParameterError(
            "groups", f"must hold one label for each of the {len(items)} items, got {len(labels)}", groups
        )
    for label in labels:
        if not is_hashable(label) or label is None or str(label) in ("", "nan"):
            problem = f"must be names or numbers, one for each item, got {short_repr(label)}"
            raise ParameterError("groups", problem, label)
    return labels


def _looked_up(items: Sequence[Any], groups: Mapping[Any, Any] | Callable[[Any], Any]) -> list[Any]:
    if not isinstance(groups, Mapping):
        return [groups(item) for item in items]
    for item in items:
        if not is_hashable(item) or item not in groups:
            problem = f"must hold the group of every item, but there is none for {short_repr(item)}"
            raise ParameterError("groups", problem, item)
    return [groups[item] for item in items]


def members(labels: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """The places of the items of each group, groups in the order in which they first come."""
    places: dict[Hashable, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    if len(places) < 2:
        raise ParameterError("groups", f"must name at least two groups, got {len(places)}", list(places))
    return places


# --- items in their order -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Items:
    """The items in the order of the rounds, and what is known about them in advance."""

    kind: Kind
    order: Iterator[Any]
    n_items: int | None = None
    digest: str | None = None
    sizes: tuple[int, ...] | None = None  # of the groups of a pool, in the order of the rounds

    @property
    def n_rounds(self) -> int | None:
        """The number of rounds after which the items are used up; None where they never are."""
        if self.kind != "pool":
            return None
        return self.n_items if self.sizes is None else len(self.sizes)


def items_in_order(
    items: Sequence[Any] | Iterable[Any] | None, seed: int, replace: bool | None = None, groups: Groups | None = None
) -> Items:
    """A sequence is a finite pool in random order, an iterator a stream, None a fresh seed for each round.

    With ``replace`` the items of a sequence are drawn again and again; with ``groups`` a round has a whole group.
    """
    check_seed(seed)
    if replace is not None:
        check_flag("replace", replace)
    is_list = hasattr(items, "__len__")
    if replace and not is_list:
        problem = f"needs a list of items to draw from, got {short_repr(items)}"
        raise ParameterError("replace", problem, replace)
    if groups is not None and (replace or not is_list):
        got = "draws with replacement" if replace else short_repr(items)
        problem = f"are those of a list of items that is used without replacement, got {got}"
        raise ParameterError("groups", problem, groups)
    if items is None:
        return Items("seeds", fresh_seeds(seed))
    no_items = isinstance(items, str | bytes | Mapping | set | frozenset) or hasattr(items, "columns")
    if no_items or not (is_list or isinstance(items, Iterable)):
        problem = f"must be a list or another sequence, or an iterator, got {short_repr(items)}"
        raise ParameterTypeError("items", problem, items)
    if not is_list:
        return Items("stream", iter(items))
    pool = items if isinstance(items, Sequence) else _as_sequence(items)
    if replace:
        return Items("drawn", drawn(pool, seed), len(pool), _fingerprint(pool))
    if len(pool) < 2:
        raise ParameterError("items", f"must hold at least two items, got {len(pool)}", items)
    if groups is not None:
        return _in_groups(pool, groups, seed)
    order = shuffled(len(pool), seed).tolist()
    return Items("pool", (pool[k] for k in order), len(pool), _fingerprint(pool))


def _fingerprint(pool: Sequence[Any]) -> str:
    """The fingerprint of all items; refused if they are not as many as the length of their list says."""
    numbers = count()
    fingerprint = digest(full_text(item) for item, _ in zip(islice(pool, len(pool) + 1), numbers, strict=False))
    if (n_items := next(numbers)) != len(pool):
        found = "more" if n_items > len(pool) else f"{n_items:,}"
        problem = f"must hold as many items as their length says, {len(pool):,}, but there are {found}"
        raise ParameterError("items", problem, pool)
    return fingerprint


def _in_groups(pool: Sequence[Any], groups: Groups, seed: int) -> Items:
    """The groups of a pool in random order."""
    places = members(group_labels(pool, groups))
    parts = [Group(label_text(label), tuple(pool[k] for k in part)) for label, part in places.items()]
    order = [parts[k] for k in shuffled(len(parts), seed).tolist()]
    texts = (full_text(item) for part in parts for item in (part.label, *part.items))
    return Items("pool", iter(order), len(pool), digest(texts), tuple(len(part.items) for part in order))


def _as_sequence(items: Any) -> list[Any]:
    """The items of a collection that is no sequence: an array, or what has only a length and numbered parts."""
    return list(items) if isinstance(items, Iterable) else [items[k] for k in range(len(items))]


def shuffled(n_items: int, seed: int) -> NDArray[np.int64]:
    """The order in which the items of a pool are used."""
    return np.random.default_rng(np.random.SeedSequence(seed)).permutation(n_items)


def drawn(pool: Sequence[Any], seed: int) -> Iterator[Any]:
    """Items drawn again and again, with replacement: independent rounds, as long as they are needed."""
    if not pool:
        raise ParameterError("items", "must hold at least one item, got none", pool)
    luck = random.Random(f"items {seed}")  # noqa: S311 - no secrets here
    return (luck.choice(pool) for _ in count())


# --- fresh seeds -----------------------------------------------------------------------------------------------------


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


# --- items as text, and from files ------------------------------------------------------------------------------------


def full_text(item: Any) -> str:
    """An item as text, the same in every run: JSON where it can be, its repr without addresses where it cannot."""
    if isinstance(item, str):
        return item
    if isinstance(item, Group):
        return item.label
    try:
        return json.dumps(item, sort_keys=True, ensure_ascii=False, default=_not_json)
    except SetError:
        raise
    except RecursionError as error:
        raise ValueError("an item is nested too deeply: give its name or number, and look it up in evaluate") from error
    except (TypeError, ValueError):
        return ADDRESS.sub("", repr(item))


class SetError(BestarmError, TypeError):
    """An item that is a set, or has one in it."""


def _not_json(part: Any) -> Any:
    """Refuse sets: their order changes from run to run, and a race that is continued would not know them again."""
    if isinstance(part, set | frozenset):
        wanted = short(repr(tuple(sorted(part, key=repr))))
        raise SetError(f"an item must not be a set, whose order changes from run to run: give {wanted} instead")
    raise TypeError


def item_text(item: Any) -> str:
    """An item as records and messages hold it."""
    if type(item) is int:  # most often a seed or a row; one per round, and no JSON is needed for it
        return str(item)[:LONGEST_TEXT]
    return storable(full_text(item)[:LONGEST_TEXT])


def digest(texts: Iterable[str]) -> str:
    """One fingerprint of many texts, in their order."""
    fingerprint = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        fingerprint.update(len(encoded).to_bytes(8, "little"))
        fingerprint.update(encoded)
    return fingerprint.hexdigest()


def read_items(path: Path) -> list[str]:
    """The lines of a file, or of standard input, that are not blank: one item per line, all of it.

    At most 2^28 bytes and 10^7 lines are read.
    """
    piped = str(path) == STDIN
    text = read_text(sys.stdin.buffer, "standard input", MOST_BYTES) if piped else read_text_file(path, MOST_BYTES)
    if text.count("\n") + text.count("\r") > MOST_LINES:
        raise ValueError(f"{file_name(path)} must hold at most {MOST_LINES:,} lines, one per item")
    lines = [line for line in lines_of(text) if line.strip()]
    _warn_of_repeated(lines, "standard input" if piped else file_name(path))
    if not lines and piped:
        raise ValueError("there are no items on standard input: pipe them in, one per line (to resume, the same ones)")
    return lines


def _warn_of_repeated(lines: list[str], where: str) -> None:
    """Say that items are listed more than once: that is allowed, and perhaps not meant."""
    if len(lines) > MOST_COMPARED or (more := len(lines) - len(set(lines))) == 0:
        return
    first = short(str(first_repeated(lines)))
    warn_of_assumption(
        f"{where} repeats {with_noun(more, 'item')} (the first: {first!r}): each counts as often as it is listed, so "
        "list it once unless that is meant",
        in_result=False,
    )
