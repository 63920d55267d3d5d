"""Schemas of resources as pandera's own: importing this module registers xlbridge's checks with it.

After ``import xlbridge.checks``, pandera itself reads the schema files that xlbridge ships, and
those that use its checks::

    import pandera.pandas as pa
    import xlbridge.checks

    schema = pa.DataFrameSchema.from_yaml("schemas/cliente.yaml")
"""

from os import PathLike

import pandera.pandas as pa

from xlbridge.resources import load_catalogue, register_checks
from xlbridge.settings import read_settings

__all__ = ["schema"]

register_checks()


def schema(name: str, schemas: str | PathLike[str] | None = None) -> pa.DataFrameSchema:
    """Return the pandera schema of a resource, as its schema file declares it.

    It validates frames whose columns have the dtypes of the schema: ``str``, ``Int64``,
    ``Float64``, ``datetime64[us]``, ``boolean``. Those are the dtypes of ``Report.frame``, but
    that money is ``Decimal`` there: ``frame.astype({"valorDoLancamento": "Float64"})``.
    ``schemas`` is a folder of own schema files; without it, the one that commands read:
    ``XLBRIDGE_SCHEMAS``, or ``schemas`` under ``XLBRIDGE_HOME``.

    Raises ``UsageError`` when there is no resource of that name, ``SchemaFileError`` when a schema
    file is wrong, ``ConfigError`` when the settings are.
    """
    folder = schemas or read_settings().schemas
    made: pa.DataFrameSchema = pa.DataFrameSchema.from_yaml(
        load_catalogue(folder).named(name).source
    )
    return made
