"""Print the headline comparisons as one Markdown table: others and xlbridge in turn, in one run.

Usage: python benchmarks/table.py [PART...] [--runs N] [--long ROWS] [--python PYTHON]

PARTs are validate, start, export, upload and batch (default: all). Each command runs N (5) times
after a warm-up, and the table has medians. Everything runs with PYTHON (default: this one), which
needs the extras ``sandbox`` and ``bench``. ``--long`` is the length of the longest sheets (default:
1,048,575 rows; with shared texts, writing one takes several GB of memory).

The other pipelines do less: fastexcel, polars and dataframely name no cells; what polars exports
has binary floats, no notes, no summary, and no names beside codes.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import batch
import export
import upload
import validate
from bad_sheet import write_sheet
from processes import Cost, costs

_IMPORTS = "import fastexcel, polars, dataframely"
_BAD = 0.01
_ORDERS = 8_000
_ROWS, _TITLES = 20_000, 100_000
_FILES, _ROWS_OF_FILE = 40, 25_000


@dataclass(frozen=True, slots=True)
class Line:
    """A comparison: the work, what ours is compared with, and the cost of both."""

    work: str
    other: str
    theirs: Cost
    ours: Cost

    def __str__(self) -> str:
        clock = self.ours.seconds / self.theirs.seconds
        processors = self.ours.processor_seconds / self.theirs.processor_seconds
        cells = (self.work, self.other, *map(_figures, (self.theirs, self.ours)))
        return f"| {' | '.join(cells)} | {clock:.2f} | {processors:.2f} |"


def _figures(cost: Cost) -> str:
    memory = "" if cost.megabytes is None else f", {cost.megabytes:,.0f} MB"
    return f"{cost.seconds:.2f} s, {cost.processor_seconds:.2f} s of processors{memory}"


def main() -> None:
    """Print the table, line by line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*_PARTS, []])
    parser.add_argument("--runs", type=int, default=5, metavar="N")
    parser.add_argument("--long", type=int, default=1_048_575, metavar="ROWS")
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    print("| Work | Compared with | The other | xlbridge | × the time | × the processor time |")
    print("|---|---|---|---|---|---|", flush=True)
    for part in arguments.parts or _PARTS:
        with tempfile.TemporaryDirectory() as folder:
            for line in _PARTS[part](Path(folder), arguments):
                print(line, flush=True)


def _validate(folder: Path, arguments: argparse.Namespace) -> Iterator[Line]:
    script = Path(__file__).with_name("polars_pipeline.py")
    for rows in (100_000, arguments.long):
        for texts in ("inline", "shared"):
            path = folder / "bad.xlsx"
            write_sheet(path, rows, _BAD, shared_texts=texts == "shared")
            commands = {
                validate.POLARS: [arguments.python, str(script), str(path)],
                validate.OURS: _xlbridge(arguments, "validate", path, "--format", "json"),
            }
            found = costs(commands, arguments.runs)
            work = f"`validate`, {rows:,} rows, {texts} texts"
            yield Line(work, validate.POLARS, found[validate.POLARS], found[validate.OURS])


def _start(folder: Path, arguments: argparse.Namespace) -> Iterator[Line]:
    path = folder / "bad.xlsx"
    write_sheet(path, 20, _BAD)
    ours = _xlbridge(arguments, "validate", path, "--format", "json")
    commands = {"their imports": [arguments.python, "-c", _IMPORTS], validate.OURS: ours}
    theirs, ours_cost = costs(commands, arguments.runs).values()
    yield Line("`validate`, 20 rows", f"`{_IMPORTS}`", theirs, ours_cost)


def _export(folder: Path, arguments: argparse.Namespace) -> Iterator[Line]:
    with export.recorded_orders(folder / "recorded", _ORDERS, arguments.python) as recorded:
        command, settings, _ = recorded
        commands = {export.OURS: command, export.CODES_ONLY: [*command, "--codes-only"]}
        for writer in export.WRITERS:
            commands[writer] = export.writer_command(arguments.python, folder / "recorded", writer)
        found = costs(commands, arguments.runs, settings)
    coded, named = found[export.CODES_ONLY], found[export.OURS]
    for writer in export.WRITERS:
        other = f"json, polars and {writer}"
        yield Line(f"`export` of {_ORDERS:,} orders, codes only", other, found[writer], coded)
        yield Line("… with names, summary and charts", other, found[writer], named)
    yield Line("`export`, names beside codes", "`--codes-only`", coded, named)


def _upload(folder: Path, arguments: argparse.Namespace) -> Iterator[Line]:
    """Plan and upload titles, half of which the system has; the client's share of the clock."""
    with upload.running_system(folder, python=arguments.python) as system:
        upload.fill(system, folder, _TITLES)
        sheet = upload.write_titles(folder / "sheet.xlsx", system, _TITLES - _ROWS // 2, _ROWS)
        (folder / "plan.yaml").write_text(upload.PLAN, "utf-8")
        commands = {
            "validate": _xlbridge(arguments, "validate", sheet),
            "plan": _xlbridge(arguments, "batch", "plan", folder / "plan.yaml"),
        }
        validated, planned = costs(commands, arguments.runs, system.environment).values()
        work = f"`batch plan` of {_ROWS:,} titles against {_TITLES:,}"
        yield Line(work, "`validate` of the same", validated, planned)
        whole, client = Cost(), Cost()
        for number in range(1, arguments.runs + 1):
            start = _TITLES + number * _ROWS
            new = upload.write_titles(folder / "new.xlsx", system, start, _ROWS)
            cost, _ = upload.cost_of(system, "upload", new, "--yes", "--format", "json")
            whole.runs.append(cost.elapsed)
            whole.processor_runs.append(cost.client + cost.server)
            client.runs.append(cost.elapsed - cost.server)
            client.processor_runs.append(cost.client)
        yield Line(f"client's share of an upload of {_ROWS:,} titles", "all of it", whole, client)


def _batch(folder: Path, arguments: argparse.Namespace) -> Iterator[Line]:
    files = [
        write_sheet(folder / f"{number:03}.xlsx", _ROWS_OF_FILE, _BAD, number).path
        for number in range(_FILES)
    ]
    commands = dict(batch.commands_of(folder, files, "", arguments.python))
    del commands[batch.CLUSTER]
    one, two = costs(commands, arguments.runs).values()
    work = f"`validate`, {_FILES} workbooks of {_ROWS_OF_FILE:,} rows, {batch.TWO}"
    yield Line(work, batch.ONE, one, two)


def _xlbridge(arguments: argparse.Namespace, *words: object) -> Sequence[str]:
    return [arguments.python, "-m", "xlbridge", *map(str, words)]


_PARTS: Mapping[str, Callable[[Path, argparse.Namespace], Iterator[Line]]] = {
    "validate": _validate,
    "start": _start,
    "export": _export,
    "upload": _upload,
    "batch": _batch,
}


if __name__ == "__main__":
    main()
