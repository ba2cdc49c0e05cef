"""Damaged files, and files of other programs: reported in one sentence, and left as they are."""

import random
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from attacks.bad_values import mutated
from attacks.stores import damaged_by_sql
from bestarm import StoreError, load_result
from race_files import RaceFile
from small_race import run

PAGE = 4096
FROZEN = sorted((Path(__file__).resolve().parents[1] / "data" / "frozen").glob("*.sqlite"))


@pytest.mark.parametrize(
    "data", [b"One race, and another.\n" * 300, b"\x00" * 5000, b"SQLite format 3\x00", b"\xff\xff"]
)
def test_a_file_that_is_no_database_is_reported_and_left(data: bytes, store: RaceFile) -> None:
    store.path.write_bytes(data)
    store.assert_refused()
    Path(f"{store.path}-wal").touch()  # with a log beside it SQLite takes a short file for a new one
    store.assert_refused()


@pytest.mark.parametrize("filler", [b"\x00", b"\xff", b"\x0d\x41\x9c"])
def test_every_page_that_was_overwritten_is_reported_and_the_file_left(filler: bytes, store: RaceFile) -> None:
    whole = store.path.read_bytes()
    for start in range(0, len(whole), PAGE):
        store.path.write_bytes(whole[:start] + (filler * PAGE)[:PAGE] + whole[start + PAGE :])
        store.assert_refused()


def test_a_file_cut_off_anywhere_is_reported_and_left(store: RaceFile) -> None:
    whole = store.path.read_bytes()
    for size in [2, 100, 511, 2000, *range(PAGE, len(whole), PAGE), len(whole) - 2000, len(whole) - 1]:
        store.path.write_bytes(whole[:size])
        store.assert_refused()


@pytest.mark.parametrize("page", [0, 2, 3])
def test_a_damaged_file_with_the_log_of_a_killed_process_is_left_with_its_log(page: int, killed: RaceFile) -> None:
    whole = killed.path.read_bytes()
    killed.path.write_bytes(whole[: page * PAGE] + b"\xff" * PAGE + whole[(page + 1) * PAGE :])
    killed.assert_refused()


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize(
    "made",
    [
        ["CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('buy milk')"],
        ["CREATE TABLE scores (round INTEGER, arm INTEGER, score REAL, failure TEXT)"],
        ["PRAGMA application_id=252006674"],
    ],
)
def test_the_database_of_another_program_is_refused_and_left(made: list[str], mode: str, tmp_path: Path) -> None:
    notes = RaceFile(tmp_path / "notes.sqlite")
    notes.execute(f"PRAGMA journal_mode={mode}", *made)
    notes.assert_refused("not a race of bestarm")


