"""Measure the start of commands, relative to Python and click alone.

Usage: python benchmarks/startup.py [RUNS]

Nothing is configured, the home is new, and no command has anything to do.
"""

import os
import sys
import tempfile

from processes import medians, print_ratios

CLICK = "python -c 'import click'"
COMMANDS = (
    "--help",
    "resources",
    "template --help",
    "validate --help",
    "upload --help",
    "jobs",
    "resume --help",
    "batch status",
    "listings",
    "export --help",
    "profiles",
)


def main() -> None:
    """Print the medians and their ratios."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        CLICK: [sys.executable, "-c", "import click"],
    }
    for line in COMMANDS:
        commands[f"xlbridge {line}"] = [sys.executable, "-m", "xlbridge", *line.split()]
    with tempfile.TemporaryDirectory() as home:
        os.environ["XLBRIDGE_HOME"] = home
        print_ratios(medians(commands, runs), CLICK)


if __name__ == "__main__":
    main()
