"""Files that somebody else made: nothing in them is run, and whatever they say, they are shown or refused."""

import json
import math
import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bestarm import StoreError, load_result
from bestarm.algorithms import Algorithm, ConvexBAI, EliminationGame, PairwiseBAI
from bestarm.comparisons import Betting, ConvexBernstein, LeaderBetting
from bestarm.record.store import MOST_STEPS, check_cost
from conftest import Cli
from race_files import RaceFile
from small_race import run

# --- what a schema can hide -------------------------------------------------------------------------------------------

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
ONLY_OURS = "only the five tables of a race may be in its file"


@pytest.mark.parametrize("case", ADDED)
def test_a_file_with_anything_but_our_tables_is_not_opened(case: str, store: RaceFile) -> None:
    store.execute(ADDED[case])
    store.assert_refused(ONLY_OURS)


@pytest.mark.parametrize(
    "margin",
    [None, "margin REAL CHECK (abs(margin) >= 0)", "margin REAL AS (abs(arm))", "margin REAL DEFAULT (random())"],
)
def test_a_table_that_computes_is_not_opened(margin: str | None, store: RaceFile) -> None:
    ((table,),) = store.rows("SELECT sql FROM sqlite_master WHERE name = 'eliminations'")
    view = "CREATE VIEW eliminations AS SELECT 1 AS arm"
    store.execute("DROP TABLE eliminations", view if margin is None else table.replace("margin REAL", margin))
    store.assert_refused("'eliminations'", ONLY_OURS)


def test_a_schema_that_was_written_by_hand_is_not_opened(store: RaceFile) -> None:
    store.execute(
        "PRAGMA writable_schema=ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'item TEXT', 'item TEXT CHECK (1)') WHERE name = 'rounds'",
    )
    store.assert_refused("'rounds'", ONLY_OURS)


def test_what_is_hidden_behind_many_allowed_parts_of_the_schema_is_found(store: RaceFile) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        (index,) = connection.execute(
            "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE type = 'index'"
        )
        connection.executemany("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", [index] * 100)
        trigger = "CREATE TRIGGER t AFTER INSERT ON scores BEGIN UPDATE scores SET score = 0; END"
        connection.execute("INSERT INTO sqlite_master VALUES ('trigger', 't', 'scores', 0, ?)", [trigger])
    store.assert_refused(ONLY_OURS)


def test_what_is_only_in_the_log_counts_too(store: RaceFile, tmp_path: Path) -> None:
    sent = tmp_path / "sent"
    sent.mkdir()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.execute("CREATE VIEW wide AS SELECT 1")
        for ending in ("", "-wal"):
            (sent / f"race.sqlite{ending}").write_bytes(Path(f"{store.path}{ending}").read_bytes())
    RaceFile(sent / "race.sqlite").assert_refused(ONLY_OURS)


# --- what lies where the file or its log should be --------------------------------------------------------------------


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(tmp_path / "socket"))
        for place in (tmp_path / "pipe", tmp_path / "socket", Path("/dev/zero"), tmp_path):
            for attempt in (lambda: load_result(place), lambda: run(store=place)):  # noqa: B023
                with pytest.raises(StoreError, match="not a file"):
                    attempt()


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("what", ["pipe", "link"])
def test_pipes_and_links_beside_a_file_are_refused(suffix: str, what: str, store: RaceFile, tmp_path: Path) -> None:
    beside, letter = Path(f"{store.path}{suffix}"), tmp_path / "letter.txt"
    letter.write_text("Dear all")
    os.mkfifo(beside) if what == "pipe" else beside.symlink_to(letter)
    store.assert_refused(beside.name)
    assert letter.read_text() == "Dear all"


MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"  # at the beginning of a journal, and behind a name in it


def test_a_journal_that_would_be_rolled_back_is_refused(store: RaceFile) -> None:
    Path(f"{store.path}-journal").write_bytes(MAGIC + b"\x00" * 504 + b"a page" + b"\x00" * 506)
    store.assert_refused("race.sqlite-journal")


def test_a_name_in_a_journal_deletes_no_file(tmp_path: Path) -> None:
    letter, store = tmp_path / "letter.txt", tmp_path / "race.sqlite"
    letter.write_text("Dear all")
    name = os.fsencode(letter)
    numbers = [0, 0, 0, 512, 4096]
    header = MAGIC + b"".join(number.to_bytes(4, "big") for number in numbers)
    trailer = b"\xff" * 4 + name + len(name).to_bytes(4, "big") + (sum(name) % 2**32).to_bytes(4, "big") + MAGIC
    Path(f"{store}-journal").write_bytes(header.ljust(512, b"\x00") + trailer)
    made = RaceFile(tmp_path / "made.sqlite")
    made.execute("PRAGMA user_version=0", "CREATE TABLE t (x)", "DROP TABLE t")
    for content in (b"", made.path.read_bytes()):
        store.write_bytes(content)
        with pytest.raises(StoreError, match=r"race\.sqlite-journal"):
            run(store=store)
    assert letter.read_text() == "Dear all"


