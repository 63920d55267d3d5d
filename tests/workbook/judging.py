"""Judge files one after the other in a process of its own, and tell what each did to it.

Usage: python judging.py, paths on standard input, one a line. For each a line of JSON: ``outcome``
(the code of the refusal, ``usage``, ``good`` or ``findings``); at the end the peak of the process's
own memory in MB.
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
        judged = validate_workbook(path, load_catalogue(), resource="cliente")
    except WorkbookRefused as refusal:
        return refusal.code
    except UsageError:
        return "usage"
    return "good" if judged.ok else "findings"


def main() -> None:
    for line in sys.stdin:
        print(json.dumps({"outcome": outcome(Path(line.rstrip("\n")))}), flush=True)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    print(json.dumps({"megabytes": int(peak[1]) / 1024 if peak else None}))


if __name__ == "__main__":
    main()
