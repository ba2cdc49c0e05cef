"""Saved races from strangers: damaged or hostile files, which are shown, reported and opened to be continued."""

import json
import os
import random
import shutil
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import bestarm
from attacks import bad_values
from attacks.judging import REFUSALS, Fault, judge
from attacks.lines import called, content
from attacks.pool import Case
from bestarm.comparisons import Portfolio

Note = Callable[[str], None]
LEVEL = {"low": 0.2, "mid": 0.5, "high": 0.8}
EXIT_CODES = (0, 2, 3)
LONGEST_CHANGE = 1_000  # times 10,000 steps of SQLite
UNCHECKED = "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON"
VALUES = ("regret_bound", "saved", "failures", "disqualified", "eliminations", "for_population", "records", "scores", "items")  # fmt: skip
FAILED = 4  # of a race in which too much failed


def share(arm: str, item: Any) -> float:
    """A score between 0 and 1."""
    return LEVEL[arm] + random.Random(str(item)).uniform(-0.19, 0.19)  # noqa: S311 - no secrets here


def sometimes(arm: str, item: Any) -> float:
    """The same, where one arm fails on some items."""
    if arm == "mid" and int(item) % 9 == 4:
        raise RuntimeError("out of memory")
    return share(arm, item)


RACES: dict[str, dict[str, Any]] = {
    "pool": {"items": range(60), "bounds": (0, 1)},
    "seeds": {},
    "unfinished": {"items": range(60), "bounds": (0, 1), "max_evaluations": 24},
    "stream": {"lower_is_better": True, "max_evaluations": 36},
    "disqualify": {"items": range(60), "bounds": (0, 1), "on_error": "disqualify"},
    "worst": {"items": range(60), "bounds": (0, 1), "on_error": "worst"},
    "groups": {"items": range(60), "bounds": (0, 1), "groups": [k // 2 for k in range(60)]},
    "drawn": {"items": range(20), "bounds": (0, 1), "replace": True},
    "wins": {"items": range(60), "criterion": "wins"},
    "portfolio": {"items": range(60), "bounds": (0, 1), "comparison": Portfolio()},
    "lucb": {"algorithm": bestarm.algorithms.LUCB(0.05, variances=0.02)},
    "population": {"items": range(60), "bounds": (0, 1), "target": "population"},
}


def options_of(name: str) -> dict[str, Any]:
    """The options of a race as it is begun, and as it would be continued."""
    more = {"items": iter(range(100))} if name == "stream" else {}
    return RACES[name] | more | {"arms": list(LEVEL)}


def make(folder: Path) -> dict[str, dict[str, bytes]]:
    """Saved races as the bytes of their files; one was left by a process that was killed, two name what they run."""
    for name in RACES:
        path = folder / name / "race.sqlite"
        path.parent.mkdir()
        evaluate = sometimes if name in ("disqualify", "worst") else share
        bestarm.race(evaluate, store=path, progress=False, **options_of(name))
    made = {name: content(folder / name) for name in RACES}
    (folder / "killed").mkdir()
    with bestarm.Race(store=folder / "killed" / "race.sqlite", **options_of("pool")) as race:
        for _ in range(6):
            for todo in race.ask():
                race.tell(todo, {arm: share(arm, todo.item) for arm in todo.arms})
        made["killed"] = content(folder / "killed")
    for words in (["run", "canary:run", "--arms", "low,mid,high"], ["commands", "true", "echo 5"]):
        (folder / words[0]).mkdir()
        store = ["--store", str(folder / words[0] / "race.sqlite"), "--max-evaluations", "6", "--quiet", "--seed", "1"]
        called([*words, *store])
        made[words[0]] = content(folder / words[0])
    return made


def prepare(folder: Path) -> Case:
    """Cases of one damaged file each."""
    warnings.simplefilter("ignore")
    (folder / "canary.py").write_text("import stores_canary_was_imported\n\n\ndef run(arm, item):\n    return 0.5\n")
    (folder / "stores_canary_was_imported.py").write_text("")
    made, place, page = make(folder), folder / "given", folder / "pages" / "page.html"
    page.parent.mkdir()
    for name, files in made.items():  # what is needed to show a race is imported and compiled
        write(place, files)
        for words in (["show"], ["show", "--json"], ["report", "-o", str(page)]):
            called([*words, str(place / "race.sqlite")])
        open_again(name if name in RACES else "pool", place / "race.sqlite", lambda _: None)
    for name in ("canary", "stores_canary_was_imported"):
        sys.modules.pop(name, None)
    watch = Watch()
    watch.known -= {"canary", "stores_canary_was_imported"}

    def case(luck: random.Random, note: Note) -> str:
        name = luck.choice(list(made))
        note(name)
        write(place, made[name])
        if luck.random() < 0.5:
            file = place / luck.choice(list(made[name]))
            file.write_bytes(bad_values.mutated(file.read_bytes(), luck, luck.choice((1, 1, 1, 2, 4))))
        else:
            sql(place / "race.sqlite", luck, note)
        page.unlink(missing_ok=True)
        before = content(place)
        with watch.watching(place / "race.sqlite-", page.parent) as seen:
            came = look(place / "race.sqlite", luck, note, page)
        if seen:
            raise Fault(f"showing a file did more than that: {seen[0]}")
        if changed := differing(before, content(place)):
            raise Fault(f"showing a file changed {changed}")
        if name in RACES and luck.random() < 0.3:
            note("opened again")
            return f"{came}, {open_again(name, place / 'race.sqlite', note)}"
        return came

    return case


def write(place: Path, files: dict[str, bytes]) -> None:
    """The files of a race, and nothing else, in a folder."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name, data in files.items():
        (place / name).write_bytes(data)


def differing(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Which files are not as they were."""
    return [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]


def sql(path: Path, luck: random.Random, note: Note) -> None:
    """Some changes by SQL, as far as SQLite takes them."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(UNCHECKED)
        steps = count()  # a view that never ends would keep this attack itself
        connection.set_progress_handler(lambda: next(steps) > LONGEST_CHANGE, 10_000)
        for _ in range(luck.choice((1, 1, 1, 2, 4))):
            try:
                note(damaged_by_sql(connection, luck))
            except sqlite3.Error as error:
                note(f"({error})")
        try:
            connection.execute("PRAGMA journal_mode = WAL")  # as bestarm leaves its files
        except sqlite3.Error as error:
            note(f"({error})")


def look(path: Path, luck: random.Random, note: Note, page: Path) -> str:
    """Show a file as a result in Python, or by a command."""
    if luck.random() < 0.15:
        words = [luck.choice(("show", "report")), str(path), *luck.choice(([], ["--json"]))]
        words += ["-o", str(page)] if words[0] == "report" else []
        note(words[0])
        code = called(words)[0]
        said = bestarm.load_result(path) if code == FAILED else None
        broke_down = said is not None and (said.outage is not None or said.breakdown is not None)
        if code not in EXIT_CODES and not broke_down:
            raise Fault(f"{words[0]} ends with exit code {code}")
        return f"{words[0]} {code}"
    try:
        result = bestarm.load_result(path)
    except Exception as error:
        return judge(error, (bestarm.StoreError,))
    for part in parts(result, luck, page):
        note(part)
    return "shown"


def parts(result: bestarm.RaceResult[Any], luck: random.Random, page: Path) -> Iterator[str]:
    """Some of what a result says, each named before it is asked for."""
    asked: dict[str, tuple[float, Callable[[], object]]] = {
        "str": (0.5, lambda: str(result)),
        "json": (0.5, result.to_json),
        "values": (0.5, lambda: [repr(result), *(getattr(result, name) for name in VALUES)]),
        "intervals": (0.3, lambda: (result.intervals, result.lead(result.arms[0], result.arms[1]))),
        "page": (0.02, lambda: result.to_html(page)),
    }
    for name, (often, ask) in asked.items():
        if luck.random() < often:
            yield name
            ask()


def open_again(name: str, path: Path, note: Note) -> str:
    """Open a race to continue it, and tell a round; a file that is refused stays as it is."""
    before = content(path.parent)
    try:
        with bestarm.Race(store=path, **options_of(name)) as race:
            for todo in [] if race.finished else race.ask():
                race.tell(todo, {arm: share(arm, 1) for arm in todo.arms})
            race.result()
    except Exception as error:  # it is judged
        came = judge(error, REFUSALS)
        note(str(error))
    else:
        return "continued"
    if came == "StoreError" and (changed := differing(before, content(path.parent))):  # connections are closed by now
        raise Fault(f"opened to be continued, a file was refused and changed: {changed}")
    return came


# What SQL can change in a race.

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
OTHERS: tuple[Any, ...] = (None, True, 0, 1, -1, 0.5, 1e308, 10**9, "x", "", [], {}, [1, 2], {"type": "x"}, "Betting", 10**30, [[]], "1")  # fmt: skip


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
    return luck.choice(OTHERS)


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


# What a program does beyond its own memory: imports, other programs, the network, files that it writes or removes.

RUNS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn")
CONTACTS = ("socket.connect", "socket.getaddrinfo", "socket.bind", "urllib.Request", "webbrowser.open")
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.link", "os.symlink")
LOADS = ("sqlite3.load_extension", "sqlite3.enable_load_extension", "ctypes.dlopen", "pickle.find_class")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """An audit hook that can be switched on; a hook itself can never be removed."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        self.allowed: tuple[str, ...] = ()  # beginnings of the names of files that may be written and removed
        self.known = frozenset(name.partition(".")[0] for name in sys.modules) | sys.stdlib_module_names
        sys.addaudithook(self._hook)

    def _hook(self, event: str, details: tuple[Any, ...]) -> None:
        if not self.on:
            return
        runs = event in RUNS or event in CONTACTS or event in LOADS
        imports = event == "import" and str(details[0]).partition(".")[0] not in self.known
        writes = event == "open" and isinstance(details[2], int) and bool(details[2] & WRITES)
        if runs or imports or ((event in CHANGES or writes) and not self._mine(details[0])):
            self.seen.append(f"{event} {str(details[:2])[:100]}")

    def _mine(self, path: Any) -> bool:
        if isinstance(path, int) or path is None:
            return True
        name = os.fsdecode(path)
        return name.startswith(self.allowed) or "__pycache__" in name or name == os.devnull

    @contextmanager
    def watching(self, *allowed: Path) -> Iterator[list[str]]:
        """What happens meanwhile; files whose names begin like these may be written."""
        self.seen, self.allowed, self.on = [], tuple(map(str, allowed)), True
        try:
            yield self.seen
        finally:
            self.on = False
