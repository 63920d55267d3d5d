"""A key that nearly equals one in the system holds its row, which names the record meant."""

import itertools
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from databases import database_options
from environment import Xlbridge, clean_environment
from lookup_parts import KEYED, keyed_row, lookups_of, write_row
from lossy_proxy import LossyProxy
from sampling import sampled
from sandboxes import sandbox_process
from update_parts import Run, writes
from upload_parts import new_cnpj

from xlbridge.resources import Kind, load_catalogue
from xlbridge.sandbox import RunningSandbox
from xlbridge.upload.lookup import RowMatcher


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Sandbox of the demo company, whose registries the rows refer to."""
    folder = tmp_path_factory.mktemp("near-keys")
    options = ["--seed", "demo", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder), few=True) as running:
        yield running


def text_keys() -> Iterator[tuple[str, str]]:
    """Yield each resource with a column of its keys that is free text and read in a listing."""
    for resource in KEYED:
        columns, row = load_catalogue()[resource].by_name, keyed_row(resource)
        for lookup in lookups_of(resource):
            for name in lookup.key.keys() - lookup.filters.values() & row.keys() - _FIXED:
                if columns[name].kind in {Kind.TEXT, Kind.CODE} and resource != "planejamento":
                    yield resource, name


_FIXED = {"codigoDeBarras", "CodigoDeBarras", "codigoDoItemDeLancamento", "codigoDaSecao"}
"""Columns of keys whose texts are checked, or name other records, as do those of a budget."""

FORMS: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "lost zeros": (lambda n: f"000{n}", lambda n: n.lstrip("0")),
    "gained zeros": (lambda n: n.lstrip("0"), lambda n: f"00{n}"),
    "case": (lambda n: f"açaí-{n}", lambda n: f"AÇAÍ-{n}"),
    "accents": (lambda n: f"Açaí {n}", lambda n: f"Acai {n}"),
    "spaces": (lambda n: f"Kit {n} A", lambda n: f"Kit{n}A"),
}


KEYS = sorted(set(text_keys()))


@pytest.mark.parametrize(
    ("key", "form"),
    # Each form once, with every other key.
    sampled(itertools.product(KEYS, FORMS), lambda index, _: index % (2 * len(FORMS) + 1) == 0),
)
def test_a_row_with_a_near_key_is_held_for_the_record_meant(
    proxy: LossyProxy,
    run: Run,
    colleague: Run,
    tmp_path: Path,
    key: tuple[str, str],
    form: str,
) -> None:
    resource, column = key
    number = new_cnpj()[:8]
    stored, typed = (write(number) for write in FORMS[form])
    # A client with a document is looked up by it, not in the whole listing.
    first, second = (keyed_row(resource) | {"cnpj": None} for _ in range(2))
    first[column] = stored
    path = write_row(tmp_path / "gravada.xlsx", resource, first)
    code, report = run("upload", path, "--yes")
    assert (code, report["rows"]["created"]) == (0, 1), report
    for lookup in lookups_of(resource):
        if column in lookup.key:
            second |= {name: first.get(name) for name in lookup.key}
    second[column] = typed
    path = write_row(tmp_path / "digitada.xlsx", resource, second)
    proxy.seen.clear()
    for options in ((), ("--update",)):
        code, report = colleague("upload", path, *options, "--yes")
        (held,) = report["not_created"]
        assert (code, held["action"], held["reason"]) == (1, "held", "near-key"), held
        assert f"{column} {stored}: record {held['record']}" in held["message"]
        assert writes(proxy) == []
    _, report = colleague("upload", path, "--again", "são dois", "--yes")
    # The system itself refuses some of them.
    assert (report["plan"]["create"], len(writes(proxy)) > 0) == (1, True), report


@pytest.fixture
def product(http: httpx.Client) -> Callable[[str], int]:
    """Create a product with an internal code in the system; return its number."""

    def create(code: str) -> int:
        body = {"descricaoDoProduto": f"Produto {code}", "codigoInterno": code}
        number = http.post("/v2/produto", json=body).json()["data"]["idProduto"]
        assert isinstance(number, int)
        return number

    return create


def codes_with(http: httpx.Client, part: str) -> list[str]:
    found = [one.get("codigoInterno") or "" for one in http.get("/v2/produto").json()["data"]]
    return sorted(code for code in found if part in unicodedata.normalize("NFC", code))


def product_row(code: str) -> dict[str, Any]:
    return {"descricaoDoProduto": f"Produto {code}", "codigoInterno": code}


def test_near_keys_are_reported_before_anything_is_sent(
    product: Callable[[str], int],
    colleague: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    http: httpx.Client,
    tmp_path: Path,
) -> None:
    number = new_cnpj()
    first, second = product(f"000{number}"), product(f"0{number}")
    path = write_row(tmp_path / "produto.xlsx", "produto", product_row(number))
    code, report = colleague("validate", path, "--online")
    (finding,) = report["files"][0]["findings"]
    assert (code, finding["code"], finding["severity"]) == (0, "record-near", "warning"), finding
    named = f"codigoInterno 000{number}: record {first}; codigoInterno 0{number}: record {second}"
    assert named in finding["message"]
    told = xlbridge("upload", path, "--yes", **proxy_environment)
    assert named in told.stderr + told.stdout
    told = xlbridge("upload", path, "--yes", **proxy_environment, XLBRIDGE_LANG="pt-BR")
    assert f"codigoInterno 000{number}: registro {first}" in told.stderr + told.stdout
    assert codes_with(http, number) == [f"000{number}", f"0{number}"]


def test_the_record_of_the_same_key_comes_before_near_ones(
    product: Callable[[str], int], colleague: Run, http: httpx.Client, tmp_path: Path
) -> None:
    number = new_cnpj()
    product(f"A{number}")
    product(f"a{number}")
    path = write_row(tmp_path / "produto.xlsx", "produto", product_row(f"a{number}"))
    code, report = colleague("upload", path, "--yes")
    assert (code, report["plan"]["unchanged"]) == (0, 1), report
    assert codes_with(http, number) == [f"A{number}", f"a{number}"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_an_unedited_export_is_unchanged_in_either_form_of_unicode(
    product: Callable[[str], int],
    run: Run,
    colleague: Run,
    proxy: LossyProxy,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    tmp_path: Path,
    form: Literal["NFC", "NFD"],
) -> None:
    number = new_cnpj()
    product(unicodedata.normalize(form, f"AÇAÍ-{number}"))
    path = tmp_path / "produtos.xlsx"
    exported = xlbridge(
        "export", "produtos", "-o", path, "--as-template", "produto", **proxy_environment
    )
    assert exported.returncode == 0, exported.stderr
    proxy.seen.clear()
    code, report = colleague("upload", path, "--update", "--yes")
    assert (code, report["plan"]["unchanged"]) == (0, report["rows"]["read"]), report["plan"]
    others: list[Literal["NFC", "NFD"]] = ["NFC", "NFD"]
    for other in others:
        typed = unicodedata.normalize(other, f"AÇAÍ-{number}")
        path = write_row(tmp_path / f"{other}.xlsx", "produto", product_row(typed))
        code, report = colleague("upload", path, "--update", "--yes")
        assert (code, report["plan"]["unchanged"]) == (0, 1), report
    assert writes(proxy) == []


def test_texts_have_the_same_forms_together_and_alone() -> None:
    resource = load_catalogue().named("contasreceber")
    assert resource.read_back is not None
    matcher = RowMatcher(resource, resource.read_back)
    texts = ["Nº 01", None, "", "e\u0301 X", "\u0301y", "a\0b", "0", "0007", "Straße"]
    alone = [matcher.near_forms("numeroDoDocumento", [text])[0] for text in texts]
    assert matcher.near_forms("numeroDoDocumento", texts) == alone
    assert alone == ["no01", None, "", "ex", "y", "ab", "0", "7", "strasse"]
    assert matcher.near_forms("numeroDoDocumento", []) == []
