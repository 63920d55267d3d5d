"""A record that the look-up cannot prove absent is never created as new."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from databases import database_options
from environment import Xlbridge, clean_environment
from lossy_proxy import LossyProxy
from sandboxes import sandbox_process
from sheets import GOOD, write_records, write_rows
from update_parts import Run, writes
from upload_parts import new_cnpj

from xlbridge.client import Client
from xlbridge.resources import load_catalogue
from xlbridge.resources.remote import Lookup
from xlbridge.sandbox import RunningSandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Sandbox of the demo company, whose registries the rows refer to."""
    folder = tmp_path_factory.mktemp("lookup-proofs")
    options = ["--seed", "demo", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder)) as running:
        yield running


@pytest.fixture
def system(sandbox: RunningSandbox) -> Iterator[httpx.Client]:
    """Plain HTTP calls of the sandbox, without the proxy."""
    with httpx.Client(base_url=sandbox.base_url, timeout=60) as http:
        login = {"email": sandbox.email, "password": sandbox.password}
        token = http.post("/v2/autenticar", json=login).json()["accessToken"]
        http.headers["Authorization"] = f"Bearer {token}"
        yield http


@pytest.fixture
def colleague(xlbridge: Xlbridge, proxy_environment: dict[str, str], tmp_path: Path) -> Run:
    """Run a command on another computer, whose journal knows none of the uploads."""
    environment = proxy_environment | {"XLBRIDGE_HOME": str(tmp_path / "colleague")}

    def run(*arguments: object) -> tuple[int, dict[str, Any]]:
        ended = xlbridge(*arguments, "--format", "json", **environment)
        assert ended.stdout, ended.stderr
        return ended.returncode, json.loads(ended.stdout)

    return run


def contact_names(system: httpx.Client, client_code: int) -> list[str]:
    names = []
    for number in range(1, 20):
        answer = system.get(f"/v2/clientecontato/{client_code}/{number}")
        if answer.status_code == httpx.codes.OK:
            names.append(answer.json()["data"]["nomeDoContato"])
    return names


@pytest.mark.parametrize("deleted", [1, 2])
def test_a_contact_behind_deleted_ones_is_found(
    client: Client,
    proxy: LossyProxy,
    system: httpx.Client,
    run: Run,
    tmp_path: Path,
    customer: int,
    deleted: int,
) -> None:
    names = ["Ana", "Bia", "Rita"]
    for name in names:
        body = {"codigoDoCliente": customer, "nome": name}
        assert system.post("/v2/clientecontato", json=body).is_success
    gone = {f"/v2/clientecontato/{customer}/{number}" for number in range(1, deleted + 1)}
    proxy.decide = lambda method, path: "absent" if path in gone else "pass"
    rows = [{"codigoDoCliente": customer, "nome": name} for name in ("Rita", "Zoe")]
    path = write_records(tmp_path / "contatos.xlsx", "clientecontato", rows)
    _, report = run("upload", path, "--yes")
    assert (report["plan"]["create"], report["plan"]["unchanged"]) == (1, 1), report
    assert contact_names(system, customer) == [*names, "Zoe"]


def day_first(value: Any) -> Any:
    """Return data with its dates as ``dd/MM/yyyy``."""
    if isinstance(value, dict):
        return {
            name: f"{one[8:10]}/{one[5:7]}/{one[:4]}{one[10:].replace('T', ' ')}"
            if isinstance(one, str) and name.startswith("data") and one[4:5] == "-"
            else day_first(one)
            for name, one in value.items()
        }
    return [day_first(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("resource", ["contaspagar", "contasreceber"])
def test_dates_with_the_day_first_match(
    proxy: LossyProxy, run: Run, tmp_path: Path, resource: str, system: httpx.Client
) -> None:
    rows = [
        {"numeroDoDocumento": f"D-{new_cnpj()}", "dataDeVencimento": date(2026, 12, day)}
        for day in (3, 30)
    ]
    path = write_records(tmp_path / "titulos.xlsx", resource, rows)
    proxy.reshape = lambda _path, data: day_first(data)
    code, report = run("upload", path, "--yes")
    assert (code, report["rows"]["created"]) == (0, 2), report
    code, report = run("upload", path, "--yes")
    assert (code, report["plan"]["unchanged"]) == (0, 2), report


def keyed_row(resource: str) -> dict[str, Any]:
    """Return a valid row of a resource with every key that a new record can have, all its own."""
    number = new_cnpj()
    title = {"dataDeVencimento": date(2026, 12, 3), "numeroDoDocumento": f"D-{number}"}
    keys: dict[str, dict[str, Any]] = {
        "cliente": {"cnpj": number, "seuCodigo": f"S-{number}"},
        "fornecedor": {"nomeComercial": "Vale Verde", "natureza": "J", "cnpj": number},
        "clientecontato": {"nome": f"Rita {number}"},
        "contaspagar": title,
        "contasreceber": title | {"idws": f"R-{number}"},
        "produto": {"codigoInterno": f"P-{number}", "codigoDeBarras": ean13(number)},
        "tipo-de-produto": {"descricaoDoTipoDeProduto": f"Tipo {number}"},
        "tipocliente": {"descricaoDoTipoDeCliente": f"Tipo {number}"},
        "categoriacliente": {"descricaoDaCategoriaDeCliente": f"Categoria {number}"},
        "centrodecusto": {
            "codigoDoCentroDeCusto": number,
            "descricaoDoCentroDeCusto": f"Centro {number}",
        },
        "planejamento": {"ano": 2000 + int(number[:8])},
        "enderecamento-de-produto": {},
    }
    return {**GOOD.get(resource, {}), **keys[resource]}


def ean13(number: str) -> str:
    digits = f"789{number[:8]}0"
    odd, even = sum(map(int, digits[::2])), sum(map(int, digits[1::2]))
    return f"{digits}{-(odd + 3 * even) % 10}"


def lookups_of(resource: str) -> Sequence[Lookup]:
    declared = load_catalogue()[resource].read_back
    return () if declared is None else declared.lookups


KEYED = [name for name, one in load_catalogue().items() if lookups_of(name) and one.base is None]


def write_row(path: Path, resource: str, row: Mapping[str, Any]) -> Path:
    return write_rows(path, list(row), [list(row.values())], sheet=resource)


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


@pytest.mark.parametrize(("resource", "number", "field"), list(shared_keys()))
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


def test_rows_whose_listing_was_dropped_are_not_new(
    proxy: LossyProxy, run: Run, colleague: Run, system: httpx.Client, tmp_path: Path
) -> None:
    """The documents are then looked up one by one, for which their codes have no filter."""
    code = f"S-{new_cnpj()}"
    body = {"nomeComercial": "Ana", "natureza": "J", "seuCodigo": code}
    assert system.post("/v2/cliente", json=body).is_success
    rows: list[dict[str, Any]] = [{"cnpj": None, "seuCodigo": code}]
    rows += [{"cnpj": new_cnpj(), "seuCodigo": None} for _ in range(51)]
    path = write_records(tmp_path / "clientes.xlsx", "cliente", rows)
    proxy.reshape = lambda _path, data: renamed(data, "cnpjcpf")
    _, report = colleague("upload", path, "--yes")
    assert report["plan"]["held"] == 1, report["plan"]
    assert [row["reason"] for row in report["not_created"]] == ["not-looked-up"]
    recent = {"dataInferior": f"{date.today():%d/%m/%Y}"}
    found = system.get("/v2/cliente", params=recent).json()["data"]
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
