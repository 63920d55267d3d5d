"""``xlbridge validate`` against the usual pipeline and against the bare parser, whole processes.

Usage: python benchmarks/validate.py [ROWS [RUNS]]
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bad_sheet import BadSheet, write_sheet
from processes import medians, print_ratios

OURS = "xlbridge validate"
USUAL = "pandas (openpyxl) + pandera with coercion"
BARE = "python-calamine, cells only"
_BARE_READ = (
    "import sys, python_calamine as c; "
    "s = c.CalamineWorkbook.from_path(sys.argv[1]).get_sheet_by_index(0); "
    "print(sum(1 for _ in s.iter_rows()))"
)


def main() -> None:
    """Print the medians, the ratios, and whether what was found is what is wrong."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        written = write_sheet(Path(folder) / "bad.xlsx", rows, bad_share=0.01)
        print(f"{rows} rows x 12 columns, {len(written.bad_cells)} bad cells, {runs} runs")
        pipeline = Path(__file__).with_name("usual_pipeline.py")
        taken = medians(
            {
                OURS: [*_ours(written.path), "--format", "json"],
                USUAL: [sys.executable, str(pipeline), str(written.path)],
                BARE: [sys.executable, "-c", _BARE_READ, str(written.path)],
            },
            runs,
        )
        print_ratios(taken, OURS)
        print(f"{taken[USUAL] / taken[OURS]:.1f} times as fast as the usual pipeline")
        _print_exactness(written)


def _ours(path: Path) -> list[str]:
    return [sys.executable, "-m", "xlbridge", "validate", str(path)]


def _print_exactness(written: BadSheet) -> None:
    done = subprocess.run(
        [*_ours(written.path), "--format", "json"], stdout=subprocess.PIPE, check=False
    )
    found = {f["cell"] for f in json.loads(done.stdout)["files"][0]["findings"]}
    missed, invented = written.bad_cells - found, found - written.bad_cells
    print(f"bad cells missed: {len(missed)}, good cells called bad: {len(invented)}")


if __name__ == "__main__":
    main()
