"""Counts of an open inventory: registered as far as the system does not have them yet.

A lost answer is harmless: a count that is registered again is corrected, and the inventory shows
whether a count was started. See the spec, States (opening, product count registration), and
``docs/assumptions.md``.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from xlbridge.errors import ErrorDetail, InDoubt, RemoteRejected
from xlbridge.wire.inventory import (
    INVENTORY_CLOSE,
    INVENTORY_COUNT,
    INVENTORY_ITEMS,
    INVENTORY_SHOW,
    INVENTORY_START_COUNT,
    CountedProduct,
    InventoryCount,
)

if TYPE_CHECKING:
    from xlbridge.client import Client

LIST = "contagens"
"""List of an inventory that holds its counts."""

_ROUND = "contagem"
_NUMBER = "idInventario"
_ITEMS = "itens"

Line = Mapping[str, Any]


def register_counts(client: "Client", number: str, lines: Sequence[Line]) -> None:
    """Register the counts of an open inventory, one after another.

    Raises ``RemoteRejected`` if the system refuses one, with details that name items of the list;
    another ``ApiError`` if it does not answer, after which this may be called again.
    """
    path = {_NUMBER: number}
    rounds = sorted({_round_of(line) for line in lines})
    for count in rounds:
        positions = [at for at, line in enumerate(lines) if _round_of(line) == count]
        existing = client.call(INVENTORY_ITEMS, path=path) or []
        if _counted(existing, count) >= {_key(lines[at]) for at in positions}:
            continue
        _start(client, path, count)
        items = [CountedProduct.model_validate(_filled(lines[at])) for at in positions]
        try:
            client.call(
                INVENTORY_COUNT, path={**path, _ROUND: count}, body=InventoryCount(itens=items)
            )
        except RemoteRejected as refusal:
            details = [_list_detail(detail, positions) for detail in refusal.details]
            raise RemoteRejected(
                refusal.message, status=refusal.status, details=details, hint=refusal.hint
            ) from refusal


def close_inventory(client: "Client", number: str) -> bool:
    """Close an inventory whose counts were refused; return whether it is certainly closed."""
    try:
        client.call(INVENTORY_CLOSE, path={_NUMBER: number})
    except (RemoteRejected, InDoubt):
        return bool(client.call(INVENTORY_SHOW, path={_NUMBER: number}).encerrado)
    return True


def _start(client: "Client", path: Mapping[str, str], count: int) -> None:
    """Start a count if it is not started yet."""

    def is_started() -> bool | None:
        started: bool | None = getattr(
            client.call(INVENTORY_SHOW, path=path), f"inventarioContagem{count}"
        )
        return started

    if is_started():
        return
    try:
        client.call(INVENTORY_START_COUNT, path={**path, _ROUND: count})
    except (RemoteRejected, InDoubt):
        if not is_started():
            raise


def _round_of(line: Line) -> int:
    return int(line[_ROUND])


def _filled(line: Line) -> dict[str, Any]:
    return {name: value for name, value in line.items() if value is not None}


def _key(line: Line) -> tuple[Any, ...]:
    named = _filled(line)
    quantity = Decimal(str(named["quantidade"]))
    return named["idProd"], named.get("numeroDeSerieLote"), named.get("codigoDoProjeto"), quantity


def _counted(items: Sequence[Any], count: int) -> set[tuple[Any, ...]]:
    """Return the keys of the items that the system has counted."""
    found = (item.model_dump() for item in items)
    return {
        _key({**item, "quantidade": item[f"quantidadeContagem{count}"]})
        for item in found
        if item[f"quantidadeContagem{count}"] is not None and item["idProd"] is not None
    }


def _list_detail(detail: ErrorDetail, positions: Sequence[int]) -> ErrorDetail:
    """Return a detail about an item of the request as one about the item of the record's list."""
    head, _, rest = detail.key.partition(".")
    index, _, field = rest.partition(".")
    if head != _ITEMS or not index.isdecimal() or int(index) >= len(positions):
        return detail
    return ErrorDetail(f"{LIST}.{positions[int(index)]}.{field}".rstrip("."), detail.value)
