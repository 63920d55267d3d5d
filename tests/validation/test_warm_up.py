"""Warm-up of validation while a workbook is read does not change the findings."""

from pathlib import Path

import pytest
from sheets import write_records

from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import validate_workbook, warm_up
from xlbridge.workbook.read import prefetch_workbook

MANY = 3_000


def test_every_resource_can_be_warmed_up(catalogue: Catalogue) -> None:
    for name, resource in catalogue.items():
        warm_up({name: resource})


@pytest.mark.parametrize("resource", ["cliente", "contasreceber"])
def test_warm_up_does_not_change_findings(
    catalogue: Catalogue, samples: Path, resource: str
) -> None:
    workbook = samples / f"{resource}-com-erros.xlsx"
    before = list(validate_workbook(workbook, catalogue).findings)
    warm_up(catalogue)
    assert list(validate_workbook(workbook, catalogue).findings) == before


def test_small_workbook_is_ready_immediately(samples: Path) -> None:
    with prefetch_workbook(samples / "cliente.xlsx", WorkbookLimits(), None) as workbook:
        assert workbook.done()
        assert workbook.result().sheets


def test_large_workbook_reports_when_it_is_ready(tmp_path: Path) -> None:
    path = write_records(tmp_path / "large.xlsx", "cliente", [{}] * MANY)
    with prefetch_workbook(path, WorkbookLimits(), None) as workbook:
        assert not workbook.done()
        assert workbook.result().sheets[0].height == MANY + 1
        assert workbook.done()


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


def test_unusual_custom_resource_can_be_warmed_up(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(ODD, encoding="utf-8")
    catalogue = load_catalogue(tmp_path)
    assert next(iter(catalogue.values())).title.pt == "Tudo"
    warm_up(catalogue)
