"""Settings as plain values, for JSON and files, and back."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from bestarm import algorithms, comparisons
from bestarm.inputs.texts import label_text, name_of, short
from bestarm.shown import described

FORMAT = 1  # of the settings in a store, and of all JSON that is printed
# Settings that had another name in files of earlier versions, by the class that they are settings of.
FORMER_NAMES = {
    "RaceSettings": {"max_queries": "max_evaluations", "in_flight": "rounds_in_flight"},
    "StudentMixture": {"first_rounds": "min_rounds"},
    "KimNelson": {"first_rounds": "min_rounds"},
}
# Settings that earlier versions did not have: what they did is another value than the present default.
FORMER_DEFAULTS: dict[str, dict[str, Any]] = {"Betting": {"reserve": 0.0}, "Portfolio": {"reserve": 0.0}}


def renamed(kind: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a file by their present names; where a file has both, the present one counts."""
    former = FORMER_NAMES.get(kind, {})
    return {former[name]: value for name, value in plain.items() if name in former} | {
        name: value for name, value in plain.items() if name not in former
    }


def former_defaults(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What settings that are missing in a file meant when it was written, where that is not the present default."""
    former = {} if plain.get("own") else FORMER_DEFAULTS.get(plain.get("type", ""), {})
    return {name: value for name, value in former.items() if name not in plain}


def as_written(value: Any, plain: Any) -> Any:
    """Present settings as the file of a race means them that is to go on: former defaults in place of present ones.

    Only where the file has no such setting, and none was given now.
    """
    if not is_dataclass(value) or isinstance(value, type) or not isinstance(plain, Mapping):
        return value
    former, parts = former_defaults(plain), {field.name: field for field in fields(value) if field.init}
    changed = {name: as_written(getattr(value, name), plain.get(name)) for name in parts} | {
        name: was for name, was in former.items() if name in parts and getattr(value, name) == parts[name].default
    }
    changed = {name: part for name, part in changed.items() if part is not getattr(value, name)}
    return replace(value, **changed) if changed else value


def encode(value: Any) -> Any:
    """Frozen settings as plain values; their class under ``type``."""
    if is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: encode(getattr(value, field.name)) for field in fields(value) if field.init}
        return _kind(value) | inner
    if isinstance(value, np.ndarray | tuple | list):
        return [encode(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | None) else _kind(value)


def not_plain(value: Any) -> str | None:
    """What in some settings cannot be kept in a file, or None: races with different settings must not look the same."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f"{type(value).__name__}.{field.name}": getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, np.ndarray | tuple | list):
        parts = {f"part {k}": part for k, part in enumerate(value)}
    else:
        return None if isinstance(value, str | int | float | np.generic | None) else f"it is {described(value)}"
    for name, part in parts.items():
        if (what := not_plain(part)) is not None:
            return f"{name}: {what}"
    return None


def _kind(value: Any) -> dict[str, Any]:
    """The class of a value; a user's own may have the same name as one of bestarm's."""
    own = {} if type(value).__module__.startswith("bestarm.") else {"own": True}
    return {"type": type(value).__name__} | own


def decode(plain: Any) -> Any:
    """The inverse of `encode` for the algorithms and comparisons of bestarm; what is missing has its default."""
    if isinstance(plain, list):
        return tuple(decode(part) for part in plain)
    if not isinstance(plain, dict):
        return plain
    name = plain.get("type")
    known = {
        kind: getattr(module, kind)
        for module, method in ((algorithms, "start"), (comparisons, "evidence"))
        for kind in module.__all__
        if is_dataclass(getattr(module, kind)) and hasattr(getattr(module, kind), method)
    }
    if not isinstance(name, str) or name not in known or plain.get("own"):
        what = f"the algorithm of this race, {short(name_of(name))}, is not one of bestarm's own"
        raise ValueError(f"{what}: continue the race from Python")
    given = former_defaults(plain) | renamed(name, plain)
    return known[name](**{inner: decode(part) for inner, part in given.items() if inner != "type"})


def up_to_date(plain: Any) -> Any:
    """Plain settings as this version writes them: present names, and a default for what is missing.

    A user's own settings stay as they are, but for the settings of bestarm within them.
    """
    if isinstance(plain, list):
        return [up_to_date(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    present = {name: up_to_date(part) for name, part in renamed(plain["type"], plain).items()}
    return present if _has_own(present) else encode(decode(present))


def _has_own(plain: Any) -> bool:
    """Whether settings of a user are among these."""
    if isinstance(plain, list):
        return any(map(_has_own, plain))
    return isinstance(plain, dict) and ("own" in plain or any(map(_has_own, plain.values())))


def flat(plain: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Settings within settings, each with the way to it."""
    for name, value in plain.items():
        where = (*path, name)
        if isinstance(value, Mapping):
            yield where, value.get("type")
            yield from flat({inner: part for inner, part in value.items() if inner not in ("type", "own")}, where)
        else:
            yield where, value


def jsonable(value: Any) -> Any:
    """Plain values: text for what JSON does not know, null for what is not a finite number."""
    if isinstance(value, Mapping):
        return {label_text(name): jsonable(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [jsonable(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else label_text(value)
