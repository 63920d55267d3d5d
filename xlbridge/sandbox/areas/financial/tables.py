"""Tables of receivable and payable titles, their allocations and attached files."""

from sqlalchemy import Column, ForeignKeyConstraint, Index, Integer, Table

from xlbridge.sandbox.columns import derived_columns, metadata
from xlbridge.wire import Attachment
from xlbridge.wire.financial import Allocation, Payable, Receivable, TitleKey

TITLE_KEY = tuple(TitleKey.model_fields)
OWNER_KEY = ("exercise", "branch", "number", "sequence")
"""Key of the title that a part or file belongs to, in the order of ``TITLE_KEY``."""


def _owner_columns(titles: Table) -> tuple[Column[int] | ForeignKeyConstraint, ...]:
    return (
        *(Column(name, Integer, primary_key=True, autoincrement=False) for name in OWNER_KEY),
        ForeignKeyConstraint(OWNER_KEY, [titles.c[name] for name in TITLE_KEY], ondelete="CASCADE"),
    )


def _allocations_table(name: str, titles: Table) -> Table:
    place = Column("place", Integer, primary_key=True, autoincrement=False)
    return Table(name, metadata, *_owner_columns(titles), place, *derived_columns(Allocation))


receivables = Table(
    "receivables",
    metadata,
    *derived_columns(Receivable, keys=TITLE_KEY, exclude=("rateio",)),
    Index("receivables_by_client", "codigoDoCliente"),
    Index("receivables_by_idws", "idws", unique=True),
    Index("receivables_by_settlement", "codigoDaContaCorrente", "dataDeBaixa"),
)
receivable_allocations = _allocations_table("receivable_allocations", receivables)
payables = Table(
    "payables",
    metadata,
    *derived_columns(
        Payable, keys=TITLE_KEY, exclude=("rateio", "Arquivos", "DescricaoDoCustoABC")
    ),
    Index("payables_by_settlement", "codigoDaContaCorrente", "dataDeBaixa"),
)
payable_allocations = _allocations_table("payable_allocations", payables)
payable_files = Table(
    "payable_files",
    metadata,
    *_owner_columns(payables),
    *derived_columns(Attachment, keys=("Id",)),
)
