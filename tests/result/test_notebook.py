"""The live display in a notebook: a kernel runs its cells, and the outputs of the cells are looked at."""

import base64
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest
from nbclient import NotebookClient

import bestarm

LONG = """
import time
import bestarm
from bestarm.result import live

live.DELAY = live.PERIOD = 0.0  # draw every round, however quick it is
live.SHARE = 1e9

def score(arm, item):
    if arm == "a" and item == 5:
        print("printed meanwhile")
    return {"a": 0.7, "b": 0.6}[arm]

print("printed before")
result = bestarm.race(score, arms=["a", "b"], items=range(20), bounds=(0, 1))
print("printed after")
"""
NOTICE = """
import logging

with live.display(bestarm.Race(["a", "b"]).standing, True):
    logging.getLogger("bestarm.kernels").info("compiling something")
"""
SHORT = """
live.DELAY = 3600.0
bestarm.race(score, arms=["a", "b"], items=range(20), bounds=(0, 1), target="items").best
"""
QUIET = """
live.DELAY = 0.0
bestarm.race(score, arms=["a", "b"], items=range(20), bounds=(0, 1), target="items", progress=False).best
"""
RESULT = """
result
"""
PICTURE = """
result.plot()
"""


class Ran(NamedTuple):
    """A notebook after its cells were run."""

    outputs: list[list[Any]]  # what is left, by cell
    shown: list[list[tuple[str, Mapping[str, str]]]]  # what displays showed meanwhile, by cell


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The notebook, run by an interpreter that has this bestarm first on its path, and none of the user's settings."""
    cells = [nbformat.v4.new_code_cell(source) for source in (LONG, NOTICE, SHORT, QUIET, RESULT, PICTURE)]
    client = NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=120, kernel_name="python3")
    shown: list[list[tuple[str, Mapping[str, str]]]] = [[] for _ in cells]
    process = client.process_message

    def keep(message: Any, cell: Any, index: int) -> Any:
        if "display_data" in message["msg_type"]:
            shown[index].append((message["msg_type"], message["content"]["data"]))
        return process(message, cell, index)

    folder, path = tmp_path_factory.mktemp("jupyter"), [str(Path(bestarm.__file__).parents[1]), *filter(None, sys.path)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "process_message", keep)
        patch.setenv("PYTHONPATH", os.pathsep.join(path))
        for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(folder / name.lower()))
        client.execute()
    return Ran([cell.outputs for cell in client.nb.cells], shown)


def texts(outputs: list[Any]) -> list[str]:
    """What a cell has printed, and the values that it shows."""
    return [output["text"] if "text" in output else output["data"].get("text/plain", "") for output in outputs]


def test_the_display_is_updated_in_place_and_nothing_is_left_of_it(ran: Ran) -> None:
    first, *updates = ran.shown[0]
    assert first[0] == "display_data"
    assert {kind for kind, _ in updates} == {"update_display_data"}
    *pictures, last = [data for _, data in [first, *updates]]
    assert len(pictures) > 10
    compiling = "preparing compiled code"  # comes first where nothing is compiled yet
    pictures = [data for data in pictures if not data.get("text/plain", "").startswith(compiling)]
    for data in pictures:
        assert list(data) == ["text/plain"]
        assert data["text/plain"].startswith("evaluations  ")
    assert "still in     2 of 2" in pictures[2]["text/plain"]
    assert pictures[2]["text/plain"].endswith("             a   leads\n             b   0.10 behind")
    assert last == {}


def test_what_is_printed_is_there_once_and_in_order(ran: Ran) -> None:
    said = "".join(texts(ran.outputs[0]))
    assert said == "printed before\nprinted meanwhile\nprinted after\n"


def test_that_kernels_are_compiled_is_said_there_and_goes_away(ran: Ran) -> None:
    assert [data.get("text/plain", "")[:23] for _, data in ran.shown[1]] == ["preparing compiled code", ""]
    assert "".join(texts(ran.outputs[1])) == ""


@pytest.mark.parametrize("cell", [2, 3], ids=["a short race", "progress=False"])
def test_nothing_is_shown_of(cell: int, ran: Ran) -> None:
    assert ran.shown[cell] == []
    outputs = ran.outputs[cell]
    assert [output["output_type"] for output in outputs] == ["stream", "execute_result"]
    assert texts(outputs) == ["printed meanwhile\n", "'a'"]


def test_a_result_shows_verdict_table_and_picture_and_nothing_twice(ran: Ran) -> None:
    (output,) = ran.outputs[4]
    assert output["output_type"] == "execute_result"
    page = output["data"]["text/html"]
    assert "UNDECIDED: a or b" in page
    assert page.count("<table>") == page.count("<svg ") == 1


def test_a_picture_shows_itself_without_any_magic(ran: Ran) -> None:
    (output,) = ran.outputs[5]
    assert base64.b64decode(output["data"]["image/png"]).startswith(b"\x89PNG")
