"""Timing whole processes against one another, in turn, in one run."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence


def medians(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, float]:
    """Run the commands in turn, ``runs`` times after a warm-up; return median wall seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            begun = time.perf_counter()
            done = subprocess.run(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ
            )
            if done.returncode not in (0, 1):
                sys.exit(f"{name} ended with {done.returncode}: {done.stderr.decode()}")
            if number:
                seconds[name].append(time.perf_counter() - begun)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def print_ratios(taken: Mapping[str, float], unit: str) -> None:
    """Print each command's time, and how many times that of ``unit`` it is."""
    for name, seconds in taken.items():
        print(f"{name:45} {seconds:8.3f} s  {seconds / taken[unit]:7.2f} x")
