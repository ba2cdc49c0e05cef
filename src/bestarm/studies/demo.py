"""The demo: eight compressors on the source files of Python's standard library. Nothing to download."""

import bz2
import lzma
import sysconfig
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "zlib-1": partial(zlib.compress, level=1),
    "zlib-6": partial(zlib.compress, level=6),
    "zlib-9": partial(zlib.compress, level=9),
    "bz2-1": partial(bz2.compress, compresslevel=1),
    "bz2-9": partial(bz2.compress, compresslevel=9),
    "lzma-0": partial(lzma.compress, preset=0),
    "lzma-6": partial(lzma.compress, preset=6),
    "lzma-9": partial(lzma.compress, preset=9),
}
EPSILON = 0.002  # share of bytes: less is not worth knowing


def library() -> Path:
    """Where the standard library is."""
    return Path(sysconfig.get_path("stdlib"))


def source_files() -> list[str]:
    """Its source files that are not empty, relative to it, in a fixed order."""
    root = library()
    files = (path.relative_to(root) for path in root.rglob("*.py") if path.stat().st_size > 0)
    return sorted(path.as_posix() for path in files if not {"site-packages", "dist-packages"} & set(path.parts))


def bytes_saved(compressor: str, file: str) -> float:
    """The share of the bytes of a file that a compressor saves; 0 where it grows."""
    data = (library() / file).read_bytes()
    return max(0.0, 1.0 - len(COMPRESSORS[compressor](data)) / len(data))
