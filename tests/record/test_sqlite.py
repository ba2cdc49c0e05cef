"""The file of a race: what plain SQL reads in it, and what happens where it is in use, lost, or cannot be written."""

import errno
import json
import math
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bestarm import Race, StoreError, load_result, race
from bestarm.algorithms import ConvexBAI
from bestarm.comparisons import ConvexBernstein
from killing import ARMS, outcome, quick, stored_scores
from race_files import RaceFile, nobody, tell_rounds
from small_race import LEVEL, run, share

ALL = list(ARMS)


# --- what is in a file ------------------------------------------------------------------------------------------------


def test_plain_sql_reads_schema_version_settings_arms_rounds_scores_and_eliminations(tmp_path: Path) -> None:
    store = RaceFile(tmp_path / "race.sqlite")
    result = race(quick, arms={"good": "good", "the best": "best"}, items=[7, 3, 5] * 10, seed=3, store=store.path)
    assert store.rows("PRAGMA user_version") == [(1,)]
    assert store.rows("PRAGMA application_id") == [(int.from_bytes(b"bARM"),)]
    assert store.rows("PRAGMA journal_mode") == [("wal",)]
    tables = "SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'"
    columns: dict[str, list[str]] = {}
    for table, column in store.rows(tables):
        columns.setdefault(table, []).append(column)
    assert columns == {
        "settings": ["name", "value"],
        "arms": ["arm", "name"],
        "rounds": ["round", "item", "asked"],
        "scores": ["round", "arm", "score", "failure"],
        "eliminations": ["arm", "round", "by", "margin", "weights"],
    }
    settings = store.settings()
    assert settings == result.settings.to_plain() | {"format": 1, "source": None, "reason": "decided"}
    assert settings["algorithm"]["type"] == "PairwiseBAI"
    assert settings["algorithm"]["comparison"]["min_rounds"] == 10
    assert (settings["items"], settings["n_items"], settings["seed"]) == ("pool", 30, 3)
    assert store.rows("SELECT * FROM arms ORDER BY arm") == [(0, "good"), (1, "the best")]
    items = [item for (item,) in store.rows("SELECT item FROM rounds ORDER BY round")]
    assert set(items) == {"7", "3", "5"}
    assert store.rows("SELECT round, asked FROM rounds ORDER BY round") == [(r + 1, 2) for r in range(result.n_rounds)]
    assert store.rows("SELECT * FROM scores ORDER BY round, arm") == [
        (r + 1, k, quick(arm, int(item)), None)
        for r, item in enumerate(items)
        for k, arm in enumerate(["good", "best"])
    ]
    (out,) = result.eliminations
    assert store.rows("SELECT * FROM eliminations") == [(0, out.round, 1, out.margin, None)]
    assert out.round == result.n_rounds


def test_weights_of_a_convex_elimination_are_json(tmp_path: Path) -> None:
    rule = ConvexBAI(0.1, comparison=ConvexBernstein(sparsity=1))
    result = race(lambda arm, seed: float(arm == "best"), arms=ALL, algorithm=rule, store=tmp_path / "race.sqlite")
    stored = RaceFile(tmp_path / "race.sqlite").rows("SELECT arm, weights FROM eliminations ORDER BY round, arm")
    assert len(stored) > 0
    assert [(ALL[arm], {ALL[int(k)]: w for k, w in json.loads(text).items()}) for arm, text in stored] == [
        (out.arm, out.weights) for out in result.eliminations
    ]


def fails(arm: str, item: int) -> float:
    if arm == "low" and item > 2:
        raise RuntimeError("out of\nmemory")
    return math.nan if arm == "mid" and item == 4 else share(arm, item)


