"""Batches that tests write, validate and check.

Inside: batch.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sheets import write_records
from stdnum.br import cnpj as cnpj_numbers

from xlbridge.batch.workbook_checks import CrossWorkbookChecks, SheetFindings
from xlbridge.client import Client, Record
from xlbridge.client.registries import Registries
from xlbridge.resources import Catalogue
from xlbridge.resources.links import linked_catalogue
from xlbridge.upload.lookup import LinkResolver
from xlbridge.validation import validate_workbook
from xlbridge.wire import Operation

STEPS = ("clientes", "receber", "notas")
INACTIVE_OWN, ACTIVE_OWN = "CLI-01032", "CLI-01001"
BY_OWN_CODE = {"codigoDoCliente": "seuCodigo"}

Rows = Sequence[Mapping[str, Any]]
CodedFindings = list[tuple[str, str | None, str]]


class CountingClient(Client):
    """Client that counts the operations called."""

    def records(self, operation: Operation, **asked: Any) -> Iterator[Record]:
        self.asked = getattr(self, "asked", Counter())
        self.asked[operation.name] += 1
        return super().records(operation, **asked)


class Batch:
    """A batch in a folder, with its cross-workbook checks."""

    def __init__(
        self, folder: Path, catalogue: Catalogue, links: Mapping[str, str] = BY_OWN_CODE
    ) -> None:
        self.folder = folder
        self.catalogue = catalogue
        self.links = links
        self.added: list[tuple[str, Path, str, Mapping[str, str]]] = []

    def write(
        self,
        step: str,
        name: str,
        resource: str,
        rows: Rows,
        links: Mapping[str, str] | None = None,
    ) -> None:
        path = write_records(self.folder / name, resource, rows)
        self.added.append((step, path, resource, self.links if links is None else links))

    def cross_checks(
        self, registries: Registries | None = None, *, backwards: bool = False
    ) -> CrossWorkbookChecks:
        resolver = None if registries is None else LinkResolver(registries)
        checks = CrossWorkbookChecks(STEPS, self.folder, resolver)
        for step, path, resource, links in self.added[:: -1 if backwards else 1]:
            forms = linked_catalogue(links, self.catalogue)
            checks.add(step, validate_workbook(path, forms, resource=resource))
        return checks

    def findings(self, registries: Registries | None = None) -> CodedFindings:
        return coded_findings(self.cross_checks(registries).findings())


def coded_findings(found: SheetFindings) -> CodedFindings:
    return [
        (file.name, finding.cell, finding.kind.code)
        for (file, *_), findings in found.items()
        for finding in findings
    ]


def document(number: int) -> str:
    base = f"{number:08d}0001"
    return base + cnpj_numbers.calc_check_digits(base)


def client_row(number: int, **changes: Any) -> dict[str, Any]:
    return {"cnpj": document(60_000_000 + number), "seuCodigo": f"AX-{number}", **changes}


def titles(*named: object) -> list[dict[str, Any]]:
    """Return distinct receivables for the given clients."""
    return [{"codigoDoCliente": name, "valorDoLancamento": 10 + n} for n, name in enumerate(named)]
