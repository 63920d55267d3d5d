"""Validate the same sheet with frictionless, reporting all errors.

Usage: python benchmarks/frictionless_pipeline.py FILE
"""

import sys

from frictionless import Resource, Schema, system

REQUIRED = {"required": True}
SCHEMA = Schema.from_descriptor(
    {
        "fields": [
            {
                "name": "codigoDaFilial",
                "type": "integer",
                "constraints": {**REQUIRED, "minimum": 1},
            },
            {
                "name": "codigoDoCliente",
                "type": "integer",
                "constraints": {**REQUIRED, "minimum": 1},
            },
            {
                "name": "codigoDoItemDeLancamento",
                "type": "string",
                "constraints": {**REQUIRED, "maxLength": 30},
            },
            {
                "name": "codigoDoCentroDeCusto",
                "type": "string",
                "constraints": {**REQUIRED, "maxLength": 30},
            },
            {
                "name": "codigoDaContaCorrente",
                "type": "integer",
                "constraints": {**REQUIRED, "minimum": 1},
            },
            {"name": "historico", "type": "string", "constraints": {**REQUIRED, "maxLength": 500}},
            {"name": "numeroDoDocumento", "type": "string", "constraints": {"maxLength": 60}},
            {"name": "dataDeEmissao", "type": "date"},
            {"name": "dataDeVencimento", "type": "date"},
            {"name": "valorDoLancamento", "type": "number", "constraints": {"minimum": 0.01}},
            {"name": "codigoDaFormaDePagamento", "type": "integer", "constraints": {"minimum": 1}},
            {"name": "codigoDaCarteira", "type": "integer", "constraints": {"minimum": 1}},
        ]
    }
)


def main() -> None:
    """Validate the file and print the number of errors."""
    with system.use_context(trusted=True):  # or it refuses an absolute path
        report = Resource(path=sys.argv[1], schema=SCHEMA).validate(limit_errors=10**9)
    for kind, note, row in report.flatten(["type", "note", "rowNumber"]):
        if row is None:
            print(f"the sheet was not validated: {kind}: {note}", file=sys.stderr)
            sys.exit(2)
    print(report.stats["errors"])


if __name__ == "__main__":
    main()
