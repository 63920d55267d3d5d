"""Measure planning and uploading a sheet of titles, relative to a loop of posts.

Usage: python benchmarks/upload.py [ROWS [TITLES]] [--before COMMIT [--pairs N]] [--python PYTHON]

Plans and uploads ROWS (default 20,000) titles through the queue to a sandbox that holds TITLES
(100,000) others and half of the rows; then uploads as many new ones. The sandbox is a separate
process. Prints wall seconds and processor seconds of each command with its helpers, and of the
sandbox meanwhile; the client's cost of ``batch plan`` and of a preview relative to validating; rows
per second next to single httpx posts in the same run; the memory of the largest process; and the
client's share: the part of the wall time in which no thread of the sandbox and its helpers runs, is
ready to run, or waits for the disk. It includes waits for a poll of a sandbox that is done, and is
no less because the client works at the same time as the sandbox. Other load on the machine
lengthens both sides. Asserts nothing. Linux only. Commands and sandbox run with PYTHON (default:
this one); in a development environment imports take longer than for users.

With ``--before``, that commit also uploads new titles, in turn, each to a sandbox of its own
commit. Prints medians of N (5) pairs and both rates.
"""

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import xlsxwriter
from processes import WorkSampler, processor_seconds

import xlbridge

_ROOT = Path(__file__).parent.parent
PLAN = "name: titles\nsteps:\n  titles: {upload: sheet.xlsx, resource: contasreceber}\n"
_POSTS = 300
_BLOCK = 20_000
_HEADINGS = (
    "codigoDaFilial",
    "codigoDoCliente",
    "codigoDoItemDeLancamento",
    "codigoDoCentroDeCusto",
    "codigoDaContaCorrente",
    "historico",
    "numeroDoDocumento",
    "dataDeVencimento",
    "valorDoLancamento",
)


@dataclass(frozen=True, slots=True)
class System:
    """Running sandbox and its process, with environment, interpreter and client."""

    environment: dict[str, str]
    http: httpx.Client
    customer: int
    sandbox: int
    python: str


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of a command: wall, its processor time, the sandbox's processor time.

    ``working`` are the wall seconds in which the sandbox works, ``memory`` is the peak of the
    command's largest process in MB.
    """

    elapsed: float
    client: float
    server: float
    working: float
    memory: float

    @property
    def share(self) -> float:
        """Part of the wall time in which the sandbox does not work."""
        return 1 - self.working / self.elapsed

    def line(self, name: str, more: str = "") -> str:
        """Return the costs as a line of the table."""
        seconds = f"{self.elapsed:8.2f}{self.client:8.2f}{self.server:8.2f}"
        return f"  {name:26}{seconds}{self.share:8.0%}{self.memory:8,.0f}   {more}"


def main() -> None:
    """Print the costs of planning and uploading."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=20_000)
    parser.add_argument("titles", nargs="?", type=int, default=100_000)
    parser.add_argument("--before", metavar="COMMIT")
    parser.add_argument("--pairs", type=int, default=5, metavar="N")
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    # As installed: what is measured compiles nothing.
    compileall.compile_dir(Path(xlbridge.__file__).parent, quiet=1)
    if arguments.before:
        _compare(
            arguments.before, arguments.pairs, arguments.rows, arguments.titles, arguments.python
        )
    else:
        _measure(arguments.rows, arguments.titles, arguments.python)


