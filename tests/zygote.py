"""Runs command lines in processes that need no start: everything is imported once, then forked.

Reads one JSON order a line from stdin and answers with two lines: ``{"pid": …}`` when the process
lives, ``{"status": …}`` when it has ended. A fork is a process like any other, with an environment,
a folder, streams and an end of its own, and the code in it is the program's own: ``run`` of the
module that the order names, which finds its arguments in ``sys.argv``.
"""

import gc
import importlib
import json
import multiprocessing
import os
import pkgutil
import sys
from typing import Any

import xlbridge
from xlbridge.resources.catalogue import load_catalogue

_NOT_FIRST = ("xlbridge.__main__", "xlbridge.spreading.cluster")
"""The program itself, and what brings threads and is only for who has a cluster."""


def carry_out(order: dict[str, Any]) -> None:
    """Become the process of an order."""
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    for number, name in ((1, order["stdout"]), (2, order["stderr"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = [order["module"], *order["arguments"]]
    importlib.import_module(order["module"]).run()


def main() -> None:
    """Take orders until stdin ends."""
    for module in pkgutil.walk_packages(xlbridge.__path__, "xlbridge."):
        if module.name not in _NOT_FIRST:
            importlib.import_module(module.name)
    load_catalogue()
    gc.freeze()
    forking = multiprocessing.get_context("fork")
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        process = forking.Process(target=carry_out, args=(json.loads(line),))
        process.start()
        print(json.dumps({"pid": process.pid}), flush=True)
        process.join()
        print(json.dumps({"status": process.exitcode}), flush=True)


if __name__ == "__main__":
    main()
