"""``batch plan`` and ``batch run`` show the same plan: the token, and what cannot be planned."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_parts import (
    PLAN,
    RunBatch,
    WritePlan,
    report,
    states,
    token_of_both,
    write_clients,
    write_payables,
    write_profile,
)
from databases import database_options
from environment import Xlbridge, clean_environment, credentials
from lossy_proxy import lossy_proxy
from sandboxes import sandbox_process
from sheets import edit, write_records
from upload_parts import new_cnpj

from xlbridge.sandbox import RunningSandbox

Command = Callable[..., Any]

ONE_STEP = """\
name: {name}
steps:
  bills:
    upload: {name}*.xlsx
    resource: contaspagar
    mode: queue
"""
TWO_ENVIRONMENTS = """\
name: both
steps:
  here: {upload: bills.xlsx, resource: contaspagar, profile: first}
  there: {upload: bills.xlsx, resource: contaspagar, profile: second}
"""
UNKNOWN_NAMES = """\
name: unknown-names
steps:
  titles:
    upload: titles.xlsx
    resource: contasreceber
    links: {codigoDoCliente: seuCodigo}
  bills:
    upload: bills.xlsx
    resource: contaspagar
    after: []
"""


@pytest.fixture(scope="module")
def second_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("second-sandbox")
    options = [*database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder), few=True) as running:
        yield running


def bills(name: str, *accounts: int) -> list[dict[str, object]]:
    return [
        {
            "numeroDoDocumento": f"{name}-{number}",
            "dataDeVencimento": "2026-12-01",
            "codigoDaContaCorrente": account,
        }
        for number, account in enumerate(accounts)
    ]


def test_the_token_of_steps_that_wait_is_the_same(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(PLAN.replace("name: month", "name: waiting"))
    write_clients(tmp_path, "clients.xlsx", [new_cnpj(), new_cnpj()])
    write_payables(tmp_path, "payables-waiting.xlsx", 501, 502, 501)
    token = token_of_both(run_batch, plan)
    assert token.startswith("5:")
    assert report(run_batch("run", plan, "--confirm", token, "--format", "json"), 0)["done"]


def test_the_token_of_corrected_rejects_is_the_same(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(ONE_STEP.format(name="some"))
    write_records(tmp_path / "some.xlsx", "contaspagar", bills("SOME", 1, 99999, 1))
    write_records(tmp_path / "some-2.xlsx", "contaspagar", bills("SOME-2", 1))
    assert report(run_batch("run", plan, "--yes", "--format", "json"), 1)["rows"]["rejected"] == 1
    [rejects] = tmp_path.glob("some-rejected-*.xlsx")
    edit(rejects, "codigoDaContaCorrente", 2, 1)
    token = token_of_both(run_batch, plan)
    assert token.startswith("1:")
    found = report(run_batch("resume", "some", "--confirm", token, "--format", "json"), 0)
    assert found["rows"]["accepted"] == 4


def test_the_token_of_two_environments_is_the_same(
    xlbridge: Xlbridge,
    write_plan: WritePlan,
    tmp_path: Path,
    home: Path,
    batch_sandbox: RunningSandbox,
    second_sandbox: RunningSandbox,
) -> None:
    def command(*arguments: object) -> Any:
        return xlbridge("batch", *arguments, XLBRIDGE_SETTLE="0")

    write_profile(home, "first", batch_sandbox)
    write_profile(home, "second", second_sandbox)
    write_records(tmp_path / "bills.xlsx", "contaspagar", bills("BOTH", 1, 1))
    plan = write_plan(TWO_ENVIRONMENTS)
    token = token_of_both(command, plan)
    assert token.startswith("4:")
    found = report(command("run", plan, "--confirm", token, "--format", "json"), 0)
    assert found["rows"]["accepted"] == 4


def test_a_workbook_whose_names_are_unknown_does_not_stop_the_others(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(UNKNOWN_NAMES)
    named = [{"codigoDoCliente": "NOBODY-HAS-THIS"}]
    write_records(tmp_path / "titles.xlsx", "contasreceber", named)
    write_records(tmp_path / "bills.xlsx", "contaspagar", bills("OTHER", 1, 1))
    planned = report(run_batch("plan", plan, "--format", "json"), 1)
    assert states(planned) == {"titles": "invalid", "bills": "new"}
    assert token_of_both(run_batch, plan).startswith("2:")


def test_a_failure_of_the_last_run_does_not_hide_what_the_next_one_sends(
    xlbridge: Xlbridge, write_plan: WritePlan, tmp_path: Path, second_sandbox: RunningSandbox
) -> None:
    plan = write_plan(ONE_STEP.format(name="again"))
    write_records(tmp_path / "again.xlsx", "contaspagar", bills("AGAIN", 1, 1))
    with lossy_proxy(second_sandbox.base_url) as proxy:
        environment = credentials(
            second_sandbox, XLBRIDGE_BASE_URL=proxy.base_url, XLBRIDGE_SETTLE="0"
        )

        def command(*arguments: object) -> Any:
            return xlbridge("batch", *arguments, **environment)

        proxy.decide = lambda _method, path: "unavailable" if "importacao" in path else "pass"
        found = report(command("run", plan, "--yes", "--format", "json"), 4)
        assert states(found) == {"bills": "failed"}
        proxy.decide = lambda _method, _path: "pass"
        planned = report(command("plan", plan, "--format", "json"), 0)
        assert (states(planned), planned["confirm"][:2]) == ({"bills": "under_way"}, "2:")
        token = token_of_both(command, plan)
        assert report(command("run", plan, "--confirm", token, "--format", "json"), 0)["done"]


HELD_LINK = """\
name: held-link
steps:
  titles:
    upload: titles.xlsx
    resource: contasreceber
    links: {codigoDoCliente: "elsewhere.xlsx#seuCodigo"}
  bills: {upload: bills.xlsx, resource: contaspagar, after: titles}
  others: {upload: others.xlsx, resource: contaspagar, after: []}
"""


def test_steps_after_a_workbook_that_planning_holds_are_left_out_of_the_token(
    run_batch: RunBatch, write_plan: WritePlan, tmp_path: Path
) -> None:
    plan = write_plan(HELD_LINK)
    write_records(tmp_path / "titles.xlsx", "contasreceber", [{"codigoDoCliente": "NEVER-SENT"}])
    write_records(tmp_path / "bills.xlsx", "contaspagar", bills("HELD", 1, 1))
    write_records(tmp_path / "others.xlsx", "contaspagar", bills("FREE", 1))
    planned = report(run_batch("plan", plan, "--format", "json"), 1)
    assert states(planned) == {"titles": "held", "bills": "new", "others": "new"}
    token = token_of_both(run_batch, plan)
    assert token.startswith("1:")
    run = ("run", plan, "--confirm", token, "--format", "json")
    nothing = report(run_batch(*run, "--all-or-nothing"), 1)
    assert nothing["rows"]["accepted"] == 0
    found = report(run_batch(*run), 1)
    assert states(found) == {"titles": "held", "bills": "new", "others": "done"}
