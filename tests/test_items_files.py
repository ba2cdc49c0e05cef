"""Files of items: one item per line, and a line ends where everybody sees it end."""

import io
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bestarm import AssumptionWarning
from bestarm.sources import items
from bestarm.sources.items import read_items

MARKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"  # where str.splitlines would end a line too


def write(folder: Path, content: bytes) -> Path:
    path = folder / "items.txt"
    path.write_bytes(content)
    return path


def pipe_in(content: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    return Path("-")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_on_every_system_and_nowhere_else(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ["first", *(f"a{mark}b" for mark in MARKS), "  kept  ", "last\ufeff"]
    content = ("\ufeff" + end.join([*expected[:2], "", " \t", *expected[2:]])).encode()
    assert read_items(write(tmp_path, content)) == expected
    assert read_items(write(tmp_path, content + end.encode())) == expected
    assert read_items(pipe_in(content, monkeypatch)) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\0c\n", "must be a text file in UTF-8: it holds NUL bytes"),
        ("a\nb\n".encode("utf-16"), "must be a text file in UTF-8: it holds NUL bytes"),
        (b"caf\xe9\n", "must be a text file in UTF-8: 'utf-8' codec can't decode byte 0xe9"),
    ],
)
def test_what_is_no_text(content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in (write(tmp_path, content), pipe_in(content, monkeypatch)):
        with pytest.raises(ValueError, match=re.escape(message)):
            read_items(path)


def test_sizes_are_checked_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items, "MOST_BYTES", 100)
    monkeypatch.setattr(items, "MOST_LINES", 10)
    assert len(read_items(write(tmp_path, b"\n".join(b"%d" % k for k in range(10)) + b"\n"))) == 10
    for path in (write(tmp_path, b"x\n" * 11), pipe_in(b"x\r" * 11, monkeypatch)):
        with pytest.raises(ValueError, match="must hold at most 10 lines, one per item"):
            read_items(path)
    for path in (write(tmp_path, b"x" * 101), pipe_in(b"x" * 101, monkeypatch)):
        with pytest.raises(ValueError, match="must hold at most 100 bytes"):
            read_items(path)


def test_what_never_ends_is_refused_at_once(tmp_path: Path) -> None:
    no_file = "is a pipe, a socket or a device: give the path of a file"
    paths = {tmp_path: "is a folder: give the path of a file"}
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        paths |= {tmp_path / "pipe": no_file, Path("/dev/zero"): no_file}
    for path, message in paths.items():
        with pytest.raises(ValueError, match=f"^{path} {message}$"):
            read_items(path)


def test_items_that_are_repeated_are_kept_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = r"repeats 2 items \(the first: 'b'\): each counts as often as it is listed, so list it once"
    for path in (write(tmp_path, b"a\nb\nb\nc\n\na\n"), pipe_in(b"a\nb\nb\nc\n\na\n", monkeypatch)):
        with pytest.warns(AssumptionWarning, match=said):
            assert read_items(path) == ["a", "b", "b", "c", "a"]


def test_a_file_that_is_not_there_is_named_and_what_to_do(tmp_path: Path) -> None:
    for path in (tmp_path / "absent", write(tmp_path, b"x") / "below a file"):
        with pytest.raises(ValueError, match=f"^there is no file {path}: check its name and its folder$"):
            read_items(path)


def test_an_empty_file_has_no_items_and_empty_input_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_items(write(tmp_path, b"\xef\xbb\xbf\n \n")) == []
    with pytest.raises(ValueError, match="there are no items on standard input: pipe them in, one per line"):
        read_items(pipe_in(b"\n", monkeypatch))
