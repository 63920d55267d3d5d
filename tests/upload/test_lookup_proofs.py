"""A record that the look-up cannot prove absent is never created as new."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from databases import database_options
from environment import clean_environment
from lookup_parts import KEYED, contact_names, keyed_row, lookups_of, write_row
from lossy_proxy import LossyProxy
from sampling import across, every
from sandboxes import sandbox_process
from sheets import write_records
from update_parts import Run, writes
from upload_parts import new_cnpj

from xlbridge.sandbox import RunningSandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Sandbox of the demo company, whose registries the rows refer to."""
    folder = tmp_path_factory.mktemp("lookup-proofs")
    options = ["--seed", "demo", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder), few=True) as running:
        yield running


@pytest.mark.parametrize("deleted", [1, 2])
def test_a_contact_behind_deleted_ones_is_found(
    proxy: LossyProxy,
    http: httpx.Client,
    run: Run,
    tmp_path: Path,
    customer: int,
    deleted: int,
) -> None:
    names = ["Ana", "Bia", "Rita"]
    for name in names:
        body = {"codigoDoCliente": customer, "nome": name}
        assert http.post("/v2/clientecontato", json=body).is_success
    gone = {f"/v2/clientecontato/{customer}/{number}" for number in range(1, deleted + 1)}
    proxy.decide = lambda method, path: "absent" if path in gone else "pass"
    rows = [{"codigoDoCliente": customer, "nome": name} for name in ("Rita", "Zoe")]
    path = write_records(tmp_path / "contatos.xlsx", "clientecontato", rows)
    _, report = run("upload", path, "--yes")
    assert (report["plan"]["create"], report["plan"]["unchanged"]) == (1, 1), report
    assert contact_names(http, customer) == [*names, "Zoe"]


def redated(value: Any, write: Callable[[str], str | int]) -> Any:
    """Return data with its dates written otherwise."""
    if isinstance(value, dict):
        return {
            name: write(one)
            if isinstance(one, str) and name.startswith("data") and one[4:5] == "-"
            else redated(one, write)
            for name, one in value.items()
        }
    return [redated(one, write) for one in value] if isinstance(value, list) else value


READABLE: Mapping[str, Callable[[str], str]] = {
    "day first": lambda text: f"{text[8:10]}/{text[5:7]}/{text[:4]}",
    "day first, with time": lambda text: f"{text[8:10]}/{text[5:7]}/{text[:4]} {text[11:]}",
    "no padding": lambda text: f"{int(text[8:10])}/{int(text[5:7])}/{text[:4]}",
    "hyphens": lambda text: f"{text[8:10]}-{text[5:7]}-{text[:4]}",
    "no separators": lambda text: text[:10].replace("-", ""),
    "zone and fraction": lambda text: text + ".1234567-03:00",
}
UNREADABLE: Mapping[str, Callable[[str], str | int]] = {
    "milliseconds": lambda text: f"/Date({date.fromisoformat(text[:10]).toordinal()}000)/",
    "seconds": lambda text: date.fromisoformat(text[:10]).toordinal() * 86_400,
    "month first": lambda text: f"{text[5:7]}/{text[8:10]}/{text[:4]}",
    "month as text": lambda text: f"{text[8:10]}-dez-{text[:4]}",
}


def titles(run: Run, folder: Path, resource: str) -> Path:
    """Upload two titles; return their workbook."""
    rows = [
        {"numeroDoDocumento": f"D-{new_cnpj()}", "dataDeVencimento": date(2026, 12, day)}
        for day in (23, 30)
    ]
    path = write_records(folder / "titulos.xlsx", resource, rows)
    code, report = run("upload", path, "--yes")
    assert (code, report["rows"]["created"]) == (0, 2), report
    return path


@pytest.mark.parametrize(
    ("resource", "write"), across(["contaspagar", "contasreceber"], list(READABLE.values()))
)
def test_dates_of_records_match_however_they_are_written(
    proxy: LossyProxy,
    run: Run,
    colleague: Run,
    tmp_path: Path,
    resource: str,
    write: Callable[[str], str],
) -> None:
    proxy.reshape = lambda _path, data: redated(data, write)
    path = titles(run, tmp_path, resource)
    for again in (run, colleague):
        code, report = again("upload", path, "--yes")
        assert (code, report["plan"]["unchanged"]) == (0, 2), report


