"""Batches with planted errors: these are found and nothing else; large ones need little memory."""

import gc
import os
import weakref
from pathlib import Path
from random import Random
from typing import Any

import pytest
from across_parts import (
    ACTIVE_OWN,
    BY_OWN_CODE,
    INACTIVE_OWN,
    STEPS,
    Batch,
    CrossWorkbookChecks,
    client_row,
    told,
)
from sheets import write_records

from xlbridge.resources.references import linked_catalogue
from xlbridge.upload.lookup import Registries
from xlbridge.validation import validate_workbook


def generated(batch: Batch, random: Random, clients: int, sheets: int, rows: int) -> set[Any]:
    """Write workbooks of clients and receivables with planted errors; return what must be found."""
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
def test_what_was_planted_is_found_and_nothing_else(
    batch: Batch, registries: Registries, seed: int
) -> None:
    expected = generated(batch, Random(seed), clients=200, sheets=4, rows=120)
    found = batch.told(registries)
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert len({code for _, _, code in expected}) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 30))
def test_what_was_planted_is_found_in_many_batches(
    batch: Batch, registries: Registries, seed: int
) -> None:
    expected = generated(batch, Random(seed), clients=2_000, sheets=8, rows=1_000)
    found = batch.told(registries)
    assert len(found) == len(set(found))
    assert set(found) == expected


def many(batch: Batch, files: int, rows: int) -> tuple[CrossWorkbookChecks, list[Any]]:
    """Judge and add workbooks, every fourth one of clients; return references to their frames."""
    across, frames = CrossWorkbookChecks(STEPS, batch.folder), []
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
        across.add("receber" if file % 4 else "clientes", sheet)
        frames.append(weakref.ref(sheet.frame))
        path.unlink()
    return across, frames


def test_of_a_sheet_no_more_is_kept_than_its_keys(batch: Batch) -> None:
    across, frames = many(batch, files=4, rows=250)
    gc.collect()
    assert [frame() for frame in frames] == [None] * 4
    assert told(across.findings()) == []


@pytest.mark.slow
def test_200_000_rows_are_held_against_one_another_in_little_memory(batch: Batch) -> None:
    many(batch, files=4, rows=5_000)
    gc.collect()
    before = resident()
    across, _ = many(batch, files=40, rows=5_000)
    gc.collect()
    kept = resident() - before
    assert told(across.findings()) == []
    assert kept < 75_000_000
    assert resident() - before < 200_000_000


def resident() -> int:
    """The bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
