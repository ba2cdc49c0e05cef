"""Files that somebody else made: nothing in them is run, and whatever they say, they are shown or refused."""

import json
import math
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bestarm import Race, StoreError, load_result
from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.algorithms.elimination import EliminationGame
from bestarm.cli import app
from bestarm.comparisons import Betting, ConvexBernstein, LeaderBetting
from bestarm.comparisons.evidence import Comparison
from bestarm.record import sqlite as sqlite_file
from bestarm.record import sqlite as sqlite_limits
from bestarm.record import sqlite as sqlite_store
from bestarm.record.settings import encode
from bestarm.record.sqlite import SCHEMA
from bestarm.record.store import MOST_STEPS, check_cost
from small_race import run, share


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> Path:
    run(store=tmp_path / "race.sqlite", max_evaluations=60)
    return tmp_path / "race.sqlite"


def edit(store: Path, *statements: str) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def put(store: Path, name: str, value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, text))


def refused(store: Path, words: str) -> None:
    """Neither shown nor continued, in one sentence that names the file, which stays as it is."""
    before = store.read_bytes()
    attempts: tuple[Callable[[], Any], ...] = (lambda: load_result(store), lambda: run(store=store))
    for attempt in attempts:
        with pytest.raises(StoreError) as refusal:
            attempt()
        text = str(refusal.value)
        assert str(store) in text
        assert words in text
        assert len(text.splitlines()) == 1
        assert len(text) < 1000
    assert store.read_bytes() == before


# What a schema can hide.

ADDED = {
    "view": "CREATE VIEW wide AS SELECT * FROM scores, scores, scores",
    "trigger": "CREATE TRIGGER t AFTER INSERT ON scores BEGIN DELETE FROM scores; END",
    "trigger on settings": "CREATE TRIGGER t AFTER UPDATE ON settings BEGIN DELETE FROM scores; END",
    "index": "CREATE INDEX i ON scores (abs(score))",
    "partial index": "CREATE INDEX i ON scores (score) WHERE abs(score) > 0",
    "table": "CREATE TABLE more (x)",
    "virtual table": "CREATE VIRTUAL TABLE more USING rtree(id, low, high)",
    "statistics": "ANALYZE",
    "column": "ALTER TABLE arms ADD COLUMN more TEXT DEFAULT 'x'",
    "computed column": "ALTER TABLE arms ADD COLUMN more TEXT AS (upper(name))",
    "renamed column": "ALTER TABLE scores RENAME COLUMN failure TO note",
}


@pytest.mark.parametrize("case", ADDED)
def test_a_file_with_anything_but_our_tables_is_not_opened(case: str, store: Path) -> None:
    edit(store, ADDED[case])
    refused(store, "only the five tables of a race may be in its file")


@pytest.mark.parametrize(
    ("table", "instead"),
    [
        ("eliminations", "CREATE VIEW eliminations AS SELECT 1 AS arm"),
        ("eliminations", SCHEMA[4].replace("margin REAL", "margin REAL CHECK (abs(margin) >= 0)")),
        ("eliminations", SCHEMA[4].replace("margin REAL", "margin REAL AS (abs(arm))")),
        ("eliminations", SCHEMA[4].replace("margin REAL", "margin REAL DEFAULT (random())")),
    ],
)
def test_a_table_that_computes_is_not_opened(table: str, instead: str, store: Path) -> None:
    edit(store, f"DROP TABLE {table}", instead)
    refused(store, f"'{table}' in it is not as a race has it")


def test_a_schema_that_was_written_by_hand_is_not_opened(store: Path) -> None:
    edit(
        store,
        "PRAGMA writable_schema=ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'item TEXT', 'item TEXT CHECK (1)') WHERE name = 'rounds'",
    )
    refused(store, "'rounds' in it is not as a race has it")


