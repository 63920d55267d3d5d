"""Batches with several environments, with production, and with one that goes down."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from batch_parts import (
    WritePlan,
    report,
    row_counts,
    states,
    write_clients,
    write_payables,
    write_profile,
)
from databases import database_options
from environment import Xlbridge, clean_environment, credentials
from lossy_proxy import ProxyFault, lossy_proxy
from sandboxes import logged_in, sandbox_process
from sheets import write_records
from upload_parts import new_cnpj

from xlbridge.sandbox import RunningSandbox

PLAN = """\
name: two
steps:
  here:
    upload: clients.xlsx
    resource: cliente
    profile: first
  there:
    upload: clients.xlsx
    resource: cliente
    profile: second
"""
ONE_BY_ONE = """\
name: down
steps:
  c:
    upload: c-*.xlsx
    resource: cliente
    mode: direct
  others:
    upload: others.xlsx
    resource: cliente
    after: []
"""


@pytest.fixture(scope="module")
def other_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("other-sandbox")
    options = ["--seed", "empty", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder)) as running:
        yield running


def registered(sandbox: RunningSandbox, document: str) -> Any:
    """Return the client with a document, None if the sandbox has none."""
    with logged_in(sandbox) as http:
        return http.get("/v2/cliente", params={"cnpjcpf": document}).json()["data"]


def test_one_workbook_goes_to_two_environments_once_each(
    xlbridge: Xlbridge,
    write_plan: WritePlan,
    tmp_path: Path,
    home: Path,
    batch_sandbox: RunningSandbox,
    other_sandbox: RunningSandbox,
) -> None:
    write_profile(home, "first", batch_sandbox)
    write_profile(home, "second", other_sandbox)
    document = new_cnpj()
    write_clients(tmp_path, "clients.xlsx", [document])
    mistyped = write_plan(PLAN.replace("profile: second", "profile: secnd"))
    refused = xlbridge("batch", "run", mistyped, "--yes", **credentials(batch_sandbox))
    assert (refused.returncode, "no profile 'secnd'" in refused.stderr) == (2, True)
    asked = ("batch", "run", write_plan(PLAN), "--yes", "--format", "json")
    found = report(xlbridge(*asked), 0)
    assert states(found) == {"here": "done", "there": "done"}
    assert (found["rows"]["read"], found["rows"]["accepted"]) == (2, 2)
    targets = {step["step"]: step["target"] for step in found["steps"]}
    assert targets == {
        "here": {"profile": "first", "base_url": batch_sandbox.base_url, "production": False},
        "there": {"profile": "second", "base_url": other_sandbox.base_url, "production": False},
    }
    proofs = {proof["profile"]: Path(proof["workbook"]).name for proof in found["proofs"]}
    assert proofs == {"first": "two-proof-first.xlsx", "second": "two-proof-second.xlsx"}
    assert all(proof["settled"] for proof in found["proofs"])
    assert registered(batch_sandbox, document) is not None
    assert registered(other_sandbox, document) is not None
    assert report(xlbridge(*asked), 0)["steps"] == found["steps"]


def test_an_environment_that_does_not_answer_stops_its_own_steps_only(
    xlbridge: Xlbridge,
    write_plan: WritePlan,
    tmp_path: Path,
    home: Path,
    batch_sandbox: RunningSandbox,
    other_sandbox: RunningSandbox,
) -> None:
    write_profile(home, "first", batch_sandbox)
    write_clients(tmp_path, "clients.xlsx", [new_cnpj()])
    plan = write_plan(PLAN)
    with lossy_proxy(other_sandbox.base_url) as proxy:
        through = replace(other_sandbox, base_url=proxy.base_url)
        write_profile(home, "second", through)
        proxy.decide = lambda _method, path: "unavailable" if "importacao" in path else "pass"
        found = report(xlbridge("batch", "run", plan, "--yes", "--format", "json"), 4)
        assert states(found) == {"here": "done", "there": "failed"}
        assert states(report(xlbridge("batch", "status", "two", "--format", "json"), 4)) == (
            states(found)
        )
        proxy.decide = lambda _method, _path: "pass"
        found = report(xlbridge("batch", "resume", "--yes", "--format", "json"), 0)
        assert (found["rows"]["read"], found["rows"]["accepted"]) == (2, 2)


def test_a_plan_reports_an_environment_that_does_not_answer_and_goes_on(
    xlbridge: Xlbridge,
    write_plan: WritePlan,
    tmp_path: Path,
    home: Path,
    batch_sandbox: RunningSandbox,
    other_sandbox: RunningSandbox,
) -> None:
    write_profile(home, "first", batch_sandbox)
    write_payables(tmp_path, "clients.xlsx", 501)
    plan = write_plan(PLAN.replace("resource: cliente", "resource: contaspagar"))
    with lossy_proxy(other_sandbox.base_url) as proxy:
        write_profile(home, "second", replace(other_sandbox, base_url=proxy.base_url))
        proxy.decide = lambda _method, path: "unavailable" if "fornecedor" in path else "pass"
        found = report(xlbridge("batch", "plan", plan, "--format", "json"), 4)
        assert states(found) == {"here": "new", "there": "failed"}
        here, there = (step["units"][0] for step in found["steps"])
        assert (sum(here["plan"].values()), here["problem"]) == (1, None)
        assert (there["plan"], there["problem"] is not None) == (None, True)
        assert found["confirm"].startswith("1:")
        done = report(xlbridge("batch", "run", plan, "--yes", "--format", "json"), 4)
        assert states(done) == {"here": "done", "there": "failed"}


def test_production_only_accepts_the_token_of_the_whole_batch(
    xlbridge: Xlbridge,
    write_plan: WritePlan,
    tmp_path: Path,
    home: Path,
    batch_sandbox: RunningSandbox,
    other_sandbox: RunningSandbox,
) -> None:
    write_profile(home, "first", batch_sandbox)
    write_profile(home, "second", other_sandbox, production=True)
    document = new_cnpj()
    write_clients(tmp_path, "clients.xlsx", [document])
    plan = write_plan(PLAN)
    refused = xlbridge("batch", "run", plan, "--yes")
    assert refused.returncode == 2
    assert "--yes is not valid for a production environment." in refused.stderr
    token = refused.stderr.rpartition("--confirm ")[2].split()[0]
    assert token.startswith("2:")
    later = new_cnpj()
    write_clients(tmp_path, "clients.xlsx", [later])
    stale = xlbridge("batch", "run", plan, "--confirm", token)
    assert (stale.returncode, "does not confirm this batch" in stale.stderr) == (2, True)
    assert registered(batch_sandbox, later) is registered(other_sandbox, later) is None
    write_clients(tmp_path, "clients.xlsx", [document])
    token = xlbridge("batch", "run", plan, "--yes").stderr.rpartition("--confirm ")[2].split()[0]
    found = report(xlbridge("batch", "run", plan, "--confirm", token, "--format", "json"), 0)
    assert states(found) == {"here": "done", "there": "done"}
    assert registered(other_sandbox, document) is not None


def test_a_doubt_that_time_settles_is_not_a_persons_to_decide(
    xlbridge: Xlbridge, write_plan: WritePlan, tmp_path: Path, other_sandbox: RunningSandbox
) -> None:
    write_clients(tmp_path, "others.xlsx", [new_cnpj()])
    plan = write_plan("name: lost\nsteps: {others: {upload: others.xlsx, resource: cliente}}\n")
    with lossy_proxy(other_sandbox.base_url) as proxy:
        environment = credentials(other_sandbox, XLBRIDGE_BASE_URL=proxy.base_url)
        proxy.decide = lambda method, path: "lose request" if "/fila" in path else "pass"
        done = xlbridge("batch", "run", plan, "--yes", XLBRIDGE_SETTLE="900", **environment)
    assert done.returncode == 5
    assert "Next: from " in done.stdout
    assert "xlbridge batch resume lost checks the system." in done.stdout


def test_a_batch_resumes_after_the_system_went_down_between_two_workbooks(
    xlbridge: Xlbridge, write_plan: WritePlan, tmp_path: Path, other_sandbox: RunningSandbox
) -> None:
    documents = [new_cnpj() for _ in range(3)]
    for name, document in zip(("c-1", "c-2", "others"), documents, strict=True):
        write_clients(tmp_path, f"{name}.xlsx", [document])
    plan = write_plan(ONE_BY_ONE)
    with lossy_proxy(other_sandbox.base_url) as proxy:
        environment = credentials(other_sandbox, XLBRIDGE_BASE_URL=proxy.base_url)

        def down_after_the_first(_method: str, _path: str) -> ProxyFault:
            written = [asked for _, asked in proxy.seen[:-1] if "preview=false" in asked]
            return "lose request" if written else "pass"

        proxy.decide = down_after_the_first
        done = xlbridge("batch", "run", plan, "--yes", "--format", "json", **environment)
        found = report(done, 4)
        units = [unit["state"] for step in found["steps"] for unit in step["units"]]
        assert units == ["done", "failed", "failed"]
        assert "did not answer before" in found["steps"][1]["units"][0]["problem"]
        assert found["rows"] == row_counts(read=3, accepted=1, unsent=2)
        proxy.decide = lambda _method, _path: "pass"
        resumed = xlbridge("batch", "resume", "--yes", "--format", "json", **environment)
        assert report(resumed, 0)["rows"]["accepted"] == 3
        written = [path for _, path in proxy.seen if "preview=false" in path]
    assert len(written) == 2
    assert all(registered(other_sandbox, document) is not None for document in documents)


def test_a_row_whose_requests_were_all_lost_is_sent_again(
    xlbridge: Xlbridge, write_plan: WritePlan, tmp_path: Path, other_sandbox: RunningSandbox
) -> None:
    document = new_cnpj()
    write_records(
        tmp_path / "payables.xlsx",
        "contaspagar",
        [
            {"numeroDoDocumento": f"{document}-{index}", "dataDeVencimento": date(2026, 10, 30)}
            for index in range(2)
        ],
    )
    plan = write_plan(
        "name: month\nsteps: {p: {upload: payables.xlsx, resource: contaspagar, mode: records}}\n"
    )
    with lossy_proxy(other_sandbox.base_url) as proxy:
        environment = credentials(
            other_sandbox, XLBRIDGE_BASE_URL=proxy.base_url, XLBRIDGE_SETTLE="0"
        )
        proxy.decide = lambda method, path: (
            "lose request" if method == "POST" and "contaspagar" in path else "pass"
        )
        for _ in range(4):
            done = xlbridge("batch", "run", plan, "--yes", "--format", "json", **environment)
            if json.loads(done.stdout)["rows"]["rejected"]:
                break
        assert report(done, 1)["rows"] == row_counts(read=2, rejected=2)
        proxy.decide = lambda _method, _path: "pass"
        done = xlbridge("batch", "resume", "--yes", "--format", "json", **environment)
    assert report(done, 0)["rows"] == row_counts(read=2, accepted=2)
