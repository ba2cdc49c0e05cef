"""Stores that are damaged at random: bytes, cells of any type, settings of any kind, and tables that do not belong."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

CELLS: list[Any] = [None, 0, 1, -1, 1.5, 1e308, -1e308, 1e-320, float("inf"), 2**31, 2**53, 2**63 - 1, -(2**63)]
CELLS += ["", "x", "1", "[]", "\x1b[2J", "\u202e", "a" * 5000, b"", b"\xff\xfe"]
PLAIN: list[Any] = [None, True, False, 0, 1, -1, 1.5, 1e308, float("nan"), float("inf"), 10**6, 2**63, 10**400, "", "x"]
PLAIN += [[], {}, [1], [None], [[[[]]]], [0.5] * 2000, "pool", "stream", "seeds", "drawn", "worst", "disqualify"]
PLAIN += [{"type": kind} for kind in ("PairwiseBAI", "ConvexBAI", "LUCB", "Betting", "StudentMixture", "os.system")]
PLAIN += [{"type": []}, {"type": "StudentMixture", "min_rounds": 10**30}, {"type": "PairwiseBAI", "own": True}]
COLUMNS = {
    "settings": ("name", "value"),
    "arms": ("arm", "name"),
    "rounds": ("round", "item", "asked"),
    "scores": ("round", "arm", "score", "failure"),
    "eliminations": ("arm", "round", "by", "margin", "weights"),
}
SCHEMES = (
    "CREATE VIEW v AS SELECT 1",
    "CREATE TRIGGER t AFTER INSERT ON scores BEGIN DELETE FROM scores; END",
    "CREATE INDEX i ON scores (score)",
    "CREATE TABLE more (x)",
    "DROP TABLE eliminations",
    "ALTER TABLE arms ADD COLUMN more",
    "ALTER TABLE scores RENAME COLUMN failure TO note",
    "PRAGMA user_version=3",
    "PRAGMA application_id=3",
    "ANALYZE",
    "DELETE FROM scores WHERE round > 3",
    "DELETE FROM rounds",
    "UPDATE scores SET score = score * 1e300",
    "UPDATE scores SET score = 0.5",
    "UPDATE scores SET score = NULL",
    "UPDATE rounds SET asked = 2",
)


def damage(store: Path, luck: random.Random) -> None:
    """Damage a store in one of many ways; it may still be a race afterwards."""
    luck.choice([_damage_bytes, _damage_settings, _damage_cells])(store, luck)


def _damage_bytes(store: Path, luck: random.Random) -> None:
    data = bytearray(store.read_bytes())
    kind, start = luck.choice(["flip", "flip", "flip", "cut", "blank", "swap"]), luck.randrange(len(data))
    if kind == "flip":
        for _ in range(luck.choice([1, 2, 5, 20])):
            data[luck.randrange(len(data))] = luck.randrange(256)
    elif kind == "cut":
        del data[max(start, 1) :]
    elif kind == "blank":
        length = len(data[start : start + luck.randrange(2000)])
        data[start : start + length] = bytes(length)
    else:
        one, other = (4096 * luck.randrange(len(data) // 4096) for _ in range(2))
        data[one : one + 4096], data[other : other + 4096] = data[other : other + 4096], data[one : one + 4096]
    store.write_bytes(data)


def _damage_settings(store: Path, luck: random.Random) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        settings = dict(connection.execute("SELECT name, value FROM settings").fetchall())
        name = luck.choice(sorted(settings))
        changed = json.dumps(_changed(json.loads(settings[name]), luck)) if luck.random() < 0.95 else "[" * 100_000
        connection.execute("UPDATE settings SET value = ? WHERE name = ?", (changed, name))


def _changed(plain: Any, luck: random.Random) -> Any:
    """Some plain values with another one in some place."""
    if isinstance(plain, dict) and plain and luck.random() < 0.8:
        name = luck.choice(sorted(plain))
        kept = {other: part for other, part in plain.items() if other != name}
        return kept if luck.random() < 0.1 else kept | {name: _changed(plain[name], luck)}
    if isinstance(plain, list) and plain and luck.random() < 0.6:
        place = luck.randrange(len(plain))
        return [*plain[:place], _changed(plain[place], luck), *plain[place + 1 :]]
    if isinstance(plain, int | float) and luck.random() < 0.4:
        return plain * luck.choice([0, -1, 0.5, 2, 1e6, 1e300])
    return luck.choice(PLAIN)


def _damage_cells(store: Path, luck: random.Random) -> None:
    table = luck.choice(sorted(COLUMNS))
    names = COLUMNS[table]
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        rows = connection.execute(f"SELECT {names[0]} FROM {table}").fetchall()  # noqa: S608 - names from above
        row, kind = luck.choice(rows or [(0,)]), luck.choice(["set", "set", "set", "delete", "insert", "schema"])
        try:
            if kind == "set":
                change = f"UPDATE {table} SET {luck.choice(names)} = ? WHERE {names[0]} = ?"  # noqa: S608
                connection.execute(change, (luck.choice(CELLS), *row))
            elif kind == "delete":
                connection.execute(f"DELETE FROM {table} WHERE {names[0]} = ?", row)  # noqa: S608
            elif kind == "insert":
                places = ", ".join("?" * len(names))
                connection.execute(f"INSERT INTO {table} VALUES ({places})", [luck.choice(CELLS) for _ in names])  # noqa: S608
            else:
                connection.execute(luck.choice(SCHEMES))
        except sqlite3.Error:  # what the schema itself refuses is no damage
            return