@pytest.mark.parametrize(("on_error", "score_of_failure"), [("worst", 0.0), ("disqualify", None)])
def test_failures_are_stored_with_their_text(on_error: Any, score_of_failure: float | None, tmp_path: Path) -> None:
    store = RaceFile(tmp_path / "race.sqlite")
    result = run(fails, items=iter(range(6)), on_error=on_error, store=store.path)
    failed = store.rows("SELECT round, arm, score, failure FROM scores WHERE failure NOT NULL")
    begun = "counted as worst: " if on_error == "worst" else ""
    words = begun + "evaluate('low', {}) failed: RuntimeError: out of\nmemory"
    other = begun + "evaluate('mid', 4) returned nan: a score must be a finite number"
    low = [(item + 1, 0, score_of_failure, words.format(item)) for item in (3, 4, 5)]
    mid = (5, 1, score_of_failure, other)
    assert failed == ([low[0], low[1], mid, low[2]] if on_error == "worst" else [low[0], mid])
    if on_error == "disqualify":
        assert [(out.arm, out.round, out.failure) for out in result.disqualified] == [
            ("low", 4, words.format(3)),
            ("mid", 5, other),
        ]
        assert load_result(store.path).disqualified == result.disqualified


def test_arms_that_are_no_text_come_back_by_their_names(tmp_path: Path) -> None:
    result = run(lambda arm, item: arm / 10 + share("low", item), arms=[1, 2.5, 3], store=tmp_path / "race.sqlite")
    loaded = load_result(tmp_path / "race.sqlite")
    assert (result.best, loaded.best) == (3, "3")
    assert loaded.arms == ("1", "2.5", "3")
    assert [out.arm for out in loaded.eliminations] == [str(out.arm) for out in result.eliminations]
    assert str(loaded) == str(result)


def test_showing_a_race_leaves_nothing_beside_it(store: RaceFile, killed: RaceFile) -> None:
    for shown, n_rounds, reason in ((store, 17, "decided"), (killed, 5, "running")):
        before = {path: path.read_bytes() for path in shown.path.parent.iterdir()}
        result = load_result(shown.path)
        assert (result.n_rounds, result.reason) == (n_rounds, reason)
        assert {path: path.read_bytes() for path in shown.path.parent.iterdir()} == before
        assert run(store=shown.path).to_json() == run(target="items").to_json()


# --- names of files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        ":memory:",
        "file:race.sqlite",
        "file::memory:?cache=shared",
        "race.sqlite?mode=memory",
        "50%41?mode=ro#1.sqlite",
        "a b.sqlite",
        "Rennen-äß-✓",
        "-wal",
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
    begun = run(store=kind(name), max_evaluations=30)
    assert [path.name for path in tmp_path.iterdir()] == [name.rstrip("/")]
    assert load_result(kind(name)).to_json() == begun.to_json()
    assert run(store=tmp_path / name).to_json() == run().to_json()


def test_two_slashes_are_no_address(tmp_path: Path) -> None:
    place = f"/{tmp_path}/race.sqlite"
    assert place.startswith("//")
    begun = run(store=place, max_evaluations=30)
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


def test_a_name_in_a_folder_that_is_gone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(StoreError, match=r"race\.sqlite"):
        load_result("race.sqlite")


def test_bytes_are_no_path() -> None:
    with pytest.raises(TypeError, match="b'race"):
        load_result(b"race.sqlite")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^store must be .* b'race"):
        Race(["a", "b"], store=b"race.sqlite")  # type: ignore[arg-type]


def test_the_log_is_looked_for_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here.sqlite").symlink_to(tmp_path / "there" / "race.sqlite")
    with Race(["a", "b", "c"], store=tmp_path / "here.sqlite"), pytest.raises(StoreError, match="in use"):
        load_result(tmp_path / "here.sqlite")
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["race.sqlite"]


def test_a_place_where_nothing_can_be_stored_is_refused_before_anything_is_evaluated(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "race.sqlite")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    begun: list[str] = []
    for name in ("", "nowhere/race.sqlite", "file/race.sqlite", "link", "loop", "long" * 100):
        with pytest.raises(StoreError, match="cannot be stored in") as refusal:
            run(lambda arm, item: begun.append(arm), store=tmp_path / name)
        assert str(tmp_path) in str(refusal.value)
        with pytest.raises(StoreError, match="there is no race in"):
            load_result(tmp_path / name)
    assert begun == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "loop"]


