"""The fastest pipeline for validation: fastexcel reads texts, polars casts, dataframely filters.

It names types and rules that failed and the number of rows, no cells.

Usage: python benchmarks/polars_pipeline.py FILE
"""

import sys

import dataframely as dy
import fastexcel
import polars as pl

DATES = ("dataDeEmissao", "dataDeVencimento")


class Receivable(dy.Schema):
    """The same sheet, with the rules that dataframely has."""

    codigoDaFilial = dy.Int64(min=1)
    codigoDoCliente = dy.Int64(min=1)
    codigoDoItemDeLancamento = dy.String(min_length=1, max_length=30)
    codigoDoCentroDeCusto = dy.String(min_length=1, max_length=30)
    codigoDaContaCorrente = dy.Int64(min=1)
    historico = dy.String(min_length=1, max_length=500)
    numeroDoDocumento = dy.String(nullable=True, min_length=1, max_length=60)
    dataDeEmissao = dy.Datetime(nullable=True)
    dataDeVencimento = dy.Datetime(nullable=True)
    valorDoLancamento = dy.Float64(nullable=True, min_exclusive=0)
    codigoDaFormaDePagamento = dy.Int64(nullable=True, min=1)
    codigoDaCarteira = dy.Int64(nullable=True, min=1)


def main() -> None:
    """Validate the file and print the number of failures."""
    sheet = fastexcel.read_excel(sys.argv[1]).load_sheet(0, dtypes="string")
    texts = sheet.to_polars()
    dates = texts.select(pl.col(DATES).str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False))
    unreadable = dates.null_count() - texts.select(DATES).null_count()
    _, failures = Receivable.filter(texts.with_columns(dates), cast=True)
    print(sum(failures.counts().values()) + sum(unreadable.row(0)))


if __name__ == "__main__":
    main()
