"""Rows with keys, for tests of the look-up of their records."""

import itertools
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import httpx
from sheets import GOOD, write_rows
from upload_parts import new_cnpj

from xlbridge.resources import load_catalogue
from xlbridge.resources.remote import Lookup


def contact_names(http: httpx.Client, client_code: int) -> list[str]:
    names = []
    for number in range(1, 20):
        answer = http.get(f"/v2/clientecontato/{client_code}/{number}")
        if answer.status_code == httpx.codes.OK:
            names.append(answer.json()["data"]["nomeDoContato"])
    return names


# The demo company has planned this year, and later tests correct the month to February.
_months = (
    {"ano": year, "mes": month}
    for year in itertools.count(datetime.now().year + 1)
    for month in range(3, 13)
)


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
        "planejamento": next(_months),
        "enderecamento-de-produto": {},
    }
    return {**GOOD.get(resource, {}), **keys[resource]}


def ean13(number: str) -> str:
    """Return a barcode of a prefix that no product of the demo company has."""
    digits = f"7899{number[:8]}"
    odd, even = sum(map(int, digits[::2])), sum(map(int, digits[1::2]))
    return f"{digits}{-(odd + 3 * even) % 10}"


def lookups_of(resource: str) -> Sequence[Lookup]:
    declared = load_catalogue()[resource].read_back
    return () if declared is None else declared.lookups


KEYED = [name for name, one in load_catalogue().items() if lookups_of(name) and one.base is None]


def write_row(path: Path, resource: str, row: Mapping[str, Any]) -> Path:
    return write_rows(path, list(row), [list(row.values())], sheet=resource)
