"""Entry point of ``python -m xlbridge``, and of the frozen application.

Started by a double click, the application gets no arguments and opens the page. It also runs its
own helper modules, as it comes without a Python interpreter.
"""

import os
import sys

_READERS = frozenset({"validate", "upload"})
_INTERRUPTED = 130


def main() -> None:
    """Run a command, or a helper module if the application was started for one."""
    if getattr(sys, "frozen", False) and _ran_as_helper():
        return
    # Further threads of numpy's linear algebra, which nothing uses, would busily wait for work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if not _READERS.isdisjoint(sys.argv):
            from xlbridge.workbook.read import start_parser_ahead

            start_parser_ahead(sys.argv[1:])
        # Imported late: helpers need no commands.
        from xlbridge.cli.main import run
    except KeyboardInterrupt:
        # Nothing has begun, and the messages are not loaded yet. ``sys.exit`` would end the process
        # by the signal.
        os._exit(_INTERRUPTED)
    run()


def _ran_as_helper() -> bool:
    """Run the helper module named on the command line, if any; without arguments choose ``ui``."""
    import runpy

    from xlbridge.processes import HELPER_OPTION

    if sys.argv[1:2] != [HELPER_OPTION]:
        sys.argv[1:] = sys.argv[1:] or ["ui"]
        return False
    module = sys.argv.pop(2)
    del sys.argv[1]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return True


if __name__ == "__main__":
    main()