def test_what_is_only_in_the_log_counts_too(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "sent"
    copy.mkdir()
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("CREATE VIEW wide AS SELECT 1")
        for part in tmp_path.glob("race.sqlite*"):
            (copy / part.name).write_bytes(part.read_bytes())
    (copy / "race.sqlite-shm").unlink()
    assert (copy / "race.sqlite-wal").stat().st_size > 0
    refused(copy / "race.sqlite", "only the five tables of a race")


# What lies where the file or its log should be.


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(tmp_path / "socket"))
        for place in (tmp_path / "pipe", tmp_path / "socket", Path("/dev/zero"), tmp_path):
            with pytest.raises(StoreError, match=r"there is no race in .* not a file"):
                load_result(place)
            with pytest.raises(StoreError, match=r"the race cannot be stored in .* not a file"):
                run(store=place)


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("what", ["pipe", "link"])
def test_pipes_and_links_beside_a_file_are_refused(suffix: str, what: str, store: Path, tmp_path: Path) -> None:
    beside, letter = Path(f"{store}{suffix}"), tmp_path / "letter.txt"
    letter.write_text("Dear all")
    os.mkfifo(beside) if what == "pipe" else beside.symlink_to(letter)
    refused(store, f"beside it is {beside.name}, which no race has written there")
    assert letter.read_text() == "Dear all"


MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"  # at the beginning of a journal, and behind a name in it


def test_a_journal_that_would_be_rolled_back_is_refused(store: Path) -> None:
    Path(f"{store}-journal").write_bytes(MAGIC + b"\x00" * 504 + b"a page" + b"\x00" * 506)
    refused(store, "beside it is race.sqlite-journal")


def test_a_name_in_a_journal_deletes_no_file(tmp_path: Path) -> None:
    letter, store = tmp_path / "letter.txt", tmp_path / "race.sqlite"
    letter.write_text("Dear all")
    store.write_bytes(b"")
    name = os.fsencode(letter)
    numbers = [0, 0, 0, 512, 4096]
    header = MAGIC + b"".join(number.to_bytes(4, "big") for number in numbers)
    trailer = b"\xff" * 4 + name + len(name).to_bytes(4, "big") + (sum(name) % 2**32).to_bytes(4, "big") + MAGIC
    Path(f"{store}-journal").write_bytes(header.ljust(512, b"\x00") + trailer)
    edit(tmp_path / "made.sqlite", "PRAGMA user_version=0", "CREATE TABLE t (x)", "DROP TABLE t")
    for content in (b"", (tmp_path / "made.sqlite").read_bytes()):
        store.write_bytes(content)
        with pytest.raises(StoreError, match=r"beside it is race\.sqlite-journal"):
            run(store=store)
    assert letter.read_text() == "Dear all"


