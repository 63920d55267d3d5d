"""Collection of all rules and findings that modules and installed packages declare; the rules of a
column as pandera checks."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cache, partial
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.errors import ConfigError
from xlbridge.i18n import Text

# In the order in which schema files and pages name the rules.
# isort: off
from xlbridge.resources.checks import column_checks as column_checks
from xlbridge.resources.checks import row_checks as row_checks
from xlbridge.resources.checks import text_checks as text_checks

# isort: on
from xlbridge.resources.cell_findings import CELL_FINDINGS
from xlbridge.resources.checks.rule import (
    RowRule,
    Rule,
    declared_row_rules,
    declared_rules,
)
from xlbridge.resources.findings import FindingKind
from xlbridge.resources.sheet_findings import RECORD_FINDINGS, SHEET_FINDINGS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import pandera.pandas as pa

    from xlbridge.resources.column import Column

_CHECKS = "xlbridge.checks"
RESOURCES_GROUP = "xlbridge.resources"
"""Groups of entry points: of modules that declare rules, of packages with schema files."""
_METADATA_FOLDERS = (".dist-info", ".egg-info")
_METADATA_OF_EGG = "egg-info"


def entry_points_of(group: str) -> "Iterable[EntryPoint]":
    """Return the entry points of a group in the installed packages."""
    if group not in _groups_named(tuple(sys.path)):
        return ()
    # Late: the import takes longer than reading the files, which rarely name a group of ours.
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache
def _groups_named(path: Sequence[str]) -> frozenset[str]:
    """Return the groups that files with entry points in the folders of ``sys.path`` may name."""
    groups = frozenset({_CHECKS, RESOURCES_GROUP})
    finders = (finder for finder in sys.meta_path if finder is not PathFinder)
    if any(hasattr(finder, "find_distributions") for finder in finders):
        return groups
    named: set[str] = set()
    for folder in path:
        if Path(folder).is_file():
            return groups  # Only importlib can read archives.
        for content in _entry_point_files(folder or os.curdir):
            named |= {group for group in groups if group.encode() in content}
    return frozenset(named)


def _entry_point_files(folder: str) -> Iterator[bytes]:
    """Yield the contents of the entry-point files of the packages installed in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name.lower()
            if name.endswith(_METADATA_FOLDERS) or name == _METADATA_OF_EGG:
                with suppress(OSError):
                    yield Path(entry.path, "entry_points.txt").read_bytes()


def not_loaded(entry: "EntryPoint", why: Text | str) -> ConfigError:
    """Return the error to raise for an entry point that is wrong."""
    package = entry.dist.name if entry.dist else entry.module
    return ConfigError(
        Text(
            pt="{entry}, do pacote instalado {package}, não pôde ser carregado: {why}.",
            en="{entry}, of the installed package {package}, could not be loaded: {why}.",
        ).format(entry=entry.value, package=package, why=why),
        Text(
            pt="Corrija ou desinstale o pacote {package}.",
            en="Correct or uninstall the package {package}.",
        ).format(package=package),
    )


for _entry in entry_points_of(_CHECKS):
    try:
        _entry.load()
    except Exception as error:
        raise not_loaded(_entry, f"{type(error).__name__}: {error}") from error

RULES: Mapping[str, Rule] = declared_rules
"""Rules of a single column, by name."""

ROW_RULES: Mapping[str, RowRule] = declared_row_rules
"""Rules across columns or rows, by name."""

CATALOGUE: dict[str, FindingKind] = {
    kind.code: kind
    for kinds in (
        SHEET_FINDINGS,
        CELL_FINDINGS,
        # Rules may share a finding; that of a rule of rows may be that of a rule of columns.
        (rule.finding for rule in declared_rules.values()),
        (rule.finding for rule in declared_row_rules.values() if rule.finding),
        RECORD_FINDINGS,
    )
    for kind in kinds
}
"""All kinds of findings, by code."""


def checks_of(body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the checks in the body of a schema file's column with their statistics.

    A single statistic is called ``value``.
    """
    return {
        name: dict(value) if isinstance(value, Mapping) else {"value": value}
        for name, value in body.items()
        if name in RULES
    }


def code_width(kind: str, checks: Mapping[str, Any]) -> int | None:
    """Return the length of a column's codes, None if it is not fixed."""
    for name, statistics in checks.items():
        width = RULES[name].width
        if width is not None:
            return width(statistics)
    document = text_checks.DOCUMENTS.get(kind)
    return None if document is None else document.symbols


def pandera_checks(column: "Column") -> "dict[str, pa.Check]":
    """Return the pandera checks of a column by their names, in the order of the schema file."""
    import pandera.pandas as pa

    checks: dict[str, pa.Check] = {}
    for name, statistics in column.checks.items():
        test = RULES[name].column_test
        arguments = {key: _for_pandas(value) for key, value in statistics.items()}
        if test is not None:
            checks[name] = pa.Check(partial(test, **arguments), name=name)
        else:
            build = getattr(pa.Check, name)
            checks[name] = build(arguments["value"]) if "value" in arguments else build(**arguments)
    return checks


def _for_pandas(value: Any) -> Any:
    """Convert dates for comparisons with columns of dates."""
    import pandas as pd

    if isinstance(value, list):
        return [_for_pandas(item) for item in value]
    return pd.Timestamp(value) if isinstance(value, date) else value
