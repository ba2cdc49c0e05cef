"""Files that a command writes: never over what it reads, and over other files only if bestarm made them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestarm.shown import file_name
from bestarm.writing import is_stream

BEGINNING = END = 4096  # bytes that tell what a file is
BESIDE_A_STORE = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True)
class Kind:
    """A kind of file: what messages call it, and how its first and its last bytes tell that bestarm made it."""

    name: str
    made_here: Callable[[bytes, bytes], bool]


PAGE = Kind(
    "page",
    lambda begins, ends: (
        begins.startswith(b"<!doctype html>")
        and (b'<meta name="generator" content="bestarm ' in begins or b"<footer>Made by bestarm " in ends)
    ),
)
PICTURE = Kind("picture", lambda begins, ends: begins.startswith(b"\x89PNG") and b"Software\0bestarm " in begins)


def table_of(headings: Sequence[str]) -> Kind:
    """A table with these headings."""
    first = ",".join(headings).encode()
    return Kind("table", lambda begins, ends: begins.splitlines()[:1] == [first])


@dataclass(frozen=True)
class WantedFile:
    """A file that a command is to write: where, of which kind, over which files never, and whether over any other."""

    path: Path
    kind: Kind
    inputs: Sequence[Path] = ()
    overwrite: bool = False

    def check(self) -> None:
        """Refuse a file that cannot be written, or must not be: before a race is run for it, and when it is written."""
        path, kind, called = self.path, self.kind.name, file_name(self.path)
        if is_stream(path):
            return
        if path.is_dir() or not path.parent.is_dir():
            what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise ValueError(f"the {kind} cannot be written to {called}: it {what}")
        if any(_same(path, source) for source in self.inputs):
            raise ValueError(f"{called} is what this command reads or keeps: give the {kind} another name")
        if not path.exists() or (path.is_file() and path.stat().st_size == 0):
            return
        if not path.is_file():
            raise ValueError(f"the {kind} cannot be written to {called}: it is no file")
        if not self.overwrite and not _made_here(path, self.kind):
            raise ValueError(
                f"{called} exists and does not look like a {kind} of bestarm: give the {kind} another name, or replace "
                "the file with --overwrite"
            )


def wanted_page(path: Path | None, inputs: Sequence[Path], overwrite: bool) -> WantedFile | None:
    """The page that a race is to have, if it is to have one; refused if it cannot be written or must not be."""
    if path is None:
        return None
    page = WantedFile(path, PAGE, inputs, overwrite)
    page.check()
    return page


def _made_here(path: Path, kind: Kind) -> bool:
    with path.open("rb") as file:
        begins = file.read(BEGINNING)
        file.seek(max(0, path.stat().st_size - END))
        return kind.made_here(begins, file.read(END))


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def files_of_store(store: Path | None) -> list[Path]:
    """A race, and what SQLite keeps beside it."""
    return [] if store is None else [Path(f"{store}{ending}") for ending in BESIDE_A_STORE]


def files_read(origin: Mapping[str, Any], arms: Sequence[str]) -> list[Path]:
    """The files that a race reads: its items, the code of its function, the programs and what they are given."""
    folder, items, function = (origin.get(name) for name in ("folder", "items", "function"))
    named = [items] if isinstance(items, str) else []
    if isinstance(function, str):
        module = "/".join(function.partition(":")[0].split("."))
        named += [f"{module}.py", f"{module}/__init__.py"]
    if origin.get("kind") == "commands":
        named += [word for arm in arms for word in arm.split()]
    files = [Path(folder, name) if isinstance(folder, str) else Path(name) for name in named]
    return [file for file in files if _is_file(file)]


def _is_file(path: Path) -> bool:
    """Whether there is such a file; words of commands need not be names that a file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
