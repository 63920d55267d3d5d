"""How long ``xlbridge --help`` takes, against Python and click alone.

Usage: python benchmarks/startup.py [RUNS]
"""

import sys

from processes import medians, print_ratios

CLICK = "python -c 'import click'"


def main() -> None:
    """Print the medians and their ratios."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    taken = medians(
        {
            "python -c pass": [sys.executable, "-c", "pass"],
            CLICK: [sys.executable, "-c", "import click"],
            "xlbridge --help": [sys.executable, "-m", "xlbridge", "--help"],
        },
        runs,
    )
    print_ratios(taken, CLICK)


if __name__ == "__main__":
    main()
