"""Importing what a command needs, when it is used."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from xlbridge.validation.collector import without_collector


@contextmanager
def importing() -> Iterator[None]:
    """Keep the collector away from what the block imports, now and later: all of it stays."""
    before = len(sys.modules)
    with without_collector():
        yield
        if len(sys.modules) > before:
            gc.freeze()