# --- in use -----------------------------------------------------------------------------------------------------------

HOLDER = """
import sys, bestarm
options = {"items": range(500), "bounds": (0, 1), "target": "items"}
with bestarm.Race(["low", "mid", "high"], store=sys.argv[1], **options) as contest:
    print("open", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("new", [False, True])
def test_a_file_in_use_by_another_process_is_refused_and_unchanged(new: bool, store: RaceFile) -> None:
    if new:
        store.path.unlink()
    command = [sys.executable, "-c", HOLDER, str(store.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        store.assert_refused("is in use by another process")
        process.communicate("\n")
    assert process.returncode == 0
    assert run(store=store.path).n_rounds == 17


def test_a_file_in_use_by_the_same_process_is_refused_stays_closed_to_others_and_the_race_goes_on(
    tmp_path: Path,
) -> None:
    store = tmp_path / "race.sqlite"
    options: dict[str, Any] = {"items": range(500), "bounds": (0, 1), "store": store}
    with Race(tuple(LEVEL), **options) as contest:
        tell_rounds(contest, 3)
        for _ in range(2):
            for attempt in (lambda: Race(tuple(LEVEL), **options), lambda: load_result(store)):
                with pytest.raises(StoreError, match="is in use"):
                    attempt()
        other = subprocess.run([sys.executable, "-c", HOLDER, str(store)], input="\n", capture_output=True, text=True)  # noqa: S603, PLW1510
        assert other.returncode == 1
        assert "is in use by another process" in other.stderr
        tell_rounds(contest, 15)
        assert contest.finished
    assert load_result(store).to_json() == run().to_json()


# --- where nothing can be written -------------------------------------------------------------------------------------


def write_protect(folder: Path) -> dict[str, bytes]:
    """Let nobody write to a folder and what is in it; what is in it."""
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o444)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("with_log", [False, True])
@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_a_finished_race_on_a_read_only_disk_is_shown_and_not_continued(
    folder_mode: int, with_log: bool, open_folder: Path
) -> None:
    ended = run(store=open_folder / "race.sqlite")
    if with_log:
        (open_folder / "race.sqlite-wal").touch()  # an empty one does not matter
    before = write_protect(open_folder)
    open_folder.chmod(folder_mode)
    with nobody():
        assert load_result(open_folder / "race.sqlite").to_json() == ended.to_json()
        with pytest.raises(StoreError, match=r"cannot be stored in"):
            run(store=open_folder / "race.sqlite")
    assert write_protect(open_folder) == before


def test_a_killed_race_on_a_read_only_disk_is_shown_with_what_is_in_its_log(
    killed: RaceFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, unlink = killed.path.parent, Path.unlink
    before = write_protect(folder)

    def as_on_a_read_only_disk(path: Path, missing_ok: bool = False) -> None:
        if path.parent == folder:  # there even what is not there cannot be removed
            raise OSError(errno.EROFS, "Read-only file system")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", as_on_a_read_only_disk)
    with nobody():
        assert load_result(killed.path).n_rounds == 5
    assert write_protect(folder) == before


def test_a_file_that_may_not_be_read_is_refused(open_folder: Path) -> None:
    run(store=open_folder / "race.sqlite")
    (open_folder / "race.sqlite").chmod(0)
    with nobody(), pytest.raises(StoreError, match="cannot be read"):
        load_result(open_folder / "race.sqlite")


def test_without_any_place_for_an_index_it_is_said(killed: RaceFile, monkeypatch: pytest.MonkeyPatch) -> None:
    before = write_protect(killed.path.parent)
    monkeypatch.setattr(tempfile, "tempdir", str(killed.path.parent / "absent"))
    with nobody(), pytest.raises(StoreError, match="temporary files"):
        load_result(killed.path)
    assert write_protect(killed.path.parent) == before


def test_a_race_that_is_running_on_a_read_only_disk_is_in_use(open_folder: Path) -> None:
    with Race(tuple(LEVEL), store=open_folder / "race.sqlite") as contest:
        tell_rounds(contest, 2)
        write_protect(open_folder)
        with nobody(), pytest.raises(StoreError, match="is in use by another process"):
            load_result(open_folder / "race.sqlite")
        open_folder.chmod(0o755)


def test_a_race_that_is_written_while_it_is_copied_is_in_use(killed: RaceFile, monkeypatch: pytest.MonkeyPatch) -> None:
    copyfile, connect = shutil.copyfile, sqlite3.connect

    def slow(source: Path, target: Path) -> None:
        copyfile(source, target)
        os.utime(killed.path, ns=(1, 1))

    def without_index(address: str, **options: Any) -> sqlite3.Connection:
        """Root may make the index in any folder: as if it could not."""
        if address.endswith("?mode=ro"):
            address = address.replace("?", "/race.sqlite?")
        connection: sqlite3.Connection = connect(address, **options)
        return connection

    monkeypatch.setattr(shutil, "copyfile", slow)
    monkeypatch.setattr(sqlite3, "connect", without_index)
    with pytest.raises(StoreError, match="is in use by another process"):
        load_result(killed.path)


# --- full disks -------------------------------------------------------------------------------------------------------


@contextmanager
def files_up_to(n_bytes: int) -> Iterator[None]:
    """Writing fails beyond this size of a file, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def connecting(monkeypatch: pytest.MonkeyPatch, prepare: Callable[[sqlite3.Connection], object]) -> None:
    """Have something done with every connection to SQLite as soon as it is made."""
    connect = sqlite3.connect

    def prepared(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        prepare(connection)
        return connection

    monkeypatch.setattr(sqlite3, "connect", prepared)


def test_transactions_are_on_disk_before_they_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[sqlite3.Connection] = []
    connecting(monkeypatch, made.append)
    for _ in ("new", "continued"):
        with Race(ALL, store=tmp_path / "race.sqlite"):
            assert made[-1].execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert made[-1].execute("PRAGMA synchronous").fetchone() == (2,)


def transactions(store: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long the log is before each transaction of a race."""
    sizes: set[int] = set()

    def measure(statement: str) -> None:
        if statement == "COMMIT" and (log := Path(f"{store}-wal")).exists():
            sizes.add(log.stat().st_size)

    with monkeypatch.context() as patch:
        connecting(patch, lambda connection: connection.set_trace_callback(measure))
        race(quick, arms=ALL, store=store)
    return sorted(sizes)


def continues_after(limit: AbstractContextManager[None], store: Path, **settings: Any) -> int:
    """A write error within the limit is a StoreError; what was stored is shown and goes on. How many scores it was."""
    begun: list[tuple[str, int]] = []

    def evaluate(arm: str, item: Any) -> float:
        begun.append((arm, int(item)))
        return quick(arm, int(item))

    store.parent.mkdir()
    with pytest.raises(StoreError, match="space left"), limit:
        race(evaluate, arms=ALL, store=store, **settings)
    known = stored_scores(store)
    assert known <= set(begun)
    assert set(begun) - known <= set(begun[-len(ALL) :])  # at most the round that was not stored
    if known:
        assert load_result(store).reason in ("running", "decided")
    begun.clear()
    result = race(evaluate, arms=ALL, store=store, **settings)
    assert known.isdisjoint(begun)
    assert outcome(result) == outcome(race(evaluate, arms=ALL, **settings))
    return len(known)


def test_a_write_error_in_any_transaction_is_reported_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = transactions(tmp_path / "whole.sqlite", monkeypatch)
    assert len(sizes) >= 20  # 17 rounds, two eliminations, the end; the log starts anew after the beginning
    known = [continues_after(files_up_to(size + 100), tmp_path / str(size) / "race.sqlite") for size in sizes]
    assert known == sorted(known)
    assert known[-1] == 59


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def pages(n_pages: int) -> Iterator[None]:
        with monkeypatch.context() as patch:
            connecting(patch, lambda connection: connection.execute(f"PRAGMA max_page_count={n_pages}"))
            yield

    items = [f"{k:0200}" for k in range(80)]  # long names fill pages
    known = [
        continues_after(pages(n_pages), tmp_path / str(n_pages) / "race.sqlite", items=items, delta=1e-20)
        for n_pages in range(1, 12)
    ]
    assert known == sorted(known)
    assert known[0] == 0
    assert known[-1] > 60


def test_a_race_cannot_be_continued_on_a_full_disk_and_stays_as_it_is(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    run(store=store, max_evaluations=30)
    before = store.read_bytes()
    with files_up_to(0), pytest.raises(StoreError, match="space left"):
        run(store=store)
    assert store.read_bytes() == before
    assert run(store=store).to_json() == run().to_json()


def test_scores_that_could_not_be_stored_can_be_told_again(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    with Race(ALL, store=store) as contest:
        tell_rounds(contest, 3, quick)
        (todo,) = contest.ask()
        scores = {arm: quick(arm, todo.item) for arm in todo.arms}
        for _ in range(2):
            with files_up_to(Path(f"{store}-wal").stat().st_size), pytest.raises(StoreError, match="space left"):
                contest.tell(todo, scores)
        contest.tell(todo, scores)
        tell_rounds(contest, 1, quick)
    assert RaceFile(store).rows("SELECT round, asked FROM rounds") == [(r, 4) for r in range(1, 6)]
    assert load_result(store).n_rounds == 5
    assert outcome(race(quick, arms=ALL, store=store)) == outcome(race(quick, arms=ALL))


# --- deleted, moved, replaced or emptied while the race runs ----------------------------------------------------------


def replace_file(path: Path) -> None:
    path.with_name("other").write_bytes(b"something else")
    path.with_name("other").replace(path)


HAPPENS: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "moved": lambda path: path.rename(path.with_name("moved.sqlite")),
    "replaced": replace_file,
    "emptied": lambda path: os.truncate(path, 0),
}


@pytest.mark.parametrize("happens", HAPPENS)
def test_a_file_that_is_gone_is_noticed_and_nothing_is_lost(happens: str, tmp_path: Path) -> None:
    store, begun = tmp_path / "race.sqlite", list[tuple[str, Any]]()

    def watched(arm: str, item: Any) -> float:
        begun.append((arm, item))
        if len(begun) == 31:
            HAPPENS[happens](store)
        return share(arm, item)

    copy = tmp_path / "race-rescued.sqlite"
    with pytest.raises(StoreError) as refusal:
        run(evaluate=watched, store=store)
    assert happens in str(refusal.value)
    assert str(copy) in str(refusal.value)
    assert load_result(copy).n_evaluations >= 30
    assert run(store=copy).to_json() == run().to_json()


def test_what_is_left_of_a_file_that_was_emptied_is_not_called_a_copy(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    with Race(["a", "b"], store=store) as contest:
        contest.tell(contest.ask()[0], {"a": 1.0, "b": 0.0})
    with Race(["a", "b"], store=store) as contest:
        todo = contest.ask()[0]
        os.truncate(store, 0)
        with pytest.raises(StoreError, match="could not be saved elsewhere"):
            contest.tell(todo, {"a": 1.0, "b": 0.0})
    assert [path.name for path in tmp_path.iterdir()] == ["race.sqlite"]


def test_a_folder_that_is_gone_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "races").mkdir()
    with Race(["a", "b"], store=tmp_path / "races" / "race.sqlite") as contest:
        (todo,) = contest.ask()
        (tmp_path / "races").rename(tmp_path / "elsewhere")
        for _ in range(2):
            with pytest.raises(StoreError, match="could not be saved elsewhere"):
                contest.tell(todo, {"a": 1.0, "b": 0.0})
