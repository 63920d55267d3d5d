"""A real Dask cluster of two worker processes: same results, lost workers, nothing told.

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
from dask_cluster import RunningCluster, cluster
from environment import ROOT, Xlbridge, clean_environment, credentials
from processes_seen import awaited

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
    ExportTask,
    cluster as cluster_module,
    executor_for,
    export_all,
)
from xlbridge.parallel.cluster import (
    DaskExecutor,
    OpaqueBytes,
    TaskMessage,
    connect_cluster,
    run_on_worker,
    unpack_outcome,
)
from xlbridge.parallel.local import LocalExecutor
from xlbridge.parallel.messages import WorkerDefect
from xlbridge.parallel.tasks import LostItem
from xlbridge.sandbox import RunningSandbox

HERE = Path(__file__).parent
SECRET = "nobody may read this"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    ways = os.pathsep.join([str(HERE), str(ROOT)])
    with cluster(folder, clean_environment(folder / "home", PYTHONPATH=ways)) as found:
        yield found


@pytest.fixture
def carrier(running: RunningCluster) -> Iterator[DaskExecutor]:
    with connect_cluster(running.address) as connection:
        yield connection


def test_results_come_in_order_and_each_is_told(carrier: DaskExecutor) -> None:
    told: list[int] = []
    doubled = list(carrier.run(worker_tasks.double, range(40), told.append))
    assert doubled == [2 * number for number in range(40)]
    assert awaited(lambda: sorted(told) == list(range(40)))


def test_what_a_task_raises_is_raised_here(carrier: DaskExecutor) -> None:
    with pytest.raises(RemoteRejected) as refused:
        list(carrier.run(worker_tasks.refuse, range(3)))
    assert refused.value.status == 409
    with pytest.raises(WorkerDefect, match="ZeroDivisionError"):
        list(carrier.run(worker_tasks.fail, range(3)))


def test_no_log_tells_what_was_sent(carrier: DaskExecutor, running: RunningCluster) -> None:
    with pytest.raises(WorkerDefect):
        list(carrier.run(worker_tasks.fail, [SECRET]))
    assert list(carrier.run(worker_tasks.Keep(SECRET), [SECRET])) == [SECRET]
    log = running.log.read_bytes()
    assert log
    assert SECRET.encode() not in log


@pytest.mark.slow  # with local workers: test_validate_many.py
def test_the_report_is_the_same_to_the_byte_though_a_worker_is_killed(
    xlbridge: Xlbridge, running: RunningCluster, samples: Path, home: Path, tmp_path: Path
) -> None:
    own = home / "schemas"
    own.mkdir(parents=True)
    shipped = (ROOT / "schemas" / "contasreceber.yaml").read_text(encoding="utf-8")
    ours = shipped.replace("resource: contasreceber", "resource: mensalidade", 1)
    (own / "mensalidade.yaml").write_text(ours, encoding="utf-8")
    shutil.copytree(ROOT / "schemas" / "contasreceber", own / "contasreceber")
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
    alone = xlbridge("validate", *files, *options, "--workers", "1", XLBRIDGE_LANG="pt-BR")
    with KillsAWorker(running) as killer:
        where = ["--scheduler", running.address]
        spread = xlbridge("validate", *files, *options, *where, XLBRIDGE_LANG="pt-BR")
    assert killer.killed
    assert (alone.returncode, spread.returncode) == (2, 2)
    assert spread.stdout == alone.stdout
    assert spread.stderr == alone.stderr
    told = json.loads(alone.stdout)["files"]
    assert [item["resource"] for item in told] == [*["mensalidade"] * 4, None, None]
    assert min(item["errors"] for item in told) > 0


class KillsAWorker:
    """Kills the first worker of a cluster that is seen at a workbook, in a thread."""

    def __init__(self, running: RunningCluster) -> None:
        self.killed: int | None = None
        self._running = running
        self._thread = threading.Thread(target=self._kill)

    def _kill(self) -> None:
        (worker, *_) = awaited(self._running.busy)
        os.kill(worker, signal.SIGKILL)
        self.killed = worker

    def __enter__(self) -> "KillsAWorker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()


def test_exports_come_back_whole_and_no_log_tells_the_password(
    carrier: DaskExecutor,
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
        wanted = [
            (target, "centros-custo", "a.csv"),
            (wrong, "centros-custo", "b.jsonl"),
            (target, "none", "c.csv"),
            (target, "motivos", "none/d.csv"),
            (target, "categorias-cliente", "e.jsonl"),
        ]
        return [
            ExportTask(whom, ExportRequest(listing=listing), OutputFile(folder / name))
            for whom, listing, name in wanted
        ]

    with LocalExecutor(1, "xlbridge.parallel.exports") as worker:
        alone = list(export_all(exports(here), tmp_path, worker))
    spread = list(export_all(exports(there), tmp_path, carrier))
    for one, other in zip(alone, spread, strict=True):
        assert type(one) is type(other)
        if isinstance(one, ExportResult) and isinstance(other, ExportResult):
            assert (one.sheets, one.records) == (other.sheets, other.records)
    failures = [type(came) for came in spread[1:4]]
    assert failures == [AuthenticationFailed, UsageError, UsageError]
    names = sorted(path.name for path in here.iterdir())
    assert names == ["a.csv", "e.jsonl"]
    assert {path.name: path.read_bytes() for path in there.iterdir()} == {
        path.name: path.read_bytes() for path in here.iterdir()
    }
    assert len((here / "a.csv").read_bytes().splitlines()) > 1
    log = running.log.read_bytes()
    assert not any(word.encode() in log for word in (SECRET, sandbox.password))


def test_the_export_command_lets_a_worker_do_it(
    xlbridge: Xlbridge, running: RunningCluster, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    output, manifest = tmp_path / "there.csv", tmp_path / "manifest.json"
    command = ["export", "centros-custo", "-o", output, "--manifest", manifest]
    where = ["--scheduler", running.address]
    done = xlbridge(*command, *where, **credentials(empty_sandbox))
    assert done.returncode == 0
    told = json.loads(manifest.read_text("utf-8"))
    assert told["complete"]
    assert told["records"] > 0
    assert len(output.read_bytes().splitlines()) == told["records"] + 1
    assert str(told["records"]) in done.stdout
    attached = ["--attachments", tmp_path / "files"]
    refused = xlbridge(*command, *where, *attached, **credentials(empty_sandbox))
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


def test_a_batch_lets_the_cluster_check_and_export(
    xlbridge: Xlbridge, running: RunningCluster, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    for sample in ("cliente.xlsx", "contasreceber.xlsx"):
        (tmp_path / sample).write_bytes((ROOT / "samples" / sample).read_bytes())
    found = {}
    for name, options in (("here", []), ("there", ["--scheduler", running.address])):
        plan = tmp_path / "plan.yaml"
        plan.write_text(PLAN.format(name=name), encoding="utf-8")
        asked = ["batch", "run", plan, "--format", "json", *options]
        done = xlbridge(*asked, **credentials(empty_sandbox))
        assert done.returncode == 1, done.stderr
        steps = json.loads(done.stdout)["steps"]
        found[name] = {step["step"]: (step["state"], step["rows"]) for step in steps}
    assert found["here"] == found["there"]
    assert [state for state, _ in found["there"].values()] == ["done", "done", "done", "held"]
    for file in ("centres.csv", "types.jsonl"):
        written = [(tmp_path / name / file).read_bytes() for name in found]
        assert written[0] == written[1]


def test_an_item_that_loses_every_worker_is_lost_alone(
    carrier: DaskExecutor, tmp_path: Path
) -> None:
    task = worker_tasks.DieAt(number=2, times=100, marks=marks(tmp_path))
    outcomes = list(carrier.run(task, range(6)))
    assert outcomes == [0, 2, LostItem(), 6, 8, 10]


def marks(folder: Path) -> Path:
    made = folder / "marks"
    made.mkdir()
    return made


def test_a_cluster_without_the_task_is_told(
    carrier: DaskExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def task(item): return item\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import only_here

    with pytest.raises(ConfigError, match="no xlbridge"):
        list(carrier.run(only_here.task, [1]))


def test_other_versions_on_a_worker_are_refused() -> None:
    ordered = TaskMessage({"xlbridge": "0.0.1", "pandas": "1.0"}, OpaqueBytes(b""))
    with pytest.raises(ConfigError, match=r"0\.0\.1.*1\.0"):
        unpack_outcome(run_on_worker(ordered))


def test_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_CONNECT_SECONDS", 0.2)
    with (
        pytest.raises(TransportError, match="does not answer"),
        connect_cluster("tcp://127.0.0.1:9"),
    ):
        pass
    with pytest.raises(UsageError, match="not the address"), connect_cluster("http://127.0.0.1:9"):
        pass
    with pytest.raises(ConfigError, match="certificates"), connect_cluster("tls://127.0.0.1:9"):
        pass
    with (
        pytest.raises(UsageError, match="mutually exclusive"),
        executor_for([], 2, "tcp://127.0.0.1:9"),
    ):
        pass
