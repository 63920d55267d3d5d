"""Plan files: reading, and mistakes with their lines."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest
from batch_parts import WritePlan

from xlbridge.batch.plan_reader import fill_in, read_plan, resolve_months
from xlbridge.batch.plan_steps import BatchPlan, ExportStep, WorkbookStep, workbooks_of
from xlbridge.errors import PlanFileError, UsageError
from xlbridge.export import Filter
from xlbridge.resources import Catalogue

TODAY = date(2026, 11, 21)
WHOLE = """\
version: 1
name: fechamento
profile: matriz
parameters:
  month: previous
proof: provas/{month}
steps:
  titulos:
    export: contasreceber
    output: saida/{month}.xlsx
    filters: {client: 7}
  receber:
    upload: ["receber/{month}-*.xlsx", outros/receber.xlsx]
    resource: contasreceber
    mode: queue
    chunk_rows: 500
    dates: dmy
  pedidos:
    export: pedidos
    output: saida/pedidos-{month.year}.csv
    filters: {from: "{month.first}", to: "{month.last}"}
    after: receber
  clientes:
    upload: clientes/*.xlsx
    resource: cliente
    profile: filial
  conferir:
    validate: outros/*.xlsx
    may_be_empty: true
"""


def read(path: Path, catalogue: Catalogue, given: Mapping[str, str] | None = None) -> BatchPlan:
    return read_plan(path, catalogue, given or {}, lambda _profile: TODAY)


@pytest.mark.parametrize("ending", ["", ".xlsx", ".html"])
def test_the_proof_may_be_named_with_its_ending(
    write_plan: WritePlan, catalogue: Catalogue, ending: str
) -> None:
    whole = WHOLE.replace("provas/{month}", f"provas/{{month}}{ending}")
    assert read(write_plan(whole), catalogue).proof == "provas/2026-10"


def test_a_plan_is_read_with_its_parameters(write_plan: WritePlan, catalogue: Catalogue) -> None:
    plan = read(write_plan(WHOLE), catalogue)
    steps = {step.name: step for step in plan.steps}
    assert plan.batch == "fechamento-2026-10"
    assert plan.proof == "provas/2026-10"
    receber, pedidos, titulos = steps["receber"], steps["pedidos"], steps["titulos"]
    assert isinstance(receber, WorkbookStep)
    assert receber.patterns == ("receber/2026-10-*.xlsx", "outros/receber.xlsx")
    assert receber.sending is not None
    assert (receber.sending.mode, receber.sending.chunk_rows) == ("queue", 500)
    assert receber.reading.dates == "dmy"
    assert isinstance(pedidos, ExportStep)
    assert pedidos.output == "saida/pedidos-2026.csv"
    assert f"{pedidos.filters.start:%Y-%m-%d} {pedidos.filters.end:%Y-%m-%d}" == (
        "2026-10-01 2026-10-31"
    )
    assert isinstance(titulos, ExportStep)
    assert titulos.filters.values == {Filter.CLIENT: (7,)}
    assert [steps[name].profile for name in ("receber", "clientes")] == ["matriz", "filial"]


def test_referenced_resources_come_first_and_exports_last(
    write_plan: WritePlan, catalogue: Catalogue
) -> None:
    plan = read(write_plan(WHOLE), catalogue)
    assert {step.name: step.after for step in plan.steps} == {
        "titulos": (),
        "receber": ("clientes",),
        "pedidos": ("receber",),
        "clientes": (),
        "conferir": (),
    }
    assert [step.name for step in plan.ordered] == [
        "clientes",
        "receber",
        "conferir",
        "titulos",
        "pedidos",
    ]


def test_options_override_the_plans_parameters(write_plan: WritePlan, catalogue: Catalogue) -> None:
    plan = read(write_plan(WHOLE), catalogue, {"month": "2025-12"})
    assert plan.batch == "fechamento-2025-12"


def test_a_parameter_that_the_plan_does_not_have_is_refused(
    write_plan: WritePlan, catalogue: Catalogue
) -> None:
    with pytest.raises(UsageError, match=r"no parameter branch; it has: month"):
        read(write_plan(WHOLE), catalogue, {"branch": "1"})


STEP = "version: 1\nname: a\nsteps:\n  um:\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nsteps: {}\n", ":2: steps: at least one item is missing."),
        ("steps: [\n", "this is not valid YAML"),
        ("version: 2\nname: a\nsteps: {um: {validate: a}}\n", ":1: version: 2 is not known"),
        ("name: A b\nsteps: {um: {validate: a}}\n", ":1: name: 'A b' is not valid"),
        (STEP + "    send: a.xlsx\n", ":5: steps.um.send: 'send' is not known; allowed here: upl"),
        (STEP + "    after: []\n", ":4: steps.um: one of these is missing: upload, validate, ex"),
        (STEP + "    upload: a.xlsx\n", ":4: steps.um: resource is missing."),
        (
            STEP + "    upload: a.xlsx\n    resource: clientes\n",
            ":6: steps.um.resource: 'clientes' is not known; did you mean cliente? allowed here: ",
        ),
        (
            STEP + "    upload: a.xlsx\n    resource: cliente\n    mode: preview\n",
            ":7: steps.um.mode: 'preview' is not known; allowed here: auto, direct, queue, rec",
        ),
        (
            STEP + "    upload: a.xlsx\n    resource: cliente\n    output: b.xlsx\n",
            ":7: steps.um.output: 'output' is not known; allowed here: upload, after",
        ),
        (
            STEP
            + "    upload: a\n    resource: contasreceber\n    links:\n      historico: cnpj\n",
            ":8: steps.um.links.historico: historico refers to no registry",
        ),
        (
            STEP
            + "    upload: a\n    resource: contasreceber\n    links: {codigoDoCliente: email}\n",
            ":7: steps.um.links.codigoDoCliente: 'email' does not identify a record of",
        ),
        (STEP + "    validate: [a, 3]\n", ":5: steps.um.validate[1]: this must be a text."),
        (
            STEP + "    validate: '{mes}.xlsx'\n",
            ":5: steps.um.validate: {mes} is not a parameter; there are: none.",
        ),
        (
            STEP + "    export: clients\n    output: a.xlsx\n",
            ":5: steps.um.export: 'clients' is not",
        ),
        (STEP + "    export: clientes\n    output: a.doc\n", "no format has the extension '.doc'"),
        (
            STEP + "    export: clientes\n    output: a.xlsx\n    filters:\n      year: 2026\n",
            ":8: steps.um.filters.year: The listing clientes has no filter year.",
        ),
        (
            STEP + "    export: clientes\n    output: a.xlsx\n    filters: {from: 31.1.26}\n",
            ":7: steps.um.filters.from: from: '31.1.26' is not a date",
        ),
        (
            STEP + "    export: contasreceber\n    output: a.xlsx\n    filters: {client: x}\n",
            ":7: steps.um.filters.client: client: 'x' is not a code",
        ),
        (
            STEP + "    export: clientes\n    output: a.xlsx\n    filters:\n"
            "      from: 2026-02-01\n      to: 2026-01-31\n",
            ":8: steps.um.filters.from: from, to: the start comes after the end",
        ),
        (
            STEP + "    export: caixabancos\n    output: a.xlsx\n",
            ":4: steps.um: The listing caixabancos needs from, to.",
        ),
        (
            STEP + "    validate: a\n    after: [dois]\n  tres:\n    validate: b\n",
            ":6: steps.um.after[0]: 'dois' is not known; allowed here: tres.",
        ),
        (
            STEP + "    validate: a\n    after: dois\n  dois:\n    validate: b\n    after: um\n",
            "these steps wait for each other: ",
        ),
        (
            "name: a\nparameters: {month: '../x'}\nsteps: {um: {validate: a}}\n",
            ":2: parameters.month: '../x' is not valid",
        ),
        (
            STEP + "    validate: a\n  um:\n    validate: b\n",
            ":6: um: um is repeated; keep one.",
        ),
        (
            STEP + "    export: clientes\n    output: a.csv\n    manifest: ./b/../a.csv\n",
            ":7: steps.um.manifest: the plan already reads or writes a.csv",
        ),
        (
            "name: a\nproof: a\n" + STEP[19:] + "    validate: [b.xlsx, a.xlsx]\n",
            ":2: proof: the plan already reads or writes a.xlsx",
        ),
        ("name: 2026-10-01\nsteps: {um: 3}\n", ":2: steps.um: this must be a block of keys"),
        (STEP + "    validate: a\n    links: {~: b}\n", ":6: steps.um.links.~: '~' is not known"),
        (
            "name: a\nx: " + "{a: " * 3000 + "1" + "}" * 3000,
            ":2: this is not valid YAML: it is too deeply nested",
        ),
        ("name: !!timestamp 2026-13-01\n", ":1: this is not valid YAML: "),
        ("name: a\nparameters: {month: 2026-13}\nsteps: {um: {validate: a}}\n", "is not a month"),
        ("name: a\nparameters: {month: 0000-01}\nsteps: {um: {validate: a}}\n", "is not a month"),
        (
            "name: a\nparameters: {m.first: x}\nsteps: {um: {validate: a}}\n",
            "'m.first' is not valid",
        ),
        (STEP + "    validate: .\n", ":5: steps.um.validate: '.' is not valid"),
        (STEP + "    validate: /\n", ":5: steps.um.validate: '/' is not valid"),
        (STEP + "    validate: [a, '../b**.xlsx']\n", "'../b**.xlsx' is not valid"),
        (
            STEP + "    validate: a\n    sheet: '{x}'\n",
            ":6: steps.um.sheet: {x} is not a parameter",
        ),
        (
            STEP + "    export: pedidos\n    output: a.csv\n    filters: {from: 2026-13-01}\n",
            "'2026-13-01' is not a date",
        ),
    ],
)
def test_mistakes_are_reported_with_their_lines(
    write_plan: WritePlan, catalogue: Catalogue, text: str, message: str
) -> None:
    path = write_plan(text)
    with pytest.raises(PlanFileError) as raised:
        read(path, catalogue)
    assert message in raised.value.message.en
    assert raised.value.message.en.startswith(f"{path}:")


def test_a_mistake_is_reported_once_and_a_plan_in_other_letters_found(
    write_plan: WritePlan, catalogue: Catalogue
) -> None:
    path = write_plan("name: a\nsteps:\n  um:\n")
    with pytest.raises(PlanFileError) as raised:
        read(path, catalogue)
    assert raised.value.message.en.count("\n") == 0
    path.write_bytes("# mês\nname: a # mês\n".encode() + "# mês".encode("latin-1"))
    with pytest.raises(PlanFileError, match=r":3: the file is not UTF-8 text; save it as UTF"):
        read(path, catalogue)


def test_dates_and_whole_numbers_are_read_as_intended(
    write_plan: WritePlan, catalogue: Catalogue
) -> None:
    path = write_plan(
        "name: 2026-10-01\nparameters: {day: 2026-10-31}\nsteps:\n  um:\n    upload: a.xlsx\n"
        "    resource: cliente\n    chunk_rows: 2.0\n    sheet: '{day}'\n"
    )
    plan = read(path, catalogue)
    assert plan.batch == "2026-10-01-2026-10-31"
    (step,) = plan.steps
    assert isinstance(step, WorkbookStep)
    assert step.sheet == "2026-10-31"
    assert step.sending is not None
    assert isinstance(step.sending.chunk_rows, int)


def test_an_existing_path_with_brackets_is_not_a_pattern(
    write_plan: WritePlan, catalogue: Catalogue, tmp_path: Path
) -> None:
    for name in ("a [1].xlsx", "a 1.xlsx", "~$a 1.xlsx", "b.xlsx"):
        (tmp_path / name).touch()
    (tmp_path / "folder.xlsx").mkdir()
    long = "x" * 300
    path = write_plan(f"name: a\nsteps: {{um: {{validate: ['a [1].xlsx', '*.xlsx', {long}]}}}}\n")
    plan = read(path, catalogue)
    (step,) = plan.steps
    assert isinstance(step, WorkbookStep)
    names = [book.name for book in workbooks_of(plan, step)]
    assert names == ["a [1].xlsx", "a 1.xlsx", "b.xlsx"]


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("*.xlsx", {"EXPORT.XLSX", "cobrança.xlsx", "Meses/OUTUBRO.XLSX"}),
        ("cobran\u00e7a.xlsx", {"cobrança.xlsx"}),
        ("cobranc\u0327a.xlsx", {"cobrança.xlsx"}),
        ("COBRAN*.xlsx", {"cobrança.xlsx"}),
        ("meses/outubro.xlsx", {"Meses/OUTUBRO.XLSX"}),
        ("MESES/**/out*.xls?", {"Meses/OUTUBRO.XLSX"}),
        ("../*/export.xlsx", {"EXPORT.XLSX"}),
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_of_files_match_in_any_case_and_unicode_form(
    write_plan: WritePlan,
    catalogue: Catalogue,
    tmp_path: Path,
    form: Literal["NFC", "NFD"],
    pattern: str,
    files: set[str],
) -> None:
    (tmp_path / "Meses").mkdir()
    for name in ("EXPORT.XLSX", normalize(form, "cobrança.xlsx"), "Meses/OUTUBRO.XLSX", "a.txt"):
        (tmp_path / name).touch()
    patterns = [pattern, "meses/*.XLSX"] if pattern == "*.xlsx" else [pattern]
    plan = read(write_plan(f"name: a\nsteps: {{um: {{validate: {patterns}}}}}\n"), catalogue)
    (step,) = plan.steps
    assert isinstance(step, WorkbookStep)
    found = {
        normalize("NFC", book.path.resolve().relative_to(tmp_path).as_posix())
        for book in workbooks_of(plan, step)
    }
    assert found == files


