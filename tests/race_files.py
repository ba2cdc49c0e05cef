"""Stores of races in the hands of the tests: files that are changed with plain SQL, and a store in memory."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bestarm import Race, StoreError, load_result
from bestarm.algorithms import Elimination
from bestarm.racing import Record, StoredRace
from small_race import run, share


@dataclass(frozen=True)
class RaceFile:
    """The file of a race that `small_race.run` has begun."""

    path: Path

    def execute(self, *statements: str, values: tuple[Any, ...] = ()) -> None:
        """Change it with SQL, each statement in a transaction of its own."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement, values)

    def put(self, name: str, value: Any) -> None:
        """Write a setting: a value, or a text that need not be JSON."""
        text = value if isinstance(value, str) else json.dumps(value)
        self.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", values=(name, text))

    def rows(self, query: str) -> list[Any]:
        """What a query gives."""
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(query).fetchall()

    def scores(self) -> list[tuple[int, int, float | None, str | None]]:
        """The rows of scores: round, arm, score, failure."""
        return self.rows("SELECT round, arm, score, failure FROM scores ORDER BY round, arm")

    def settings(self) -> dict[str, Any]:
        """The settings as plain values."""
        return {name: json.loads(value) for name, value in self.rows("SELECT name, value FROM settings")}

    def add_arms(self, n_arms: int) -> None:
        """Give it so many arms."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            (begun,) = connection.execute("SELECT count(*) FROM arms").fetchone()
            connection.executemany("INSERT INTO arms VALUES (?, ?)", ((k, f"arm {k}") for k in range(begun, n_arms)))

    def content(self) -> dict[str, bytes]:
        """The file, and its log if there is something in it."""
        files = {path.name: path for path in self.path.parent.iterdir() if path.is_file() and not path.is_symlink()}
        content = {name: path.read_bytes() for name, path in files.items() if not name.endswith("-shm")}
        return {name: data for name, data in content.items() if data}

    def assert_refused(self, *words: str) -> None:
        """Neither shown nor continued, in one sentence that names the file and has these words; it stays as it is."""
        before = self.content()
        attempts: tuple[Callable[[], Any], ...] = (lambda: load_result(self.path), lambda: run(store=self.path))
        for attempt in attempts:
            with pytest.raises(StoreError) as refusal:
                attempt()
            text = str(refusal.value)
            assert str(self.path) in text
            assert [word for word in words if word not in text] == []
            assert len(text.splitlines()) == 1
            assert len(text) < 1000
            assert self.content() == before


class Memory:
    """A store of the user's own, with everything in lists."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] | None = None
        self.arms: tuple[str, ...] = ()
        self.rounds: list[Any] = []
        self.scores: list[Any] = []
        self.out: list[Elimination[int]] = []
        self.closed = 0

    def __str__(self) -> str:
        return "my memory"

    def load(self) -> StoredRace | None:
        if self.settings is None:
            return None
        record = Record.of_rows(sorted(self.rounds), sorted(self.scores, key=lambda row: row[:2]), ahead=9)
        return StoredRace(self.settings, self.arms, record)

    def create(self, settings: dict[str, Any], arms: Sequence[str]) -> None:
        self.settings, self.arms = settings, tuple(arms)

    def update(self, settings: dict[str, Any]) -> None:
        assert self.settings is not None
        self.settings |= settings

    def save(self, rounds: Sequence[Any], scores: Sequence[Any]) -> None:
        self.rounds += rounds
        self.scores += scores

    def save_eliminations(self, eliminations: Iterable[Elimination[int]]) -> None:
        self.out = list(eliminations)

    def close(self) -> None:
        self.closed += 1


def tell_rounds(contest: Race[Any], n_rounds: int, score: Callable[[Any, Any], float] = share) -> None:
    """Give a race the scores of so many rounds."""
    for _ in range(n_rounds):
        for todo in contest.ask():
            contest.tell(todo, {arm: score(arm, todo.item) for arm in todo.arms})


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, whom no permission binds."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
