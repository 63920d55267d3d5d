"""Compare ``xlbridge validate`` with the bare parser and other validators, as whole processes.

Usage: python benchmarks/validate.py [ROWS...] [--bad PERCENT...] [--runs RUNS]
                                     [--texts {inline,shared}...]
                                     [--python PYTHON] [--others PYTHON]

Sheets of ROWS × 12 cells (default 20, 1,000, 10,000, 100,000 and 1,048,575) with no, 1 % and 100 %
bad cells. Texts are in the cells (inline), as programs write them, and up to 100,000 rows also in
the shared string table (shared), as Excel does. Commands take turns in each run; above 100,000 rows
each runs once, or RUNS times without the other validators. The other validators do not run on 100 %
bad cells, where they take many minutes, and frictionless only up to 100,000 rows. frictionless, and
fastexcel with polars and dataframely, run with the interpreter that has the extra ``bench``
(default: this one), everything else with PYTHON (default: this one); in a development environment
pandera also imports hypothesis and starts more slowly than for users. Memory is that of a command
and its helpers together.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bad_sheet import BadSheet, write_sheet
from processes import Cost, costs

OURS = "xlbridge validate"
USUAL = "pandas (openpyxl) + pandera with coercion"
FRICTIONLESS = "frictionless, all errors"
POLARS = "fastexcel + polars + dataframely, no cells"
BARE = "python-calamine, cells only"
IMPORT = "import of pandas and pandera alone"
_BARE_READ = (
    "import sys, python_calamine as c; "
    "s = c.CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0); "
    "print(sum(1 for _ in s.iter_rows()))"
)
_OTHERS = {
    FRICTIONLESS: ("frictionless", "frictionless_pipeline.py"),
    POLARS: ("dataframely", "polars_pipeline.py"),
}
"""Modules and scripts of the validators of the extra ``bench``."""
_LAST_ROW = 1_048_575
_RUNS = 3
_MAX_ROWS_OF_RUNS = _MAX_ROWS_OF_FRICTIONLESS = 100_000
_SMALL = 1_000
_SIZES = (_SMALL, 10_000, 100_000)
_ALL = 100
_TICK = 0.01
_SHARED = "shared"
_TEXTS = ("inline", _SHARED)


def main() -> None:
    """Print costs, ratios, and whether exactly the bad cells were found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*", type=int, default=[20, *_SIZES, _LAST_ROW])
    parser.add_argument("--bad", nargs="+", type=float, default=[0, 1, 100], metavar="PERCENT")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--texts", nargs="+", choices=_TEXTS, default=_TEXTS)
    parser.add_argument("--python", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--others", metavar="PYTHON", default=sys.executable)
    arguments = parser.parse_args()
    arguments.scripts = _installed(arguments.others)
    measurements: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows, percent, texts in itertools.product(
            arguments.rows, arguments.bad, arguments.texts
        ):
            if texts == _SHARED and rows > _MAX_ROWS_OF_RUNS:
                continue
            path, shared = Path(folder) / "bad.xlsx", texts == _SHARED
            written = write_sheet(path, rows, percent / 100, shared_texts=shared)
            commands = _commands(path, rows, percent, arguments)
            is_small = rows <= _MAX_ROWS_OF_RUNS
            once = {} if is_small else {n: commands.pop(n) for n in (USUAL,) if n in commands}
            runs = arguments.runs if arguments.runs is not None else _RUNS if is_small else 0
            found = costs(commands, runs) | costs(once, 0)
            _print_costs(rows, percent, texts, written, found)
            measurements.append(
                Measurement(rows, percent, texts, len(written.bad_cells), found[OURS])
            )
    _print_growth_of_rows(measurements)
    _print_growth_of_findings(measurements)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Cost of our command for a sheet."""

    rows: int
    percent: float
    texts: str
    findings: int
    cost: Cost


def _installed(python: str) -> dict[str, Path]:
    """Return the scripts of the other validators that an interpreter has."""
    folder = Path(__file__).parent
    return {
        name: folder / script
        for name, (module, script) in _OTHERS.items()
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
    }


def _commands(
    path: Path, rows: int, percent: float, arguments: argparse.Namespace
) -> dict[str, list[str]]:
    folder = Path(__file__).parent
    commands = {
        OURS: [*_ours(arguments.python, path), "--format", "json"],
        BARE: [arguments.python, "-c", _BARE_READ, str(path)],
    }
    if rows <= _SMALL:
        commands[IMPORT] = [arguments.python, "-c", "import pandas, pandera.pandas"]
    if percent < _ALL:
        commands[USUAL] = [arguments.python, str(folder / "usual_pipeline.py"), str(path)]
        for name, script in arguments.scripts.items():
            if name != FRICTIONLESS or rows <= _MAX_ROWS_OF_FRICTIONLESS:
                commands[name] = [arguments.others, str(script), str(path)]
    return commands


def _ours(python: str, path: Path) -> list[str]:
    return [python, "-m", "xlbridge", "validate", str(path)]


def _print_costs(
    rows: int, percent: float, texts: str, written: BadSheet, found: dict[str, Cost]
) -> None:
    print(
        f"\n{rows:,} rows x 12 columns, {texts} texts, {len(written.bad_cells):,} bad cells "
        f"({percent:g} %)"
    )
    ours = found[OURS].seconds
    for name, cost in found.items():
        memory = "" if cost.megabytes is None else f"{cost.megabytes:8.0f} MB"
        times = cost.seconds / ours
        processor = f"{cost.processor_seconds:8.2f} s of processors"
        print(f"  {name:45} {cost.seconds:8.3f} s {processor} {memory} {times:8.2f} x ours")
    # A time below one tick of the clock is measured as zero.
    processor = found[OURS].processor_seconds / max(found[BARE].processor_seconds, _TICK)
    print(
        f"  ours is {ours / found[BARE].seconds:.2f} times the bare parser "
        f"({processor:.2f} by processor time)"
    )
    if IMPORT in found:
        clock = ours - found[IMPORT].seconds
        processor = found[OURS].processor_seconds - found[IMPORT].processor_seconds
        print(f"  ours is {clock:+.3f} s ({processor:+.3f} s of processors) besides that import")
    _print_exactness(written, rows)


def _print_exactness(written: BadSheet, rows: int) -> None:
    limit = [] if rows <= _MAX_ROWS_OF_RUNS else ["--limit", "0"]
    command = [*_ours(sys.executable, written.path), "--format", "json", *limit]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    (file,) = json.loads(done.stdout)["files"]
    if limit:
        print(f"  findings counted: {file['errors'] + file['warnings']:,}")
        return
    reported = {finding["cell"] for finding in file["findings"]}
    missed, false = written.bad_cells - reported, reported - written.bad_cells
    print(f"  bad cells missed: {len(missed)}, good cells reported as bad: {len(false)}")


def _print_growth_of_rows(measurements: Sequence[Measurement]) -> None:
    print("\ngrowth between sizes: rows, seconds and memory of ours, relative to the smaller size")
    for percent, texts in sorted({(one.percent, one.texts) for one in measurements}):
        same_kind = (t for t in measurements if (t.percent, t.texts) == (percent, texts))
        sizes = sorted(same_kind, key=lambda one: one.rows)
        for before, after in itertools.pairwise(sizes):
            print(
                f"  {percent:3g} % bad, {texts}, {before.rows:,} to {after.rows:,}: "
                f"rows x {after.rows / before.rows:.1f}, "
                f"seconds x {after.cost.seconds / before.cost.seconds:.1f}, "
                f"memory x {_megabytes(after) / max(_megabytes(before), 1):.1f}"
            )


def _print_growth_of_findings(measurements: Sequence[Measurement]) -> None:
    print("\ncost of findings: relative to a sheet of as many rows without findings, per thousand")
    clean = {(one.rows, one.texts): one for one in measurements if not one.findings}
    for one in measurements:
        if one.findings and (one.rows, one.texts) in clean:
            thousands = one.findings / 1_000
            without = clean[one.rows, one.texts]
            seconds = one.cost.seconds - without.cost.seconds
            megabytes = _megabytes(one) - _megabytes(without)
            print(
                f"  {one.rows:,} rows, {one.texts} texts, {one.findings:,} findings: "
                f"{seconds / thousands * 1_000:.1f} ms and {megabytes / thousands:.2f} MB each"
            )


def _megabytes(one: Measurement) -> float:
    return one.cost.megabytes or 0


if __name__ == "__main__":
    main()
