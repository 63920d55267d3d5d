"""Schema files of users with rules that contradict each other, or that hardly any value keeps."""

from pathlib import Path

from sheets import write_rows

from xlbridge.resources import load_catalogue
from xlbridge.validation import validate_workbook

ODD = """
schema_type: dataframe
version: 0.35.0
title: Tudo
description: Every kind of column, with rules that little can hold
coerce: false
strict: false
metadata:
  resource: categoriacliente
  layout: 1
  title_en: Everything
  import: {direct: imports.direct, queue: imports.queue, needs_processar: true}
  columns:
    "a {x} | 100%": {kind: code}
    slip: {kind: code}
    amount: {kind: money}
columns:
  a: {title: A, dtype: str, required: true, nullable: false, isin: [a, "b {}"], no_repeats: {}}
  "a {x} | 100%": {title: "{0}", dtype: str, nullable: true, nbs: {}, telephone: {}}
  slip: {title: S, dtype: str, nullable: true, boleto: {}, email: {}, telephone: {}}
  code: {title: C, dtype: str, nullable: true, cep: {}, uf: {}, ncm: {}, nbs: {}, cnpj: {}}
  amount: {title: V, dtype: Float64, nullable: true, greater_than: 1.0e+308, decimals: {places: 0}}
  net: {title: N, dtype: Float64, nullable: true, in_range: {min_value: -1.0, max_value: -1.0}}
  number: {title: I, dtype: Int64, nullable: true, no_repeats: {}}
  day: {title: Day, dtype: "datetime64[us]", nullable: true, no_repeats: {}}
  other day: {title: Other, dtype: "datetime64[us]", nullable: true}
  flag: {title: F, dtype: boolean, required: true, nullable: false, no_repeats: {}}
checks:
  - {column: day, other: other day, options: {check_name: not_before}}
  - {column: amount, other: net, options: {check_name: not_above}}
  - {column: number, other: amount, columns: [net], options: {check_name: sum_not_above}}
  - {column: day, columns: [day, flag, a], options: {check_name: no_repeated_rows}}
  - {column: code, other: flag, values: [true, null], options: {check_name: required_when}}
  - {column: slip, check: cnpj, other: amount, values: [1.0], options: {check_name: valid_when}}
"""
"""Custom resource that replaces the first shipped one."""


def test_a_resource_with_rules_that_little_can_hold_validates_sheets(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(ODD, encoding="utf-8")
    catalogue = load_catalogue(tmp_path)
    resource = next(iter(catalogue.values()))
    assert resource.title.pt == "Tudo"
    header = [column.name for column in resource.columns]
    rows = [["b {}" if name == "a" else value for name in header] for value in (1.5, "é ã", None)]
    path = write_rows(tmp_path / "tudo.xlsx", header, rows)
    validated = validate_workbook(path, catalogue, resource="categoriacliente")
    found = {finding.cell: finding.kind.code for finding in validated.findings}
    assert found == {
        "A3": "duplicate-in-sheet",
        "A4": "duplicate-in-sheet",
        "J4": "required-missing",
        **dict.fromkeys(("B2", "C2", "D2"), "type-text"),
        "B3": "nbs-invalid",
        "C3": "barcode-invalid",
        "D3": "cep-invalid",
        **dict.fromkeys(("E2", "F2"), "value-range"),
        **dict.fromkeys(("E3", "F3"), "type-number"),
        **dict.fromkeys(("G2", "G3"), "type-integer"),
        **dict.fromkeys(("H2", "H3", "I2", "I3"), "type-date"),
        **dict.fromkeys(("J2", "J3"), "type-boolean"),
    }