def _measure(rows: int, titles: int, python: str) -> None:
    """Print the cost of each command."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_system(Path(folder), python=python) as system,
    ):
        fill(system, Path(folder), titles)
        half = min(rows // 2, titles)
        sheet = write_titles(Path(folder) / "sheet.xlsx", system, titles - half, rows)
        print(f"{rows:,} rows, {half:,} of them in the system, against {titles:,} titles")
        print(f"  {'seconds':26}{'clock':>8}{'client':>8}{'sandbox':>8}{'share':>8}{'MB':>8}")
        validated, _ = cost_of(system, "validate", sheet)
        print(validated.line("validate"))
        (Path(folder) / "plan.yaml").write_text(PLAN, "utf-8")
        preview = ("upload", sheet, "--mode", "preview", "--no-preview", "--yes")
        plan = ("batch", "plan", Path(folder) / "plan.yaml")
        for name, command in (("plan", plan), ("plan, stored and previewed", preview)):
            cost, _ = cost_of(system, *command)
            print(cost.line(name, f"client: {cost.client / validated.client:.2f} x validate"))
        uploaded, counts = cost_of(system, "upload", sheet, "--yes", "--format", "json")
        decided = rows / uploaded.elapsed
        print(uploaded.line("upload to verdict", f"{decided:,.0f} rows/s decided"))
        print(f"    created {counts['created']:,}, unchanged {counts['unchanged']:,}")
        new = write_titles(Path(folder) / "new.xlsx", system, titles + rows, rows)
        sent, counts = cost_of(system, "upload", new, "--yes", "--format", "json")
        rate = counts["created"] / sent.elapsed
        print(sent.line("upload of new rows", f"{rate:,.0f} rows/s created"))
        posts = _posts_per_second(system)
        print(f"  plain loop of posts {posts:.0f} rows/s: decided {decided / posts:.1f} x as fast,")
        print(f"    created {rate / posts:.1f} x as fast")


def _compare(before: str, pairs: int, rows: int, titles: int, python: str) -> None:
    """Print the cost of uploading new titles at a commit and now."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        trees = {before: running.enter_context(_checked_out(before)), "now": _ROOT}
        systems = {}
        for name, tree in trees.items():
            directory = Path(folder) / name
            directory.mkdir()
            systems[name] = running.enter_context(running_system(directory, tree, python))
            fill(systems[name], directory, titles)
        costs: dict[str, list[Cost]] = {name: [] for name in systems}
        for number in range(pairs):
            for name, system in systems.items():
                sheet = Path(folder) / f"{name}.xlsx"
                write_titles(sheet, system, titles + number * rows, rows)
                costs[name].append(cost_of(system, "upload", sheet, "--yes", "--format", "json")[0])
    print(f"{rows:,} new rows against {titles:,} titles, medians of {pairs} pairs")
    print(f"  {'seconds':26}{'clock':>8}{'client':>8}{'sandbox':>8}{'share':>8}{'MB':>8}")
    found = {name: median(commit_costs) for name, commit_costs in costs.items()}
    for name, cost in found.items():
        print(cost.line(name, f"{rows / cost.elapsed:,.0f} rows/s"))
    earlier, now = found[before], found["now"]
    processors = (earlier.client + earlier.server) / (now.client + now.server)
    print(f"  now {earlier.elapsed / now.elapsed:.2f} x as fast by the clock,")
    print(f"    {processors:.2f} x by processor time")


def median(costs: list[Cost]) -> Cost:
    """Return the median of each kind of seconds, and the peak of memory."""
    return Cost(
        statistics.median(cost.elapsed for cost in costs),
        statistics.median(cost.client for cost in costs),
        statistics.median(cost.server for cost in costs),
        statistics.median(cost.working for cost in costs),
        max(cost.memory for cost in costs),
    )


