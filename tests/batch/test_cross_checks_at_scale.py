"""Batches with planted errors, which are found and nothing else; memory of large batches."""

import gc
import os
import weakref
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cross_check_parts import (
    ACTIVE_OWN,
    BY_OWN_CODE,
    INACTIVE_OWN,
    STEPS,
    Batch,
    CrossWorkbookChecks,
    client_row,
    coded_findings,
)
from sheets import write_records

from xlbridge.client.registries import Registries
from xlbridge.resources.links import linked_catalogue
from xlbridge.validation import validate_workbook


def generated(batch: Batch, random: Random, clients: int, sheets: int, rows: int) -> set[Any]:
    """Write workbooks of clients and receivables with planted errors; return the expected ones."""
    expected: set[Any] = set()
    own = [f"GX-{number}" for number in range(clients)]
    bad = set(random.sample(range(clients), clients // 20))
    per_file = clients // 4
    for part in range(4):
        numbers = range(part * per_file, (part + 1) * per_file)
        content = [
            client_row(n, seuCodigo=own[n], email="nobody" if n in bad else "a@b.com.br")
            for n in numbers
        ]
        batch.write("clientes", f"c{part}.xlsx", "cliente", content)
    keys: list[tuple[str, str]] = []
    for part in range(sheets):
        file, content = f"r{part:02}.xlsx", []
        for row in range(2, rows + 2):
            idws, name = f"K-{part}-{row}", random.choice(own)
            kind = random.random()
            if kind < 0.02:
                name = f"NX-{part}-{row}"
                expected.add((file, f"B{row}", "reference-unknown-in-batch"))
            elif kind < 0.04:
                name = INACTIVE_OWN
                expected.add((file, f"B{row}", "reference-inactive"))
            elif kind < 0.06:
                name = ACTIVE_OWN
            elif int(name[3:]) in bad:
                expected.add((file, f"B{row}", "reference-waits"))
            if part and kind > 0.98:
                idws = random.choice(keys)[1]
                if idws not in {r["idws"] for r in content}:
                    expected.add((file, f"J{row}", "duplicate-across-sheets"))
            content.append({"codigoDoCliente": name, "idws": idws})
        keys += [(file, r["idws"]) for r in content if r["idws"].startswith(f"K-{part}-")]
        batch.write("receber", file, "contasreceber", content)
    return expected


@pytest.mark.parametrize("seed", [1, 2])
def test_planted_errors_are_found_and_nothing_else(
    batch: Batch, registries: Registries, seed: int
) -> None:
    expected = generated(batch, Random(seed), clients=200, sheets=4, rows=120)
    found = batch.findings(registries)
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert len({code for _, _, code in expected}) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 30))
def test_planted_errors_are_found_in_many_batches(
    batch: Batch, registries: Registries, seed: int
) -> None:
    expected = generated(batch, Random(seed), clients=2_000, sheets=8, rows=1_000)
    found = batch.findings(registries)
    assert len(found) == len(set(found))
    assert set(found) == expected


def many(batch: Batch, files: int, rows: int) -> tuple[CrossWorkbookChecks, list[Any]]:
    """Validate and add workbooks, every fourth of clients; return references to their frames."""
    checks, frames = CrossWorkbookChecks(STEPS, batch.folder), []
    forms = linked_catalogue(BY_OWN_CODE, batch.catalogue)
    for file in range(files):
        numbers = range((file - file % 4) * rows, (file - file % 4 + 1) * rows)
        path, resource = batch.folder / f"{file}.xlsx", "contasreceber" if file % 4 else "cliente"
        content: Any = (
            [{"codigoDoCliente": f"AX-{n}", "idws": f"K-{file}-{n}"} for n in numbers]
            if file % 4
            else [client_row(n) for n in numbers]
        )
        sheet = validate_workbook(write_records(path, resource, content), forms, resource=resource)
        checks.add("receber" if file % 4 else "clientes", sheet)
        frames.append(weakref.ref(sheet.frame))
        path.unlink()
    return checks, frames


def test_only_the_keys_of_a_sheet_are_kept(batch: Batch) -> None:
    checks, frames = many(batch, files=4, rows=250)
    gc.collect()
    assert [frame() for frame in frames] == [None] * 4
    assert coded_findings(checks.findings()) == []


@pytest.mark.slow
def test_200_000_rows_are_compared_in_little_memory(batch: Batch) -> None:
    many(batch, files=4, rows=5_000)
    gc.collect()
    before = resident()
    checks, _ = many(batch, files=40, rows=5_000)
    gc.collect()
    kept = resident() - before
    assert coded_findings(checks.findings()) == []
    assert kept < 75_000_000
    assert resident() - before < 200_000_000


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
