"""An installation with quirks is used like one without, given the file that declares them."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from databases import database_options
from environment import ROOT, Xlbridge, clean_environment, credentials
from fake_clock import FakeClock
from make_month import Month, all_rows, write_month
from openpyxl import load_workbook
from sampling import sampled
from sandboxes import create_database, sandbox_process
from sheets import data_sheet, header_of, write_records
from upload_parts import AT_ONCE, new_cnpj, write_job

from xlbridge.connection import connect
from xlbridge.errors import ConfigError, InDoubt
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.resources.quirks_file import read_quirks
from xlbridge.settings import read_settings
from xlbridge.upload import Journal, UploadContext, Uploads
from xlbridge.wire.imports import Quirks

TENANTS = sorted((ROOT / "samples/quirks").glob("*.quirks.yaml"))
SAMPLE = ("everything-else.quirks.yaml", "rows-from-zero.quirks.yaml")
DOCUMENTS = [new_cnpj() for _ in range(3)]
RESOURCES = {
    "cliente",
    "fornecedor",
    "produto",
    "contasreceber",
    "contaspagar",
    "nota-fiscal-servico",
    "pedido",
    "enderecamento-de-produto",
}
DUE = date(2026, 12, 10)
NOW = datetime(2026, 10, 1, 12)

Report = dict[str, Any]


class Tenant:
    """A sandbox, commands that use it, and its quirks file."""

    def __init__(self, xlbridge: Xlbridge, folder: Path, environment: dict[str, str]) -> None:
        self._xlbridge = xlbridge
        self.environment = {"XLBRIDGE_HOME": str(folder / "home"), **environment}
        self.folder = folder
        self.quirks_file = folder / "home/profiles.d/rehearsal.quirks.yaml"

    def declare(self, quirks: str | Path | None) -> None:
        """Write the quirks file that commands use, or remove it."""
        self.quirks_file.parent.mkdir(parents=True, exist_ok=True)
        match quirks:
            case None:
                self.quirks_file.unlink(missing_ok=True)
            case str():
                self.quirks_file.write_text(quirks, "utf-8")
            case _:
                shutil.copyfile(quirks, self.quirks_file)

    def run(self, *arguments: object, **environment: str) -> tuple[int, Report]:
        """Run a command that reports in JSON; return its exit code and its report."""
        ended = self._xlbridge(
            *arguments, "--format", "json", **{**self.environment, **environment}
        )
        assert ended.stdout, ended.stderr
        return ended.returncode, json.loads(ended.stdout)

    def text(self, *arguments: object, **environment: str) -> str:
        """Run a command; return all that it prints."""
        ended = self._xlbridge(*arguments, **{**self.environment, **environment})
        return ended.stdout + ended.stderr

    def clients(self, *documents: str, name: str = "clientes.xlsx") -> Path:
        """Write a workbook of clients."""
        rows = [{"cnpj": one, "nomeComercial": f"Cliente {one}"} for one in documents]
        return write_records(self.folder / name, "cliente", rows)

    def receivables(self, document: str, *customers: int) -> Path:
        """Write a workbook of receivables."""
        rows = [
            {
                "codigoDoCliente": one,
                "numeroDoDocumento": f"{document}-{n}",
                "dataDeVencimento": DUE,
            }
            for n, one in enumerate(customers)
        ]
        return write_records(self.folder / f"receber-{document}.xlsx", "contasreceber", rows)

    def payables(self, document: str, count: int = 2) -> Path:
        """Write a workbook of payables, with fields whose spelling the interface leaves open."""
        rows = [
            {
                "numeroDoDocumento": f"{document}-{n}",
                "dataDeVencimento": DUE,
                "ValorPISRetido": 0.65,
                "ValorBruto": 95.65,
            }
            for n in range(count)
        ]
        return write_records(self.folder / f"pagar-{document}.xlsx", "contaspagar", rows)

    def exported(self, listing: str, *options: object) -> list[dict[str, Any]]:
        """Export a listing; return its records."""
        path = self.folder / f"{listing}.jsonl"
        said = self.text("export", listing, "-o", path, "--force", *options)
        assert path.exists(), said
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


Start = Callable[..., Tenant]


@pytest.fixture
def start(tmp_path: Path, xlbridge: Xlbridge) -> Iterator[Start]:
    """Start a sandbox with quirks, which commands know too."""
    with ExitStack() as stack:

        def start(quirks: str | Path | None, seed: str = "empty") -> Tenant:
            folder = tmp_path / f"tenant-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            options = ["--seed", seed, *database_options(folder)]
            if isinstance(quirks, str):
                (folder / "quirks.yaml").write_text(quirks, "utf-8")
            if quirks is not None:
                file = quirks if isinstance(quirks, Path) else folder / "quirks.yaml"
                options += ["--quirks", str(file)]
            own = clean_environment(folder)
            running = stack.enter_context(
                sandbox_process(folder, options, own, ignore_run_options=True, few=seed == "demo")
            )
            environment = credentials(running, XLBRIDGE_SETTLE="0")
            tenant = Tenant(xlbridge, folder, environment)
            tenant.declare(quirks)
            return tenant

        yield start


_GENERATED = {"ultimaAtualizacao", "dataDeInclusao", "numeroDaTransacao"}
"""Fields that depend on the time, and on the order of concurrent requests."""


def outcome(tenant: Tenant) -> list[object]:
    """Send and export what a month has; return all that must not depend on quirks."""
    ends: list[object] = []

    def end(*command: object) -> None:
        code, report = tenant.run("upload", *command, "--yes")
        rejected = [(row["row"], row["column"], row["message"]) for row in report["rejected"]]
        ends.append((code, report["state"], report["rows"], rejected, report["lost_fields"]))

    end(tenant.clients(*DOCUMENTS), "--mode", "queue")
    client = tenant.exported("cliente")[0]["codigoDoCliente"]
    bad = tenant.receivables("R", client, 999_999, client)
    for mode in ("direct", "queue"):
        end(bad, "--mode", mode, "--no-preview")
    end(tenant.receivables("S", client, client), "--mode", "records")
    for mode in ("queue", "records"):
        end(tenant.payables(mode), "--mode", mode)
    end(tenant.payables("queue"), "--mode", "queue")
    month = ["--from", f"{datetime.now() - timedelta(days=2):%d/%m/%Y}"]
    to = ["--to", f"{datetime.now():%d/%m/%Y %H:%M}"]
    for listing, options in {
        "cliente": [*month, *to],
        "contasreceber": [],
        "contaspagar": [],
    }.items():
        records = tenant.exported(listing, *options)
        kept = [{n: v for n, v in one.items() if n not in _GENERATED} for one in records]
        ends.append(sorted(kept, key=json.dumps))
    return ends


@pytest.mark.parametrize("quirks", sampled(TENANTS, lambda _, file: file.name == SAMPLE[0]))
def test_an_installation_with_quirks_gives_the_same_outcome(start: Start, quirks: Path) -> None:
    expected = outcome(start(None))
    assert [one[1] for one in expected if isinstance(one, tuple)] == [
        *("done", "rejected", "partial", "done", "done", "done", "done"),
    ]
    assert outcome(start(quirks)) == expected


MONTH = Month(workbooks=8, rows=3, seed="quirks")


@pytest.mark.parametrize("quirks", sampled(TENANTS, lambda _, file: file.name == SAMPLE[1]))
def test_the_month_of_the_samples_has_the_same_proof(start: Start, quirks: Path) -> None:
    tenant = start(quirks, "demo")
    write_month(tenant.folder / "month", MONTH)
    plan = tenant.folder / "month/plan.yaml"
    code, report = tenant.run("batch", "run", plan, "--month", MONTH.month, "--yes")
    assert (code, report["done"]) == (0, True), report
    (proof,) = report["proofs"]
    assert (proof["quirks"], proof["settled"]) == (str(tenant.quirks_file), True)
    assert proof["rows"] == {"read": 24, "read_back": 21}
    assert {one["resource"] for one in proof["resources"]} == RESOURCES
    for one in proof["resources"]:
        is_keyed = one["resource"] != "nota-fiscal-servico"
        assert (one["accepted"], one["read_back"]) == (3, 3 if is_keyed else 0), one
        assert not is_keyed or one["amount"] == one["amount_read_back"], one
    assert str(tenant.quirks_file) in Path(proof["page"]).read_text("utf-8")
    book = load_workbook(tenant.folder / "month/saida" / f"{MONTH.month}-contas-a-receber.xlsx")
    titles = [
        row for row in all_rows(MONTH) if {"codigoDoCliente", "numeroDoDocumento"} <= row.keys()
    ]
    documents = {row["numeroDoDocumento"] for row in titles}
    assert len(documents) == 3
    cells = {str(cell) for sheet in book.worksheets for row in sheet.values for cell in row}
    assert documents <= cells


def test_a_queue_that_waits_says_so(start: Start, catalogue: Catalogue) -> None:
    tenant = start("queue: {cliente: waits}")
    tenant.declare(None)
    path = tenant.clients(new_cnpj())
    clock = FakeClock()
    settings = read_settings(tenant.environment)
    with (
        connect(settings, print) as client,
        closing(Journal(settings.journal, clock)) as journal,
    ):
        context = UploadContext(settings, catalogue, journal)
        job = write_job(context, client, path, "queue")
        options = replace(AT_ONCE, preview=False, settle_seconds=60, sleep=clock.advance)
        with pytest.raises(InDoubt, match="processar-arquivo") as caught:
            Uploads(context, client).run(job, options)
    assert "queue: {cliente: waits}" in str(caught.value.hint)
    assert clock.at > FakeClock().at + timedelta(seconds=60)
    tenant.declare("queue: {cliente: waits}")
    code, report = tenant.run("resume", job.id)
    assert (code, report["state"], report["rows"]["accepted"]) == (0, "done", 1), report


def test_quirks_are_shown_where_the_environment_is(start: Start) -> None:
    tenant = start("first_line: 1")
    _, done = tenant.run("upload", tenant.clients(new_cnpj()), "--yes")
    assert done["target"]["quirks"] == str(tenant.quirks_file)
    shown = f"Quirks: {tenant.quirks_file}"
    assert shown in tenant.text("jobs", done["job"])
    assert shown in tenant.text("upload", tenant.clients(new_cnpj()), "--yes")
    assert shown in tenant.text("export", "cliente", "-o", tenant.folder / "shown.jsonl")
    page = tenant.folder / "job.html"
    tenant.text("jobs", done["job"], "-o", page)
    assert str(tenant.quirks_file) in page.read_text("utf-8")
    assert str(tenant.quirks_file) in tenant.text("whoami")
    assert str(tenant.quirks_file) in tenant.text("doctor")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("log_words: {Pronto: over}", "1: log_words.Pronto: 'over' is not known"),
        ("first_line: 3", "1: first_line: 3 is not known"),
        ("\nqueue:\n  clientes: waits", "3: queue.clientes: 'clientes' is not known"),
        ("queue: {pedido: waits}", "1: queue.pedido: 'pedido' is not known"),
        ("spellings: {valorBruto: x}", "valorBruto is not a field of the interface. Did you mean"),
        ("names: {x: nomeComercio}", "nomeComercio is not a field of the interface"),
        ("spelings: {}", "'spelings' is not known; did you mean spellings?"),
        ("- a", "a block of keys and values"),
        ("first_line: [", "this is not valid YAML"),
    ],
)
def test_mistakes_in_a_quirks_file_are_told_with_their_lines(
    xlbridge: Xlbridge, home: Path, tmp_path: Path, text: str, message: str
) -> None:
    file = home / "profiles.d/sandbox.quirks.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    for command in (["whoami"], ["sandbox", "--quirks", file], ["doctor"]):
        ended = xlbridge(*command)
        assert (ended.returncode, message in ended.stdout + ended.stderr) == (2, True), ended


def test_mistakes_of_a_quirks_file_come_in_the_order_of_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "erp.quirks.yaml"
    path.write_text("queue: {nada: waits}\nspellings: {nenhum: x}\n", "utf-8")
    with pytest.raises(ConfigError) as refused:
        read_quirks(path, load_catalogue())
    first, second = str(refused.value.message).splitlines()
    assert (":1: queue.nada" in first, ":2: spellings.nenhum" in second) == (True, True)


SECTION = """\
[profiles.rehearsal]
base_url = "{XLBRIDGE_BASE_URL}"
email = "{XLBRIDGE_EMAIL}"

