"""Compare ``xlbridge validate`` with the bare parser and other validators, as whole processes.

Usage: python benchmarks/validate.py [ROWS...] [--bad PERCENT...] [--runs RUNS]
                                     [--texts {inline,shared}...]
                                     [--python PYTHON] [--frictionless PYTHON]

Sheets of ROWS × 12 cells (default 20, 1,000, 10,000, 100,000 and 1,048,575) with no, 1 % and 100 %
bad cells. Texts are in the cells (inline), as programs write them, and up to 100,000 rows also in
the shared string table (shared), as Excel does. Commands take turns in each run; above 100,000 rows
each runs once. The other validators run up to 100,000 rows, and not on 100 % bad cells, where they
take many minutes. frictionless runs with the interpreter that has it (default: this one, if the
extra ``bench`` is installed), everything else with PYTHON (default: this one); in a development
environment pandera also imports hypothesis and starts more slowly than for users. Memory is that of
a command and its helpers together.
"""

import argparse
import importlib.util
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
BARE = "python-calamine, cells only"
IMPORT = "import of pandas and pandera alone"
_BARE_READ = (
    "import sys, python_calamine as c; "
    "s = c.CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0); "
    "print(sum(1 for _ in s.iter_rows()))"
)
_LAST_ROW = 1_048_575
_MOST_FOR_OTHERS = 100_000
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
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--texts", nargs="+", choices=_TEXTS, default=_TEXTS)
    parser.add_argument("--python", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--frictionless", metavar="PYTHON", default=_with_frictionless())
    asked = parser.parse_args()
    taken: list[Taken] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows, percent, texts in itertools.product(asked.rows, asked.bad, asked.texts):
            if texts == _SHARED and rows > _MOST_FOR_OTHERS:
                continue
            path, shared = Path(folder) / "bad.xlsx", texts == _SHARED
            written = write_sheet(path, rows, percent / 100, shared_texts=shared)
            commands = _commands(path, rows, percent, asked)
            found = costs(commands, asked.runs if rows <= _MOST_FOR_OTHERS else 0)
            _print_costs(rows, percent, texts, written, found)
            taken.append(Taken(rows, percent, texts, len(written.bad_cells), found[OURS]))
    _print_growth_of_rows(taken)
    _print_growth_of_findings(taken)


@dataclass(frozen=True, slots=True)
class Taken:
    """Cost of our command for a sheet."""

    rows: int
    percent: float
    texts: str
    findings: int
    cost: Cost


def _with_frictionless() -> str | None:
    return sys.executable if importlib.util.find_spec("frictionless") else None


def _commands(
    path: Path, rows: int, percent: float, asked: argparse.Namespace
) -> dict[str, list[str]]:
    here = Path(__file__).parent
    commands = {
        OURS: [*_ours(asked.python, path), "--format", "json"],
        BARE: [asked.python, "-c", _BARE_READ, str(path)],
    }
    if rows <= _SMALL:
        commands[IMPORT] = [asked.python, "-c", "import pandas, pandera.pandas"]
    if rows <= _MOST_FOR_OTHERS and percent < _ALL:
        commands[USUAL] = [asked.python, str(here / "usual_pipeline.py"), str(path)]
        if asked.frictionless:
            commands[FRICTIONLESS] = [
                asked.frictionless,
                str(here / "frictionless_pipeline.py"),
                str(path),
            ]
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
    # Less than a tick of the clock is told as none.
    processor = found[OURS].processor_seconds / max(found[BARE].processor_seconds, _TICK)
    print(
        f"  ours is {ours / found[BARE].seconds:.2f} times the bare parser "
        f"({processor:.2f} by processor time)"
    )
    if IMPORT in found:
        clock = ours - found[IMPORT].seconds
        processor = found[OURS].processor_seconds - found[IMPORT].processor_seconds
        print(f"  ours is {clock:+.3f} s ({processor:+.3f} s of processors) beside that import")
    _print_exactness(written, rows)


def _print_exactness(written: BadSheet, rows: int) -> None:
    limit = [] if rows <= _MOST_FOR_OTHERS else ["--limit", "0"]
    command = [*_ours(sys.executable, written.path), "--format", "json", *limit]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    (file,) = json.loads(done.stdout)["files"]
    if limit:
        print(f"  findings counted: {file['errors'] + file['warnings']:,}")
        return
    told = {finding["cell"] for finding in file["findings"]}
    missed, invented = written.bad_cells - told, told - written.bad_cells
    print(f"  bad cells missed: {len(missed)}, good cells called bad: {len(invented)}")


def _print_growth_of_rows(taken: Sequence[Taken]) -> None:
    print("\nfrom size to size: rows, seconds and memory of ours, times those of the size before")
    for percent, texts in sorted({(each.percent, each.texts) for each in taken}):
        alike = (t for t in taken if (t.percent, t.texts) == (percent, texts))
        sizes = sorted(alike, key=lambda each: each.rows)
        for before, after in itertools.pairwise(sizes):
            print(
                f"  {percent:3g} % bad, {texts}, {before.rows:,} to {after.rows:,}: "
                f"rows x {after.rows / before.rows:.1f}, "
                f"seconds x {after.cost.seconds / before.cost.seconds:.1f}, "
                f"memory x {_megabytes(after) / max(_megabytes(before), 1):.1f}"
            )


def _print_growth_of_findings(taken: Sequence[Taken]) -> None:
    print("\nwhat findings add: to a sheet of as many rows without any, for each thousand of them")
    clean = {(each.rows, each.texts): each for each in taken if not each.findings}
    for each in taken:
        if each.findings and (each.rows, each.texts) in clean:
            thousands = each.findings / 1_000
            without = clean[each.rows, each.texts]
            seconds = each.cost.seconds - without.cost.seconds
            megabytes = _megabytes(each) - _megabytes(without)
            print(
                f"  {each.rows:,} rows, {each.texts} texts, {each.findings:,} findings: "
                f"{seconds / thousands * 1_000:.1f} ms and {megabytes / thousands:.2f} MB each"
            )


def _megabytes(each: Taken) -> float:
    return each.cost.megabytes or 0


if __name__ == "__main__":
    main()
