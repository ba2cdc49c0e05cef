"""Text from outside: files and standard input, read in pieces so that what is no text is refused at once."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bestarm.shown import file_name, naming

BLOCK = 2**20  # bytes that are read at a time


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
    content = b"".join(_blocks(file, name, most))
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} must be a text file in UTF-8: {error}") from error


def _blocks(file: BinaryIO, name: str, most: int | None) -> Iterator[bytes]:
    size = 0
    while block := file.read(BLOCK):
        size += len(block)
        if b"\0" in block:
            raise ValueError(f"{name} must be a text file in UTF-8: it holds NUL bytes, as UTF-16 and binary files do")
        if most is not None and size > most:
            raise ValueError(f"{name} must hold at most {most:,} bytes")
        yield block


def lines_of(text: str) -> list[str]:
    r"""The lines of a text, which end with ``\n``, ``\r\n`` or ``\r`` and nothing else.

    `str.splitlines` would also end them at form feeds and other marks that are part of a line.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