def test_the_journal_of_a_process_that_was_killed_while_it_made_the_file_does_no_harm(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    edit(store, "PRAGMA user_version=0")
    Path(f"{store}-journal").write_bytes(
        (MAGIC + b"\x00" * 12 + b"\x00\x00\x02\x00\x00\x00\x10\x00").ljust(512, b"\x00")
    )
    assert run(store=store).answered
    assert [path.name for path in tmp_path.iterdir()] == ["race.sqlite"]


# What settings can say.

SETTINGS: dict[str, tuple[str, Any]] = {
    "no text": ("lower_is_better", "no"),
    "words": ("lower_is_better", '"no"'),
    "a number for a flag": ("own_range", 1),
    "a flag for a number": ("rounds_in_flight", True),
    "in flight": ("rounds_in_flight", 10**9),
    "items": ("n_items", "many"),
    "items as a text": ("n_items", '"300"'),
    "half an item": ("n_items", 300.5),
    "no end of items": ("n_items", 10**18),
    "no number of items": ("n_items", None),
    "kind": ("items", '"everything"'),
    "kind as a list": ("items", []),
    "seed": ("seed", -1),
    "digits": ("seed", "1" * 5000),
    "budget": ("max_evaluations", 1.5),
    "brackets": ("algorithm", "[" * 100_000),
    "nothing": ("algorithm", None),
    "type as a list": ("algorithm", {"type": []}),
    "a comparison": ("algorithm", {"type": "Betting"}),
    "class of a user": ("algorithm", {"type": "system", "own": True}),
    "module": ("algorithm", {"type": "os.system"}),
    "unknown setting": ("algorithm", {"type": "PairwiseBAI", "command": "true"}),
    "text for a comparison": ("algorithm", {"type": "PairwiseBAI", "comparison": "Betting"}),
    "delta": ("algorithm", '{"type": "PairwiseBAI", "delta": 1e999}'),
    "rounds": ("algorithm", {"type": "PairwiseBAI", "max_rounds": 10**30}),
    "on error": ("on_error", {"raise": 1}),
    "groups": ("group_sizes", [1, -1, 3]),
    "groups of what": ("group_sizes", [10**30]),
    "too few groups": ("group_sizes", [1, 2]),
    "digest": ("items_digest", [1]),
    "source": ("source", "everywhere"),
    "source as a list": ("source", [1]),
    "reason": ("reason", {}),
    "format": ("format", [1]),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_no_race_has_are_refused(case: str, store: Path) -> None:
    put(store, *SETTINGS[case])
    refused(store, "")


def test_what_is_hidden_behind_many_allowed_parts_of_the_schema_is_found(store: Path) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        (index,) = connection.execute(
            "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE type = 'index'"
        )
        connection.executemany("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", [index] * 100)
        trigger = "CREATE TRIGGER t AFTER INSERT ON scores BEGIN UPDATE scores SET score = 0; END"
        connection.execute("INSERT INTO sqlite_master VALUES ('trigger', 't', 'scores', 0, ?)", [trigger])
    refused(store, "only the five tables of a race may be in its file")


def test_settings_are_measured_before_they_are_read(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (sqlite_file, sqlite_store):
        monkeypatch.setattr(module, "LONGEST_VALUE", 100_000)
    put(store, "more", '"' + "x" * 50_000 + '"')
    load_result(store)
    put(store, "and more", '"' + "x" * 50_000 + '"')
    refused(store, "its settings are longer than those of any race")
    put(store, "more", '"' + "x" * 100_000 + '"')
    refused(store, "too big")


def test_settings_that_are_not_known_do_no_harm(store: Path) -> None:
    expected = str(load_result(store))
    put(store, "added by a later version", {"type": "os", "own": [1]})
    assert str(load_result(store)) == expected


def test_a_comparison_of_very_many_terms_is_refused(store: Path) -> None:
    settings = encode(PairwiseBAI(comparison=Betting(pool=500)))
    settings["comparison"] |= {"bets": [0.5] * 100_000, "weights": None}
    put(store, "algorithm", settings)
    with pytest.raises(StoreError, match="its comparison has 100,000 terms, more than 100"):
        load_result(store)


@pytest.mark.parametrize("comparison", [Betting(pool=500), LeaderBetting(pool=500, pairs=0.05)])
def test_very_many_arms_are_refused_before_they_take_memory(comparison: Comparison, store: Path) -> None:
    put(store, "algorithm", encode(PairwiseBAI(comparison=comparison)))
    with closing(sqlite3.connect(store)) as connection, connection:
        (begun,) = connection.execute("SELECT count(*) FROM arms").fetchone()
        connection.executemany("INSERT INTO arms VALUES (?, ?)", ((k, f"arm {k}") for k in range(begun, 20_000)))
    with pytest.raises(
        StoreError, match=r"20,000 arms with this comparison takes \d+\.\d GiB of memory: to show it .* give large=True"
    ):
        load_result(store)


def test_very_many_arms_are_shown_where_nothing_is_kept_for_pairs(tmp_path: Path) -> None:
    store, arms = tmp_path / "race.sqlite", range(3_000)
    begun = run(lambda arm, item: arm / 3_000, arms=arms, store=store, max_evaluations=3_000)
    assert begun.settings.algorithm.comparison == LeaderBetting(pool=500)
    shown = load_result(store)
    assert (shown.leader, shown.n_rounds, len(shown.candidates)) == ("2999", 1, 3_000)
    with pytest.raises(ValueError, match=r"3,000 arms with this comparison takes 1\.8 GiB of memory"):
        check_cost(PairwiseBAI(comparison=Betting(pool=500)), 3_000, 1)


def test_very_many_arms_against_combinations_are_refused_before_they_take_time(store: Path) -> None:
    convex = encode(ConvexBAI(0.05, comparison=ConvexBernstein(), check_growth=1.0))
    put(store, "algorithm", convex)
    with closing(sqlite3.connect(store)) as connection, connection:
        (begun,) = connection.execute("SELECT count(*) FROM arms").fetchone()
        connection.executemany("INSERT INTO arms VALUES (?, ?)", ((k, f"arm {k}") for k in range(begun, 2_500)))
    with pytest.raises(StoreError, match=r"2,500 arms with combinations .* takes minutes: .* give large=True"):
        load_result(store)


@pytest.mark.parametrize("share", [1.0, 1.005, 1.05, 1e9])
def test_the_work_against_combinations_is_that_of_the_looks(share: float) -> None:
    algorithm, n_rounds = ConvexBAI(0.05, comparison=ConvexBernstein(), check_growth=share), 20_000
    step, looks, t = min(share, 1.1), 0, 1
    while t <= n_rounds:
        looks, t = looks + 1, max(t + 1, math.ceil(step * t))
    most = round((MOST_STEPS / looks) ** (1 / 3))
    check_cost(algorithm, round(0.9 * most), n_rounds)
    with pytest.raises(ValueError, match="takes minutes"):
        check_cost(algorithm, round(1.1 * most), n_rounds)
    check_cost(PairwiseBAI(0.05), 5_000, n_rounds)


def test_rounds_without_their_scores_are_not_played_to_the_end(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestarm.record.replay.BLOCK", 4)
    played, play = [], EliminationGame.play

    def counted(game: EliminationGame, rows: Any) -> int:
        played.append(len(rows))
        return play(game, rows)

    monkeypatch.setattr(EliminationGame, "play", counted)
    edit(store, "DELETE FROM scores WHERE round > 2 AND arm < 2")
    edit(store, "UPDATE rounds SET asked = 1 WHERE round > 2")
    with pytest.raises(StoreError, match="scores are missing"):
        load_result(store)
    assert sum(played) <= 4


def test_a_round_far_away_is_refused_before_it_takes_memory(store: Path) -> None:
    edit(store, "UPDATE rounds SET round = 100000000 WHERE round = (SELECT max(round) FROM rounds)")
    edit(store, "UPDATE scores SET round = 100000000 WHERE round = (SELECT max(round) FROM scores)")
    refused(store, "damaged")
    put(store, "rounds_in_flight", 10**9)
    refused(store, "rounds_in_flight must be a whole number of at most 10,000")


@pytest.mark.parametrize("change", ["UPDATE arms SET name = x'ff00' WHERE arm = 1", "UPDATE arms SET name = ' '"])
def test_names_that_no_arm_has_are_refused(change: str, store: Path) -> None:
    edit(store, change + (" WHERE arm = 1" if "WHERE" not in change else ""))
    refused(store, "there are arms without a name of their own")


# Nothing is imported, run or contacted.

SOURCES: dict[str, dict[str, Any]] = {
    "function": {"kind": "function", "function": "witness:score", "items": "/nowhere/items.txt", "folder": "FOLDER"},
    "commands": {"kind": "commands", "items": None, "folder": "FOLDER"},
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("words", [["show"], ["show", "--json"], ["report", "-o", "page.html", "--json"]])
def test_what_a_file_names_is_neither_imported_nor_run_when_it_is_shown(
    words: list[str], source: str, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.parent)
    Path("witness.py").write_text("open('mark', 'w').write('ran')\ndef score(arm, item): return 0.5\n")
    put(store, "source", json.loads(json.dumps(SOURCES[source]).replace("FOLDER", str(store.parent))))
    edit(store, "UPDATE arms SET name = 'touch mark' WHERE arm = 0")
    for module, name in ((os, "system"), (subprocess, "Popen"), (socket, "socket")):
        monkeypatch.setattr(module, name, None)
    shown = CliRunner().invoke(app, [words[0], str(store), *words[1:]])
    assert shown.exit_code in (0, 3)
    assert "touch mark" in shown.stdout
    assert not Path("mark").exists()
    assert "witness" not in sys.modules


# Paths.


@pytest.mark.parametrize(
    "name",
    [
        ":memory:",
        "file:race.sqlite",
        "file::memory:?cache=shared",
        "race.sqlite?mode=memory",
        "a#b%20c.sqlite",
        os.fsdecode(b"not-utf8-\xff.sqlite"),
        "x" * 240,
        "trailing.sqlite/",
    ],
)
@pytest.mark.parametrize("kind", [str, Path])
def test_a_store_is_the_plain_file_of_its_name(
    name: str, kind: type[str] | type[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    begun = run(store=kind(name), max_evaluations=60)
    assert [path.name for path in tmp_path.iterdir()] == [name.rstrip("/")]
    assert load_result(kind(name)).to_json() == begun.to_json()
    assert run(store=tmp_path / name).to_json() == run().to_json()


def test_two_slashes_are_no_address(tmp_path: Path) -> None:
    place = f"/{tmp_path}/race.sqlite"
    assert place.startswith("//")
    begun = run(store=place, max_evaluations=60)
    assert load_result(place).to_json() == load_result(tmp_path / "race.sqlite").to_json() == begun.to_json()


@pytest.mark.parametrize("name", ["", "nul\0.sqlite", "x" * 300, "x" * 254])
def test_names_that_no_file_has_are_refused_in_one_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for attempt in (lambda: load_result(name), lambda: run(store=name)):
        with pytest.raises(StoreError) as refusal:
            attempt()
        assert len(str(refusal.value).splitlines()) == 1


def test_bytes_are_no_path() -> None:
    with pytest.raises(TypeError, match=r"^a race is in a file, given by its path as text or as a Path, got b'race"):
        load_result(b"race.sqlite")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^store must be the path of a file"):
        Race(["a", "b"], store=b"race.sqlite")  # type: ignore[arg-type]


def test_the_log_is_looked_for_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here.sqlite").symlink_to(tmp_path / "there" / "race.sqlite")
    with Race(["a", "b", "c"], store=tmp_path / "here.sqlite"), pytest.raises(StoreError, match="is in use by another"):
        load_result(tmp_path / "here.sqlite")
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["race.sqlite"]


# Deleted, moved, replaced or emptied while the race runs.


def vanish(store: Path) -> None:
    store.unlink()


def move(store: Path) -> None:
    store.rename(store.with_name("moved.sqlite"))


def replace(store: Path) -> None:
    store.with_name("other").write_bytes(b"something else")
    store.with_name("other").replace(store)


def empty(store: Path) -> None:
    os.truncate(store, 0)


@pytest.mark.parametrize("happens", [vanish, move, replace, empty])
def test_a_file_that_is_gone_is_noticed_and_nothing_is_lost(happens: Callable[[Path], None], tmp_path: Path) -> None:
    store, whole = tmp_path / "race.sqlite", run()
    begun: list[tuple[str, Any]] = []

    def watched(arm: str, item: Any) -> float:
        begun.append((arm, item))
        if len(begun) == 31:
            happens(store)
        return share(arm, item)

    with pytest.raises(StoreError) as refusal:
        run(evaluate=watched, store=store)
    assert "race.sqlite was deleted, moved, replaced or emptied while its race was running" in str(refusal.value)
    copy = tmp_path / "race-rescued.sqlite"
    assert f"all that was stored is now in {copy}" in str(refusal.value)
    assert load_result(copy).n_evaluations >= 30
    assert run(store=copy).to_json() == whole.to_json()


def test_what_is_left_of_a_file_that_was_emptied_is_not_called_a_copy(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    with Race(["a", "b"], store=store) as contest:
        contest.tell(contest.ask()[0], {"a": 1.0, "b": 0.0})
    with Race(["a", "b"], store=store) as contest:
        todo = contest.ask()[0]
        empty(store)
        with pytest.raises(StoreError, match="emptied while its race was running; what was scored so far could not be"):
            contest.tell(todo, {"a": 1.0, "b": 0.0})
    assert [path.name for path in tmp_path.iterdir()] == ["race.sqlite"]


def test_a_folder_that_is_gone_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "races").mkdir()
    with Race(["a", "b"], store=tmp_path / "races" / "race.sqlite") as contest:
        (todo,) = contest.ask()
        (tmp_path / "races").rename(tmp_path / "elsewhere")
        for _ in range(2):
            with pytest.raises(StoreError, match="while its race was running; what was scored so far could not be"):
                contest.tell(todo, {"a": 1.0, "b": 0.0})


def test_a_file_that_takes_more_work_than_its_size_can_need_is_refused(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_limits, "STEPS", 10)
    monkeypatch.setattr(sqlite_limits, "LOOKS", 1)
    monkeypatch.setattr(sqlite_limits, "BYTES_A_LOOK", 10**9)
    refused(store, "there is no end to its pages")
