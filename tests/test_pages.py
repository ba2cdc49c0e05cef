"""A large file is read out of its pages: it must hold the same as row by row, whatever is in it and whoever made it."""

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from bestarm import Race
from bestarm.kernels import pages as kernels
from bestarm.record import sqlite as sqlite_pages
from bestarm.record import sqlite as sqlite_rows
from bestarm.record.record import Record
from bestarm.record.sqlite import SCHEMA, read_store

ITEMS = ("", "a", "item", "Zoë", "日本語", "𝄞", "x" * 200, "é" * 150)


@pytest.fixture(autouse=True)
def _every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_pages, "LARGE", 0)


def write(path: Path, rounds: Any, scores: Any, page_size: int = 4096, encoding: str = "UTF-8") -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA page_size={page_size}")
        connection.execute(f"PRAGMA encoding='{encoding}'")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.executemany("INSERT INTO rounds VALUES (?, ?, ?)", rounds)
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?, ?)", scores)
    return path


def both_ways(path: Path, n_arms: int, size: int | None = None) -> tuple[Record | None, Record | str]:
    """The record out of the pages, None if they leave it to SQLite, and that by rows, or why there is none."""
    size = path.stat().st_size if size is None else size
    with closing(sqlite3.connect(path)) as connection:
        found = sqlite_pages.columns_of(connection, size)
        by_pages = None if found is None else sqlite_rows.read_record(connection, n_arms, 3, size)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite_rows, "columns_of", lambda *_: None)
            try:
                by_rows: Record | str = sqlite_rows.read_record(connection, n_arms, 3, size)
            except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
                by_rows = str(error)
    return by_pages, by_rows


def some_score(luck: random.Random) -> float | int | None:
    """Scores of all sizes that a file has for them: whole ones take fewer bytes there."""
    whole = luck.choice([0, 1, -1, 100, -200, 30_000, 10**6, -(10**9), 10**12, -(10**15), 2**53])
    return luck.choice([luck.random(), luck.gauss(0, 1e-300), -1e300, float(whole), None])


@pytest.mark.parametrize("page_size", [512, 1024, 4096, 65536])
@pytest.mark.parametrize("failures", [0.0, 0.2])
def test_pages_hold_what_the_rows_hold(page_size: int, failures: float, tmp_path: Path) -> None:
    luck = random.Random(page_size)  # noqa: S311 - no secrets here
    numbers = [number for number in range(1, 700) if number % 301]  # two rounds were in flight
    rounds = [(number, luck.choice(ITEMS if page_size > 512 else ITEMS[:6]), 200) for number in numbers]
    scores: list[Any] = []
    for number in numbers:
        for arm in sorted(luck.sample(range(200), luck.randrange(5))):
            score = some_score(luck) if failures else luck.random()
            text = "x" * luck.choice([1, 50, 500, 9000, 70_000]) if luck.random() < failures else None
            scores.append((number, arm, score, text))
    by_pages, by_rows = both_ways(write(tmp_path / "race.sqlite", rounds, scores, page_size), 200)
    assert by_pages == by_rows
    assert isinstance(by_pages, Record)
    assert by_pages.n_rounds == 699
    assert (len(by_pages.failures) > 0) == (failures > 0.0)


def test_trees_of_any_depth_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rounds = [(number, "x" * 100, 3) for number in range(1, 4001)]
    scores = [(number, arm, float(rng.random()), None) for number in range(1, 4001) for arm in range(3)]
    for n in (0, 1, 30, 4000):
        path = tmp_path / f"{n}.sqlite"
        by_pages, by_rows = both_ways(write(path, rounds[:n], scores[: 3 * n], page_size=512), 3)
        assert by_pages == by_rows
        assert isinstance(by_pages, Record)
        assert by_pages.n_rounds == n


ROUND, SCORE = (1, "item", 2), (1, 0, 0.5, None)


