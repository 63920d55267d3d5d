"""``python -m xlbridge`` is the same as ``xlbridge``; the application begins here, too.

Opened by a double click it gets no arguments, and shows the page. It is its own Python for helpers.
"""

import runpy
import sys

from xlbridge.processes import HELPER_OPTION, IS_APPLICATION

_READERS = frozenset({"validate", "upload"})


def main() -> None:
    """Run a command, or, in the application, what it was started for."""
    if IS_APPLICATION and sys.argv[1:2] == [HELPER_OPTION]:
        module = sys.argv.pop(2)
        del sys.argv[1]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return
    if IS_APPLICATION and not sys.argv[1:]:
        sys.argv.append("ui")
    if not _READERS.isdisjoint(sys.argv):
        from xlbridge.workbook.read import start_parser_ahead

        start_parser_ahead(sys.argv[1:])
    # What runs a helper needs no commands.
    from xlbridge.cli.main import run

    run()


if __name__ == "__main__":
    main()
