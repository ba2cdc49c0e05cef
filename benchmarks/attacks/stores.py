"""Saved races from strangers: damaged or hostile files, which are shown, reported and opened to be continued."""

import random
import shutil
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import bestarm
from attacks import bad_values, store_damage
from attacks.judging import REFUSALS, Fault, judge
from attacks.lines import called
from attacks.pool import Case
from attacks.watching import Watch
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
        open_again(name, place / "race.sqlite", lambda _: None)
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


def content(place: Path) -> dict[str, bytes]:
    """All that is in a folder."""
    return {path.name: path.read_bytes() for path in place.iterdir()}


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
                note(store_damage.damaged_by_sql(connection, luck))
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
    if name not in RACES:
        return "not ours"
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
