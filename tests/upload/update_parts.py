"""Helpers for tests of changed records: edited workbooks, titles, requests."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lossy_proxy import LossyProxy
from sheets import edit
from upload_parts import new_cnpj

from xlbridge.client import Client
from xlbridge.export import LISTINGS, Listing
from xlbridge.resources import Catalogue, Kind, Resource
from xlbridge.wire import Operation
from xlbridge.wire.financial import PAYABLE_LIST_OPEN

Run = Callable[..., tuple[int, dict[str, Any]]]
"""Runs a command that reports in JSON; returns its exit code and its report."""


def make_new(path: Path, *rows: int) -> None:
    """Turn rows of payables that were sent into other titles, with other documents and amounts."""
    for row in rows:
        edit(path, "numeroDoDocumento", row, f"FAT-{new_cnpj()}")
        edit(path, "valorDoLancamento", row, 80.0 + row)


def newest_job(run: Run, mode: str | None = None) -> str:
    """Return the id of the newest job, or of the newest one of a mode."""
    jobs = run("jobs")[1]["jobs"]
    return str(next(one["job"] for one in jobs if mode in {None, one["mode"]}))


def titles(client: Client) -> dict[tuple[object, ...], dict[str, Any]]:
    """Return the open payables by their numbers."""
    numbers = ("codigoDoExercicio", "codigoDaFilial", "numeroDaTransacao", "sequenciaDaTransacao")
    return {tuple(r[n] for n in numbers): dict(r) for r in client.records(PAYABLE_LIST_OPEN)}


def writes(proxy: LossyProxy) -> list[tuple[str, str]]:
    """Return the requests that write, in order, and clear all requests."""
    seen = [(m, p) for m, p in proxy.seen if m != "GET" and not p.endswith("/autenticar")]
    proxy.seen.clear()
    return [(m, p) for m, p in seen if "preview=true" not in p]


def differing(was: dict[Any, Any], now: dict[Any, Any]) -> list[tuple[Any, str]]:
    """Return the records and fields in which two listings differ."""
    assert was.keys() == now.keys()
    return [(key, name) for key in was for name in was[key] if was[key][name] != now[key][name]]


_LIMITING_FILTERS = {
    "pedidos": ("--limit", "12"),
    "nfe": ("--id", "1-12"),
    "clientes": ("--from", "2026-10-25"),
    "contatos": ("--client", "1001"),
    "contasreceber": ("--client", "1002"),
    "contasreceber-baixados": ("--client", "1001"),
}
"""Filters that limit listings with thousands of records or a call for each record."""


@dataclass(frozen=True, slots=True)
class ExportEdit:
    """Edit of a cell of an exported import sheet; ``changes``: whether it can change its record."""

    listing: Listing
    resource: Resource
    column: str
    changes: bool

    def __str__(self) -> str:
        return f"{self.listing.name}-{self.resource.name}-{self.column}"

    @property
    def operation(self) -> Operation:
        """The operation that changes the record."""
        change = self.resource.change
        assert change is not None
        return self.resource.paths.direct if change.by_import else change.operation

    def export(self, path: Path) -> list[object]:
        """Return the arguments of the export."""
        settled = ["--settled"] if self.listing.is_settled else []
        template = ["--as-template", self.resource.name, *settled]
        return [
            "export",
            self.listing.name,
            "-o",
            path,
            *_LIMITING_FILTERS.get(self.listing.name, ()),
            *template,
        ]

    def value(self, current: Any) -> object:
        """Return a value that differs from the cell's."""
        kind = self.resource.by_name[self.column].kind
        if kind is Kind.BOOLEAN:
            return not current
        if kind is Kind.DATE:
            return datetime(2026, 11, 30)
        if kind is Kind.INTEGER:
            return (current or 0) + 1
        return "EDITADO-1" if kind.is_text else 1.25


def edits_of_exports(catalogue: Catalogue) -> Iterator[ExportEdit]:
    """Yield the edits of each listing that can be exported as an import sheet.

    One edit is of a column that can be changed and one of a column that cannot, if they exist.
    """
    for resource in catalogue.values():
        declared, change = resource.read_back, resource.change
        for listing in LISTINGS.values():
            if declared is None or listing.operation.name not in declared.operation_names:
                continue
            found: dict[bool, str] = {}
            for column in _editable(resource):
                changes = change is not None and change.covers([column])
                changes = changes and listing.operation.name not in change.not_listed
                found.setdefault(changes, column)
            for changes, column in found.items():
                yield ExportEdit(listing, resource, column, changes)


_PASSED_CHECKS = {"str_length", "no_repeats", "decimals"} | {
    "greater_than", "greater_than_or_equal_to", "less_than", "less_than_or_equal_to",
}  # fmt: skip
"""Checks that the values of edits pass in every column."""


def _editable(resource: Resource) -> Iterator[str]:
    """Yield columns that accept any text, amount or flag, names first."""
    assert resource.read_back is not None
    editable = [
        resource.by_name[name]
        for name in resource.read_back.compare
        if resource.by_name[name].checks.keys() <= _PASSED_CHECKS
        and resource.by_name[name].references is None
    ]
    for kind in (Kind.TEXT, Kind.MONEY, Kind.BOOLEAN, Kind.DATE, Kind.CODE, Kind.INTEGER):
        yield from (column.name for column in editable if column.kind is kind)
    if resource.change is not None:
        yield from resource.change.columns
