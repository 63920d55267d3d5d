"""The supporting registries of purchases. Source: the spec, Purchasing."""

import unicodedata

from sqlalchemy import Table, select

from xlbridge.sandbox.call import Call, Model, handles
from xlbridge.sandbox.tables.registries import purchase_reasons, purchase_types
from xlbridge.wire.operations.purchasing import PURCHASE_REASON_LIST, PURCHASE_TYPE_LIST
from xlbridge.wire.purchasing import ActiveQuery, PurchaseReason, PurchaseType


@handles(PURCHASE_TYPE_LIST)
def list_types(call: Call) -> list[PurchaseType]:
    names = ("codigoDoTipoDeCompra", "descricaoDoTipoDeCompra")
    return _entries(call, PurchaseType, purchase_types, names)


@handles(PURCHASE_REASON_LIST)
def list_reasons(call: Call) -> list[PurchaseReason]:
    names = ("codigoDoMotivo", "descricaoDoMotivo")
    reasons = _entries(call, PurchaseReason, purchase_reasons, names)
    return sorted(reasons, key=lambda reason: _dictionary_order(reason.descricaoDoMotivo or ""))


def _entries(
    call: Call, model: type[Model], registry: Table, names: tuple[str, str]
) -> list[Model]:
    code, description = names
    found = select(
        registry.c.code.label(code),
        registry.c.name.label(description),
        registry.c.active.label("ativo"),
    ).order_by(registry.c.code)
    if call.queried(ActiveQuery).somenteAtivos:
        found = found.where(registry.c.active)
    return call.read(model, found)


def _dictionary_order(text: str) -> str:
    """Sorts as a dictionary does, the same on every database: accents and case do not count."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold()
