"""Look-ups: the resources that can be imported, the listings that can be exported, a schema."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

import pandera.pandas as pa

from xlbridge.export import LISTINGS, Listing
from xlbridge.resources import Resource, load_catalogue, register_checks
from xlbridge.settings import read_settings


def available_resources(schemas: str | PathLike[str] | None = None) -> Mapping[str, Resource]:
    """Return the resources that can be imported, by name: the shipped ones, then one's own.

    Each has its ``title``, ``columns`` (with name, kind, obligation and checks), ``required``
    columns and ``paths.modes``. ``schemas`` is a folder of own schema files in place of the one in
    ``XLBRIDGE_HOME``. Raises ``SchemaFileError`` when one of those files is wrong.
    """
    return load_catalogue(read_settings().schemas if schemas is None else Path(schemas))


def available_listings() -> Mapping[str, Listing]:
    """Return the listings that can be exported, by name.

    Each has its ``title``, ``sheets`` with their columns, and the ``filters`` that it takes, of
    which some are ``required``.
    """
    return LISTINGS


def schema(name: str, schemas: str | PathLike[str] | None = None) -> pa.DataFrameSchema:
    """Return the pandera schema of a resource, with xlbridge's checks registered.

    Its columns have the dtypes of ``Report.frame``, but that money is ``Float64``:
    ``schema("contasreceber").validate(frame.astype({"valorDoLancamento": "Float64"}))``.
    ``schemas`` is a folder as for ``available_resources``. Raises ``UsageError`` when there is no
    such resource, ``SchemaFileError`` when an own schema file is wrong.
    """
    resources = load_catalogue(read_settings().schemas if schemas is None else Path(schemas))
    resource = resources.named(name)
    register_checks()
    return pa.DataFrameSchema.from_yaml(resource.source)
