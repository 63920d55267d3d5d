"""Validate files in a separate process, and print the outcome of each.

Usage: python validate_files.py, with paths on standard input, one per line. Prints a line of JSON
for each: ``outcome`` (the code of the refusal, ``usage``, ``good`` or ``findings``), then the peak
memory of the process in MB.
"""

import json
import re
import sys
from pathlib import Path

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.resources import load_catalogue
from xlbridge.validation import validate_workbook


def outcome(path: Path) -> str:
    try:
        report = validate_workbook(path, load_catalogue(), resource="cliente")
    except WorkbookRefused as refusal:
        return refusal.code
    except UsageError:
        return "usage"
    return "good" if report.ok else "findings"


def main() -> None:
    for line in sys.stdin:
        print(json.dumps({"outcome": outcome(Path(line.rstrip("\n")))}), flush=True)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    print(json.dumps({"megabytes": int(peak[1]) / 1024 if peak else None}))


if __name__ == "__main__":
    main()