def test_an_existing_name_is_preferred_to_one_in_another_case(
    write_plan: WritePlan, catalogue: Catalogue, tmp_path: Path
) -> None:
    for name in ("a.xlsx", "A.XLSX"):
        (tmp_path / name).touch()
    plan = read(write_plan("name: a\nsteps: {um: {validate: [A.XLSX]}}\n"), catalogue)
    (step,) = plan.steps
    assert isinstance(step, WorkbookStep)
    assert [book.name for book in workbooks_of(plan, step)] == ["A.XLSX"]


def test_an_export_in_another_case_is_the_workbook_that_a_step_reads(
    write_plan: WritePlan, catalogue: Catalogue, tmp_path: Path
) -> None:
    plan = read(
        write_plan(
            "name: a\nsteps:\n  send: {upload: Sai\u0301da.XLSX, resource: cliente}\n"
            "  others: {validate: '*.xlsx'}\n"
            "  read: {export: clientes, output: sa\u00edda.xlsx, as_template: cliente}\n"
        ),
        catalogue,
    )
    assert [step.name for step in plan.ordered] == ["read", "send", "others"]
    assert {step.name: step.after for step in plan.steps}["send"] == ("read",)
    (tmp_path / "SA\u00cdDA.xlsx").touch()
    others = plan.steps[1]
    assert isinstance(others, WorkbookStep)
    assert workbooks_of(plan, others) == []


