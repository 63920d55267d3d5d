"""Validate many workbooks with one process, two processes, and a Dask cluster of two workers.

Usage: python benchmarks/batch.py [FILES [ROWS]] [--runs RUNS]

FILES (default 40) sheets of ROWS (25,000) × 12 cells, 1 % of them bad. The reports must be
identical. Needs the extra ``dask``.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bad_sheet import write_sheet
from processes import costs

ONE = "1 process"
TWO = "2 processes"
CLUSTER = "2 Dask workers"
_BAD = 0.01
_SCRIPTS = Path(sys.executable).parent
_TIMEOUT = 60


def main() -> None:
    """Print costs, ratios, memory, and whether the reports are identical."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="?", type=int, default=40)
    parser.add_argument("rows", nargs="?", type=int, default=25_000)
    parser.add_argument("--runs", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        written = [
            write_sheet(directory / f"{number:03}.xlsx", arguments.rows, _BAD, number)
            for number in range(arguments.files)
        ]
        bad = sum(len(sheet.bad_cells) for sheet in written)
        print(f"{arguments.files} files of {arguments.rows:,} rows x 12 columns, {bad:,} bad cells")
        with _cluster(directory) as (scheduler, workers):
            commands = commands_of(directory, [sheet.path for sheet in written], scheduler)
            found = costs(commands, arguments.runs)
            memory = [_peak_memory(pid) for pid in workers]
        ours = found[ONE].seconds
        for name, cost in found.items():
            print(
                f"  {name:15} {cost.seconds:7.2f} s {cost.megabytes or 0:6.0f} MB "
                f"{ours / cost.seconds:6.2f} x as fast"
            )
        peaks = " and ".join(f"{megabytes:.0f}" for megabytes in memory)
        print(f"  peak memory of the cluster's workers: {peaks} MB")
        print(f"  reports are identical: {_are_identical(directory, commands)}")


def commands_of(
    directory: Path, files: Sequence[Path], scheduler: str, python: str = sys.executable
) -> Mapping[str, Sequence[str]]:
    """Return the commands that validate the files, by name."""
    options_by_name = {
        ONE: ["--workers", "1"],
        TWO: ["--workers", "2"],
        CLUSTER: ["--scheduler", scheduler],
    }
    command = [python, "-m", "xlbridge", "validate", *map(str, files), "--format", "json"]
    return {
        name: [*command, *options, "-o", str(_report(directory, name))]
        for name, options in options_by_name.items()
    }


def _report(directory: Path, name: str) -> Path:
    return directory / f"{name}.json"


def _are_identical(directory: Path, names: Mapping[str, object]) -> bool:
    return len({_report(directory, name).read_bytes() for name in names}) == 1


@contextmanager
def _cluster(directory: Path) -> Iterator[tuple[str, list[int]]]:
    """Start a scheduler and two single-threaded workers on loopback; stop them afterwards."""
    log = directory / "cluster.log"
    with log.open("wb") as output:

        def start(*arguments: str) -> "subprocess.Popen[bytes]":
            command = [str(_SCRIPTS / "dask"), *arguments, "--no-dashboard"]
            return subprocess.Popen(command, cwd=directory, stdout=output, stderr=output)

        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0")
        address = _wait_for(log, r"Scheduler at:\s+(\S+)")
        workers = [start("worker", address, "--nthreads", "1", "--no-nanny") for _ in range(2)]
        try:
            yield address, [worker.pid for worker in workers]
        finally:
            for process in (*workers, scheduler):
                process.kill()
            for process in (*workers, scheduler):
                process.wait()


def _wait_for(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text("utf-8")):
            return found[1]
        time.sleep(0.05)
    sys.exit(f"the cluster did not start:\n{log.read_text('utf-8')}")


def _peak_memory(pid: int) -> float:
    """Return the peak memory of a process in MB, 0 if unknown."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii")
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0


if __name__ == "__main__":
    main()
