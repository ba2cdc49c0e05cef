"""Damage to saved races by what SQL can change in them."""

import json
import random
import sqlite3
from collections.abc import Callable
from typing import Any

from attacks import bad_values

COLUMNS = {
    "settings": ("name", "value"),
    "arms": ("arm", "name"),
    "rounds": ("round", "item", "asked"),
    "scores": ("round", "arm", "score", "failure"),
    "eliminations": ("arm", "round", "by", "margin", "weights"),
}
JSON_VALUES: tuple[str, ...] = (
    "null", "true", "0", "1", "-1", "2", "3", "5", "0.5", "0.05", "1e308", "-1e308", "1e-320", "1e999", "NaN", "Infinity", "10000000000000000000000", '""', '"x"', "[]", "{}",
    "[0, 1]", "[1, 0]", "[null, 1]", "[1e308, 1e309]", '["a", "b"]', "[1, 1, 1]", '{"type": "PairwiseBAI"}', '{"type": "LUCB", "delta": 0.05, "variances": 0.01}',
    '{"type": "os.system"}', '{"type": []}', '{"type": "PairwiseBAI", "delta": "x"}', '{"type": "PairwiseBAI", "delta": 0.05, "comparison": {"type": "Betting", "bets": []}}',
    '{"type": "PairwiseBAI", "delta": 0.05, "comparison": {"type": "Wins", "pool": 1000000000}}', '{"own": true, "type": "x"}',
    '{"kind": "function", "function": "canary:run", "items": null, "folder": "."}', '{"kind": "commands", "items": null, "folder": "/"}', '{"kind": "demo"}', '{"kind": []}',
    '{"kind": "commands", "items": "/etc/passwd", "folder": ".", "score": "time", "timeout": 1e999}', "[" * 900 + "]" * 900, "[" * 100_000, '"' + "x" * 100_000 + '"', "1" * 5000,
    '"\\u0000"', '"\\ud800"', '"\\u001b[2J"', '{"a": 1, "a": 2}', "nul", "", "{", "'x'", "100000000", "[100000000]",
)  # fmt: skip


WHOLE = (0, 1, 2, 3, -1, 5, 100, 2**31, 2**63 - 1, -(2**63), 100_000_000, 10**15)
REAL = (0.0, 0.5, -0.0, 1.5, 1e308, -1e308, 1e154, 5e-324, float("inf"), float("-inf"), float("nan"))
BLOBS = (b"", b"\0", b"\xff\xfe", b"x" * 10_000, b"0.5")
PARTS: tuple[Any, ...] = (None, True, 0, 1, -1, 0.5, 1e308, 10**9, "x", "", [], {}, [1, 2], {"type": "x"}, "Betting", 10**30, [[]], "1")  # fmt: skip


def cell(luck: random.Random) -> Any:
    """A value that SQLite can hold."""
    text = bad_values.text(luck).encode("utf-8", "replace").decode()
    long = "long text " * luck.choice((1, 100, 10_000))
    of_a_kind = luck.choice(((None,), WHOLE, REAL, BLOBS, JSON_VALUES, (long,), (text,), (text,)))
    return luck.choice(of_a_kind)


def damaged_by_sql(connection: sqlite3.Connection, luck: random.Random) -> str:
    """Change what is in a race, or what it is made of; what was done."""
    return str(luck.choice(STATEMENTS)(connection, luck))


def _change_cell(connection: sqlite3.Connection, luck: random.Random) -> str:
    table = luck.choice(list(COLUMNS))
    column = luck.choice(COLUMNS[table])
    key = COLUMNS[table][0]
    n = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    value = cell(luck)
    at = luck.randrange(n) if n else 0
    which = f"{key} = (SELECT {key} FROM {table} LIMIT 1 OFFSET {at})" if luck.random() < 0.8 else "1"
    connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {which}", (value,))
    return f"{table}.{column} = {bad_values.shown(value)} where {which}"


def _change_setting(connection: sqlite3.Connection, luck: random.Random) -> str:
    names = [name for (name,) in connection.execute("SELECT name FROM settings ORDER BY name")]
    if not names:
        return "no settings"
    name = luck.choice(names)
    text = luck.choice(JSON_VALUES)
    if luck.random() < 0.5:
        old = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()[0]
        try:
            text = json.dumps(_changed(json.loads(old), luck))
        except (ValueError, TypeError, RecursionError):
            text = luck.choice(JSON_VALUES)
    connection.execute("UPDATE settings SET value = ? WHERE name = ?", (text, name))
    return f"setting {name} = {text[:200]}"


def _changed(value: Any, luck: random.Random) -> Any:
    """A value with one part of it replaced."""
    if isinstance(value, dict) and value and luck.random() < 0.85:
        key = luck.choice(sorted(value))
        if luck.random() < 0.2:
            return {name: part for name, part in value.items() if name != key}
        return value | {key: _changed(value[key], luck)}
    if isinstance(value, list) and value and luck.random() < 0.7:
        at = luck.randrange(len(value))
        return [*value[:at], _changed(value[at], luck), *value[at + 1 :]]
    return luck.choice(PARTS)


