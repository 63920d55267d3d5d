"""Connections: consent, uploads and exports against the embedded sandbox."""

import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pandera.pandas as pa
import pytest
from environment import ROOT, clean_environment, credentials
from forked import Zygote
from lossy_proxy import ProxyFault, lossy_proxy
from sandboxes import sandbox_process
from upload_parts import new_cnpj

import xlbridge as xb
from xlbridge.errors import ConfigError
from xlbridge.profiles import Profile
from xlbridge.sandbox import RunningSandbox
from xlbridge.saved_logins import save_profile
from xlbridge.settings import Settings

CLIENTS = ROOT / "samples" / "cliente.xlsx"


@pytest.fixture(scope="module")
def report() -> xb.Report:
    return xb.validate(CLIENTS)


@pytest.fixture
def production(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[xb.Connection]:
    """Connection to a production environment."""
    folder = own_home.parent / "production"
    with sandbox_process(folder, ["--seed", "empty"], clean_environment(folder)) as running:
        save_production(own_home, running)
        monkeypatch.setenv("XLBRIDGE_PROFILE", "producao")
        monkeypatch.setenv("XLBRIDGE_PASSWORD", running.password)
        with xb.connect("producao") as connection:
            yield connection


@pytest.fixture
def new_system(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[xb.Connection]:
    """Connection to a system without records."""
    folder = own_home.parent / "new"
    with sandbox_process(folder, ["--seed", "empty"], clean_environment(folder)) as running:
        for name, value in credentials(running).items():
            monkeypatch.setenv(name, value)
        with xb.connect() as connection:
            yield connection


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[xb.Connection]:
    """Connection to the demo company for tests that write nothing."""
    folder = tmp_path_factory.mktemp("reading")
    with sandbox_process(folder, [], clean_environment(folder), few=True) as running:
        with pytest.MonkeyPatch.context() as patched:
            for name, value in credentials(running, XLBRIDGE_HOME=str(folder / "home")).items():
                patched.setenv(name, value)
            opened = xb.connect()
        with opened as connection:
            yield connection


def save_production(home: Path, running: RunningSandbox) -> None:
    profile = Profile("producao", running.base_url, running.email, production=True)
    save_profile(Settings(home), profile)


def written_clients(erp: xb.Connection) -> int:
    return len(erp.export("clientes").frames["clientes"])


def test_nothing_is_written_without_consent(new_system: xb.Connection, report: xb.Report) -> None:
    before = written_clients(new_system)
    preview = new_system.upload(report, mode="preview")
    assert (preview.state, preview.ok, preview.rows["read"]) == ("previewed", True, 48)
    with pytest.raises(xb.errors.UsageError):
        new_system.upload(report)
    with pytest.raises(xb.errors.UsageError):
        new_system.upload(report, confirm="48:00000000")
    with pytest.raises(xb.errors.UsageError):
        new_system.upload(report, confirm=preview.token, yes=True)
    assert written_clients(new_system) == before


def test_rows_that_are_confirmed_are_written_once(
    new_system: xb.Connection, report: xb.Report
) -> None:
    before, progress = written_clients(new_system), list[str]()
    token = new_system.upload(report, mode="preview").token
    outcome = new_system.upload(report, confirm=token, on_progress=progress.append)
    assert (outcome.state, outcome.ok, outcome.mode) == ("done", True, "queue")
    assert (outcome.rows["read"], outcome.rows["accepted"]) == (48, 48)
    assert progress
    assert written_clients(new_system) == before + 48
    again = new_system.upload(report, yes=True)
    assert (again.state, again.ok, again.rows["unchanged"]) == ("done", True, 48)
    assert written_clients(new_system) == before + 48


def test_a_plan_names_the_action_of_each_row_and_confirms_it(
    erp: xb.Connection, own_home: Path
) -> None:
    frame = pd.DataFrame({"nomeComercial": ["Padaria Sol", "Mercado"], "seuCodigo": ["S-1", "S-2"]})
    first = erp.plan(xb.validate(frame.iloc[:1], "cliente"))
    assert (first.resource, first.counts["create"]) == ("cliente", 1)
    assert erp.upload(xb.validate(frame.iloc[:1], "cliente"), confirm=first.token).ok
    frame.loc[0, "nomeComercial"] = "Padaria Lua"
    with pd.option_context("mode.string_storage", "python"):
        plan = erp.plan(xb.validate(frame, "cliente"))
    assert plan.rows["action"].tolist() == ["held", "create"]
    assert repr(plan.rows["reason"][0]) == "'cannot-change'"
    assert plan.rows["differences"][0] == [
        {"column": "nomeComercial", "yours": "Padaria Lua", "theirs": "Padaria Sol"}
    ]
    outcome = erp.upload(xb.validate(frame, "cliente"), confirm=plan.token)
    assert (outcome.ok, outcome.rows["accepted"], outcome.rows["held"]) == (False, 1, 1)


@pytest.mark.parametrize(
    ("fault", "action"),
    [("lose answer", "unchanged"), ("html", "unchanged"), ("lose request", "create")],
)
def test_doubtful_write_is_resolved_by_planning_its_row_again(
    own_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    empty_sandbox: RunningSandbox,
    fault: ProxyFault,
    action: str,
) -> None:
    row = {"nomeComercial": "Padaria Sol", "cnpj": new_cnpj()}
    with lossy_proxy(empty_sandbox.base_url) as proxy:
        for name, value in credentials(empty_sandbox).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("XLBRIDGE_BASE_URL", proxy.base_url)
        with xb.connect() as connection:
            proxy.fail_once(fault, "/v2/cliente")
            with pytest.raises(xb.errors.InDoubt):
                connection.client.registry.clients.create(**row)
            plan = connection.plan(xb.validate(pd.DataFrame([row]), "cliente"))
    assert plan.rows["action"].tolist() == [action]
    assert proxy.seen.count(("POST", "/v2/cliente")) == 1


def test_a_report_with_errors_is_not_sent(reading: xb.Connection) -> None:
    outcome = reading.upload(xb.validate(ROOT / "samples" / "cliente-com-erros.xlsx"), yes=True)
    assert (outcome.state, outcome.ok, outcome.job, outcome.token) == (
        "rejected",
        False,
        None,
        None,
    )
    counts = dict(outcome.rows)
    parts = ("accepted", "rejected", "unchanged", "held", "undone", "unknown")
    assert counts["read"] == sum(counts[part] for part in parts) > 0
    assert counts["accepted"] == counts["created"] + counts["updated"] == 0
    assert outcome.rejected["row"].dtype == "Int64"
    assert len(outcome.rejected) > 0


@pytest.mark.parametrize(
    ("columns", "allow_empty", "state"),
    [
        (["nomeComercial"], True, "done"),
        (["nomeComercial"], False, "rejected"),
        (["nomeComercil?"], True, "rejected"),
    ],
)
def test_a_load_without_rows_is_done_where_it_is_allowed(
    reading: xb.Connection, columns: list[str], allow_empty: bool, state: str
) -> None:
    report = xb.validate(pd.DataFrame(columns=columns), "cliente")
    outcome = reading.upload(report, yes=True, allow_empty=allow_empty)
    assert (outcome.state, outcome.ok, outcome.job) == (state, state == "done", None)
    assert set(outcome.rows.values()) == {0}
    assert list(outcome.rejected)[:2] == ["row", "cell"]


def test_rows_that_the_system_rejects_are_reported_by_label_and_stored(
    erp: xb.Connection, own_home: Path
) -> None:
    frame = pd.DataFrame(
        {"nomeComercial": ["Padaria", "Mercado"], "codigoDoVendedor": [None, 987654]},
        index=["first", "second"],
    )
    outcome = erp.upload(xb.validate(frame, "cliente"), yes=True)
    assert (outcome.state, outcome.ok) == ("partial", False)
    assert outcome.rejected[["row", "cell"]].values.tolist() == [["second", "B3"]]
    assert outcome.rejects_file is not None
    assert outcome.rejects_file.parent == own_home / "frames"
    assert xb.validate(outcome.rejects_file).frame["nomeComercial"].tolist() == ["Mercado"]
    assert len(list((own_home / "frames").glob("dataframe-*.xlsx"))) == 2


def test_production_accepts_only_a_token(production: xb.Connection, report: xb.Report) -> None:
    with pytest.raises(xb.errors.UsageError):
        production.upload(report, yes=True)
    assert written_clients(production) == 0
    token = production.upload(report, mode="preview").token
    assert production.upload(report, confirm=token).state == "done"
    assert written_clients(production) == 48


def test_frames_hold_what_the_command_writes(
    erp: xb.Connection,
    own_home: Path,
    demo_environment: dict[str, str],
    forks: Zygote,
    tmp_path: Path,
) -> None:
    told: list[str] = []
    exported = erp.export("pedidos", branch=1, start=date(2026, 1, 1), on_progress=told.append)
    assert f"{exported.records} records" in told[-1]
    assert exported.complete
    assert exported.manifest["records"] == exported.records == len(exported.frames["pedidos"])
    assert {name: len(frame) for name, frame in exported.frames.items()} == exported.manifest[
        "sheets"
    ]
    total = exported.frames["parcelas"]["valor"].sum()
    assert isinstance(total, Decimal)
    written = tmp_path / "pedidos.jsonl"
    arguments = ["export", "pedidos", "-o", str(written), "--branch", "1", "--from", "2026-01-01"]
    done = forks.run(
        tmp_path, clean_environment(own_home, **demo_environment), arguments, longest=120
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "pedidos.parcelas.jsonl").read_text("utf-8").splitlines()
    assert total == sum(json.loads(line, parse_float=Decimal)["valor"] for line in lines)


def test_exported_columns_are_typed(reading: xb.Connection) -> None:
    frames = reading.export("pedidos", branch=1).frames
    orders = frames["pedidos"]
    assert orders["numeroDoPedido"].dtype == "Int64"
    assert frames["parcelas"]["dataDeVencimento"].dtype == "datetime64[us]"
    assert frames["parcelas"]["valor"].map(type).eq(Decimal).all()
    assert frames["produtos"]["codigoDeBarras"].dtype == "str"


def test_a_listing_without_records_has_its_columns(reading: xb.Connection) -> None:
    full, empty = (
        reading.export("pedidos", start=start).frames for start in ("2026-01-01", "2090-01-01")
    )
    assert {name: list(frame) for name, frame in empty.items()} == {
        name: list(frame) for name, frame in full.items()
    }
    assert all(len(frame) == 0 for frame in empty.values())
    assert empty["parcelas"].dtypes.equals(full["parcelas"].dtypes)


def test_an_export_as_template_can_be_validated(reading: xb.Connection) -> None:
    frame = reading.export("clientes", as_template="cliente").frames["cliente"]
    own = [c.name for c in xb.available_resources()["cliente"].columns]
    assert list(frame) == [*own, "codigoDoCliente"]
    assert xb.validate(frame.head(50), "cliente").resource == "cliente"


@pytest.mark.parametrize(
    "arguments",
    [
        {"listing": "nothing"},
        {"listing": "clientes", "branch": 1},
        {"listing": "pedidos", "start": "x"},
        {"listing": "pedidos", "at_once": 0},
    ],
    ids=["listing", "filter", "date", "at once"],
)
def test_impossible_export_raises_an_error(
    reading: xb.Connection, arguments: dict[str, object]
) -> None:
    with pytest.raises(xb.errors.UsageError):
        reading.export(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("listing", "filters", "message"),
    [
        ("pedidos", {"start": "x"}, "start: 'x' is not a date."),
        ("pedidos", {"start": "2026-10-02", "end": "2026-10-01"}, "start, end: the start comes"),
        ("clientes", {"cost_centre": 1}, "has no filter cost_centre."),
    ],
)
def test_errors_of_filters_name_the_parameters(
    reading: xb.Connection, listing: str, filters: dict[str, Any], message: str
) -> None:
    with pytest.raises(xb.errors.UsageError) as raised:
        reading.export(listing, **filters)
    assert message in str(raised.value.message)
    assert "--" not in f"{raised.value.message} {raised.value.hint}"


@pytest.mark.parametrize(
    ("sent", "options"),
    [
        ("clientes.xlsx", {"yes": True}),
        (pd.DataFrame({"nomeComercial": ["Padaria"]}), {"yes": True}),
        (None, {"yes": True, "mode": "Queue"}),
        (None, {"yes": True, "chunk_rows": 0}),
        (None, {"confirm": 1}),
    ],
    ids=["path", "frame", "mode", "chunk", "confirmation"],
)
def test_impossible_upload_raises_an_error(
    erp: xb.Connection, report: xb.Report, sent: object, options: dict[str, object]
) -> None:
    with pytest.raises(xb.errors.UsageError):
        erp.upload(report if sent is None else sent, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("address", [None, "https://erp.example.com"])
@pytest.mark.parametrize("name", ["nothing", ""])
def test_unknown_profile_raises_an_error(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, name: str, address: str | None
) -> None:
    if address is not None:
        monkeypatch.setenv("XLBRIDGE_BASE_URL", address)
        monkeypatch.setenv("XLBRIDGE_EMAIL", "someone@example.com")
        monkeypatch.setenv("XLBRIDGE_PASSWORD", "secret")
    with pytest.raises(xb.errors.ConfigError):
        xb.connect(name)


def test_the_sandbox_ends_with_the_connection(demo_home: Path) -> None:
    with xb.connect() as erp:
        assert erp.profile == "sandbox"
        assert erp.client.system.info().ativo
        address = erp.client.target.base_url
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    with pytest.raises(xb.errors.UsageError, match="already closed"):
        erp.client.system.info()


@pytest.mark.usefixtures("demo_home")
def test_custom_resources_are_sent_by_a_connection_with_their_schemas(tmp_path: Path) -> None:
    shipped = xb.available_resources()["cliente"].source.read_text("utf-8")
    own = shipped.replace("resource: cliente", "resource: parceiro")
    (tmp_path / "parceiro.yaml").write_text(own, "utf-8")
    frame = pd.DataFrame({"nomeComercial": ["Padaria"]})
    report = xb.validate(frame, "parceiro", schemas=tmp_path)
    with xb.connect() as erp, pytest.raises(xb.errors.UsageError):
        erp.upload(report, yes=True)
    with xb.connect("sandbox", schemas=tmp_path) as erp:
        outcome = erp.upload(report, yes=True)
    assert (outcome.resource, outcome.state) == ("parceiro", "done")


@pytest.mark.usefixtures("demo_home")
def test_a_pandera_schema_is_sent_by_a_connection_with_it() -> None:
    schema = pa.DataFrameSchema({"placa": pa.Column(str, unique=True)}, name="veiculo")
    report = xb.validate(pd.DataFrame({"placa": ["ABC1D23"]}), schema)
    with xb.connect("sandbox", schemas=schema) as erp:
        outcome = erp.upload(report, yes=True)
        assert (outcome.resource, outcome.state, outcome.rows["accepted"]) == ("veiculo", "done", 1)
        assert outcome.job is not None
        assert erp.resume(outcome.job).rows == outcome.rows
    with pytest.raises(xb.errors.UsageError, match="schemas cannot be"):
        xb.connect("sandbox", schemas=3)  # type: ignore[arg-type]


def test_records_are_processed_once_by_their_numbers_or_a_sheet(
    erp: xb.Connection, tmp_path: Path
) -> None:
    orders = erp.export("pedidos").frames["pedidos"]
    pending = orders[orders["pendente"]]["numeroDoPedido"].tolist()[:2]
    sheet = tmp_path / "pedidos.xlsx"
    pd.DataFrame({"numeroDoPedido": pending}).to_excel(sheet, index=False)
    with pytest.raises(xb.errors.UsageError):
        erp.process("pedidos", pending)
    plan = erp.plan_process("pedidos", file=sheet)
    assert "<th>outcome</th>" in plan._repr_html_()
    assert (plan.job, plan.ok, plan.rows["unknown"]) == (None, True, 2)
    done = erp.process("pedidos", file=sheet, confirm=plan.token)
    assert (done.state, done.ok, done.rows["processed"]) == ("done", True, 2)
    assert done.records["row"].tolist() == [2, 3]
    again = erp.process("pedidos", pending, yes=True)
    assert (again.ok, again.records["outcome"].tolist()) == (True, ["already", "already"])
    for numbers in ({}, {"ids": pending, "file": sheet}, {"ids": pending, "at_once": 0}):
        with pytest.raises(xb.errors.UsageError):
            erp.process("pedidos", yes=True, **numbers)  # type: ignore[arg-type]


def test_a_policy_of_the_machine_applies(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, profiles = tmp_path / "machine" / "policy.toml", tmp_path / "machine" / "profiles.d"
    profiles.mkdir(parents=True)
    policy.write_text("own_environments = false\n", "utf-8")
    section = '[profiles.{0}]\nbase_url = "https://{0}.invalid"\nemail = "a@b.c"\n'
    (profiles / "erp.toml").write_text(section.format("erp"), "utf-8")
    save_profile(Settings(own_home), Profile("own", "https://own.invalid", "a@b.c"))
    monkeypatch.setenv("XLBRIDGE_MACHINE", str(policy.parent))
    with pytest.raises(ConfigError, match=str(policy)):
        xb.connect("own")
    with pytest.raises(ConfigError, match=str(policy)):
        xb.connect(base_url="https://erp.invalid", email="a@b.c", password="x")
    monkeypatch.setenv("XLBRIDGE_PROFILE", "erp")
    monkeypatch.setenv("XLBRIDGE_PASSWORD", "x")
    with xb.connect() as connection:
        assert connection.profile == "erp"
