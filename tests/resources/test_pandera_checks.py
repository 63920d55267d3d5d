"""Checks of a resource agree with pandera's own reading of the schema file.

Inside: validation.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pandera.pandas as pa
import pytest

import xlbridge.checks  # noqa: F401 - it registers the checks with pandera
from xlbridge.resources import Catalogue, Resource, pandera_checks
from xlbridge.validation import validate_workbook
from xlbridge.validation.sheet_checks import row_check

Failures = set[tuple[str, str, int]]


def failing(check: pa.Check, values: "pd.Series | pd.DataFrame") -> list[int]:
    output = check(values).check_output
    return output.index[~output.to_numpy(dtype=bool, na_value=True)].tolist()


def by_the_checks(resource: Resource, frame: pd.DataFrame) -> Failures:
    found = {
        (column.name, name, row)
        for column in resource.columns
        for name, check in pandera_checks(column).items()
        for row in failing(check, frame[column.name])
    }
    for declared in resource.row_checks:
        found |= {("", declared.name, row) for row in failing(row_check(declared), frame)}
    return found


def by_the_schema(resource: Resource, frame: pd.DataFrame) -> Failures:
    schema = pa.DataFrameSchema.from_yaml(resource.source)
    try:
        schema.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as errors:
        return {
            (
                "" if isinstance(error.schema, pa.DataFrameSchema) else error.schema.name,
                error.check.name,
                row,
            )
            for error in errors.schema_errors
            if isinstance(error.check, pa.Check)
            for row in error.check_output.index[
                ~error.check_output.to_numpy(dtype=bool, na_value=True)
            ].tolist()
        }
    return set()


@pytest.mark.parametrize(
    "name",
    ["cliente", "contaspagar", "contasreceber", "enderecamento-de-produto", "nota-fiscal-servico"],
)
def test_checks_and_schema_fail_the_same_cells(
    catalogue: Catalogue, samples: Path, name: str
) -> None:
    resource = catalogue[name]
    good = validate_workbook(samples / f"{name}.xlsx", catalogue).frame
    bad = validate_workbook(samples / f"{name}-com-erros.xlsx", catalogue).frame
    mixed = pd.concat([good, bad, good], ignore_index=True)
    shuffled = pd.DataFrame(
        {
            column: mixed[column].take(np.random.default_rng(7).permutation(len(mixed))).array
            for column in mixed
        }
    )
    failures = by_the_checks(resource, shuffled)
    assert failures == by_the_schema(resource, shuffled)
    assert failures
