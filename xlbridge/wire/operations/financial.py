"""Receivable and payable entries. Source: the spec, Endpoints, Financial."""

from xlbridge.wire.financial import Receivable, ReceivableInput, ReceivableQuery
from xlbridge.wire.operation import Operation

_SECTION = "Financial"

RECEIVABLE_CREATE = Operation(
    name="financial.receivables.create",
    method="POST",
    path="/v2/financeiro/contasreceber",
    section=_SECTION,
    body=ReceivableInput,
    data=Receivable,
)
RECEIVABLE_LIST_OPEN = Operation(
    name="financial.receivables.list_open",
    method="GET",
    path="/v2/financeiro/contasreceber",
    section=_SECTION,
    query=ReceivableQuery,
    data=list[Receivable],
    repeatable=True,
)
RECEIVABLE_LIST_SETTLED = Operation(
    name="financial.receivables.list_settled",
    method="GET",
    path="/v2/financeiro/contasreceber/baixados",
    section=_SECTION,
    query=ReceivableQuery,
    data=list[Receivable],
    repeatable=True,
)

OPERATIONS = (
    RECEIVABLE_CREATE,
    RECEIVABLE_LIST_OPEN,
    RECEIVABLE_LIST_SETTLED,
)
