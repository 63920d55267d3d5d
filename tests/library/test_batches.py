"""Connections to a named address, and batches from Python."""

from pathlib import Path

import pytest
from sheets import write_records
from upload_parts import new_cnpj

import xlbridge as xb
from xlbridge.profiles import Profile
from xlbridge.sandbox import RunningSandbox
from xlbridge.saved_logins import save_profile
from xlbridge.settings import Settings

PLAN = "name: month\nsteps: {clients: {upload: clients.xlsx, resource: cliente}}\n"


def connect(system: RunningSandbox) -> xb.Connection:
    return xb.connect(base_url=system.base_url, email=system.email, password=system.password)


def test_an_environment_is_named_by_its_address_and_user(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, empty_sandbox: RunningSandbox
) -> None:
    monkeypatch.setenv("XLBRIDGE_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("XLBRIDGE_PROFILE", "other")
    monkeypatch.setenv("XLBRIDGE_PASSWORD", "of another system")
    with connect(empty_sandbox) as erp:
        assert erp.client.target.base_url == empty_sandbox.base_url
        assert erp.export("clientes").complete
        assert empty_sandbox.password not in repr(erp)


def test_an_address_of_production_stays_production(
    own_home: Path, empty_sandbox: RunningSandbox
) -> None:
    url, email = empty_sandbox.base_url, empty_sandbox.email
    save_profile(Settings(own_home), Profile("producao", url, email, production=True))
    with connect(empty_sandbox) as erp:
        assert erp.client.target.production


@pytest.mark.parametrize(
    "arguments",
    [
        {"base_url": "https://erp.example.com"},
        {"email": "a@example.com", "password": "secret"},
        {"base_url": "https://erp.example.com", "email": "a@example.com", "password": ""},
        {"profile": "homolog", "base_url": "https://e.example", "email": "a", "password": "b"},
    ],
)
def test_half_an_environment_is_refused(own_home: Path, arguments: dict[str, str]) -> None:
    with pytest.raises((xb.errors.UsageError, xb.errors.ConfigError)):
        xb.connect(**arguments)


def test_a_batch_is_planned_confirmed_and_run_once(
    own_home: Path, tmp_path: Path, empty_sandbox: RunningSandbox
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    write_records(tmp_path / "clients.xlsx", "cliente", [{"cnpj": new_cnpj()}])
    steps: list[str] = []
    with connect(empty_sandbox) as erp:
        planned = erp.batch(plan, on_progress=steps.append)
        assert (planned.ok, planned.token is not None, len(erp.jobs())) == (False, True, 0)
        with pytest.raises(xb.errors.UsageError, match="does not confirm this batch"):
            erp.batch(plan, confirm="1:00000000")
        assert len(erp.jobs()) == 0
        done = erp.batch(plan, confirm=planned.token)
        assert (done.ok, done.errors, done.batch) == (True, (), planned.batch)
        assert "<td>clients</td>" in done._repr_html_()
        line = done.steps.iloc[0]
        assert (line["step"], line["state"], line["accepted"]) == ("clients", "done", 1)
        assert erp.batch(plan, yes=True).ok
        assert len(erp.jobs()) == 1
    assert steps
    assert done.document["version"] == 1
