"""Schemas of resources as pandera's own: importing this module registers xlbridge's checks with it.

After ``import xlbridge.checks``, pandera itself reads the schema files that xlbridge ships, and
those that use its checks::

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


def _register_all() -> None:
    """Register the checks, which xlbridge's own validator does not need."""
    for rule in RULES.values():
        if rule.column_test is not None and not hasattr(pa.Check, rule.name):
            _register(rule.name, rule.column_test, rule.statistics)
    for row_rule in ROW_RULES.values():
        _register(row_rule.name, row_rule.row_test, row_rule.statistics)


def _register(name: str, test: Callable[..., pd.Series], statistics: Mapping[str, Any]) -> None:
    # It imports hypothesis where that is installed.
    from pandera.extensions import register_check_method  # type: ignore[attr-defined]

    @wraps(test)
    def check(*values: Any, **stated: Any) -> pd.Series:
        return test(*values, **stated)

    # pandera registers a function by its name.
    check.__name__ = name
    register_check_method(check, statistics=list(statistics))


_register_all()


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