@pytest.mark.parametrize(
    ("rounds", "scores", "encoding"),
    [
        ([ROUND], [SCORE], "UTF-16le"),
        ([(1, b"item", 2)], [SCORE], "UTF-8"),
        ([(1, "item", "two")], [SCORE], "UTF-8"),
        ([(1, "item", 2.5)], [SCORE], "UTF-8"),
        ([(1, "item", -1)], [SCORE], "UTF-8"),
        ([(1, "item", 2**31)], [SCORE], "UTF-8"),
        ([(1, "x" * 5000, 2)], [SCORE], "UTF-8"),
        ([ROUND], [("1st", 0, 0.5, None)], "UTF-8"),
        ([ROUND], [(1.5, 0, 0.5, None)], "UTF-8"),
        ([ROUND], [(1, b"0", 0.5, None)], "UTF-8"),
        ([ROUND], [(1, -(2**63), 0.5, None)], "UTF-8"),
        ([ROUND], [(1, 2**31, 0.5, None)], "UTF-8"),
        ([ROUND], [(1, 0, "half", None)], "UTF-8"),
        ([ROUND], [(1, 0, float("inf"), None)], "UTF-8"),
        ([ROUND], [(1, 0, 0.5, b"failure")], "UTF-8"),
    ],
)
def test_what_no_race_writes_is_left_to_sqlite(rounds: Any, scores: Any, encoding: str, tmp_path: Path) -> None:
    by_pages, _ = both_ways(write(tmp_path / "race.sqlite", rounds, scores, encoding=encoding), 2)
    assert by_pages is None


def overwritten(path: Path, before: bytes, after: bytes) -> Path:
    data = path.read_bytes()
    assert data.count(before) == 1
    assert len(before) == len(after)
    path.write_bytes(data.replace(before, after))
    return path


def test_items_that_are_no_text_are_left_to_sqlite(tmp_path: Path) -> None:
    for name, bad in (("cut", "Zoë".encode()[:4] + b"\xc3"), ("split", b"aa\xc3\xab\xab"), ("joined", b"first\xc3")):
        rounds = [(1, "first!", 2), (2, "+second", 2)] if name == "joined" else [(1, "12345", 2)]
        path = write(tmp_path / name, rounds, [(1, 0, 0.5, None)])
        good = b"first!" if name == "joined" else b"12345"
        assert both_ways(overwritten(path, good, bad), 2)[0] is None
    halves = write(tmp_path / "halves", [(1, "first1", 2), (2, "2second", 2)], [(1, 0, 0.5, None)])
    overwritten(overwritten(halves, b"first1", b"first\xc3"), b"2second", b"\xabsecond")  # a text only if joined
    assert both_ways(halves, 2)[0] is None


def test_a_score_that_is_not_a_number_is_left_to_sqlite(tmp_path: Path) -> None:
    path = write(tmp_path / "race.sqlite", [ROUND], [(1, 0, 0.123, None)])
    bits = np.array([0.123, np.nan], dtype=">f8").tobytes()
    assert both_ways(overwritten(path, bits[:8], bits[8:]), 2)[0] is None


def test_rows_out_of_their_order_are_left_to_sqlite(tmp_path: Path) -> None:
    rows = [(1, 1, 0.25, None), (1, 2, 0.5, None), (1, 3, 0.75, None)]
    path = write(tmp_path / "race.sqlite", [(1, "item", 4)], rows)
    assert both_ways(path, 9)[0] is not None
    half = np.array([0.5], dtype=">f8").tobytes()
    assert both_ways(overwritten(path, b"\2" + half, b"\5" + half), 9)[0] is None  # arm 2 becomes arm 5


# --- races ------------------------------------------------------------------------------------------------------------


def tell_rounds(race: Race[Any], n_rounds: int) -> None:
    for _ in range(n_rounds):
        for todo in race.ask():
            race.tell(todo, {arm: (todo.number * 7 + arm * 3) % 11 / 11 for arm in todo.arms})


def test_what_is_in_the_log_is_read_too(tmp_path: Path) -> None:
    with Race(range(3), store=tmp_path / "race.sqlite", bounds=(0, 1)) as race:
        tell_rounds(race, 200)
        shutil.copytree(tmp_path, tmp_path / "copy")
        log = (tmp_path / "race.sqlite-wal").stat().st_size
        assert log > 10 * (tmp_path / "race.sqlite").stat().st_size
    assert read_store(tmp_path / "copy" / "race.sqlite").record == read_store(tmp_path / "race.sqlite").record
    with Race(range(3), store=tmp_path / "copy" / "race.sqlite", bounds=(0, 1)) as race:
        assert race.result().n_rounds == 200


def test_small_files_are_read_by_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_pages, "LARGE", 2**20)
    by_pages, by_rows = both_ways(write(tmp_path / "race.sqlite", [ROUND], [SCORE]), 2)
    assert by_pages is None
    assert isinstance(by_rows, Record)


def test_a_file_that_says_to_be_larger_than_it_is_is_left_to_sqlite(tmp_path: Path) -> None:
    path = write(tmp_path / "race.sqlite", [ROUND], [SCORE])
    assert both_ways(path, 2)[0] is not None
    assert both_ways(path, 2, size=path.stat().st_size - 1)[0] is None


