"""What a new database can begin with."""

from enum import StrEnum


class Seed(StrEnum):
    """``empty`` has the supporting registries only, ``demo`` a small company's records too."""

    EMPTY = "empty"
    DEMO = "demo"
