"""The command that writes the page of a race on disk, and the page of the demonstration."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from cli.conftest import Unchanged
from conftest import Cli, Rejects

SCORES = np.random.default_rng(0).random((400, 4)) * [0.9, 0.8, 0.7, 0.6]


def race(**options: Any) -> Any:
    """A race of four arms on a table of scores."""
    usual: dict[str, Any] = {"arms": range(4), "items": range(400), "bounds": (0, 1), "progress": False}
    return bestarm.race(lambda arm, item: float(SCORES[item, arm]), **usual | options)


def page(result: Any) -> str:
    """The page that a result writes."""
    result.to_html("expected.html")
    return Path("expected.html").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    race(store="race.sqlite")
    race(store="stopped.sqlite", max_evaluations=100)


@pytest.mark.parametrize("name", ["race", "stopped"])
def test_report_writes_the_page_of_a_race_on_disk(cli: Cli, folder: Path, name: str) -> None:
    before = (folder / f"{name}.sqlite").read_bytes()
    target = folder / ("far " * 30) / "page.html"
    target.parent.mkdir()
    ended = cli("report", f"{name}.sqlite", "-o", target)
    assert (ended.exit_code, ended.stdout) == (0, "")
    same = race(max_evaluations=None if name == "race" else 100)
    assert target.read_text(encoding="utf-8") == page(same) == page(bestarm.load_result(f"{name}.sqlite"))
    assert cli("report", f"{name}.sqlite").stderr == "Wrote race.html.\n"
    assert (folder / "race.html").read_bytes() == target.read_bytes()
    assert (folder / f"{name}.sqlite").read_bytes() == before
    assert ended.stderr.replace("\n", "") == f"Wrote {target}.".replace("far  ", "far ")


BAD = {
    "absent.sqlite -o page.html": "the file does not exist; check its name and its folder",
    "text.txt -o page.html": "text.txt is not a race of bestarm",
    "cut.sqlite -o page.html": "cut.sqlite",
    "race.sqlite -o absent/page.html": "absent",
    "race.sqlite -o full": "full",
    "race.sqlite -o full/../race.sqlite": "race.sqlite",
}


@pytest.mark.parametrize("words", BAD)
def test_report_refuses_in_one_line_and_loses_nothing(
    words: str, folder: Path, rejects: Rejects, unchanged: Unchanged
) -> None:
    (folder / "full").mkdir()
    (folder / "text.txt").write_text("no race", encoding="utf-8")
    (folder / "cut.sqlite").write_bytes((folder / "race.sqlite").read_bytes()[:9000])
    with unchanged():
        rejects(BAD[words], "report", *words.split())


def test_the_demo_ends_with_its_page_and_says_where(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestarm.studies.demo.source_files", lambda: ["bisect.py", "queue.py", "struct.py"])
    ended = cli("demo", "--output", "out", "--quiet")
    assert (ended.exit_code, "out/report.html" in ended.stderr.splitlines()[-1]) == (0, True)
    assert (folder / "out/report.html").read_text(encoding="utf-8") == page(bestarm.load_result("out/race.sqlite"))
