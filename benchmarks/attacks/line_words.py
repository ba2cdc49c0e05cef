"""The words of random command lines: commands, files, options and their values, right and wrong."""

import random

from attacks import bad_values

FUNCTION = """import random


def score(arm, item):
    return {"a": 0.2, "b": 0.5}.get(arm, 0.7) + random.Random(str(item)).uniform(-0.2, 0.2)


def fails(arm, item):
    raise RuntimeError("out of memory")


def nothing(arm, item):
    return None


number = 5
"""
ORDINARY = ("table.csv", "long.csv", "items.txt", "functions.py", "notes.log", "pilot.tsv", "records.jsonl", "data.db")
STORES = ("finished.sqlite", "unfinished.sqlite", "commands.sqlite")
FILES = (
    *ORDINARY,
    *STORES,
    "page.html",
    "nowhere/x.csv",
    "folder",
    "-",
    "new.sqlite",
    "new.html",
    ".",
    "/",
    "/dev/null",
    "",
)
FUNCTIONS = ("functions:score",) * 6 + ("functions:fails", "functions:nothing", "functions:number", "functions", "nowhere:x", "functions.py:score", ":", "os:getcwd", "functions:score:x")  # fmt: skip
PROGRAMS = (
    "true",
    "false",
    "echo 5",
    "echo {item}",
    "echo nothing",
    "nowhere",
    "",
    "echo '",
    "true {item}",
    "echo -n {item} 1e999",
)
ARMS = ("a,b,c",) * 5 + ("a,b", "a", "", ",", "a,a", "a, b ,c", "a,\x1b[2J,b", "é,ß", "-a,-b", "a" * 300 + ",b")
COMMON: dict[str, tuple[str, ...]] = {
    "--delta": ("0.05", "0.5", "0", "1", "-1", "nan", "1e-300", "1e-320", "x", ""),
    "--seed": ("0", "1", "-1", "99999999999999999999", "x", "1.5"),
    "--epsilon": ("0.1", "0", "-1", "1e308", "1e-320", "nan", "inf", "x"),
    "--indifference-zone": ("0.1", "0", "-1", "1e308", "1e-320", "nan"),
    "--target": ("items", "population", "x"),
    "--criterion": ("mean", "wins", "x"),
    "--bounds": ("0,1", "-1,2", "0,1e308", "-1e308,1e308", "1,0", "0,0", "nan,1", "0,inf", "0", "", "0,1,2", "0;1", "1e-320,2e-320"),
    "--max-evaluations": ("0", "5", "12", "-1", "x", "99999999999999999999"),
    "--report": ("page.html", "new.html", *ORDINARY, *STORES, "folder", "nowhere/x.html", "/dev/null/x"),
    "--missing": ("raise", "worst", "drop", "x"),
    "--item-column": ("item", "a", "", "x", "task"),
    "--arm-column": ("model", "a", "x"),
    "--score-column": ("score", "a", "x"),
    "--group-column": ("group", "item", "x"),
    "--on-error": ("raise", "worst", "disqualify", "x"),
    "--retries": ("0", "1", "-1", "x"),
    "--rounds-in-flight": ("1", "3", "0", "-1", "1000000000"),
    "--workers": ("1", "1", "1", "0", "-1", "x", "2"),
    "--timeout": ("5", "1", "0", "-1", "nan", "inf", "1e308", "x"),
    "--score": ("time", "stdout", "x"),
    "--items": ("items.txt", "items.txt", "items.txt", *ORDINARY, *STORES, "-", "folder", "nowhere"),
    "--store": ("new.sqlite", "new.sqlite", *ORDINARY, *STORES, "folder", "nowhere/x", ":memory:", "//x", "/dev/null", "-"),
    "--n-items": ("20", "0", "-1", "x", "100"),
    "--repetitions": ("10", "12", "0", "-1", "x"),
    "--games": ("0", "-1", "x", "1.5"),
    "--output": ("page.html", "new.html", *ORDINARY, *STORES, "folder", ""),
    "--arms": ARMS,
    "--help": (),
    "--json": (),
    "--quiet": (),
    "--lower-is-better": (),
    "--jointly": (),
    "--replace": (),
    "--no-replace": (),
    "--yes": (),
}  # fmt: skip
AIM = (
    "--delta",
    "--seed",
    "--epsilon",
    "--indifference-zone",
    "--target",
    "--criterion",
    "--lower-is-better",
    "--bounds",
    "--json",
)
COURSE = (
    "--max-evaluations",
    "--report",
    "--on-error",
    "--retries",
    "--items",
    "--store",
    "--quiet",
    "--replace",
    "--no-replace",
)
COLUMNS = ("--missing", "--item-column", "--arm-column", "--score-column", "--group-column")
OPTIONS = {
    "table": (*AIM, *COLUMNS, "--max-evaluations", "--report"),
    "plan": (*AIM, *COLUMNS, "--max-evaluations", "--n-items"),
    "run": (*AIM, *COURSE, "--workers", "--rounds-in-flight", "--jointly"),
    "commands": (*AIM, *COURSE, "--score", "--timeout"),
    "show": ("--json",),
    "report": ("--json", "--output"),
    "resume": ("--json", "--max-evaluations", "--report", "--quiet", "--yes"),
    "limit": (*COLUMNS, "--seed", "--delta", "--bounds", "--lower-is-better", "--output", "--json"),
    "validate": ("--seed",),
    "reproduce": ("--seed", "--delta"),
    "demo": ("--seed", "--delta", "--max-evaluations", "--report", "--json", "--quiet"),
}
WEIGHTS = {"table": 30, "plan": 3, "run": 22, "commands": 12, "show": 12, "report": 4, "resume": 10, "limit": 3, "validate": 2, "reproduce": 2, "demo": 0.05, "": 2}  # fmt: skip


