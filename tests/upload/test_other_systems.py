"""Workbooks say to which system their record numbers belong; those of another match nothing."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from environment import Xlbridge, clean_environment, credentials
from libreoffice import save_with_libreoffice
from openpyxl import load_workbook
from sandboxes import sandbox_process
from sheets import edit, header_of, write_records

import xlbridge as xb
from xlbridge.errors import UsageError
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox
from xlbridge.workbook import WorkbookOrigin

_OTHER_SYSTEM = "has record numbers of another system"


class System:
    """A sandbox, called directly according to the spec, and by commands."""

    def __init__(self, running: RunningSandbox, xlbridge: Xlbridge) -> None:
        self.running = running
        self._xlbridge = xlbridge
        self._http = httpx.Client(base_url=running.base_url, timeout=60)
        login = {"email": running.email, "password": running.password}
        token = self._http.post("/v2/autenticar", json=login).json()["accessToken"]
        self._http.headers["Authorization"] = f"Bearer {token}"
        company = self._http.get("/v2/sistema/info").json()["data"]["codigoDaEmpresa"]
        self.identity = f"{running.base_url}#{company}"

    def close(self) -> None:
        self._http.close()

    def create(self, path: str, **body: Any) -> Any:
        answer = self._http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()["data"]

    def products(self) -> dict[int, tuple[str, str | None]]:
        """Return the description and the internal code of each product, by its number."""
        found = self._http.get("/v2/produto").json()["data"]
        return {
            one["idProduto"]: (one["descricaoDoProduto"], one.get("codigoInterno")) for one in found
        }

    def command(self, *arguments: object) -> Any:
        return self._xlbridge(*arguments, **credentials(self.running, XLBRIDGE_SETTLE="0"))

    def report(self, *arguments: object) -> tuple[int, dict[str, Any]]:
        ended = self.command(*arguments, "--format", "json")
        assert ended.stdout, ended.stderr
        return ended.returncode, json.loads(ended.stdout)

    def export(self, path: Path, *options: object, listing: str = "produtos") -> Path:
        ended = self.command("export", listing, "-o", path, *options)
        assert ended.returncode == 0, ended.stderr
        return path


def new_system(folder: Path, xlbridge: Xlbridge, products: Mapping[str, str]) -> Iterator[System]:
    with sandbox_process(folder, ["--seed", "empty"], clean_environment(folder)) as running:
        system = System(running, xlbridge)
        for code, name in products.items():
            system.create("/v2/produto", descricaoDoProduto=name, codigoInterno=code)
        yield system
        system.close()


@pytest.fixture
def first(tmp_path: Path, xlbridge: Xlbridge) -> Iterator[System]:
    """System from which workbooks are exported."""
    names = {"P-1": "Parafuso", "P-2": "Porca", "P-3": "Arruela"}
    yield from new_system(tmp_path / "first", xlbridge, names)


@pytest.fixture
def second(tmp_path: Path, xlbridge: Xlbridge) -> Iterator[System]:
    """System with other products of the same numbers, one of which has a key of the first one."""
    names = {"F-1": "Farinha", "F-2": "Fermento", "P-3": "Arruela lisa"}
    yield from new_system(tmp_path / "second", xlbridge, names)


def unchanged(path: Path) -> Path:
    return path


def saved_by_openpyxl(path: Path) -> Path:
    load_workbook(path).save(path)
    return path


def saved_by_libreoffice(path: Path) -> Path:
    (saved,) = save_with_libreoffice([path], path.parent / "saved")
    return saved


def saved_as_ods(path: Path) -> Path:
    (saved,) = save_with_libreoffice([path], path.parent / "saved", "ods")
    return saved


@pytest.mark.parametrize(
    "save",
    [
        unchanged,
        saved_by_openpyxl,
        pytest.param(saved_by_libreoffice, marks=pytest.mark.programs),
        pytest.param(saved_as_ods, marks=pytest.mark.programs),
    ],
)
def test_an_export_of_another_system_changes_nothing_here(
    first: System, second: System, tmp_path: Path, save: Callable[[Path], Path]
) -> None:
    path = save(first.export(tmp_path / "produtos.xlsx", "--as-template", "produto"))
    before = second.products()
    assert before.keys() == first.products().keys()
    for options in ((), ("--update",)):
        refused = second.command("upload", path, *options, "--yes")
        assert refused.returncode == 2
        assert _OTHER_SYSTEM in refused.stderr
        assert first.identity in refused.stderr
        assert second.identity in refused.stderr
        assert "--foreign-numbers" in refused.stderr
    assert second.products() == before
    code, report = second.report("upload", path, "--update", "--foreign-numbers", "--yes")
    assert code == 0
    assert (report["rows"]["created"], report["rows"]["updated"]) == (2, 1)
    after = second.products()
    assert sorted(after.values()) == sorted(
        [*list(before.values())[:2], *first.products().values()]
    )
    assert after[max(before)] == ("Arruela", "P-3")


def test_an_export_comes_back_to_its_system_by_its_numbers(first: System, tmp_path: Path) -> None:
    path = first.export(tmp_path / "produtos.xlsx", "--as-template", "produto")
    edit(path, "codigoInterno", 3, "P-9")
    code, report = first.report("upload", path, "--update", "--yes")
    assert (code, report["rows"]["updated"], report["rows"]["unchanged"]) == (0, 1, 2)
    assert sorted(code or "" for _, code in first.products().values()) == ["P-1", "P-3", "P-9"]


def test_workbooks_say_what_they_belong_to(
    first: System, tmp_path: Path, catalogue: Catalogue
) -> None:
    fingerprint = catalogue["produto"].fingerprint
    path = first.export(tmp_path / "import.xlsx", "--as-template")
    origin = WorkbookOrigin(
        resource="produto", language="en", system=first.identity, template=fingerprint
    )
    assert WorkbookOrigin.of(path) == origin
    migrated = tmp_path / "migrated.xlsx"
    moved = first.command("template", "produto", "--migrate", path, "-o", migrated)
    assert moved.returncode == 0, moved.stderr
    assert WorkbookOrigin.of(migrated) == origin
    path = first.export(tmp_path / "listing.xlsx")
    origin = WorkbookOrigin(
        resource="produto", language="en", system=first.identity, export="produtos"
    )
    assert WorkbookOrigin.of(path) == origin
    assert WorkbookOrigin.of(first.export(tmp_path / "listing.csv")) is None
    blank = tmp_path / "blank.xlsx"
    assert first.command("template", "produto", "-o", blank).returncode == 0
    origin = WorkbookOrigin(resource="produto", language="en", template=fingerprint)
    assert WorkbookOrigin.of(blank) == origin


def test_python_and_batches_refuse_it_too(
    first: System,
    second: System,
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = first.export(tmp_path / "produtos.xlsx", "--as-template", "produto")
    before = second.products()
    for name, value in credentials(second.running, XLBRIDGE_HOME=str(home)).items():
        monkeypatch.setenv(name, value)
    with xb.connect() as erp:
        report = xb.validate(path)
        with pytest.raises(UsageError, match=_OTHER_SYSTEM):
            erp.plan(report, update=True)
        with pytest.raises(UsageError, match=_OTHER_SYSTEM):
            erp.upload(report, update=True, yes=True)
        assert erp.plan(report, update=True, foreign_numbers=True).counts["update"] == 1
    plan = tmp_path / "plan.yaml"
    step = {"upload": "produtos.xlsx", "resource": "produto", "update": True}
    document = {"version": 1, "name": "mudanca", "steps": {"produtos": step}}
    plan.write_text(yaml.safe_dump(document))
    _, planned = second.report("batch", "run", plan, "--yes")
    assert _OTHER_SYSTEM in json.dumps(planned)
    assert second.products() == before
    step["foreign_numbers"] = True
    plan.write_text(yaml.safe_dump(document))
    code, done = second.report("batch", "run", plan, "--yes")
    assert (code, done["rows"]["accepted"]) == (0, 3)


def test_records_of_another_system_are_not_processed(
    first: System, second: System, tmp_path: Path
) -> None:
    for system in (first, second):
        person = system.create("/v2/cliente", nomeComercial="Ana", natureza="F")
        system.create(
            "/v2/faturamento/pedido",
            codigoDaFilial=1,
            codigoDoCliente=person["codigoDoCliente"],
            codigoDaCondicaoDePagamento=2,
            dataDaOrdem="2026-11-03",
            produtos=[{"idProduto": min(system.products()), "quantidade": 2, "valorUnitario": 5.0}],
        )
    path = first.export(tmp_path / "pedidos.xlsx", listing="pedidos")
    refused = second.command("process", "pedidos", path, "--yes")
    assert refused.returncode == 2
    assert _OTHER_SYSTEM in refused.stderr
    assert first.command("process", "pedidos", path, "--yes").returncode == 0


def test_a_number_and_a_key_of_two_records_hold_the_row(second: System, tmp_path: Path) -> None:
    before = second.products()
    one, two, three = before
    path = write_records(
        tmp_path / "sem-origem.xlsx",
        "produto",
        [
            {"descricaoDoProduto": "Trocado", "codigoInterno": "F-2", "idProduto": one},
            {"descricaoDoProduto": "Renomeado", "codigoInterno": "N-1", "idProduto": three},
            {"descricaoDoProduto": "De outro", "codigoInterno": "N-2", "idProduto": 999},
        ],
    )
    code, report = second.report("upload", path, "--update", "--yes")
    assert (code, report["rows"]["held"], report["rows"]["updated"]) == (1, 2, 1), report
    assert second.products() == before | {three: ("Renomeado", "N-1")}
    held = {row["row"]: row for row in report["not_created"]}
    assert held[2]["reason"] == "two-records"
    assert f"number: record {one}; codigoInterno F-2: record {two}" in held[2]["message"]
    assert held[4]["reason"] == "unknown-number"
    assert "idProduto 999" in held[4]["message"]
    assert "accepted" not in held[4]["message"]
    # Its rejects workbook keeps the numbers, so that the rows do not become those of their keys.
    rejects = Path(report["rejects_file"])
    _, report = second.report("retry", rejects, "--yes")
    assert (report["rows"]["held"], report["rows"]["updated"]) == (2, 0), report
    edit(rejects, "codigoInterno", 2, "F-1")
    code, report = second.report("retry", rejects, "--yes")
    assert (report["rows"]["held"], report["rows"]["updated"]) == (1, 1), report
    assert second.products() == before | {one: ("Trocado", "F-1"), three: ("Renomeado", "N-1")}
    code, report = second.report("upload", path, "--update", "--foreign-numbers", "--yes")
    assert report["rows"]["created"] == 1
    assert second.products().keys() - before.keys() == {three + 1}


def test_a_status_copy_keeps_the_system_of_its_numbers(
    first: System, second: System, tmp_path: Path
) -> None:
    path = first.export(tmp_path / "produtos.xlsx", "--as-template", "produto")
    copy = tmp_path / "copia.xlsx"
    sent = second.command("upload", path, "--foreign-numbers", "--yes", "--annotate", copy)
    assert sent.returncode == 1  # The product with a key of both systems differs.
    before = second.products()
    refused = second.command("upload", copy, "--update", "--yes")
    assert _OTHER_SYSTEM in refused.stderr
    # The copy says to which upload it belongs, whose rows had no numbers.
    edit(copy, "descricaoDoProduto", 4, "Arruela lisa")
    code, report = second.report("retry", copy, "--yes")
    assert (code, report["rows"]["created"], report["rows"]["updated"]) == (0, 0, 0)
    assert second.products() == before


def test_a_template_with_lists_belongs_to_the_system_of_its_lists(
    first: System, second: System, tmp_path: Path
) -> None:
    """Numbers that are filled into it are those of the system that it lists."""
    path = tmp_path / "produto.xlsx"
    made = first.command("template", "produto", "--with-lists", "-o", path)
    assert made.returncode == 0, made.stderr
    origin = WorkbookOrigin.of(path)
    assert origin is not None
    assert origin.system == first.identity
    book = load_workbook(path)
    sheet = book["produto"]
    names = [*header_of(sheet), "idProduto"]
    sheet.cell(1, len(names)).value = "idProduto"
    number = next(n for n, (name, _) in first.products().items() if name == "Parafuso")
    record = {"codigoInterno": "P-1", "descricaoDoProduto": "Parafuso", "idProduto": number}
    for name, value in record.items():
        sheet.cell(2, names.index(name) + 1).value = value
    book.save(path)
    refused = second.command("upload", path, "--update", "--yes")
    assert refused.returncode == 2, refused.stdout
    assert _OTHER_SYSTEM in refused.stderr
    sent = first.command("upload", path, "--update", "--yes")
    assert sent.returncode == 0, sent.stdout + sent.stderr
