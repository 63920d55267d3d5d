"""The receivable titles that a sales order's instalments become.

Source: the spec, Sales order (Pedido de Venda) object, parcelas[] items; Receivable entry.
"""

from datetime import datetime

from sqlalchemy import Connection, update

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.intake import refuse
from xlbridge.sandbox.business.receivables import ReceivableIntake
from xlbridge.sandbox.tables.sales import sales_order_installments
from xlbridge.wire.financial import Receivable, ReceivableInput
from xlbridge.wire.sales import SalesOrder, SalesOrderInstallment

_COPIED = (
    "codigoDaFilial", "codigoDoCliente", "codigoDoItemDeLancamento", "codigoDoCentroDeCusto",
    "codigoDaContaCorrente", "codigoDaFormaDePagamento", "codigoDaCarteira",
)  # fmt: skip


def title_problems(connection: Connection, order: SalesOrder, now: datetime) -> list[Problem]:
    """Return the rules of receivable entries that an order's own codes would break."""
    title = _title(order, SalesOrderInstallment(numeroDaParcela=1))
    return ReceivableIntake(connection, now).problems(title)


def open_titles(connection: Connection, order: SalesOrder, now: datetime) -> None:
    """Create a title for each instalment of an order, and note its key there.

    Raises ``RequestError`` (400) with the rules that the titles break.
    """
    intake = ReceivableIntake(connection, now)
    for instalment in order.parcelas:
        data = _title(order, instalment)
        refuse(intake.problems(data))
        _note(connection, instalment, intake.accept(data))
    intake.write()


def _title(order: SalesOrder, instalment: SalesOrderInstallment) -> ReceivableInput:
    number = order.numeroDoPedido
    issued = order.dataDaOrdem
    return ReceivableInput.model_validate(
        {name: getattr(order, name) for name in _COPIED}
        | {
            "historico": order.historicoCR or f"Pedido de venda {number}",
            "numeroDoDocumento": f"PV-{number:06}/{instalment.numeroDaParcela}",
            "dataDeEmissao": issued and issued.replace(hour=0, minute=0, second=0),
            "dataDeVencimento": instalment.dataDeVencimento,
            "valorDoLancamento": instalment.valor,
        }
    )


def _note(connection: Connection, instalment: SalesOrderInstallment, title: Receivable) -> None:
    columns = sales_order_installments.c
    connection.execute(
        update(sales_order_installments)
        .where(
            columns.numeroDoPedido == instalment.numeroDoPedido,
            columns.numeroDaParcela == instalment.numeroDaParcela,
        )
        .values(
            existeLancamentoCR=True,
            codigoDoExercicioCR=title.codigoDoExercicio,
            codigoDaFilialCR=title.codigoDaFilial,
            numeroDaMovimentacaoCR=title.numeroDaTransacao,
            sequenciaDaMovimentacaoCR=title.sequenciaDaTransacao,
        )
    )