def _insert_row(connection: sqlite3.Connection, luck: random.Random) -> str:
    table = luck.choice(list(COLUMNS))
    values = [cell(luck) for _ in COLUMNS[table]]
    marks = ", ".join("?" for _ in values)
    connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)
    return f"insert into {table} {bad_values.shown(values)}"


def _far_round(connection: sqlite3.Connection, luck: random.Random) -> str:
    number, asked = luck.choice((100, 100_000, 100_000_000, 2**40, 2**62)), luck.choice((0, 1, 3, 10**6))
    connection.execute("INSERT OR IGNORE INTO rounds VALUES (?, 'x', ?)", (number, asked))
    connection.execute("INSERT OR IGNORE INTO scores VALUES (?, 0, 0.5, NULL)", (number,))
    return f"round {number} with {asked} asked"


def _delete_rows(connection: sqlite3.Connection, luck: random.Random) -> str:
    table = luck.choice(list(COLUMNS))
    key = COLUMNS[table][0]
    ends = (f"{key} = (SELECT {end}({key}) FROM {table})" for end in ("min", "max"))
    some = luck.choice(("1", f"{key} % 2 = 0", f"{key} > 3", *ends))
    connection.execute(f"DELETE FROM {table} WHERE {some}")
    return f"delete from {table} where {some}"


def _change_schema(connection: sqlite3.Connection, luck: random.Random) -> str:
    table = luck.choice(list(COLUMNS))
    columns = COLUMNS[table]
    statement = luck.choice(SCHEMA_CHANGES).format(
        table=table, first=columns[0], second=columns[1], last=columns[-1], columns=", ".join(columns)
    )
    connection.executescript(statement)
    return statement


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x"
SCHEMA_CHANGES = (
    "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME TO old_{table}",
    "ALTER TABLE {table} RENAME COLUMN {second} TO other",
    "ALTER TABLE {table} ADD COLUMN extra DEFAULT 'x'",
    "ALTER TABLE {table} ADD COLUMN made AS (hex(zeroblob(100000000)))",
    "ALTER TABLE {table} ADD COLUMN made AS ({first} || 'x') VIRTUAL",
    "ALTER TABLE {table} RENAME TO old; CREATE VIEW {table} AS SELECT * FROM old",
    "ALTER TABLE {table} RENAME TO old; CREATE TABLE {table} ({columns}); CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM old; END",
    "ALTER TABLE {table} RENAME TO old; CREATE VIEW {table} ({columns}) AS SELECT {columns} FROM old UNION ALL SELECT {columns} FROM old",
    "CREATE VIEW v AS " + ENDLESS + " FROM c",
    "ALTER TABLE {table} RENAME TO old; CREATE VIEW {table} AS SELECT old.* FROM old, (" + ENDLESS + " FROM c LIMIT 10000000)",
    "ALTER TABLE {table} RENAME TO old; CREATE VIEW {table} AS SELECT load_extension('canary') AS {first}, writefile('canary', 'x') AS {second}",
    "CREATE TRIGGER t BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'own'); END",
    "CREATE TRIGGER t AFTER UPDATE ON settings BEGIN DELETE FROM scores; END",
    "CREATE VIRTUAL TABLE f USING fts5(x)",
    "ALTER TABLE {table} RENAME TO old; CREATE VIRTUAL TABLE {table} USING fts5({columns}); INSERT INTO {table} SELECT {columns} FROM old",
    "CREATE INDEX i ON {table} (hex({first}))",
    "CREATE UNIQUE INDEX i ON {table} ({last}) WHERE {last} IS NULL",
    "CREATE TABLE extra (x); INSERT INTO extra VALUES (zeroblob(3000000))",
    "PRAGMA user_version = 2; CREATE TABLE y (z)",
    "PRAGMA application_id = 7; CREATE TABLE y (z)",
    "PRAGMA application_id = 0; DROP TABLE {table}",
    "PRAGMA encoding = 'UTF-16'; CREATE TABLE y (z)",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, '{first}', '{last}')",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE {table} ({columns}, x AS (1) STORED)' WHERE name = '{table}'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 2",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET name = 'x' || char(27) || '[2J' WHERE name = '{table}'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE VIEW {table} AS SELECT 1', type = 'view', rootpage = 0 WHERE name = '{table}'",
    "CREATE TABLE \"sqlite\x1b[2J\" (x)",
    "ALTER TABLE {table} RENAME TO old; CREATE TABLE {table} AS SELECT * FROM old",
    "ALTER TABLE {table} RENAME TO old; CREATE TABLE {table} ({columns} COLLATE NOCASE CHECK (1)); INSERT INTO {table} SELECT * FROM old, old AS o LIMIT 50",
)  # fmt: skip
STATEMENTS: tuple[Callable[[sqlite3.Connection, random.Random], str], ...] = (
    *(_change_cell, _change_cell, _change_cell, _change_setting, _change_setting, _change_setting),
    *(_insert_row, _far_round, _delete_rows, _change_schema, _change_schema),
)