@pytest.mark.parametrize(
    ("resource", "write"), across(["contaspagar", "contasreceber"], list(UNREADABLE.values()))
)
def test_a_key_with_a_date_that_is_not_understood_proves_no_absence(
    proxy: LossyProxy,
    run: Run,
    colleague: Run,
    tmp_path: Path,
    resource: str,
    write: Callable[[str], str | int],
) -> None:
    path = titles(run, tmp_path, resource)
    proxy.reshape = lambda _path, data: redated(data, write)
    proxy.seen.clear()
    code, report = colleague("upload", path, "--yes")
    assert (code, report["plan"]["held"], writes(proxy)) == (1, 2, []), report
    told = " ".join(held["message"] for held in report["not_created"])
    assert str(write("2026-12-23T00:00:00")) in told


def renamed(value: Any, field: str) -> Any:
    """Return data whose records have a field under another name."""
    if isinstance(value, dict):
        return {
            ("outro" + name if name == field else name): renamed(one, field)
            for name, one in value.items()
        }
    return [renamed(one, field) for one in value] if isinstance(value, list) else value


def shared_keys() -> Iterator[tuple[str, int, str]]:
    """Yield each key that a row can share with a record, and each of its fields in records."""
    for resource in KEYED:
        row = keyed_row(resource)
        for number, lookup in enumerate(lookups_of(resource)):
            if lookup.key.keys() <= row.keys():
                yield from ((resource, number, field) for field in lookup.key.values())


@pytest.mark.parametrize(("resource", "number", "field"), every(5, shared_keys()))
def test_a_key_that_records_do_not_show_proves_no_absence(
    proxy: LossyProxy,
    run: Run,
    colleague: Run,
    tmp_path: Path,
    resource: str,
    number: int,
    field: str,
) -> None:
    lookup = lookups_of(resource)[number]
    first = keyed_row(resource)
    code, report = run("upload", write_row(tmp_path / "primeira.xlsx", resource, first), "--yes")
    assert code == 0, report
    second = keyed_row(resource) | {column: first[column] for column in lookup.key}
    path = write_row(tmp_path / "segunda.xlsx", resource, second)
    proxy.reshape = lambda _path, data: renamed(data, field)
    proxy.seen.clear()
    _, report = colleague("upload", path, "--yes")
    if lookup.may_be_hidden and field not in lookup.filters:
        return
    assert writes(proxy) == [], report
    for held in report["not_created"]:
        if held["reason"] == "not-looked-up":
            assert field in held["message"]
            assert f"outro{field}" in held["message"]


def test_rows_whose_listing_was_dropped_are_not_new(
    proxy: LossyProxy, run: Run, colleague: Run, http: httpx.Client, tmp_path: Path
) -> None:
    """The documents are then looked up one by one, for which their codes have no filter."""
    code = f"S-{new_cnpj()}"
    body = {"nomeComercial": "Ana", "natureza": "J", "seuCodigo": code}
    assert http.post("/v2/cliente", json=body).is_success
    rows: list[dict[str, Any]] = [{"cnpj": None, "seuCodigo": code}]
    rows += [{"cnpj": new_cnpj(), "seuCodigo": None} for _ in range(51)]
    path = write_records(tmp_path / "clientes.xlsx", "cliente", rows)
    proxy.reshape = lambda _path, data: renamed(data, "cnpjcpf")
    _, report = colleague("upload", path, "--yes")
    assert report["plan"]["held"] == 1, report["plan"]
    assert [row["reason"] for row in report["not_created"]] == ["not-looked-up"]
    recent = {"dataInferior": f"{datetime.now():%d/%m/%Y}"}
    found = http.get("/v2/cliente", params=recent).json()["data"]
    assert sum(one.get("seuCodigo") == code for one in found) == 1


@pytest.mark.parametrize("resource", ["contaspagar"])
def test_each_listing_must_show_the_key(
    proxy: LossyProxy, run: Run, colleague: Run, tmp_path: Path, resource: str
) -> None:
    path = write_row(tmp_path / "titulo.xlsx", resource, keyed_row(resource))
    field = "numeroDoDocumento"
    proxy.reshape = lambda path, data: renamed(data, field) if "baixados" in path else data
    proxy.seen.clear()
    _, report = colleague("upload", path, "--yes")
    assert [row["reason"] for row in report["not_created"]] == ["not-looked-up"], proxy.seen
    assert field in report["not_created"][0]["message"]
    assert writes(proxy) == []
