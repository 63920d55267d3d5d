"""Worker process: reads tasks with one item each from standard input, writes answers to stdout.

Usage: python -m xlbridge.parallel.worker_process MODULE, which is imported before the
first task comes. The process ends with its input, and so with the process that started it.
"""

import importlib
import os
import pickle
import sys

from xlbridge.parallel.messages import run_task
from xlbridge.processes import report_ready


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever a library prints must not come between the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    importlib.import_module(sys.argv[1])
    report_ready(answers)
    while True:
        try:
            task, item = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
        except EOFError:
            return
        answers.write(run_task(task, item))
        answers.flush()


if __name__ == "__main__":
    main()