def test_the_journal_of_a_process_that_was_killed_while_it_made_the_file_does_no_harm(tmp_path: Path) -> None:
    store = RaceFile(tmp_path / "race.sqlite")
    store.execute("PRAGMA user_version=0")
    with pytest.raises(StoreError, match="empty"):
        load_result(store.path)
    Path(f"{store.path}-journal").write_bytes(
        (MAGIC + b"\x00" * 12 + b"\x00\x00\x02\x00\x00\x00\x10\x00").ljust(512, b"\x00")
    )
    assert run(store=store.path).answered
    assert [path.name for path in tmp_path.iterdir()] == ["race.sqlite"]


# --- what settings can say --------------------------------------------------------------------------------------------

SETTINGS: list[tuple[str, Any]] = [  # texts are written as they are: JSON, or not
    ("lower_is_better", "no"),
    ("lower_is_better", '"no"'),
    ("own_range", 1),
    ("rounds_in_flight", True),
    ("rounds_in_flight", -1),
    ("rounds_in_flight", None),
    ("rounds_in_flight", []),
    ("rounds_in_flight", 10**9),
    ("n_items", "many"),
    ("n_items", '"300"'),
    ("n_items", 300.5),
    ("n_items", 10**18),
    ("n_items", None),
    ("items", '"everything"'),
    ("items", []),
    ("seed", -1),
    ("seed", "1" * 5000),
    ("max_evaluations", 1.5),
    ("algorithm", "{"),
    ("algorithm", "[" * 100_000),
    ("algorithm", "[" * 900 + "]" * 900),
    ("algorithm", None),
    ("algorithm", -1),
    ("algorithm", True),
    ("algorithm", {}),
    ("algorithm", {"type": []}),
    ("algorithm", {"type": "Betting"}),
    ("algorithm", {"type": "system", "own": True}),
    ("algorithm", {"type": "os.system"}),
    ("algorithm", {"type": "PairwiseBAI", "command": "true"}),
    ("algorithm", {"type": "PairwiseBAI", "comparison": "Betting"}),
    ("algorithm", {"type": "PairwiseBAI", "comparison": {"type": []}}),
    ("algorithm", '{"type": "PairwiseBAI", "delta": 1e999}'),
    ("algorithm", {"type": "PairwiseBAI", "max_rounds": 10**30}),
    ("on_error", {"raise": 1}),
    ("group_sizes", {}),
    ("group_sizes", [1, -1, 3]),
    ("group_sizes", [10**30]),
    ("group_sizes", [1, 2]),
    ("group_sizes", [1] * 499 + [2]),
    ("items_digest", [1]),
    ("source", "everywhere"),
    ("source", [1]),
    ("reason", {}),
    ("format", [1]),
]


@pytest.mark.parametrize(("name", "value"), SETTINGS, ids=lambda part: str(part)[:40])
def test_settings_that_no_race_has_are_refused_by_their_name(name: str, value: Any, store: RaceFile) -> None:
    store.put(name, value)
    store.assert_refused(*([] if name == "algorithm" else [name]))  # there a setting within it is named


def test_settings_that_are_not_known_do_no_harm(store: RaceFile) -> None:
    expected = str(load_result(store.path))
    store.put("added by a later version", {"type": "os", "own": [1]})
    assert str(load_result(store.path)) == expected


def test_settings_are_measured_before_they_are_read(store: RaceFile) -> None:
    store.put("more", '"' + "x" * 2**23 + '"')
    load_result(store.path)
    store.put("and more", '"' + "x" * 2**23 + '"')
    store.assert_refused("its settings are longer")
    store.put("more", '"' + "x" * 2**24 + '"')
    store.assert_refused("too big")


# --- what it takes to look at a race ----------------------------------------------------------------------------------


def stored_algorithm(algorithm: Algorithm, tmp_path: Path) -> Any:
    """An algorithm as plain values, as a file holds it."""
    run(store=tmp_path / "other.sqlite", algorithm=algorithm, bounds=None, items=range(500), max_evaluations=3)
    return RaceFile(tmp_path / "other.sqlite").settings()["algorithm"]


def test_a_comparison_of_very_many_terms_is_refused(store: RaceFile, tmp_path: Path) -> None:
    plain = stored_algorithm(PairwiseBAI(comparison=Betting(pool=500)), tmp_path)
    plain["comparison"] |= {"bets": [0.5] * 100_000, "weights": None}
    store.put("algorithm", plain)
    with pytest.raises(StoreError, match="100,000 terms"):
        load_result(store.path)