[profiles.rehearsal.quirks]  # seen in November
"""


def test_the_section_of_a_profile_declares_quirks_too(start: Start) -> None:
    tenant = start("first_line: 1\nnames: {NOME_COMERCIAL: nomeComercial}")
    tenant.declare(None)
    profiles = tenant.folder / "home/profiles.toml"
    section = SECTION.format(**tenant.environment)
    profiles.write_text(section + 'names = {NOME_COMERCIAL = "nomeComercial"}\n', "utf-8")
    code, done = tenant.run("upload", tenant.clients(DOCUMENTS[0]), "--yes")
    assert (code, done["target"]["quirks"]) == (0, str(profiles)), done
    assert [one["nomeComercial"] for one in tenant.exported("cliente")] == [
        f"Cliente {DOCUMENTS[0]}"
    ]
    assert contact(tenant, "--write-quirks")["first_line"] == "seen"
    text = profiles.read_text("utf-8")
    assert "first_line = 1" in text
    assert "# seen in November" in text
    assert "seen" not in contact(tenant).values()
    profiles.write_text(section + "first_line = 3\n", "utf-8")
    assert "profiles.rehearsal.quirks.first_line: 3 is not known" in tenant.text("whoami")
    profiles.write_text(section, "utf-8")
    tenant.declare("first_line: 1")
    assert "keep one of them" in tenant.text("whoami")


def test_the_sandbox_of_a_profile_is_not_changed_by_the_quirks_of_another(
    xlbridge: Xlbridge, home: Path
) -> None:
    file = home / "profiles.d/other.quirks.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("first_line: [", "utf-8")
    create_database(home, [])
    assert xlbridge("whoami").returncode == 0


def contact(tenant: Tenant, *options: str) -> dict[str, str]:
    """Make the first contact; return what was found about each quirk."""
    code, report = tenant.run("doctor", "--first-contact", *options)
    assert code == 0, report
    return {one["quirk"]: one["certainty"] for one in report["quirks"]}


def test_a_first_contact_tells_what_only_a_write_can_show(start: Start) -> None:
    tenant = start(None)
    assert contact(tenant) == {
        "log_words": "unknown",
        "file_names": "unknown",
        "queue": "unknown",
        "first_line": "as assumed",
        "line_breaks": "as assumed",
        "names": "unknown",
        "keys": "unknown",
        "filters": "unknown",
        "window_end": "unknown",
        "spellings": "unknown",
    }
    assert tenant.exported("cliente") == []


def test_a_first_contact_tells_which_assumptions_about_records_hold(start: Start) -> None:
    tenant = start(None, "demo")
    found = contact(tenant)
    assert (found["keys"], found["filters"], found["window_end"]) == ("as assumed",) * 3
    # An installation with other names, without the file that maps them.
    hiding = start("names: {documento: numeroDoDocumento, doc: cnpjcpf}", "demo")
    hiding.declare(None)
    found = contact(hiding)
    assert (found["keys"], found["filters"], found["names"]) == ("seen", "unknown", "as assumed")


def test_a_first_contact_after_an_upload_writes_the_quirks_that_it_saw(start: Start) -> None:
    declared = """\
