"""No value changes silently: every case is right or reported."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pytest
from file_cases import file_cases
from kind_cases import KINDS, WITH_SHEETS
from test_default_password import CONTENTS
from test_formula_results import XLS, XLSB
from test_odd_cells import GOOD
from test_other_text_formats import FILES
from test_package_shapes import XLSB as BINARY
from test_stray_cells import FAR, FAR_IN_ODS, FAR_IN_XLSB
from truth import Outcome
from truth_table import GROUPS, evaluate_group, table

pytestmark = pytest.mark.one_database

MIN_CASES = {
    "cell": 550, "structure": 100, "rules": 100, "raw XML": 100, "file": 280, "kind": 500,
    "kind, LibreOffice": 360, "LibreOffice": 75, "round trip": 250, "export": 400,
}  # fmt: skip


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "group",
    [pytest.param(one, marks=[pytest.mark.programs] * ("LibreOffice" in one)) for one in GROUPS],
)
def test_no_case_of_a_group_changes_silently(group: str, every: int) -> None:
    outcomes = evaluate_group(group, every)
    print(*table({group: outcomes}), sep="\n")
    assert len(outcomes) >= MIN_CASES[group] // every
    assert [name for name, outcome in outcomes.items() if outcome is Outcome.SILENT] == []
    # Ordinary sheets have no findings.
    quiet = tuple(f"kind: {name}: " for name, kind in KINDS.items() if kind.quiet)
    ordinary = {name: outcome for name, outcome in outcomes.items() if name.startswith(quiet)}
    assert {name: it for name, it in ordinary.items() if it is not Outcome.RIGHT} == {}


FORMS_OF_FILES: Mapping[str, Sequence[str]] = {
    "shapes and pictures": (".ods",),
    "ruby texts": (".ods",),
    "empty results of formulas": (".ods",),
    "short last lines": (".csv",),
    "rows longer than the header": (".csv",),
    "decimal commas that shift cells": (".csv",),
    "Ctrl-Z": (".csv",),
    "formulas without a result": WITH_SHEETS,
    "parts of other names": (".xlsx", ".xlsb"),
    "parts in UTF-16": (".xlsx", ".xlsb"),
    "formats 67 and 68": (".xlsx", ".xlsb", ".xls"),
    "conditional formats": WITH_SHEETS,
    "texts struck in part": WITH_SHEETS,
    "white space around values": (".xlsx",),
    "control characters": (".xlsx",),
    "cells far from all others": (".xlsx", ".xlsb", ".ods"),
    "the default password": (".xlsx", ".xlsb", ".xls"),
    **dict.fromkeys(
        ("XML of 2003", "OpenDocument in a text", "MHTML", "tables of HTML"), ("text",)
    ),
}
"""Formats in which each kind of fault of a file can occur."""

_OF_TABLES: Mapping[tuple[str, str], Iterable[str]] = {
    ("formulas without a result", ".xls"): XLS,
    ("formulas without a result", ".xlsb"): map(str, XLSB),
    ("parts of other names", ".xlsb"): [one for one in BINARY if "name" in one or "where" in one],
    ("parts in UTF-16", ".xlsb"): [one for one in BINARY if "UTF-16" in one],
    ("white space around values", ".xlsx"): [one for one in GOOD if re.search(r"<v>\s", one)],
    ("control characters", ".xlsx"): [one for one in GOOD if "\x0b" in str(GOOD[one])],
    ("cells far from all others", ".xlsx"): FAR,
    ("cells far from all others", ".xlsb"): FAR_IN_XLSB,
    ("cells far from all others", ".ods"): FAR_IN_ODS,
    **{("the default password", form): CONTENTS for form in (".xlsx", ".xlsb", ".xls")},
    ("XML of 2003", "text"): [one for one in FILES if "2003" in one],
    ("OpenDocument in a text", "text"): [one for one in FILES if "OpenDocument" in one],
    ("MHTML", "text"): [one for one in FILES if "MHTML" in one],
    ("tables of HTML", "text"): [one for one in FILES if "table" in one],
}
"""Shapes of kinds that tests of readers judge."""


def test_each_kind_has_five_shapes_in_every_format_in_which_it_can_occur() -> None:
    found = Counter((case.kind, case.form) for case in file_cases())
    found.update({key: len(list(names)) for key, names in _OF_TABLES.items()})
    for name, kind in KINDS.items():
        found.update({(name, form): len(list(kind.shapes())) for form in kind.forms})
    forms = {**FORMS_OF_FILES, **{name: kind.forms for name, kind in KINDS.items()}}
    few = {(name, form): found[name, form] for name in forms for form in forms[name]}
    assert {key: count for key, count in few.items() if count < 5} == {}
