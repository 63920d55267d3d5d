"""``xlbridge validate`` against the bare parser and what else judges sheets, whole processes.

Usage: python benchmarks/validate.py [ROWS... [--runs RUNS]]

Sheets of ROWS × 12 cells (1,000, 10,000 and 100,000 unless told; Excel's last is 1,048,575) with
no, 1 % and 100 % bad cells. The others are run up to 100,000 rows, and not on 100 % bad cells,
where they take many minutes; frictionless only where the extra ``bench`` is installed.
"""

import argparse
import importlib.util
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bad_sheet import BadSheet, write_sheet
from processes import Cost, costs

OURS = "xlbridge validate"
USUAL = "pandas (openpyxl) + pandera with coercion"
FRICTIONLESS = "frictionless, all errors"
BARE = "python-calamine, cells only"
IMPORT = "import of pandera alone"
_BARE_READ = (
    "import sys, python_calamine as c; "
    "s = c.CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0); "
    "print(sum(1 for _ in s.iter_rows()))"
)
_SHARES = (0, 0.01, 1)
_MOST_FOR_OTHERS = 100_000
_SMALL = 1_000


def main() -> None:
    """Print the costs, the ratios, and whether what was found is what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    taken: dict[float, dict[int, Cost]] = {share: {} for share in _SHARES}
    with tempfile.TemporaryDirectory() as folder:
        for rows in asked.rows:
            for share in _SHARES:
                written = write_sheet(Path(folder) / "bad.xlsx", rows, share)
                found = costs(_commands(written.path, rows, share), asked.runs)
                _print_costs(rows, share, written, found)
                taken[share][rows] = found[OURS]
    _print_growth(taken)


def _commands(path: Path, rows: int, share: float) -> dict[str, list[str]]:
    here = Path(__file__).parent
    commands = {
        OURS: [*_ours(path), "--format", "json"],
        BARE: [sys.executable, "-c", _BARE_READ, str(path)],
    }
    if rows <= _SMALL:
        commands[IMPORT] = [sys.executable, "-c", "import pandera.pandas"]
    if rows <= _MOST_FOR_OTHERS and share < 1:
        commands[USUAL] = [sys.executable, str(here / "usual_pipeline.py"), str(path)]
        if importlib.util.find_spec("frictionless"):
            script = here / "frictionless_pipeline.py"
            commands[FRICTIONLESS] = [sys.executable, str(script), str(path)]
    return commands


def _ours(path: Path) -> list[str]:
    return [sys.executable, "-m", "xlbridge", "validate", str(path)]


def _print_costs(rows: int, share: float, written: BadSheet, found: dict[str, Cost]) -> None:
    print(f"\n{rows:,} rows x 12 columns, {len(written.bad_cells):,} bad cells ({share:.0%})")
    ours = found[OURS].seconds
    for name, cost in found.items():
        memory = "" if cost.megabytes is None else f"{cost.megabytes:8.0f} MB"
        times = cost.seconds / ours
        print(f"  {name:45} {cost.seconds:8.3f} s {memory} {times:8.2f} x ours")
    print(f"  ours is {ours / found[BARE].seconds:.2f} times the bare parser")
    if IMPORT in found:
        print(f"  ours is {ours - found[IMPORT].seconds:.3f} s over the import of pandera")
    _print_exactness(written)


def _print_exactness(written: BadSheet) -> None:
    done = subprocess.run(
        [*_ours(written.path), "--format", "json"], stdout=subprocess.PIPE, check=False
    )
    told = {f["cell"] for f in json.loads(done.stdout)["files"][0]["findings"]}
    missed, invented = written.bad_cells - told, told - written.bad_cells
    print(f"  bad cells missed: {len(missed)}, good cells called bad: {len(invented)}")


def _print_growth(taken: dict[float, dict[int, Cost]]) -> None:
    print("\nfrom size to size: rows, seconds and memory of ours, times those of the size before")
    for share, of_rows in taken.items():
        sizes = sorted(of_rows)
        for before, after in itertools.pairwise(sizes):
            small, large = of_rows[before], of_rows[after]
            memory = (large.megabytes or 0) / (small.megabytes or 1)
            print(
                f"  {share:5.0%} bad, {before:,} to {after:,}: rows x {after / before:.1f}, "
                f"seconds x {large.seconds / small.seconds:.1f}, memory x {memory:.1f}"
            )


if __name__ == "__main__":
    main()
