"""Races on a cluster of Dask: workers that are killed half-way change nothing, and no call is answered from another."""

import gc
import os
import random
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from itertools import count
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

import bestarm
from killing import outcome

ARMS = ["a", "b", "c", "d"]
BEFORE_FIRST = 100  # the item of round r is this + r
IN_FLIGHT = 4

Evaluate = Callable[[str, int], float]


def evaluation(calls: Path, fatal: int | None = None) -> Evaluate:
    # A function within a function travels to the workers by value: they need not find this file.
    def evaluate(arm: str, item: int) -> float:
        with (calls / f"{os.getpid()}.log").open("a") as log:
            log.write(f"{arm} {item}\n")
        if arm == "d" and item == fatal and not list(calls.glob("*.dead")):  # one process dies
            (calls / f"{os.getpid()}.dead").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        own = random.Random(f"{arm} {item}").gauss(0.0, 0.3)  # noqa: S311
        return random.Random(item).gauss(0.0, 1.0) + own + {"a": -0.4, "d": 0.2}.get(arm, 0.0)  # noqa: S311

    return evaluate


def calls_made(calls: Path) -> list[str]:
    return [line for log in calls.glob("*.log") for line in log.read_text().splitlines()]


def items() -> Iterator[int]:
    return count(BEFORE_FIRST + 1)


def never(arm: str, item: int) -> float:
    raise AssertionError(f"{arm} was evaluated on {item} again")


def assert_same(result: bestarm.RaceResult[Any], expected: bestarm.RaceResult[Any]) -> None:
    assert outcome(result) == outcome(expected)
    np.testing.assert_array_equal(result.scores, expected.scores)


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    folder = tmp_path / "calls"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def sequential(tmp_path_factory: pytest.TempPathFactory) -> bestarm.RaceResult[Any]:
    evaluate = evaluation(tmp_path_factory.mktemp("calls"))
    return bestarm.race(evaluate, arms=ARMS, items=items(), rounds_in_flight=IN_FLIGHT, progress=False)


def start(folder: Path, **options: Any) -> LocalCluster:
    return LocalCluster(  # type: ignore[no-untyped-call]
        threads_per_worker=1,
        memory_limit="1GiB",
        dashboard_address="127.0.0.1:0",  # any port: with None it is always the same
        local_directory=str(folder / "workers"),
        **options,
    )


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    # One for every test: when a worker that was killed comes back is up to Dask. So is for how long it tries to fetch a
    # score from one that is gone: 30 seconds, unless told otherwise.
    quick = dask.config.set({"distributed.comm.timeouts.connect": "3s"})
    with quick, start(tmp_path, n_workers=2, processes=True) as cluster:
        yield cluster
    gc.collect()  # what was left behind is complained about here and not in another file


@pytest.fixture
def executor(cluster: LocalCluster) -> Iterator[Executor]:
    with Client(cluster) as client:  # type: ignore[no-untyped-call]
        yield client.get_executor()


def test_a_race_whose_worker_is_killed_half_way_equals_the_sequential_race(
    cluster: LocalCluster,
    executor: Executor,
    sequential: bestarm.RaceResult[Any],
    calls: Path,
    tmp_path: Path,
) -> None:
    half = sequential.n_rounds // 2
    assert sum(out.round > half + 2 * IN_FLIGHT for out in sequential.eliminations) == 2  # much is decided afterwards
    workers = {nanny.pid for nanny in cluster.workers.values()}
    assert len(workers - {os.getpid()}) == 2
    call: Any = {"arms": ARMS, "rounds_in_flight": IN_FLIGHT, "store": tmp_path / "race.sqlite", "progress": False}
    evaluate = evaluation(calls, fatal=BEFORE_FIRST + half)
    result = bestarm.race(evaluate, items=items(), executor=executor, **call)
    assert_same(result, sequential)
    (dead,) = calls.glob("*.dead")
    assert int(dead.stem) in workers
    made = calls_made(calls)
    counted = {f"{ARMS[arm]} {BEFORE_FIRST + 1 + row}" for row, arm in np.argwhere(~np.isnan(result.scores))}
    assert counted <= set(made)
    assert len(set(made)) <= result.n_evaluations
    assert made.count(f"d {BEFORE_FIRST + half}") == 2
    assert_same(bestarm.load_result(tmp_path / "race.sqlite"), sequential)
    assert_same(bestarm.race(never, items=items(), **call), sequential)


def test_every_evaluation_is_made_also_where_items_are_equal(calls: Path, tmp_path: Path) -> None:
    # Dask answers a call from another one that looks the same, but the scores of equal items are different draws.
    with start(tmp_path, n_workers=1) as cluster, Client(cluster) as client:  # type: ignore[no-untyped-call]
        with pytest.raises(TypeError, match=r": give executor=client\.get_executor\(\)$"):
            bestarm.race(evaluation(calls), arms=ARMS, executor=client)
        result = bestarm.race(
            evaluation(calls),
            arms=ARMS,
            items=iter([7] * 8),
            executor=client.get_executor(),
            rounds_in_flight=IN_FLIGHT,
            progress=False,
        )
    assert (result.reason, result.n_rounds, result.n_evaluations) == ("ran out of items", 8, 32)
    assert sorted(calls_made(calls)) == sorted([f"{arm} 7" for arm in ARMS] * 8)
