"""Schemas of resources for pandera: importing this module registers xlbridge's checks with it.

After ``import xlbridge.checks``, pandera itself reads the schema files that xlbridge ships, and
others that use its checks::

    import pandera.pandas as pa
    import xlbridge.checks

    schema = pa.DataFrameSchema.from_yaml("schemas/cliente.yaml")
"""

from collections.abc import Callable, Mapping
from functools import wraps
from os import PathLike
from typing import Any

import pandas as pd
import pandera.pandas as pa

from xlbridge.resources import load_catalogue
from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.settings import read_settings

__all__ = ["schema"]


def _register(name: str, test: Callable[..., pd.Series], statistics: Mapping[str, Any]) -> None:
    # Imported late: it imports hypothesis if that is installed.
    from pandera.extensions import register_check_method  # type: ignore[attr-defined]

    @wraps(test)
    def check(*values: Any, **statistics: Any) -> pd.Series:
        return test(*values, **statistics)

    # pandera registers a function by its name.
    check.__name__ = name
    register_check_method(check, statistics=list(statistics))


for _rule in RULES.values():
    if _rule.column_test is not None and not hasattr(pa.Check, _rule.name):
        _register(_rule.name, _rule.column_test, _rule.statistics)
for _row_rule in ROW_RULES.values():
    _register(_row_rule.name, _row_rule.row_test, _row_rule.statistics)


def schema(name: str, schemas: str | PathLike[str] | None = None) -> pa.DataFrameSchema:
    """Return the pandera schema of a resource, as its schema file declares it.

    It validates frames whose columns have the dtypes of the schema: ``str``, ``Int64``,
    ``Float64``, ``datetime64[us]``, ``boolean``. ``Report.frame`` has these, except that money is
    ``Decimal``: ``frame.astype({"valorDoLancamento": "Float64"})``. ``schemas`` is a folder of
    custom schema files; the default is ``XLBRIDGE_SCHEMAS``, else ``schemas`` under
    ``XLBRIDGE_HOME``.

    Raises ``UsageError`` if there is no resource of that name, ``SchemaFileError`` if a schema
    file is wrong, ``ConfigError`` if the settings are.
    """
    source = load_catalogue(schemas or read_settings().schemas).named(name).source
    pandera_schema: pa.DataFrameSchema = pa.DataFrameSchema.from_yaml(source)
    return pandera_schema
