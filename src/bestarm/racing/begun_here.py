"""Which races this user has begun on this machine: `bestarm resume` runs what their files name without asking.

The file of such a race holds a random name, and a list in the user's own folder a fingerprint of that name with
what the race runs. Who copies the name into another file, or changes what is run, has another fingerprint.
"""

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ID = "id"  # of the setting that holds the name
LIST = "races-begun"  # one fingerprint a line


def state_folder() -> Path:
    """Where programs of this user keep what they know from one run to the next."""
    home, given = Path.home(), os.environ.get("XDG_STATE_HOME", "")
    if Path(given).is_absolute():
        return Path(given, "bestarm")
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local", "bestarm")
    return home / ("Library/Application Support" if sys.platform == "darwin" else ".local/state") / "bestarm"


def named(settings: Mapping[str, Any], arms: Sequence[str]) -> dict[str, Any]:
    """The settings of a new race; if it runs what its file names, with a name that is known here from now on."""
    if "kind" not in (settings.get("source") or {}):
        return dict(settings)
    begun = {**settings, ID: secrets.token_hex(16)}
    _remember(_fingerprint(begun, arms))
    return begun


def _fingerprint(settings: Mapping[str, Any], arms: Sequence[str]) -> str:
    told = json.dumps([settings[ID], settings["source"], settings.get("items_digest"), list(arms)], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()


def _remember(fingerprint: str) -> None:
    """Add a line to the list. Where that cannot be done the race goes on all the same, and `resume` will ask."""
    try:
        folder = state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(folder / LIST, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(file, "a", encoding="ascii") as known:
            known.write(f"{fingerprint}\n")
    except (OSError, RuntimeError):  # a home that cannot be written, or no home at all
        return


def was_begun_here(settings: Mapping[str, Any], arms: Sequence[str]) -> bool:
    """Whether this user has begun the race on this machine, and it would run what it ran then."""
    if not isinstance(settings.get(ID), str):
        return False
    try:
        known = (state_folder() / LIST).read_text(encoding="ascii").split()
    except (OSError, ValueError, RuntimeError):
        return False
    return _fingerprint(settings, arms) in known
