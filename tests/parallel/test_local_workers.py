"""Worker processes: results in order, a retry if one is lost, none left running.

Inside: parallel.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import worker_tasks
from child_processes import is_alive, wait_until

from xlbridge.errors import RemoteRejected
from xlbridge.parallel import Executor
from xlbridge.parallel.executors import LocalExecutor, LostItem
from xlbridge.parallel.messages import WorkerDefect
from xlbridge.parallel.validation import default_worker_count

pytestmark = pytest.mark.processes

NUMBERS = range(50)


@pytest.fixture(scope="module")
def workers() -> Iterator[Executor]:
    """Two workers for all tests of the module; one that dies is replaced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        patch.setenv("XLBRIDGE_PASSWORD", "secret")
        with LocalExecutor(2, "worker_tasks") as executor:
            yield executor


def test_results_come_in_order_and_each_is_reported(workers: Executor) -> None:
    done: list[int] = []
    doubled = list(workers.run(worker_tasks.double, NUMBERS, done.append))
    assert doubled == [2 * number for number in NUMBERS]
    assert sorted(done) == list(NUMBERS)
    assert list(workers.run(worker_tasks.double, ())) == []


def test_items_are_consumed_only_a_little_ahead(workers: Executor) -> None:
    consumed: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1000):
            consumed.append(number)
            yield number

    doubled = workers.run(worker_tasks.double, items())
    assert next(doubled) == 0
    assert len(consumed) < 50
    doubled.close()
    assert list(workers.run(worker_tasks.double, NUMBERS))[-1] == 98


@pytest.mark.parametrize(("times", "outcome"), [(1, 14), (2, LostItem())])
def test_a_lost_worker_costs_a_retry_of_its_item(
    workers: Executor, tmp_path: Path, times: int, outcome: object
) -> None:
    task = worker_tasks.DieAt(number=7, times=times, marks=tmp_path)
    outcomes = list(workers.run(task, NUMBERS))
    assert outcomes.pop(7) == outcome
    assert outcomes == [2 * number for number in NUMBERS if number != 7]
    assert len(list(tmp_path.iterdir())) == times


def test_an_idle_worker_that_is_killed_costs_nothing(workers: Executor) -> None:
    pids = {*workers.run(worker_tasks.own_pid, NUMBERS)}
    for pid in pids:
        os.kill(int(str(pid)), signal.SIGKILL)
    again = {*workers.run(worker_tasks.own_pid, NUMBERS)}
    assert again
    assert not again & pids


def test_an_exception_of_a_task_is_raised_here(workers: Executor) -> None:
    with pytest.raises(RemoteRejected) as refused:
        list(workers.run(worker_tasks.refuse, NUMBERS))
    assert refused.value.status == 409
    assert refused.value.message.pt == "Não."
    with pytest.raises(WorkerDefect, match="ZeroDivisionError"):
        list(workers.run(worker_tasks.fail, NUMBERS))


def test_workers_get_no_credentials(workers: Executor) -> None:
    names = ["XLBRIDGE_PASSWORD", "PATH"]
    assert list(workers.run(worker_tasks.environment, names)) == [None, os.environ["PATH"]]


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_no_worker_outlives_the_block(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException] | None
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    pids: list[int] = []

    def work() -> None:
        with LocalExecutor(2, "worker_tasks") as executor:
            for pid in executor.run(worker_tasks.own_pid, NUMBERS):
                assert isinstance(pid, int)
                pids.append(pid)
                if error is not None:
                    raise error

    if error is None:
        work()
    else:
        with pytest.raises(error):
            work()
    assert pids
    assert wait_until(lambda: not any(map(is_alive, pids)))


def test_small_files_are_not_worth_a_process(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"x")
    with large.open("wb") as file:
        file.truncate(8 * 2**20)
    assert default_worker_count([small, small]) == 1
    assert default_worker_count([large]) == 1
    assert default_worker_count([tmp_path / "none", tmp_path]) == 1
    cores = os.cpu_count() or 1
    assert default_worker_count([large] * 2) == min(2, len(os.sched_getaffinity(0)), cores)
