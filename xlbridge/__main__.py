"""``python -m xlbridge`` is the same as ``xlbridge``; the application begins here, too.

Opened by a double click it gets no arguments, and shows the page. It is its own Python for helpers.
"""

import sys

_READERS = frozenset({"validate", "upload"})


def main() -> None:
    """Run a command, or, in the application, what it was started for."""
    # Only the application needs to know here how helpers are started: it is imported there alone.
    if getattr(sys, "frozen", False) and _ran_as_helper():
        return
    if not _READERS.isdisjoint(sys.argv):
        from xlbridge.workbook.read import start_parser_ahead

        start_parser_ahead(sys.argv[1:])
    # What runs a helper needs no commands.
    from xlbridge.cli.main import run

    run()


def _ran_as_helper() -> bool:
    """Run the module that the application was started for, if any; without arguments, the page."""
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