@pytest.mark.parametrize(
    ("algorithm", "n_arms", "words"),
    [
        (PairwiseBAI(comparison=Betting(pool=500)), 3_000, r"3,000 arms .* takes 1\.8 GiB .* large=True"),
        (PairwiseBAI(comparison=Betting(pool=500)), 20_000, r"20,000 arms .* GiB .* large=True"),
        (PairwiseBAI(comparison=LeaderBetting(pool=500, pairs=0.05)), 20_000, r"20,000 arms .* GiB .* large=True"),
        (ConvexBAI(0.05, comparison=ConvexBernstein(), check_growth=1.0), 2_500, r"2,500 arms .* minutes.* large=True"),
    ],
)
def test_very_many_arms_are_refused_before_they_take_memory_or_time(
    algorithm: Algorithm, n_arms: int, words: str, store: RaceFile, tmp_path: Path
) -> None:
    store.put("algorithm", stored_algorithm(algorithm, tmp_path))
    store.add_arms(n_arms)
    with pytest.raises(StoreError, match=words):
        load_result(store.path)


@pytest.mark.parametrize("growth", [1.0, 1.005, 1.05, 1e9])
def test_the_work_against_combinations_is_that_of_the_looks(growth: float) -> None:
    algorithm, n_rounds = ConvexBAI(0.05, comparison=ConvexBernstein(), check_growth=growth), 20_000
    looks, t = 0, 1
    while t <= n_rounds:
        looks, t = looks + 1, max(t + 1, math.ceil(min(growth, 1.1) * t))
    most = round((MOST_STEPS / looks) ** (1 / 3))
    check_cost(algorithm, round(0.9 * most), n_rounds)
    with pytest.raises(ValueError, match="minutes"):
        check_cost(algorithm, round(1.1 * most), n_rounds)
    check_cost(PairwiseBAI(0.05), 5_000, n_rounds)


def test_very_many_arms_are_shown_where_nothing_is_kept_for_pairs(tmp_path: Path) -> None:
    store, arms = tmp_path / "race.sqlite", range(3_000)
    begun = run(lambda arm, item: arm / 3_000, arms=arms, store=store, max_evaluations=3_000)
    assert begun.settings.algorithm.comparison == LeaderBetting()
    shown = load_result(store)
    assert (shown.leader, shown.n_rounds, len(shown.candidates)) == ("2999", 1, 3_000)


def test_rounds_without_their_scores_are_not_played_to_the_end(
    store: RaceFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bestarm.record.replay.BLOCK", 4)
    played, play = [], EliminationGame.play

    def counted(game: EliminationGame, rows: Any) -> int:
        played.append(len(rows))
        return play(game, rows)

    monkeypatch.setattr(EliminationGame, "play", counted)
    store.execute("DELETE FROM scores WHERE round > 2 AND arm < 2", "UPDATE rounds SET asked = 1 WHERE round > 2")
    with pytest.raises(StoreError, match="missing"):
        load_result(store.path)
    assert sum(played) <= 4


def test_a_round_far_away_is_refused_before_it_takes_memory(store: RaceFile) -> None:
    for table in ("rounds", "scores"):
        store.execute(f"UPDATE {table} SET round = 100000000 WHERE round = (SELECT max(round) FROM {table})")  # noqa: S608
    store.assert_refused("damaged")


def test_a_file_that_takes_more_work_than_its_size_can_need_is_refused(
    store: RaceFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("STEPS", 10), ("LOOKS", 1), ("BYTES_A_LOOK", 10**9)):
        monkeypatch.setattr(f"bestarm.record.sqlite.{name}", value)
    store.assert_refused("no end")


# --- nothing is imported, run or contacted ----------------------------------------------------------------------------

SOURCES: dict[str, dict[str, Any]] = {
    "function": {"kind": "function", "function": "witness:score", "items": "/nowhere/items.txt", "folder": "FOLDER"},
    "commands": {"kind": "commands", "items": None, "folder": "FOLDER"},
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("words", [["show"], ["show", "--json"], ["report", "-o", "page.html", "--json"]])
def test_what_a_file_names_is_neither_imported_nor_run_when_it_is_shown(
    cli: Cli, words: list[str], source: str, store: RaceFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.path.parent)
    Path("witness.py").write_text("open('mark', 'w').write('ran')\ndef score(arm, item): return 0.5\n")
    store.put("source", json.loads(json.dumps(SOURCES[source]).replace("FOLDER", str(store.path.parent))))
    store.execute("UPDATE arms SET name = 'touch mark' WHERE arm = 0")
    for module, name in ((os, "system"), (subprocess, "Popen"), (socket, "socket")):
        monkeypatch.setattr(module, name, None)
    shown = cli(words[0], store.path, *words[1:])
    assert shown.exit_code == 0
    assert "touch mark" in shown.stdout
    assert not Path("mark").exists()
    assert "witness" not in sys.modules
