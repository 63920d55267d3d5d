"""The documents of a purchase: written, and each closing the one that it comes from.

Source: the spec, States (purchase flow). Its approvals are not shown there.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, Table, insert, select, update

from xlbridge.sandbox.answers import Problem
from xlbridge.wire.purchasing import BuyingOrder, PurchaseOrder, PurchaseRequisition

Document = PurchaseRequisition | BuyingOrder | PurchaseOrder


def write_documents(
    connection: Connection, headers: Table, items: Table, documents: Sequence[Document]
) -> None:
    """Write new documents and their items."""
    if not documents:
        return
    (key,) = headers.primary_key
    columns = set(headers.c.keys())
    rows = [document.model_dump(include=columns) for document in documents]
    lines = [
        {"number": row[key.name], **item.model_dump()}
        for row, document in zip(rows, documents, strict=True)
        for item in document.itens
    ]
    connection.execute(insert(headers), rows)
    connection.execute(insert(items), lines)


def origin_problems(
    connection: Connection, key: str, headers: Table, number: object, label: str
) -> list[Problem]:
    """Return the problem of a document that is named and is unknown or closed."""
    if number is None:
        return []
    (own_number,) = headers.primary_key
    closed = connection.scalar(select(headers.c.encerrada).where(own_number == number))
    if closed is None:
        return [(key, f"{label} {number}: número não cadastrado.")]
    return [(key, f"{label} {number} já está encerrada.")] if closed else []


def approve(connection: Connection, headers: Table, items: Table, number: object) -> None:
    """Close the document that another comes from, if one is named, with all of it approved."""
    if number is None:
        return
    (own_number,) = headers.primary_key
    connection.execute(update(headers).where(own_number == number).values(encerrada=True))
    approving = update(items).where(items.c.number == number)
    connection.execute(approving.values(quantidadeAprovada=items.c.quantidade))