def line(luck: random.Random) -> list[str]:
    """A command with its arguments, some right, some wrong."""
    (named,) = luck.choices(list(WEIGHTS), list(WEIGHTS.values()))
    words = [named] if named else [argument(luck) for _ in range(luck.randint(0, 3))]
    right = luck.random() < 0.6
    if named in ("table", "plan"):
        words.append(luck.choice(("table.csv", "pilot.tsv", "records.jsonl") if right else FILES))
        words += ["--repetitions", luck.choice(("10", "12", "0"))] if named == "plan" else []
    elif named == "limit":
        words += [luck.choice(("table.csv", "pilot.tsv", "records.jsonl") if right else (*FILES, "figure1"))]
        words += ["--repetitions", luck.choice(("2", "3", "1") if words[-1] != "figure1" else ("1", "0"))]
    elif named == "run":
        words += [
            luck.choice(FUNCTIONS),
            "--arms",
            luck.choice(ARMS),
            "--max-evaluations",
            luck.choice(("6", "30", "60")),
        ]
        words += ["--items", "items.txt", "--bounds", "0,1"] if right else []
    elif named == "commands":
        words += [*luck.sample(PROGRAMS, luck.choice((2, 2, 3, 1))), "--max-evaluations", luck.choice(("4", "6"))]
    elif named in ("show", "report", "resume"):
        words.append(luck.choice(STORES if right else FILES))
        words += ["--max-evaluations", "9"] if named == "resume" else []
        words += ["--output", luck.choice(("new.html", "page.html"))] if named == "report" and right else []
    elif named == "validate":
        words += ["--games", luck.choice(COMMON["--games"])]
    elif named == "reproduce":
        words += [luck.choice(("figure1", "convex", "x")), "--repetitions", luck.choice(("0", "-1", "x", "1"))]
    elif named == "demo":
        words += [
            "--max-evaluations",
            luck.choice(("0", "8", "-1")),
            "--output",
            luck.choice(("folder/demo", "notes.log", "new")),
        ]
    known = OPTIONS.get(named, tuple(COMMON))
    for _ in range(luck.choice((0, 1, 1, 2, 3, 5))):
        option = luck.choice(known if luck.random() < 0.95 else tuple(COMMON))
        words.append(option)
        values = COMMON[option]
        if values:
            honest = option == "--workers"  # fifty processes take their time
            words.append(luck.choice(values) if honest or luck.random() < 0.9 else argument(luck))
    if luck.random() < 0.05:
        words.insert(luck.randrange(len(words) + 1), argument(luck))
    return words


def argument(luck: random.Random) -> str:
    """A word that a shell could give: any text without NUL."""
    text = bad_values.text(luck).replace("\0", "").replace("\ud800", "\udc80")
    return luck.choice((text, text, luck.choice(FILES), luck.choice(tuple(COMMON)), str(luck.randint(-5, 50))))