log_words: {Na fila: pending, Concluído: finished}
first_line: 0
file_names: own
names: {NOME_COMERCIAL: nomeComercial}
window_end: exclusive
line_breaks: "<br>"
"""
    tenant = start(declared)
    # A record written in the first second of a minute cannot show how the ends of windows are read.
    while not 1 <= datetime.now().second <= 50:
        sleep(0.2)
    code, _ = tenant.run("upload", tenant.clients(*DOCUMENTS), "--yes", "--mode", "queue")
    assert code == 0
    tenant.declare(None)
    found = contact(tenant, "--write-quirks")
    assert {name for name, certainty in found.items() if certainty == "seen"} == {
        *("log_words", "first_line", "file_names", "names", "window_end", "line_breaks"),
    }
    written = read_quirks(tenant.quirks_file, load_catalogue())
    assert written == Quirks(
        log_words={"Concluído": "finished"},
        first_line=0,
        file_names="own",
        names={"NOME_COMERCIAL": "nomeComercial"},
        window_end="exclusive",
        line_breaks="<br>",
    )
    assert "seen" not in contact(tenant).values()
    assert "nothing was written" in tenant.text("doctor", "--first-contact", "--write-quirks")


def test_a_declared_end_of_windows_stays_if_no_record_tells_it_from_the_other(
    start: Start,
) -> None:
    tenant = start("window_end: minute")
    while not 1 <= datetime.now().second <= 50:
        sleep(0.2)
    code, _ = tenant.run("upload", tenant.clients(*DOCUMENTS), "--yes")
    assert (code, contact(tenant)["window_end"]) == (0, "as assumed")


def test_spellings_are_found_by_previews_and_by_lost_fields(start: Start) -> None:
    spelled = "spellings: {ValorBruto: ValorBruto, ValorPISRetido: valorPISRetido}"
    tenant = start(spelled)
    tenant.declare(None)

    def spellings(*options: str) -> tuple[str, str]:
        _, report = tenant.run("doctor", "--first-contact", *options)
        return next(
            (one["certainty"], one["message"])
            for one in report["quirks"]
            if one["quirk"] == "spellings"
        )

    certainty, message = spellings("--write-quirks")
    assert (certainty, tenant.exported("contaspagar")) == ("seen", [])
    assert "taken in the other spelling only: ValorPISRetido → valorPISRetido;" in message
    assert "taken in either spelling: PeriodoDeCompetencia, CodigoDeBarras," in message
    assert "only a write shows" in message
    read = read_quirks(tenant.quirks_file, load_catalogue())
    assert read == Quirks(spellings={"ValorPISRetido": "valorPISRetido"})
    code, report = tenant.run("upload", tenant.payables("A"), "--mode", "records", "--yes")
    assert [one["column"] for one in report["lost_fields"]] == ["ValorBruto"]
    certainty, message = spellings("--write-quirks")
    assert (certainty, "ValorBruto → ValorBruto" in message) == ("seen", True)
    code, report = tenant.run("upload", tenant.payables("B"), "--mode", "records", "--yes")
    assert (code, report["lost_fields"]) == (0, []), report


def make_invoices(tenant: Tenant, **fields: object) -> Path:
    """Write a workbook of service invoices, which have no key."""
    rows = [{"codigoDoCliente": 1001, "valorDoServico": n, **fields} for n in (10, 20)]
    return write_records(tenant.folder / "notas.xlsx", "nota-fiscal-servico", rows)


def test_a_field_with_an_open_spelling_of_records_without_a_key_is_not_lost_in_silence(
    start: Start,
) -> None:
    quirks = "spellings: {CodigoNBS: CodigoNBS}"
    tenant = start(quirks, "demo")
    tenant.declare(None)
    path = make_invoices(tenant, CodigoNBS="1.0101.11.00")
    command = ("upload", path, "--mode", "records", "--yes")
    code, report = tenant.run(*command)
    lost = [one["column"] for one in report["lost_fields"]]
    assert (code, report["state"], lost) == (1, "partial", ["CodigoNBS"]), report
    tenant.declare(quirks)
    code, report = tenant.run(*command, "--again", "the first ones are deleted")
    assert (code, report["state"], report["lost_fields"]) == (0, "done", []), report
    assert {one["CodigoNBS"] for one in tenant.exported("nfse")} >= {"1.0101.11.00"}


@pytest.mark.parametrize("mode", ["records", "direct", "queue"])
def test_a_system_that_takes_a_field_of_records_without_a_key_shows_it(
    start: Start, mode: str
) -> None:
    tenant = start(None, "demo")
    path = make_invoices(tenant, CodigoNBS="1.0101.11.00", ValorCBS=1.5)
    code, report = tenant.run("upload", path, "--mode", mode, "--yes")
    shown = (report["lost_fields"], report["unseen_fields"])
    assert (code, report["state"], shown) == (0, "done", ([], [])), report


def test_what_was_taken_before_is_known(start: Start) -> None:
    """Without a preview, nothing shows whether an import takes a field of rows without a key."""
    tenant = start(None, "demo")
    path = make_invoices(tenant, CodigoNBS="1.0101.11.00")
    command = ("upload", path, "--mode", "direct", "--yes", "--again", "another month")
    code, report = tenant.run(*command, "--no-preview")
    assert (code, report["state"], report["unseen_fields"]) == (1, "partial", ["CodigoNBS"])
    said = tenant.text("jobs", report["job"], "--lang", "en")
    assert "nothing has shown whether the system has stored it: CodigoNBS." in said
    assert "profiles.d/rehearsal.quirks.yaml" in said
    assert tenant.run(*command)[0] == 0
    code, report = tenant.run(*command, "--no-preview")
    assert (code, report["state"], report["unseen_fields"]) == (0, "done", [])


def test_an_answer_to_a_write_shows_that_a_field_was_taken(start: Start) -> None:
    tenant = start(None)
    rows = [{"codigoInterno": "P-1", "CodigoGenerico": "PAR", "PesoBruto": 1.5}]
    path = write_records(tenant.folder / "produtos.xlsx", "produto", rows)
    code, report = tenant.run("upload", path, "--yes", "--no-read-back")
    assert (code, report["state"], report["unseen_fields"]) == (0, "done", []), report


def test_a_change_that_is_lost_is_noticed_in_whichever_row_it_is(start: Start) -> None:
    tenant = start("spellings: {ValorBruto: ValorBruto}")
    path = tenant.payables("A", 6)
    code, report = tenant.run("upload", path, "--mode", "records", "--yes")
    assert (code, report["rows"]["accepted"]) == (0, 6), report
    tenant.declare(None)
    book = load_workbook(path)
    sheet = data_sheet(book)
    at = header_of(sheet).index("ValorBruto") + 1
    sheet.cell(6, at).value = 100.65
    book.save(path)
    code, report = tenant.run("upload", path, "--update", "--yes")
    (lost,) = report["lost_fields"]
    assert (code, report["state"], report["rows"]["updated"]) == (1, "partial", 1), report
    assert (lost["column"], lost["rows"]) == ("ValorBruto", [6])


def test_quirks_are_only_written_after_a_first_contact(start: Start) -> None:
    assert "--first-contact" in start(None).text("doctor", "--write-quirks")
