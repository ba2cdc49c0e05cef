"""Items that belong together: of one document, template or author. They are not independent of each other."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bestarm.inputs.texts import hashable, label_text
from bestarm.shown import described

Groups = Callable[[Any], Any] | Mapping[Any, Any] | Iterable[Any]


@dataclass(frozen=True)
class Group:
    """The items of one group; a round of a race evaluates all of them."""

    label: str
    items: tuple[Any, ...]


def group_labels(items: Sequence[Any], groups: Groups) -> list[Hashable]:
    """The label of the group of each item: as the function says, or as they are given."""
    if isinstance(groups, str) or not (callable(groups) or isinstance(groups, Iterable)):
        raise TypeError(f"groups must be a label for each item, or a function of an item, got {described(groups)}")
    labels = _looked_up(items, groups) if isinstance(groups, Mapping) or callable(groups) else list(groups)
    if len(labels) != len(items):
        raise ValueError(f"groups must hold one label for each of the {len(items)} items, got {len(labels)}")
    for label in labels:
        if not hashable(label) or label is None or str(label) in ("", "nan"):
            raise ValueError(f"groups must be names or numbers, one for each item, got {described(label)}")
    return labels


def _looked_up(items: Sequence[Any], groups: Mapping[Any, Any] | Callable[[Any], Any]) -> list[Any]:
    if not isinstance(groups, Mapping):
        return [groups(item) for item in items]
    for item in items:
        if not hashable(item) or item not in groups:
            raise ValueError(f"groups must hold the group of every item, but there is none for {described(item)}")
    return [groups[item] for item in items]


def members(labels: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """The places of the items of each group, groups in the order in which they first come."""
    places: dict[Hashable, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    if len(places) < 2:
        raise ValueError(f"groups must name at least two groups, got {len(places)}")
    return places


def grouped_items(items: Sequence[Any], groups: Groups) -> list[Group]:
    """The items as groups."""
    places = members(group_labels(items, groups))
    return [Group(label_text(label), tuple(items[k] for k in part)) for label, part in places.items()]
