"""Runs command lines in processes that need no start: everything is imported once, then forked.

Reads one JSON order a line from stdin and answers with two lines: ``{"pid": …}`` when the process
lives, ``{"status": …}`` when it has ended. A fork is a process like any other to SIGKILL, and the
code in it is the command's own. An order with ``kill`` is for ``journal_driver`` instead.
"""

import importlib
import json
import os
import sys
from typing import Any

from xlbridge.resources.catalogue import load_catalogue

IMPORTED = (
    "xlbridge.cli.main",
    "xlbridge.cli.batch",
    "xlbridge.cli.upload",
    "xlbridge.cli.resume",
    "xlbridge.cli.resolve",
    "xlbridge.cli.retry",
    "xlbridge.cli.jobs",
    "xlbridge.validation.validate",
    "xlbridge.workbook.annotate",
    "journal_driver",
)


def carry_out(order: dict[str, Any]) -> int:
    """Do what an order says, in this process."""
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    for number, name in ((1, order["stdout"]), (2, order["stderr"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if order.get("kill"):
        return int(sys.modules["journal_driver"].upload(order["arguments"], order["kill"]))
    code = int(sys.modules["xlbridge.cli.main"].main(order["arguments"]))
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def main() -> None:
    """Take orders until stdin ends."""
    for name in IMPORTED:
        importlib.import_module(name)
    load_catalogue()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                code = carry_out(json.loads(line))
            finally:
                os._exit(code)
        print(json.dumps({"pid": pid}), flush=True)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
