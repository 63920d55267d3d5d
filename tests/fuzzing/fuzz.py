"""Coverage-guided fuzzing of one target for a while: ``make fuzz``.

Usage: python fuzz.py TARGET SECONDS FOLDER. The growing corpus stays in FOLDER; an input that makes
a target fail or use over 1 GB or 20 seconds becomes a seed, which the suite runs.
"""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["xlbridge"]):
    from fuzz_targets import SEEDS, TARGETS


def main() -> None:
    """Fuzz the target that the arguments name; ends the process."""
    target, seconds, folder = sys.argv[1:]
    seeds, corpus = SEEDS / target, Path(folder, target)
    corpus.mkdir(parents=True, exist_ok=True)
    options = ["-rss_limit_mb=1024", "-timeout=20", "-max_len=8192", "-print_final_stats=1"]
    limits = [f"-max_total_time={seconds}", f"-artifact_prefix={seeds}/"]
    atheris.Setup([sys.argv[0], *options, *limits, str(corpus), str(seeds)], TARGETS[target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
