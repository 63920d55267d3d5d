"""The table of truth: ``make truth``. It ends with 1 where a value changes in silence."""

import sys

from truth import Outcome
from truth_table import GROUPS, judge_group, table


def main() -> int:
    """Judge every case, print the table and the silent ones."""
    outcomes = {group: judge_group(group) for group in GROUPS}
    silent = [n for of in outcomes.values() for n, o in of.items() if o is Outcome.SILENT]
    for line in (*table(outcomes), *(f"silent: {name}" for name in silent)):
        print(line)
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
