"""The usual pipeline for validation: pandas reads with openpyxl, pandera coerces and validates.

Usage: python benchmarks/usual_pipeline.py FILE
"""

import sys

import pandas as pd
import pandera.pandas as pa

REQUIRED_CODE = pa.Column(str, pa.Check.str_length(1, 30))
OPTIONAL_INTEGER = pa.Column("Int64", pa.Check.gt(0), nullable=True)
SCHEMA = pa.DataFrameSchema(
    {
        "codigoDaFilial": pa.Column("Int64", pa.Check.gt(0)),
        "codigoDoCliente": pa.Column("Int64", pa.Check.gt(0)),
        "codigoDoItemDeLancamento": REQUIRED_CODE,
        "codigoDoCentroDeCusto": REQUIRED_CODE,
        "codigoDaContaCorrente": pa.Column("Int64", pa.Check.gt(0)),
        "historico": pa.Column(str, pa.Check.str_length(1, 500)),
        "numeroDoDocumento": pa.Column(str, pa.Check.str_length(1, 60), nullable=True),
        "dataDeEmissao": pa.Column("datetime64[us]", nullable=True),
        "dataDeVencimento": pa.Column("datetime64[us]", nullable=True),
        "valorDoLancamento": pa.Column("Float64", pa.Check.gt(0), nullable=True),
        "codigoDaFormaDePagamento": OPTIONAL_INTEGER,
        "codigoDaCarteira": OPTIONAL_INTEGER,
    },
    coerce=True,
)


def main() -> None:
    """Validate the file and print the number of failures."""
    frame = pd.read_excel(sys.argv[1], engine="openpyxl")
    try:
        SCHEMA.validate(frame, lazy=True)
    except pa.errors.SchemaErrors as errors:
        print(len(errors.failure_cases))


if __name__ == "__main__":
    main()
