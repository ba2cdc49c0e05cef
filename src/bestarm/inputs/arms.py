"""The arms of a race: numbers inside, labels at the edge."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from bestarm.inputs.texts import first_names, label_text, repeated, short
from bestarm.shown import described

MOST_NESTED = 100  # levels of lists in lists
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


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
        raise ValueError(f"there is no arm {described(label)}: the arms are {first_names(self.names)}")


def race_arms(arms: Mapping[str, Any] | Iterable[Any]) -> RaceArms:
    """The arms of a race, from a sequence, or from a mapping of names to what `evaluate` is given."""
    if isinstance(arms, str | bytes | set | frozenset) or not isinstance(arms, Iterable):
        kinds = "a sequence, or a mapping of names to what evaluate is given"
        raise TypeError(f"arms must be {kinds}, got {described(arms)}")
    labels = tuple(arms)
    values = tuple(arms.values()) if isinstance(arms, Mapping) else labels
    for arm, label in enumerate(labels):
        if _is_deep(label):
            raise ValueError(
                f"arm {arm} holds itself, or is nested more than {MOST_NESTED} levels deep: give arms as a mapping, "
                "{'name': ..., ...}"
            )
    names = tuple(_name(arm, label) for arm, label in enumerate(labels))
    for arm, name in enumerate(names):
        if not name.strip() or labels[arm] is None:
            raise ValueError(f"every arm must have a name, but arm {arm} is {described(labels[arm])}")
        if isinstance(labels[arm], set | frozenset):
            raise TypeError(
                f"arm {arm} is a set, whose text changes from run to run: give arms as a mapping, {{'name': ..., ...}}"
            )
        if ADDRESS.search(name) or name == "<lambda>":
            raise ValueError(
                f"arm {arm} has no name of its own ({short(name)}): give arms as a mapping, {{'name': ..., ...}}"
            )
    twice = repeated(names)
    if twice is not None:
        raise ValueError(f"arms must have different names, but {short(twice)!r} appears more than once")
    if len(names) < 2:
        raise ValueError(f"there must be at least two arms to compare, got {len(names)}")
    return RaceArms(labels, names, values)


def _is_deep(label: Any) -> bool:
    """Whether something is nested so deeply that no file can hold it; what holds itself has no end."""
    level = [label]
    for _ in range(MOST_NESTED):
        parts = chain.from_iterable(one.values() if isinstance(one, Mapping) else one for one in level if _nests(one))
        level = list({id(part): part for part in parts if _nests(part)}.values())  # once, however often it is held
    return bool(level)


def _nests(part: Any) -> bool:
    return isinstance(part, Mapping | tuple | list)


def _name(arm: int, label: Any) -> str:
    try:
        return label_text(label)
    except Exception as error:  # whatever a method of the user's does
        raise ValueError(
            f"arm {arm} has no name: {type(label).__name__}.__str__ raises {type(error).__name__}; give arms as a "
            "mapping, {'name': ..., ...}"
        ) from error
