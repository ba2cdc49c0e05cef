"""Text files: read, and written whole or not at all."""

import errno
import os
import secrets
import stat
from pathlib import Path
from typing import BinaryIO

from bestarm.text import file_name, naming

MOST_CELLS = 10**7
PER_PART = 10  # cells for each part of a file, where that is more


def check_size(rows: int, columns: int, parts: int, what: str) -> None:
    """Refuse a table that is far larger than what it is made from: ``parts`` of a file, such as its scores or bytes."""
    if rows * columns > max(MOST_CELLS, PER_PART * parts):
        raise ValueError(
            f"{rows:,} rows and {columns:,} columns from {parts:,} {what} are too many: a table may have "
            f"{MOST_CELLS:,} cells, or {PER_PART} for each of the {what} if that is more"
        )


def check_is_file(path: Path) -> None:
    """Refuse what is no file of its own: a pipe or a device may never end."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(f"there is no file {file_name(path)}: check its name and its folder") from error
    except OSError as error:
        raise naming(error, path) from error
    if stat.S_ISDIR(mode):
        raise ValueError(f"{file_name(path)} is a folder: give the path of a file")
    if not stat.S_ISREG(mode):
        raise ValueError(f"{file_name(path)} is a pipe, a socket or a device: give the path of a file")


def read_text_file(path: Path, most: int | None = None) -> str:
    """The text of a file in UTF-8, without a byte order mark; with ``most``, of at most that many bytes."""
    check_is_file(path)
    try:
        with path.open("rb") as file:
            return read_text(file, file_name(path), most)
    except OSError as error:
        raise naming(error, path) from error


def read_text(file: BinaryIO, name: str, most: int | None = None) -> str:
    """The text of what is open; ``name`` is what messages call it."""
    content = file.read() if most is None else file.read(most + 1)
    if b"\0" in content:
        raise ValueError(f"{name} must be a text file in UTF-8: it holds NUL bytes, as UTF-16 and binary files do")
    if most is not None and len(content) > most:
        raise ValueError(f"{name} must hold at most {most:,} bytes")
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} must be a text file in UTF-8: {error}") from error


def lines_of(text: str) -> list[str]:
    r"""The lines of a text, which end with ``\n``, ``\r\n`` or ``\r`` and nothing else.

    `str.splitlines` would also end them at form feeds and other marks that are part of a line.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


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
