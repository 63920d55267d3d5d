"""Receivable and payable titles."""

from sqlalchemy import Column, Index, Integer, Table

from xlbridge.sandbox.columns import derived_columns
from xlbridge.sandbox.tables.schema import metadata
from xlbridge.wire.financial import PayableInput, Receivable

_TITLE_KEY = ("codigoDoExercicio", "codigoDaFilial", "numeroDaTransacao", "sequenciaDaTransacao")

receivables = Table(
    "receivables",
    metadata,
    *derived_columns(Receivable, keys=_TITLE_KEY),
    Index("receivables_by_client", "codigoDoCliente"),
)
payables = Table(
    "payables",
    metadata,
    Column("codigoDoExercicio", Integer, primary_key=True, autoincrement=False),
    Column("numeroDaTransacao", Integer, primary_key=True, autoincrement=False),
    Column("sequenciaDaTransacao", Integer, primary_key=True, autoincrement=False),
    *derived_columns(PayableInput, keys=("codigoDaFilial",)),
)
