"""A real Dask cluster of two worker processes: same results, lost workers, no secrets in logs.

Inside: parallel.
"""

import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import worker_tasks
from bad_sheet import write_sheet
from child_processes import wait_until
from dask_cluster import RunningCluster, cluster
from environment import ROOT, Xlbridge, clean_environment, credentials

from xlbridge.client import Target
from xlbridge.errors import (
    AuthenticationFailed,
    ConfigError,
    RemoteRejected,
    TransportError,
    UsageError,
)
from xlbridge.export import ExportRequest, ExportResult, OutputFile
from xlbridge.parallel import (
    Executor,
    ExportTask,
    cluster as cluster_module,
    cluster_executor,
    executor_for,
    export_all,
)
from xlbridge.parallel.cluster import Message, run_on_worker
from xlbridge.parallel.local import LocalPool, LostItem
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
    with cluster_executor(running.address) as connection:
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


def test_exports_come_back_whole_and_no_log_shows_the_password(
    executor: Executor,
    running: RunningCluster,
    empty_sandbox: RunningSandbox,
    tmp_path: Path,
) -> None:
    sandbox = empty_sandbox
    target = Target("rehearsal", sandbox.base_url, sandbox.email, sandbox.password)
    here, there = tmp_path / "here", tmp_path / "there"

    def exports(folder: Path) -> list[ExportTask]:
        folder.mkdir()
        wrong = replace(target, password=SECRET)
        parameters = [
            (target, "centros-custo", "a.csv"),
            (wrong, "centros-custo", "b.jsonl"),
            (target, "none", "c.csv"),
            (target, "motivos", "none/d.csv"),
            (target, "categorias-cliente", "e.jsonl"),
        ]
        return [
            ExportTask(login, ExportRequest(listing=listing), OutputFile(folder / name))
            for login, listing, name in parameters
        ]

    with LocalPool(1, "xlbridge.parallel.exports") as pool:
        local = list(export_all(exports(here), tmp_path, Executor(pool)))
    remote = list(export_all(exports(there), tmp_path, executor))
    for one, other in zip(local, remote, strict=True):
        assert type(one) is type(other)
        if isinstance(one, ExportResult) and isinstance(other, ExportResult):
            assert (one.sheets, one.records) == (other.sheets, other.records)
    assert list(map(type, remote[1:4])) == [AuthenticationFailed, UsageError, UsageError]
    names = sorted(path.name for path in here.iterdir())
    assert names == ["a.csv", "e.jsonl"]
    assert {path.name: path.read_bytes() for path in there.iterdir()} == {
        path.name: path.read_bytes() for path in here.iterdir()
    }
    assert len((here / "a.csv").read_bytes().splitlines()) > 1
    log = running.log.read_bytes()
    assert not any(word.encode() in log for word in (SECRET, sandbox.password))


def test_the_export_command_runs_on_a_worker(
    xlbridge: Xlbridge, running: RunningCluster, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    output, manifest = tmp_path / "there.csv", tmp_path / "manifest.json"
    command = ["export", "centros-custo", "-o", output, "--manifest", manifest]
    scheduler = ["--scheduler", running.address]
    done = xlbridge(*command, *scheduler, **credentials(empty_sandbox))
    assert done.returncode == 0
    document = json.loads(manifest.read_text("utf-8"))
    assert document["complete"]
    assert document["records"] > 0
    assert len(output.read_bytes().splitlines()) == document["records"] + 1
    assert str(document["records"]) in done.stdout
    attached = ["--attachments", tmp_path / "files"]
    refused = xlbridge(*command, *scheduler, *attached, **credentials(empty_sandbox))
    assert (refused.returncode, "mutually exclusive" in refused.stderr) == (2, True)


PLAN = """\
name: {name}
steps:
  check:
    validate: ["*.xlsx"]
  centres:
    export: centros-custo
    output: {name}/centres.csv
  types:
    export: tipos-cliente
    output: {name}/types.jsonl
    after: centres
  nowhere:
    export: centros-custo
    output: plan.yaml/centres.csv
"""


def test_a_batch_validates_and_exports_on_the_cluster(
    xlbridge: Xlbridge, running: RunningCluster, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    for sample in ("cliente.xlsx", "contasreceber.xlsx"):
        (tmp_path / sample).write_bytes((ROOT / "samples" / sample).read_bytes())
    results = {}
    for name, options in (("here", []), ("there", ["--scheduler", running.address])):
        plan = tmp_path / "plan.yaml"
        plan.write_text(PLAN.format(name=name), encoding="utf-8")
        command = ["batch", "run", plan, "--format", "json", *options]
        done = xlbridge(*command, **credentials(empty_sandbox))
        assert done.returncode == 1, done.stderr
        steps = json.loads(done.stdout)["steps"]
        results[name] = {step["step"]: (step["state"], step["rows"]) for step in steps}
    assert results["here"] == results["there"]
    assert [state for state, _ in results["there"].values()] == ["done", "done", "done", "held"]
    for file in ("centres.csv", "types.jsonl"):
        written = [(tmp_path / name / file).read_bytes() for name in results]
        assert written[0] == written[1]


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
    monkeypatch.setattr(cluster_module, "_CONNECT_SECONDS", 0.2)
    with (
        pytest.raises(TransportError, match="does not answer"),
        cluster_executor("tcp://127.0.0.1:9"),
    ):
        pass
    with pytest.raises(UsageError, match="not the address"), cluster_executor("http://127.0.0.1:9"):
        pass
    with pytest.raises(ConfigError, match="certificates"), cluster_executor("tls://127.0.0.1:9"):
        pass
    with (
        pytest.raises(UsageError, match="mutually exclusive"),
        executor_for([], 2, "tcp://127.0.0.1:9"),
    ):
        pass