@contextmanager
def _checked_out(commit: str) -> Iterator[Path]:
    """Yield a folder with the files of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(_ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def fill(system: System, folder: Path, titles: int) -> None:
    """Import titles in blocks, without looking for them first."""
    for start in range(0, titles, _BLOCK):
        block = write_titles(folder / "block.xlsx", system, start, min(_BLOCK, titles - start))
        options = ("--yes", "--mode", "direct", "--no-read-back", "--no-preview")
        _run(system, "upload", block, *options)


def write_titles(path: Path, system: System, start: int, count: int) -> Path:
    """Write a sheet of titles, numbered from ``start`` on."""
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        sheet = book.add_worksheet("contasreceber")
        sheet.write_row(0, 0, _HEADINGS)
        for row in range(1, count + 1):
            number = start + row
            fixed = (1, system.customer, "1.01.001", "01.001", 1)
            values = (f"Mensalidade {number}", f"NF-{number:08d}", "30/11/2026", number / 100)
            sheet.write_row(row, 0, (*fixed, *values))
    return path


def _posts_per_second(system: System) -> float:
    """Return the titles per second of a loop of single posts."""
    fixed = dict(zip(_HEADINGS[:5], (1, system.customer, "1.01.001", "01.001", 1), strict=True))
    before = time.perf_counter()
    for number in range(_POSTS):
        body = {**fixed, "historico": f"Avulso {number}", "numeroDoDocumento": f"AV-{number}"}
        system.http.post("/v2/financeiro/contasreceber", json=body).raise_for_status()
    return _POSTS / (time.perf_counter() - before)


def cost_of(system: System, *arguments: object) -> tuple[Cost, dict[str, int]]:
    """Run a command; return its cost, and its row counts if it reports any."""
    start, children, sandbox = (
        time.perf_counter(),
        _children_time(),
        processor_seconds(system.sandbox),
    )
    with WorkSampler(system.sandbox) as work:
        output, memory = _run(system, *arguments)
    cost = Cost(
        time.perf_counter() - start,
        _children_time() - children,
        processor_seconds(system.sandbox) - sandbox,
        work.seconds,
        memory,
    )
    return cost, json.loads(output)["rows"] if "json" in arguments else {}


def _children_time() -> float:
    """Return the processor time of ended commands and their processes, not the sandbox."""
    used = os.times()
    return used.children_user + used.children_system


def _run(system: System, *arguments: object) -> tuple[str, float]:
    """Run a command; return its output and the memory of its largest process in MB."""
    command = [system.python, "-P", "-m", "xlbridge", *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            command, env=system.environment, stdout=output, stderr=errors
        ) as running:
            # Only so is the memory this command's, and not that of any so far.
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        text = output.read()
        if running.returncode:
            raise SystemExit(f"{' '.join(command)}\n{text[-2000:]}{errors.read()[-2000:]}")
    return text, used.ru_maxrss / 1024


@contextmanager
def running_system(
    folder: Path, tree: Path = _ROOT, python: str = sys.executable
) -> Iterator[System]:
    """Run a sandbox of the program in ``tree``, with registries and one client."""
    ready = folder / "ready.json"
    settings = {
        "XLBRIDGE_HOME": str(folder / "home"),
        "XLBRIDGE_LANG": "en",
        # With other work on the machine, an answer may take longer than a user would wait.
        "XLBRIDGE_TIMEOUT": "600",
        "PYTHONPATH": str(tree),
    }
    environment = {**os.environ, **settings}
    options = ["--seed", "empty", "--db", str(folder / "sandbox.db"), "--ready-file", str(ready)]
    command = [python, "-P", "-m", "xlbridge", "sandbox", *options]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
                time.sleep(0.05)
            running = json.loads(ready.read_text("utf-8"))
            login = {"email": running["email"], "password": running["password"]}
            with httpx.Client(base_url=running["base_url"], timeout=60) as http:
                token = http.post("/v2/autenticar", json=login).json()["accessToken"]
                http.headers["Authorization"] = f"Bearer {token}"
                created = http.post("/v2/cliente", json={"nomeComercial": "Ana"}).json()
                system = System(
                    {
                        **environment,
                        "XLBRIDGE_BASE_URL": running["base_url"],
                        "XLBRIDGE_EMAIL": running["email"],
                        "XLBRIDGE_PASSWORD": running["password"],
                    },
                    http,
                    created["data"]["codigoDoCliente"],
                    process.pid,
                    python,
                )
                yield system
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
