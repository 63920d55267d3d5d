"""Entry point of ``python -m xlbridge``, and of the frozen application.

Started by a double click, the application gets no arguments and opens the page. It also runs its
own helper modules, as it comes without a Python interpreter.
"""

import gc
import os
import sys

_TABLE_BYTES = 280 * 2**20
"""Address space that numpy, pandas and their libraries take."""

_OBJECTS_BETWEEN_COLLECTIONS = 20_000
_READERS = frozenset({"validate", "upload"})
_INTERRUPTED = 130


def main() -> None:
    """Run a command, or a helper module if the application was started for one."""
    if getattr(sys, "frozen", False) and _ran_as_helper():
        return
    # Further threads of numpy's linear algebra, which nothing uses, would busily wait for work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Rows and records are seldom in cycles, and the default traverses the new ones every 700.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    if _address_space_is_limited():
        sys.meta_path.insert(0, _MemoryGuard())
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


def _address_space_is_limited() -> bool:
    try:
        import resource
    except ImportError:  # Windows has no such limits.
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


class _MemoryGuard:
    """Import hook that raises ``MemoryError`` where there is not enough memory for pandas.

    A library of numpy would end the process, with the exit code of a command that has found errors;
    and Python reports modules that it can load only in part as defects.
    """

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Check, before numpy is found elsewhere, that there is memory for what uses it."""
        if name == "numpy":
            import mmap

            try:
                mmap.mmap(-1, _TABLE_BYTES).close()
            except OSError:
                raise MemoryError from None


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
