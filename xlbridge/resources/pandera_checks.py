"""Rules of a resource as pandera checks, built from its schema file."""

from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any

import pandas as pd
import pandera.pandas as pa

from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.resources.column import Column
from xlbridge.resources.resource import RowCheck

# Import the backend now, while a file is being read, and not with the first check.
pa.Check.get_backend(pd.Series(dtype=object))


def column_checks(column: Column) -> dict[str, pa.Check]:
    """Return the checks of a column by their names, in the order of the schema file."""
    return {name: _column_check(name, statistics) for name, statistics in column.checks.items()}


def row_check(declared: RowCheck) -> pa.Check:
    """Return a check across columns or rows, including blank rows."""
    test = ROW_RULES[declared.name].row_test
    return pa.Check(partial(test, **declared.statistics), name=declared.name, ignore_na=False)


def _column_check(name: str, statistics: Mapping[str, Any]) -> pa.Check:
    test = RULES[name].column_test
    arguments = {key: _for_pandas(value) for key, value in statistics.items()}
    if test is not None:
        return pa.Check(partial(test, **arguments), name=name)
    build = getattr(pa.Check, name)
    check: pa.Check = build(arguments["value"]) if "value" in arguments else build(**arguments)
    return check


def _for_pandas(value: Any) -> Any:
    """Convert dates for comparisons with columns of dates."""
    if isinstance(value, list):
        return [_for_pandas(item) for item in value]
    return pd.Timestamp(value) if isinstance(value, date) else value
