"""The pandera schema of a resource."""

from functools import cache
from pathlib import Path

import pandera.pandas as pa

from xlbridge.resources import checks as registered_checks
from xlbridge.resources.resource import Resource

__all__ = ["frame_schema", "registered_checks"]


def frame_schema(resource: Resource) -> pa.DataFrameSchema:
    """Return the resource's pandera schema, as its file declares it.

    It judges typed columns and never coerces: see ``validation`` for why.
    """
    return _read(resource.source)


@cache
def _read(path: Path) -> pa.DataFrameSchema:
    return pa.DataFrameSchema.from_yaml(path)
