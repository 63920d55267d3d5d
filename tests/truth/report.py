"""Table of the outcomes of all cases: ``make truth``. Exits with 1 if a value changes silently."""

import sys

from truth import Outcome
from truth_table import GROUPS, evaluate_group, table


def main() -> int:
    """Evaluate every case; print the table and the silent cases."""
    outcomes = {group: evaluate_group(group) for group in GROUPS}
    silent = [n for of in outcomes.values() for n, o in of.items() if o is Outcome.SILENT]
    for line in (*table(outcomes), *(f"silent: {name}" for name in silent)):
        print(line)
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
