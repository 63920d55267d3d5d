"""Rules of a resource as pandera checks, made from what its schema file says."""

from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any

import pandas as pd
import pandera.pandas as pa

from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.resources.column import Column
from xlbridge.resources.resource import RowCheck

# The first check of all would import what checks run on. Here it is done while a file is read.
pa.Check.get_backend(pd.Series(dtype=object))


def column_checks(column: Column) -> dict[str, pa.Check]:
    """Return the checks of a column by their names, in the order of the schema file."""
    return {name: _column_check(name, stated) for name, stated in column.checks.items()}


def row_check(declared: RowCheck) -> pa.Check:
    """Return a check across columns or rows, blank rows included."""
    test = ROW_RULES[declared.name].row_test
    return pa.Check(partial(test, **declared.statistics), name=declared.name, ignore_na=False)


def _column_check(name: str, statistics: Mapping[str, Any]) -> pa.Check:
    test = RULES[name].column_test
    stated = {key: _for_pandas(value) for key, value in statistics.items()}
    if test is not None:
        return pa.Check(partial(test, **stated), name=name)
    make = getattr(pa.Check, name)
    made: pa.Check = make(stated["value"]) if "value" in stated else make(**stated)
    return made


def _for_pandas(value: Any) -> Any:
    """Return dates as columns of dates can be compared with."""
    if isinstance(value, list):
        return [_for_pandas(item) for item in value]
    return pd.Timestamp(value) if isinstance(value, date) else value
