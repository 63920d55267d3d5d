"""Titles and the cash statement. Source: the spec, Endpoints, Financial."""

from xlbridge.wire.cash import Statement, StatementQuery
from xlbridge.wire.financial import (
    Payable,
    PayableChange,
    PayableInput,
    Receivable,
    ReceivableInput,
    ReceivableLookup,
    ReceivableQuery,
)
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
RECEIVABLE_FIND = Operation(
    name="financial.receivables.find",
    method="GET",
    path="/v2/financeiro/contasreceber/localizar",
    section=_SECTION,
    query=ReceivableLookup,
    single_record_filters=("idws",),
    data=Receivable | None,
    repeatable=True,
)
PAYABLE_CREATE = Operation(
    name="financial.payables.create",
    method="POST",
    path="/v2/financeiro/contaspagar",
    section=_SECTION,
    body=PayableInput,
    data=Payable,
)
PAYABLE_UPDATE = Operation(
    name="financial.payables.update",
    method="PUT",
    path="/v2/financeiro/contaspagar",
    section=_SECTION,
    body=PayableChange,
    data=Payable,
    repeatable=True,
)
PAYABLE_LIST_OPEN = Operation(
    name="financial.payables.list_open",
    method="GET",
    path="/v2/financeiro/contaspagar",
    section=_SECTION,
    data=list[Payable],
    repeatable=True,
)
PAYABLE_LIST_SETTLED = Operation(
    name="financial.payables.list_settled",
    method="GET",
    path="/v2/financeiro/contaspagar/baixados",
    section=_SECTION,
    data=list[Payable],
    repeatable=True,
)
PAYABLE_GET = Operation(
    name="financial.payables.get",
    method="GET",
    path="/v2/financeiro/contaspagar/{ex}/{fil}/{nrtrs}/{seqtrs}",
    section=_SECTION,
    data=Payable,
    repeatable=True,
)
PAYABLE_DELETE = Operation(
    name="financial.payables.delete",
    method="DELETE",
    path="/v2/financeiro/contaspagar/{ex}/{fil}/{nrtrs}/{seqtrs}",
    section=_SECTION,
    data=Payable,
)
CASH_STATEMENT = Operation(
    name="financial.cash.statement",
    method="GET",
    path="/v2/financeiro/caixabancos",
    section=_SECTION,
    query=StatementQuery,
    data=Statement,
    repeatable=True,
)

OPERATIONS = (
    RECEIVABLE_CREATE,
    RECEIVABLE_LIST_OPEN,
    RECEIVABLE_LIST_SETTLED,
    RECEIVABLE_FIND,
    PAYABLE_CREATE,
    PAYABLE_UPDATE,
    PAYABLE_LIST_OPEN,
    PAYABLE_LIST_SETTLED,
    PAYABLE_GET,
    PAYABLE_DELETE,
    CASH_STATEMENT,
)
