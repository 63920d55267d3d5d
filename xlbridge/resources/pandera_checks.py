"""Rules of a resource as pandera checks, made from what its schema file says."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import pandas as pd
import pandera.pandas as pa

from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.resources.checks.pandas_checks import CHECKS
from xlbridge.resources.checks.rules import RowRule, Rule
from xlbridge.resources.column import Column
from xlbridge.resources.resource import RowCheck

# The first check of all would import what checks run on. Here it is done while a file is read.
pa.Check.get_backend(pd.Series(dtype=object))


def column_checks(column: Column) -> dict[str, pa.Check]:
    """Return the checks of a column by their names, in the order of the schema file."""
    return {name: _check(name, statistics) for name, statistics in column.checks.items()}


def row_check(declared: RowCheck) -> pa.Check:
    """Return a check across columns or rows."""
    return _check(declared.name, declared.statistics)


@cache
def register_checks() -> None:
    """Register xlbridge's own checks with pandera, so that it reads a schema file as it is.

    For ``DataFrameSchema.from_yaml`` outside xlbridge, whose validator needs no registration.
    """
    # It imports hypothesis where that is installed.
    from pandera.extensions import register_check_method  # type: ignore[attr-defined]

    named: dict[str, Rule | RowRule] = {**RULES, **ROW_RULES}
    for name, rule in named.items():
        if name in CHECKS:
            register_check_method(CHECKS[name], statistics=list(rule.statistics))


def _check(name: str, statistics: Mapping[str, Any]) -> pa.Check:
    if name in CHECKS:
        return pa.Check(partial(CHECKS[name], **statistics), name=name)
    make = getattr(pa.Check, name)
    made: pa.Check = make(statistics["value"]) if "value" in statistics else make(**statistics)
    return made
