"""Files that are written whole or not at all: a full disk or a kill leaves what was there before."""

import errno
import os
import secrets
from pathlib import Path

from bestarm.shown import naming

STANDARD_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd")


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file beside its place, then move it there; a link stays a link, and permissions stay as they were.

    A stream is written to directly, and so is a file in a folder that takes no new ones. An error names the path given.
    """
    try:
        _write_whole(Path(path), data)
    except OSError as error:
        raise naming(error, path) from error


def _write_whole(path: Path, data: bytes) -> None:
    if is_stream(path):
        _write(path, data, "ab")
        return
    place = path.resolve()
    if place.exists() and not os.access(place, os.W_OK):  # moving another file there would not ask
        raise PermissionError(errno.EACCES, "the file is read-only", str(path))
    beside = place.parent / f".bestarm-{secrets.token_hex(8)}.tmp"
    try:
        _write(beside, data, "xb")
        if place.exists():
            beside.chmod(place.stat().st_mode & 0o7777)
        beside.replace(place)
    except PermissionError:
        _write(place, data, "wb")
    finally:
        beside.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all; what is no character is escaped."""
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def is_stream(path: Path) -> bool:
    """Whether a path is something that is written to as it comes: a pipe, a terminal, ``/dev/stdout``."""
    return path.is_char_device() or path.is_fifo() or any(path.is_relative_to(known) for known in STANDARD_STREAMS)


def _write(path: Path, data: bytes, mode: str) -> None:
    with path.open(mode) as file:
        file.write(data)
        file.flush()
        if path.is_file():
            os.fsync(file.fileno())