# --- hostile pages ----------------------------------------------------------------------------------------------------


def checked(kernel: Any) -> Any:
    """The same kernel, which raises IndexError where it would read or write beyond an array."""
    return kernel if not hasattr(kernel, "py_func") else numba.njit(boundscheck=True)(kernel.py_func)


CHECKED = {name: checked(getattr(kernels, name)) for name in ("cells_in_order", "read_scores", "read_rounds", "join")}


@pytest.fixture(name="_checked")
def _with_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kernel in CHECKED.items():
        monkeypatch.setattr(kernels, name, kernel)


@pytest.mark.usefixtures("_checked")
@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_damage_pages_hold_what_the_rows_hold(seed: int, tmp_path: Path) -> None:
    luck, path, same = random.Random(seed), tmp_path / "race.sqlite", 0  # noqa: S311 - no secrets here
    rounds = [(number, luck.choice(ITEMS), 3) for number in range(1, 60)]
    scores = [
        (number, arm, some_score(luck), luck.choice([None, "x", "x" * 900]))
        for number, _, _ in rounds
        for arm in range(3)
    ]
    whole = write(path, rounds, scores, page_size=512).read_bytes()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(luck.choice([1, 1, 2, 20])):
            data[luck.randrange(100, len(data))] = luck.choice([0, 1, 2, 5, 10, 13, 127, 255, luck.randrange(256)])
        path.write_bytes(data)
        same += _the_same_or_refused(path)
    assert same > 50


def _the_same_or_refused(path: Path) -> bool:
    """Whether the pages were read though they were damaged; then the rows must be the same."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            found = sqlite_pages.columns_of(connection, path.stat().st_size)
        if not sound or found is None:
            return False
        by_pages, by_rows = both_ways(path, 3)
    except (sqlite3.Error, KeyError, ValueError):  # SQLite itself cannot read the beginning
        return False
    assert by_pages == by_rows
    return True


def test_a_row_that_goes_on_in_another_page_is_left_to_sqlite_wherever_it_begins(tmp_path: Path) -> None:
    """One that would fit before the end of its page, but that SQLite continues elsewhere."""
    size, longest = 4096, 4096 - 35
    path = write(tmp_path / "race.sqlite", [(1, "s" * (longest - 5), 3)], [], size)
    with closing(sqlite3.connect(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'rounds'").fetchone()
    content = bytearray(path.read_bytes())
    page = content[(root - 1) * size : root * size]
    cell = int.from_bytes(page[8:10])
    kept = (
        3 + (size - 12) * 32 // 255 - 23 + 4
    )  # sizes and number, what is here of the row, the page that it goes on in
    moved = bytearray(b"\x0d\0\0\0\1\0\x0a\0\0\x0a") + page[cell : cell + kept]
    moved[1:3] = len(moved).to_bytes(2)  # the rest of the page is free
    content[(root - 1) * size : root * size] = (moved + b"\0\0" + (size - len(moved)).to_bytes(2)).ljust(size, b"K")
    path.write_bytes(content)
    assert both_ways(path, 3)[0] is None


def test_a_root_that_is_no_number_is_left_to_sqlite(tmp_path: Path) -> None:
    path = write(tmp_path / "race.sqlite", [(1, "a", 1)], [(1, 0, 0.5, None)])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(
            "UPDATE sqlite_master SET rootpage = CAST(CAST(rootpage AS TEXT) AS BLOB) WHERE name = 'rounds'"
        )
    assert both_ways(path, 1)[0] is None


def test_a_row_behind_the_end_of_its_page_is_none() -> None:
    """An inner page of an index whose last cell has room for the child before its row, and not for the row."""
    pages = np.zeros(3 * 512, dtype=np.uint8)
    pages[0 + 100] = kernels.LEAF_INDEX
    for page, kind in ((2, kernels.LEAF_INDEX), (3, kernels.INNER_INDEX)):
        pages[(page - 1) * 512] = kind
    pages[2 * 512 + 4] = 1  # cells
    pages[2 * 512 + 11] = pages[2 * 512 + 508 + 3] = 2  # its children
    pages[2 * 512 + 12 : 2 * 512 + 14] = (1, 508 - 256)  # the place of the cell
    assert kernels.cells_in_order(pages, 512, 512, 3, True, np.empty(4, dtype=np.int64)) == -1