@pytest.mark.parametrize("link", ["clients-*.xlsx", "clients-1.xlsx", "./CLIENTS-1.xlsx"])
def test_a_step_waits_for_the_one_that_sends_the_workbook_of_its_link(
    write_plan: WritePlan, catalogue: Catalogue, link: str
) -> None:
    titles = f"upload: titles.xlsx, resource: contasreceber, links: {{codigoDoCliente: '{link}#k'}}"
    clients = "upload: clients-*.xlsx, resource: cliente"
    plan = read(
        write_plan(f"name: a\nsteps:\n  titles: {{{titles}}}\n  clients: {{{clients}}}\n"),
        catalogue,
    )
    assert [step.name for step in plan.ordered] == ["clients", "titles"]


def test_a_missing_plan_is_reported_by_name(tmp_path: Path, catalogue: Catalogue) -> None:
    with pytest.raises(UsageError, match=r"There is no plan .*none\.yaml"):
        read(tmp_path / "none.yaml", catalogue)


@pytest.mark.parametrize(
    ("today", "previous"),
    [(date(2026, 1, 31), "2025-12"), (date(2026, 3, 1), "2026-02"), (date(2026, 12, 5), "2026-11")],
)
def test_the_previous_month_follows_from_the_day(today: date, previous: str) -> None:
    assert resolve_months({"month": "previous", "other": "x"}, lambda: today) == {
        "month": previous,
        "other": "x",
    }


def test_the_month_is_that_of_the_plans_environment(
    write_plan: WritePlan, catalogue: Catalogue
) -> None:
    dates = {"east": date(2026, 12, 1), "west": date(2026, 11, 30)}
    text = "name: a\nprofile: %s\nparameters: {month: current}\nsteps: {um: {validate: a.xlsx}}\n"
    batches = [
        read_plan(write_plan(text % name), catalogue, {}, lambda name: dates[str(name)]).batch
        for name in dates
    ]
    assert batches == ["a-2026-12", "a-2026-11"]


def test_a_month_has_parts() -> None:
    text = "{m.first} {m.last} {m.year} {m.number} {m.previous} {m.next}"
    assert fill_in(text, {"m": "2028-02"}) == ("2028-02-01 2028-02-29 2028 02 2028-01 2028-03")
