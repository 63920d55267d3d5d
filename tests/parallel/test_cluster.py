"""A real Dask cluster of two worker processes: same results, lost workers, no secrets in logs.

Inside: parallel.
"""

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import worker_tasks
from bad_sheet import write_sheet
from child_processes import wait_until
from dask_cluster import RunningCluster, cluster
from environment import ROOT, Xlbridge, clean_environment, credentials

from xlbridge.errors import ConfigError, RemoteRejected, TransportError, UsageError
from xlbridge.parallel import Executor, executor_for, executors
from xlbridge.parallel.executors import LostItem, Message, run_on_worker
from xlbridge.parallel.messages import WorkerDefect, outcome_of, unpack
from xlbridge.sandbox import RunningSandbox

pytestmark = pytest.mark.programs

HERE = Path(__file__).parent
SECRET = "nobody may read this"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    paths = os.pathsep.join([str(HERE), str(ROOT)])
    with cluster(folder, clean_environment(folder / "home", PYTHONPATH=paths)) as started:
        yield started


@pytest.fixture
def executor(running: RunningCluster) -> Iterator[Executor]:
    with executor_for([], None, running.address) as connection:
        assert connection is not None
        yield connection


def test_results_come_in_order_and_each_is_reported(executor: Executor) -> None:
    done: list[int] = []
    doubled = list(executor.run(worker_tasks.double, range(40), done.append))
    assert doubled == [2 * number for number in range(40)]
    assert wait_until(lambda: sorted(done) == list(range(40)))


def test_an_exception_of_a_task_is_raised_here(executor: Executor) -> None:
    with pytest.raises(RemoteRejected) as refused:
        list(executor.run(worker_tasks.refuse, range(3)))
    assert refused.value.status == 409
    with pytest.raises(WorkerDefect, match="ZeroDivisionError"):
        list(executor.run(worker_tasks.fail, range(3)))


def test_no_log_shows_what_was_sent(executor: Executor, running: RunningCluster) -> None:
    with pytest.raises(WorkerDefect):
        list(executor.run(worker_tasks.fail, [SECRET]))
    assert list(executor.run(worker_tasks.Keep(SECRET), [SECRET])) == [SECRET]
    log = running.log.read_bytes()
    assert log
    assert SECRET.encode() not in log


@pytest.mark.slow  # with local workers: test_validate_many.py
def test_the_report_is_the_same_to_the_byte_though_a_worker_is_killed(
    xlbridge: Xlbridge, running: RunningCluster, samples: Path, home: Path, tmp_path: Path
) -> None:
    schemas = home / "schemas"
    schemas.mkdir(parents=True)
    shipped = (ROOT / "schemas" / "contasreceber.yaml").read_text(encoding="utf-8")
    custom = shipped.replace("resource: contasreceber", "resource: mensalidade", 1)
    (schemas / "mensalidade.yaml").write_text(custom, encoding="utf-8")
    shutil.copytree(ROOT / "schemas" / "contasreceber", schemas / "contasreceber")
    long = write_sheet(tmp_path / "long.xlsx", 6_000, 0.01).path
    files = [
        samples / "contasreceber-com-erros.xlsx",
        long,
        long,
        long,
        samples / "demo.py",
        tmp_path / "none",
    ]
    options = ["--resource", "mensalidade", "--dates", "dmy", "--format", "json"]
    local = xlbridge("validate", *files, *options, "--workers", "1", XLBRIDGE_LANG="pt-BR")
    with WorkerKiller(running) as killer:
        cluster_options = ["--scheduler", running.address]
        remote = xlbridge("validate", *files, *options, *cluster_options, XLBRIDGE_LANG="pt-BR")
    assert killer.killed
    assert (local.returncode, remote.returncode) == (2, 2)
    assert remote.stdout == local.stdout
    assert remote.stderr == local.stderr
    reports = json.loads(local.stdout)["files"]
    assert [item["resource"] for item in reports] == [*["mensalidade"] * 4, None, None]
    assert min(item["errors"] for item in reports) > 0


class WorkerKiller:
    """Kills the first busy worker of a cluster, in a thread."""

    def __init__(self, running: RunningCluster) -> None:
        self.killed: int | None = None
        self._running = running
        self._thread = threading.Thread(target=self._kill)

    def _kill(self) -> None:
        (worker, *_) = wait_until(self._running.busy)
        os.kill(worker, signal.SIGKILL)
        self.killed = worker

    def __enter__(self) -> "WorkerKiller":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()


PLAN = """\
name: {name}
steps:
  check:
    validate: ["../*.xlsx"]
"""


def test_a_batch_validates_on_the_cluster(
    xlbridge: Xlbridge, running: RunningCluster, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    for sample in ("cliente.xlsx", "contasreceber.xlsx"):
        (tmp_path / sample).write_bytes((ROOT / "samples" / sample).read_bytes())
    results = {}
    for name, options in (("here", []), ("there", ["--scheduler", running.address])):
        plan = tmp_path / name / "plan.yaml"
        plan.parent.mkdir()
        plan.write_text(PLAN.format(name=name), encoding="utf-8")
        command = ["batch", "run", plan, "--format", "json", *options]
        done = xlbridge(*command, **credentials(empty_sandbox))
        assert done.returncode == 0, done.stderr
        steps = json.loads(done.stdout)["steps"]
        results[name] = {step["step"]: (step["state"], step["rows"]) for step in steps}
    assert results["here"] == results["there"]
    assert [state for state, _ in results["there"].values()] == ["done"]


def test_only_the_item_that_kills_its_workers_is_lost(executor: Executor, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    task = worker_tasks.DieAt(number=2, times=100, marks=marks)
    outcomes = list(executor.run(task, range(6)))
    assert outcomes == [0, 2, LostItem(), 6, 8, 10]


def test_a_cluster_without_the_task_is_reported(
    executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def task(item): return item\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    with pytest.raises(ConfigError, match="is not installed for a process"):
        list(executor.run(only_here.task, [1]))


def test_other_versions_on_a_worker_are_refused() -> None:
    message = Message(b"", {"xlbridge": "0.0.1", "pandas": "1.0"})
    with pytest.raises(ConfigError, match=r"0\.0\.1.*1\.0"):
        outcome_of(unpack(run_on_worker(message).content))


def test_unusable_addresses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_CONNECT_SECONDS", 0.2)
    with (
        pytest.raises(TransportError, match="does not answer"),
        executor_for([], None, "tcp://127.0.0.1:9"),
    ):
        pass
    for address, error, message in (
        ("http://127.0.0.1:9", UsageError, "not the address"),
        ("tls://127.0.0.1:9", ConfigError, "certificates"),
    ):
        with pytest.raises(error, match=message), executor_for([], None, address):
            pass
    with (
        pytest.raises(UsageError, match="mutually exclusive"),
        executor_for([], 2, "tcp://127.0.0.1:9"),
    ):
        pass