@pytest.mark.parametrize("version", [0, 2, 99])
def test_another_version_of_the_schema_is_refused(version: int, store: RaceFile) -> None:
    store.execute(f"PRAGMA user_version={version}")
    store.assert_refused(f"version {version}", "version 1")


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM scores WHERE round = 1 AND arm = 2",
        "DELETE FROM scores WHERE round = 5 AND arm = 2",
        "DELETE FROM scores WHERE round = 5",
        "DELETE FROM rounds WHERE round = 17",
        "DELETE FROM rounds",
        "UPDATE scores SET score = NULL WHERE round = 5 AND arm = 2",
        "UPDATE scores SET score = 'high' WHERE round = 5 AND arm = 2",
        "UPDATE scores SET score = 9e999 WHERE round = 5 AND arm = 2",
        "UPDATE scores SET score = 1.5 WHERE round = 5 AND arm = 2",
        "UPDATE scores SET failure = x'ff' WHERE round = 5 AND arm = 2",
        "UPDATE scores SET arm = 17 WHERE round = 5 AND arm = 2",
        "UPDATE scores SET arm = 1.5 WHERE round = 5 AND arm = 2",
        "UPDATE scores SET round = 0 WHERE round = 5",
        "UPDATE rounds SET asked = 17 WHERE round = 5",
        "UPDATE rounds SET asked = 'two' WHERE round = 5",
        "UPDATE rounds SET item = x'ff' WHERE round = 5",
        "DELETE FROM arms WHERE arm = 0",
        "DELETE FROM arms WHERE arm = 2",
        "UPDATE arms SET name = hex(zeroblob(3000000)) || arm",
        "UPDATE arms SET name = x'ff00' WHERE arm = 1",
        "UPDATE arms SET name = ' ' WHERE arm = 1",
        "DELETE FROM settings WHERE name = 'items'",
        "DELETE FROM settings WHERE name = 'arms_digest'",
        "DELETE FROM settings WHERE name = 'algorithm'",
        "UPDATE settings SET value = x'ff' WHERE name = 'reason'",
        "DROP TABLE settings",
        "DROP TABLE arms",
        "DROP TABLE rounds",
        "DROP TABLE scores",
        "DROP TABLE eliminations",
        "UPDATE rounds SET asked = 'three' WHERE round = 4",
        "UPDATE rounds SET asked = 2.5 WHERE round = 4",
        "UPDATE rounds SET asked = -1 WHERE round = 4",
        "UPDATE rounds SET asked = 4 WHERE round = 17",
        "UPDATE rounds SET asked = 9000000000000000000 WHERE round = 17",
        "UPDATE scores SET score = 'much' WHERE round = 4 AND arm = 1",
        "UPDATE scores SET score = x'00' WHERE round = 4 AND arm = 1",
        "UPDATE scores SET failure = x'00' WHERE round = 4 AND arm = 1",
        "UPDATE scores SET arm = 3 WHERE round = 4 AND arm = 2",
        "UPDATE scores SET arm = 'c' WHERE round = 4 AND arm = 2",
        "UPDATE scores SET arm = 9000000000 WHERE round = 4 AND arm = 2",
        "UPDATE scores SET arm = -1 WHERE round = 4 AND arm = 2",
        "UPDATE scores SET round = 900 WHERE round = 4 AND arm = 2",
        "UPDATE scores SET round = 'last' WHERE round = 12 AND arm = 2",
        "UPDATE rounds SET round = 100000000 WHERE round = 17",
        "UPDATE rounds SET round = 9000000000000000000 WHERE round = 17",
    ],
)
def test_rows_that_are_missing_or_make_no_sense_are_reported_and_the_file_is_left(change: str, store: RaceFile) -> None:
    store.execute(change)
    store.assert_refused("damaged")


def test_an_empty_file_is_a_new_race(tmp_path: Path) -> None:
    (tmp_path / "race.sqlite").touch()
    with pytest.raises(StoreError, match="empty"):
        load_result(tmp_path / "race.sqlite")
    assert (tmp_path / "race.sqlite").read_bytes() == b""
    assert run(store=tmp_path / "race.sqlite").to_json() == run().to_json()


def damage(path: Path, luck: random.Random) -> None:
    """Damage the bytes of a file, or what SQL can change in it; it may still be a race afterwards."""
    if luck.random() < 0.5:
        path.write_bytes(mutated(path.read_bytes(), luck, luck.choice((1, 1, 2))))
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, suppress(sqlite3.Error):
        connection.execute("PRAGMA journal_mode=DELETE")
        damaged_by_sql(connection, luck)


def shown_or_refused(path: Path) -> str | None:
    """Why a file is refused, or None if it is shown."""
    try:
        shown = load_result(path)
        assert str(shown)
        assert shown.to_json()
    except StoreError as refusal:
        return str(refusal)
    return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::bestarm.AssumptionWarning")
@pytest.mark.parametrize("seed", range(5))
def test_whatever_the_damage_a_race_is_shown_or_refused_in_one_sentence(seed: int, store: RaceFile) -> None:
    luck, refusals = random.Random(seed), 0  # noqa: S311 - no secrets here
    originals = [shutil.copy(store.path, store.path.with_suffix(".whole")), *FROZEN]
    for _ in range(40):
        shutil.copyfile(luck.choice(originals), store.path)
        damage(store.path, luck)
        before = store.path.read_bytes()
        refusal = shown_or_refused(store.path)
        refusals += refusal is not None
        assert refusal is None or (
            str(store.path) in refusal and len(refusal.splitlines()) == 1 and len(refusal) < 1000
        )
        assert store.path.read_bytes() == before
    assert refusals > 10
