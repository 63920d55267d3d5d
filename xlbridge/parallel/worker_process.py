"""Worker process: reads tasks, each with one item, from stdin, writes answers to stdout.

Usage: ``python -m xlbridge.parallel.worker_process NAME``; NAME, a module or ``module:name``, is
imported before the first task arrives. The process exits when its input ends, and thus with the
process that started it.
"""

import os
import pickle
import pkgutil
import sys

from xlbridge.parallel.messages import run_task
from xlbridge.processes import report_ready


def main() -> None:
    """Answer tasks until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Output printed by a library must not be mixed with the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    pkgutil.resolve_name(sys.argv[1])
    report_ready(answers)
    while True:
        try:
            task = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
            item = pickle.load(sys.stdin.buffer)  # noqa: S301
        except EOFError:
            return
        answers.write(run_task(task, item))
        answers.flush()


if __name__ == "__main__":
    main()
