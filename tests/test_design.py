"""What `docs/design.md` says about the source is true: its map, the order of imports, its walks, the names it uses."""

import re
import sys
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import equicorrelated_arms

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bestarm"
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


def rooms() -> dict[str, list[str]]:
    """The rooms of the map in their order, each with the files that it lists."""
    joined = re.sub(r"\n +", " ", BLOCKS[0])
    found: dict[str, list[str]] = {}
    for line in joined.splitlines():
        name, _, rest = re.split(r"( {2,})", line, maxsplit=1)
        files = re.split(r",\s*", rest.partition(": ")[2]) if name.endswith("/") else []
        found |= {one.strip("/"): files for one in re.split(r",\s*", name)}
    return found


def test_the_map_is_the_source_tree() -> None:
    there: dict[str, set[str]] = {path.stem: set() for path in SOURCE.glob("*.py")}
    there |= {path.parent.name: {one.stem for one in path.parent.glob("*.py")} for path in SOURCE.glob("*/__init__.py")}
    drawn = {room: set(files) | {"__init__"} if files else set() for room, files in rooms().items()}
    assert drawn == {room: files for room, files in there.items() if room not in ("__init__", "__main__", "version")}


def test_rooms_import_only_the_rooms_above_them_in_the_map() -> None:
    outer, inner = (one["layers"] for one in CONTRACTS if one["type"] == "layers")
    assert [layer.removeprefix("bestarm.") for layer in reversed(outer)] == list(rooms())
    assert [
        one.removeprefix("bestarm.racing.") for layer in reversed(inner) for one in layer.split(" | ")[::-1]
    ] == rooms()["racing"]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:src|tests|docs|[a-z_]+)/[\w/.]+)`", PAGE))))
def test_files_that_the_page_names_exist(name: str) -> None:
    assert any((base / name).exists() for base in (ROOT, SOURCE)), name


def called_by(work: Callable[[], Any]) -> list[str]:
    """The functions of bestarm that some work calls, in the order of their first call."""
    names: dict[str, None] = {}

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            names.setdefault(frame.f_code.co_qualname)

    sys.setprofile(see)
    threading.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(names)


def walk(block: int) -> list[str]:
    """The functions that a walk of the page names, in its order."""
    return re.findall(r"[A-Za-z_.]+", re.sub(r"\(.*?\)", "", BLOCKS[block]))


def test_a_simulated_game_walks_as_the_page_says() -> None:
    arms = equicorrelated_arms(3, 0.9)
    called = called_by(lambda: bestarm.simulate(PairwiseBAI(), arms, repetitions=1))
    steps = [
        "simulate",
        "play_game",
        "GaussianArms.draw",
        "Game.play",
        "EliminationGame._absorb_block",
        "BoundaryEvidence.play",
    ]
    assert [step for step in called if step in steps] == steps
    assert walk(1)[:4] == ["simulate", "play_game", "arms.draw", "Game.play"]


def test_a_score_walks_as_the_page_says(tmp_path: Path) -> None:
    options: Any = {"items": range(9), "bounds": (0, 1), "store": tmp_path / "race.sqlite"}
    called = called_by(lambda: bestarm.race(lambda arm, item: 0.5, arms=["a", "b"], progress=False, **options))
    steps = walk(2)
    assert [step for step in called if step in steps] == steps


def test_a_result_walks_as_the_page_says(tmp_path: Path) -> None:
    race = bestarm.Race(["a", "b"], items=range(9), bounds=(0, 1))
    for todo in race.ask():
        race.tell(todo, dict.fromkeys(todo.arms, 0.5))

    def show() -> None:
        result = race.result()
        for export in (lambda: result.verdict, result.__str__, result.explain, result.to_json, result.plot):
            export()
        result.to_html(tmp_path / "race.html")

    called, steps = called_by(show), [step for step in walk(3) if step != "RaceResult"]
    assert set(steps) <= set(called)
    assert called.index("Race.result") < called.index("summarise") < called.index("verdict_lines")


def test_the_page_has_at_most_300_lines() -> None:
    assert len(PAGE.splitlines()) <= 300
