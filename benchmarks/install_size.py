"""Size of the core installation: its distributions, and the megabytes of each on this computer.

Run from the project's folder::

    .venv/bin/python benchmarks/install_size.py [EXTRA…]
"""

import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def installed_with(name: str, extras: Iterable[str]) -> dict[str, Distribution]:
    """Return the distributions that an installation brings, by name, without itself."""
    found: dict[str, Distribution] = {}
    wanted = [(name, frozenset(extras))]
    seen = set()
    while wanted:
        seen.add(wanted[-1])
        one, its_extras = wanted.pop()
        own = distribution(one)
        found[canonicalize_name(one)] = own
        for requirement in map(Requirement, own.requires or ()):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": e}) for e in (*its_extras, "")):
                below = (canonicalize_name(requirement.name), frozenset(requirement.extras))
                if below not in seen:
                    wanted.append(below)
    del found[canonicalize_name(name)]
    return found


def megabytes(installed: Distribution) -> float:
    """Return the size of a distribution's files, without those that Python compiles."""
    files = (file.locate() for file in installed.files or () if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in files if path.is_file()) / 1e6


def main(extras: list[str]) -> None:
    """Print the distributions, the largest first, and their sum."""
    sizes = {name: megabytes(own) for name, own in installed_with("xlbridge", extras).items()}
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"{size:7.1f} MB  {name}")
    print(f"{sum(sizes.values()):7.1f} MB  {len(sizes)} distributions")


if __name__ == "__main__":
    main(sys.argv[1:])
