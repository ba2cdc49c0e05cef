import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bestarm import Race, RaceResult, StoreError, load_result, race
from damaging import damage
from killing import ARMS, outcome, quick, share

ALL = list(ARMS)
PAGE = 4096


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def edit(store: Path, *statements: str) -> None:
    with closing(sqlite3.connect(store)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def tell_rounds(contest: Race[Any], n_rounds: int) -> None:
    for _ in range(n_rounds):
        for todo in contest.ask():
            contest.tell(todo, {arm: quick(arm, todo.item) for arm in todo.arms})


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Path:
    """A race of 17 rounds, finished, closed, alone in its folder."""
    folder = tmp_path / "races"
    folder.mkdir()
    assert race(quick, arms=ALL, store=folder / "race.sqlite").n_rounds == 17
    assert [path.name for path in folder.iterdir()] == ["race.sqlite"]
    return folder / "race.sqlite"


@pytest.fixture(name="killed")
def _killed(tmp_path: Path) -> Path:
    """A race of 15 rounds whose process was killed in the second run, with its log beside it."""
    folder = tmp_path / "killed"
    folder.mkdir()
    with Race(ALL, store=tmp_path / "race.sqlite") as contest:
        tell_rounds(contest, 12)
    with Race(ALL, store=tmp_path / "race.sqlite") as contest:
        tell_rounds(contest, 3)
        for path in tmp_path.glob("race.sqlite*"):
            shutil.copy(path, folder)
    assert sorted(content(folder)) == ["race.sqlite", "race.sqlite-wal"]
    return folder / "race.sqlite"


def kept(store: Path) -> dict[str, bytes]:
    """The file, and the log if there is something in it."""
    return {name: data for name, data in content(store.parent).items() if data and not name.endswith("-shm")}


def refused(store: Path, words: str = "") -> None:
    """Neither continued nor shown, with a sentence that names the file, which is left as it is."""
    before = kept(store)
    attempts: list[Callable[[], RaceResult[Any]]] = [
        lambda: load_result(store),
        lambda: race(quick, arms=ALL, store=store),
    ]
    for attempt in attempts:
        with pytest.raises(StoreError) as refusal:
            attempt()
        assert str(store) in str(refusal.value)
        assert words in str(refusal.value)
        assert [name for name, data in kept(store).items() if data != before.get(name)] == []
        assert sorted(kept(store)) == sorted(before)


HOLDER = """
import sys, bestarm
with bestarm.Race(["bad", "fair", "good", "best"], store=sys.argv[1]) as contest:
    print("open", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("new", [False, True])
def test_a_file_in_use_by_another_process_is_refused_and_unchanged(new: bool, store: Path) -> None:
    if new:
        store.unlink()
    command = [sys.executable, "-c", HOLDER, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        refused(store, "is in use by another process")
        process.communicate("\n")
    assert process.returncode == 0
    assert race(quick, arms=ALL, store=store).n_rounds == 17


def test_a_file_in_use_by_the_same_process_is_refused_and_the_race_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    with Race(ALL, store=store) as contest:
        tell_rounds(contest, 3)
        for _ in range(2):
            with pytest.raises(StoreError, match="is in use by another process"):
                Race(ALL, store=store)
            with pytest.raises(StoreError, match="is in use by another process"):
                load_result(store)
        tell_rounds(contest, 14)
        assert contest.finished
    assert outcome(load_result(store)) == outcome(race(quick, arms=ALL))


def test_looking_at_a_file_that_this_process_uses_does_not_open_it_to_others(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    with Race(ALL, store=store) as contest:
        tell_rounds(contest, 3)
        for attempt in (lambda: Race(ALL, store=store), lambda: load_result(store)):
            with pytest.raises(StoreError, match="is in use"):
                attempt()
        other = subprocess.run([sys.executable, "-c", HOLDER, str(store)], input="\n", capture_output=True, text=True)  # noqa: S603, PLW1510
        assert other.returncode == 1
        assert "is in use by another process" in other.stderr
        tell_rounds(contest, 14)
    assert outcome(load_result(store)) == outcome(race(quick, arms=ALL))


def overwrite(store: Path, start: int, data: bytes) -> None:
    with store.open("r+b") as file:
        file.seek(start)
        file.write(data)


@pytest.mark.parametrize(
    "data", [b"One race, and another.\n" * 300, b"\x00" * 5000, b"SQLite format 3\x00", b"\xff\xff"]
)
def test_a_file_that_is_no_database_is_reported_and_left(data: bytes, store: Path) -> None:
    store.write_bytes(data)
    refused(store)


@pytest.mark.parametrize("filler", [b"\x00", b"\xff", b"\x0d\x41\x9c"])
def test_every_page_that_was_overwritten_is_reported_and_the_file_left(filler: bytes, store: Path) -> None:
    whole = store.read_bytes()
    for start in range(0, len(whole), PAGE):
        store.write_bytes(whole)
        overwrite(store, start, (filler * PAGE)[:PAGE])
        refused(store)


def test_a_file_cut_off_anywhere_is_reported_and_left(store: Path) -> None:
    whole = store.read_bytes()
    for size in [2, 100, 511, 2000, *range(PAGE, len(whole), PAGE), len(whole) - 2000, len(whole) - 1]:
        store.write_bytes(whole[:size])
        refused(store)


@pytest.mark.parametrize("page", [0, 2, 3])
def test_a_damaged_file_with_the_log_of_a_killed_process_is_left_with_its_log(page: int, killed: Path) -> None:
    overwrite(killed, page * PAGE, b"\xff" * PAGE)
    refused(killed)


def test_a_killed_race_can_be_shown_and_stays_as_it_is(killed: Path) -> None:
    before = kept(killed)
    shown = load_result(killed)
    assert (shown.n_rounds, shown.reason) == (15, "running")
    assert kept(killed) == before
    assert outcome(race(quick, arms=ALL, store=killed)) == outcome(race(quick, arms=ALL))


def test_showing_a_race_leaves_nothing_beside_it(store: Path) -> None:
    before = content(store.parent)
    load_result(store)
    assert content(store.parent) == before


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
    edit(tmp_path / "notes.sqlite", f"PRAGMA journal_mode={mode}", *made)
    refused(tmp_path / "notes.sqlite", "is a database, but not a race of bestarm")


@pytest.mark.parametrize("version", [0, 2, 99])
def test_another_version_of_the_schema_is_refused(version: int, store: Path) -> None:
    edit(store, f"PRAGMA user_version={version}")
    refused(store, f"has schema version {version}, this bestarm reads version 1")


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
        "UPDATE scores SET arm = 17 WHERE round = 5 AND arm = 2",
        "UPDATE scores SET round = 0 WHERE round = 5",
        "DELETE FROM arms WHERE arm = 3",
        "DELETE FROM settings WHERE name = 'items'",
        "DELETE FROM settings WHERE name = 'arms_digest'",
        "UPDATE settings SET value = '-1' WHERE name = 'rounds_in_flight'",
        "UPDATE settings SET value = 'null' WHERE name = 'rounds_in_flight'",
        "UPDATE settings SET value = '[]' WHERE name = 'rounds_in_flight'",
        "UPDATE settings SET value = '-1' WHERE name = 'algorithm'",
        "UPDATE settings SET value = 'true' WHERE name = 'algorithm'",
        "UPDATE settings SET value = '{}' WHERE name = 'algorithm'",
        "DELETE FROM settings WHERE name = 'algorithm'",
        "UPDATE settings SET value = '{' WHERE name = 'algorithm'",
        "UPDATE settings SET value = 'null' WHERE name = 'algorithm'",
        "DROP TABLE settings",
        "DROP TABLE arms",
        "DROP TABLE rounds",
        "DROP TABLE scores",
        "DROP TABLE eliminations",
    ],
)
def test_rows_that_are_missing_or_make_no_sense_are_reported_and_the_file_is_left(change: str, store: Path) -> None:
    edit(store, change)
    refused(store)


def test_a_score_out_of_bounds_in_the_file_is_reported(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    race(share, arms=ALL, bounds=(0, 1), max_evaluations=80, store=store)
    edit(store, "UPDATE scores SET score = 1.5 WHERE round = 3 AND arm = 1")
    before = store.read_bytes()
    with pytest.raises(StoreError, match="damaged"):
        race(share, arms=ALL, bounds=(0, 1), max_evaluations=80, store=store)
    with pytest.raises(StoreError, match="damaged"):
        load_result(store)
    assert store.read_bytes() == before


def test_an_empty_file_is_a_new_race(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    store.touch()
    with pytest.raises(StoreError, match="the file is empty"):
        load_result(store)
    assert store.read_bytes() == b""
    assert outcome(race(quick, arms=ALL, store=store)) == outcome(race(quick, arms=ALL))
    assert outcome(load_result(store)) == outcome(race(quick, arms=ALL))


@pytest.mark.parametrize("name", ["a b.sqlite", "50%41?mode=ro#1.sqlite", "Rennen-äß-✓", "-wal"])
def test_a_file_may_have_any_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = race(quick, arms=ALL, store=name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert outcome(load_result(name)) == outcome(load_result(tmp_path / name)) == outcome(result)


STORES = (*sorted((Path(__file__).resolve().parent / "data" / "frozen").glob("*.sqlite")), None)


def shown_or_refused(store: Path) -> str | None:
    """Why a file is refused, or None if it is shown."""
    try:
        shown = load_result(store)
        assert str(shown)
        assert shown.to_json()
    except StoreError as refusal:
        return str(refusal)
    return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::bestarm.AssumptionWarning")
@pytest.mark.parametrize("seed", range(5))
def test_whatever_the_damage_a_race_is_shown_or_refused_in_one_sentence(seed: int, store: Path) -> None:
    luck, whole, refusals = random.Random(seed), store.read_bytes(), 0  # noqa: S311 - no secrets here
    for _ in range(40):
        original = luck.choice(STORES)
        store.write_bytes(whole if original is None else original.read_bytes())
        damage(store, luck)
        before = store.read_bytes()
        refusal = shown_or_refused(store)
        refusals += refusal is not None
        assert refusal is None or str(store) in refusal
        assert refusal is None or (len(refusal.splitlines()) == 1 and len(refusal) < 1000)
        assert store.read_bytes() == before
    assert refusals > 10
