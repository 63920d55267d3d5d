"""The rules of CNPJ and CPF, for clients and suppliers. Source: the spec, Client and Errors."""

import re
from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Connection, exists, select
from stdnum.br import cnpj, cpf

from xlbridge.sandbox.answers import Problem
from xlbridge.wire.registry import PartyInput

_MASK = re.compile(r"[\s./-]")


def bare_document(document: str) -> str:
    """Return a CNPJ or CPF without its mask, in capitals."""
    return _MASK.sub("", document).upper()


def document_of(data: PartyInput) -> str | None:
    """Return the document of the party's nature; without it the other, taken as it is."""
    document = (data.cnpj or data.cpf) if data.natureza == "J" else (data.cpf or data.cnpj)
    return bare_document(document) if document else None


class Documents:
    """Judges the documents of new parties; ``column`` holds those that are registered."""

    def __init__(self, connection: Connection, column: ColumnElement[Any], label: str) -> None:
        self._connection = connection
        self._column = column
        self._label = label
        self._accepted: set[str] = set()

    def problems(self, data: PartyInput) -> list[Problem]:
        """Return what is wrong with a new party's document: its digits, or that it is taken."""
        return [*_format_problems(data), *self._duplicate(document_of(data))]

    def accept(self, document: str | None) -> None:
        """Count a document as taken."""
        if document:
            self._accepted.add(document)

    def _duplicate(self, document: str | None) -> list[Problem]:
        if not document:
            return []
        stored = select(exists().where(self._column == document))
        if document not in self._accepted and not self._connection.scalar(stored):
            return []
        return [("cnpjcpf", f"O número {document} já está cadastrado para outro {self._label}.")]


def _format_problems(data: PartyInput) -> list[Problem]:
    if data.natureza == "J":
        return _invalid("cnpj", data.cnpj, cnpj.is_valid, "CNPJ inválido.")
    return _invalid("cpf", data.cpf, cpf.is_valid, "CPF inválido.")


def _invalid(
    key: str, document: str | None, is_valid: Callable[[str], bool], message: str
) -> list[Problem]:
    wrong = document and not is_valid(bare_document(document))
    return [(key, message)] if wrong else []
