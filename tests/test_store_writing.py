import math
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bestarm import Race, StoreError, load_result, race
from bestarm.algorithms import Game, PairwiseBAI
from bestarm.comparisons import StudentMixture
from killing import ARMS, outcome, quick, score, share, stored_scores
from rights import nobody

ALL = list(ARMS)


def tell_rounds(contest: Race[Any], n_rounds: int) -> None:
    for _ in range(n_rounds):
        for todo in contest.ask():
            contest.tell(todo, {arm: quick(arm, todo.item) for arm in todo.arms})


@contextmanager
def files_up_to(n_bytes: int) -> Iterator[None]:
    """Writing fails beyond this size of a file, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_place_where_nothing_can_be_stored_is_refused_before_anything_is_evaluated(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "race.sqlite")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    begun: list[str] = []
    for place, words in (
        (tmp_path, "it is a folder"),
        (tmp_path / "nowhere" / "race.sqlite", "it is in a folder that does not exist"),
        (tmp_path / "file" / "race.sqlite", "it is in a folder that does not exist"),
        (tmp_path / "link", "it is in a folder that does not exist"),
        (tmp_path / "loop", "check its name and its folder"),
    ):
        with pytest.raises(StoreError) as refusal:
            race(lambda arm, item: begun.append(arm), arms=ALL, store=place)
        assert f"cannot be stored in {place}" in str(refusal.value)
        assert words in str(refusal.value)
        with pytest.raises(StoreError):
            load_result(place)
    assert begun == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "loop"]


def test_a_name_that_the_system_does_not_take_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="check its name and its folder"):
        Race(ALL, store=tmp_path / ("long" * 100))
    with pytest.raises(StoreError, match="there is no race"):
        load_result(tmp_path / ("long" * 100))


@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_without_the_right_to_write_a_race_is_refused_and_its_copy_can_be_shown(
    folder_mode: int, tmp_path: Path
) -> None:
    store = tmp_path / "race.sqlite"
    expected = outcome(race(quick, arms=ALL, store=store))
    content = store.read_bytes()
    with tempfile.TemporaryDirectory() as folder:  # others may not enter those of pytest
        copy = Path(shutil.copy(store, folder))
        copy.chmod(0o444)
        Path(folder).chmod(folder_mode)
        with nobody():
            with pytest.raises(StoreError, match="cannot be stored in"):
                race(quick, arms=ALL, store=copy)
            assert outcome(load_result(copy)) == expected
        Path(folder).chmod(0o755)
        assert copy.read_bytes() == content


def transactions(store: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long the log is before each transaction of a race."""
    sizes: list[int] = []
    connect = sqlite3.connect

    def measured(statement: str) -> None:
        if statement == "COMMIT" and (log := Path(f"{store}-wal")).exists():
            sizes.append(log.stat().st_size)

    def watched(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.set_trace_callback(measured)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", watched)
        race(quick, arms=ALL, store=store)
    return sorted(set(sizes))


def continues_after(limit: AbstractContextManager[None], store: Path, **settings: Any) -> int:
    """A write error within the limit is a StoreError; what was stored is shown and goes on. How many scores it was."""
    begun: list[tuple[str, int]] = []

    def evaluate(arm: str, item: Any) -> float:
        begun.append((arm, int(item)))
        return quick(arm, int(item))

    store.parent.mkdir()
    with pytest.raises(StoreError, match="is there space left"), limit:
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
    unexplained, known = {}, []
    for size in sizes:
        try:
            known.append(continues_after(files_up_to(size + 100), tmp_path / str(size) / "race.sqlite"))
        except sqlite3.Error as error:
            unexplained[size] = repr(error)
    assert unexplained == {}
    assert known == sorted(known)
    assert known[-1] == 59


def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    @contextmanager
    def pages(n_pages: int) -> Iterator[None]:
        def limited(*args: Any, **kwargs: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*args, **kwargs)
            connection.execute(f"PRAGMA max_page_count={n_pages}")
            return connection

        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", limited)
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
    with Race(ALL, store=store) as contest:
        tell_rounds(contest, 12)
    before = store.read_bytes()
    with files_up_to(0), pytest.raises(StoreError, match="is there space left"):
        Race(ALL, store=store)
    assert store.read_bytes() == before
    assert outcome(race(quick, arms=ALL, store=store)) == outcome(race(quick, arms=ALL))


def test_scores_that_could_not_be_stored_can_be_told_again(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    with Race(ALL, store=store) as contest:
        tell_rounds(contest, 3)
        (todo,) = contest.ask()
        scores = {arm: quick(arm, todo.item) for arm in todo.arms}
        for _ in range(2):
            with (
                files_up_to(Path(f"{store}-wal").stat().st_size),
                pytest.raises(StoreError, match="is there space left"),
            ):
                contest.tell(todo, scores)
        contest.tell(todo, scores)
        tell_rounds(contest, 1)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT round, asked FROM rounds").fetchall() == [(r, 4) for r in range(1, 6)]
    assert load_result(store).n_rounds == 5
    assert outcome(race(quick, arms=ALL, store=store)) == outcome(race(quick, arms=ALL))


def fails(arm: str, item: int) -> float:
    if arm == "bad" and item > 2:
        raise RuntimeError("out of\nmemory")
    return math.nan if arm == "fair" and item == 4 else share(arm, item)


@pytest.mark.parametrize(("on_error", "score_of_failure"), [("worst", 0.0), ("disqualify", None)])
def test_failures_are_stored_with_their_text(on_error: Any, score_of_failure: float | None, tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    result = race(fails, arms=ALL, items=iter(range(6)), bounds=(0, 1), on_error=on_error, store=store)
    with closing(sqlite3.connect(store)) as connection:
        failed = connection.execute("SELECT round, arm, score, failure FROM scores WHERE failure NOT NULL").fetchall()
    begun = "counted as worst: " if on_error == "worst" else ""
    words = begun + "evaluate('bad', {}) failed: RuntimeError: out of\nmemory"
    other = begun + "evaluate('fair', 4) returned nan: a score must be a finite number"
    bad = [(item + 1, 0, score_of_failure, words.format(item)) for item in (3, 4, 5)]
    fair = (5, 1, score_of_failure, other)
    assert failed == ([bad[0], bad[1], fair, bad[2]] if on_error == "worst" else [bad[0], fair])
    if on_error == "disqualify":
        assert [(out.arm, out.round, out.failure) for out in result.disqualified] == [
            ("bad", 4, words.format(3)),
            ("fair", 5, other),
        ]
        assert load_result(store).disqualified == result.disqualified


@dataclass(frozen=True)
class OwnAlgorithm:
    """What somebody else has written."""

    delta: float = 0.05

    def start(self, n_arms: int) -> Game:
        return PairwiseBAI(self.delta, comparison=StudentMixture(min_rounds=10)).start(n_arms)


def test_a_race_with_an_algorithm_of_ones_own_is_continued_from_python_only(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    interrupted = race(quick, arms=ALL, algorithm=OwnAlgorithm(), max_evaluations=44, store=store)
    assert interrupted.reason == "budget"
    assert outcome(race(quick, arms=ALL, algorithm=OwnAlgorithm(), store=store)) == outcome(race(quick, arms=ALL))
    with pytest.raises(StoreError, match=r"delta was 0\.05 when the race began and is 0\.1 now"):
        race(quick, arms=ALL, algorithm=OwnAlgorithm(0.1), store=store)
    with pytest.raises(
        (StoreError, ValueError), match="OwnAlgorithm, is not one of bestarm's own: continue the race from Python"
    ):
        load_result(store)


def test_arms_that_are_no_text_come_back_by_their_names(tmp_path: Path) -> None:
    result = race(lambda arm, item: score("best", item) + arm / 10, arms=[1, 2.5, 3], store=tmp_path / "race.sqlite")
    loaded = load_result(tmp_path / "race.sqlite")
    assert (result.best, loaded.best) == (3, "3")
    assert loaded.arms == ("1", "2.5", "3")
    assert [out.arm for out in loaded.eliminations] == [str(out.arm) for out in result.eliminations]
    assert str(loaded) == str(result)
