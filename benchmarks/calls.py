"""Count the calls that a capped listing takes, relative to the fewest possible.

Prints, for each distribution of ``update_times.py``, the mean and the maximum of that ratio over
some draws, and the number of full answers. Pure computation.
"""

import sys
from random import Random

from update_times import DISTRIBUTIONS, fewest_calls, split

from xlbridge.wire.registry import CLIENT_CAP

DRAWS = 10


def main(draws: int) -> None:
    """Print the table."""
    print(f"{'distribution':40} {'fewest':>7} {'calls':>7} {'wasted':>7} {'mean':>6} {'worst':>6}")
    for name, draw in DISTRIBUTIONS.items():
        fewest, calls, windows = [], [], []
        for seed in range(draws):
            moments = draw(Random(seed))
            windows_found, needed = split(moments, CLIENT_CAP)
            fewest.append(fewest_calls(moments, CLIENT_CAP))
            calls.append(needed)
            windows.append(len(windows_found))
        worst = max(c / f for c, f in zip(calls, fewest, strict=True))
        wasted = (sum(calls) - sum(windows)) / draws
        print(
            f"{name:40} {sum(fewest) / draws:7.1f} {sum(calls) / draws:7.1f} {wasted:7.1f} "
            f"{sum(calls) / sum(fewest):6.2f} {worst:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS)
