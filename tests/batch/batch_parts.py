"""Test data for batches."""

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sheets import GOOD, write_rows

from xlbridge.profiles import Profile
from xlbridge.sandbox import RunningSandbox
from xlbridge.saved_logins import PasswordSource, store_password
from xlbridge.settings import Settings

WritePlan = Callable[[str], Path]
RunBatch = Callable[..., "subprocess.CompletedProcess[str]"]

PLAN = """\
name: month
steps:
  clients:
    upload: clients*.xlsx
    resource: cliente
  payables:
    upload: payables*.xlsx
    resource: contaspagar
    after: clients
  listing:
    export: clientes
    output: out/clients.xlsx
    after: clients
"""
"""A plan of clients, payables after them, and a listing."""


def write_clients(folder: Path, name: str, documents: Sequence[str]) -> Path:
    rows = [[f"Client {document}", document] for document in documents]
    return write_rows(folder / name, ["nomeComercial", "cnpj"], rows)


def write_payables(folder: Path, name: str, *suppliers: object, account: int = 1) -> Path:
    """Write a payable per supplier; the account is that of the second."""
    row = GOOD["contaspagar"]
    rows = [
        [
            *{
                **row,
                "codigoDoFornecedor": supplier,
                "historico": f"{name} {number}",
                "codigoDaContaCorrente": account if number == 1 else 1,
            }.values()
        ]
        for number, supplier in enumerate(suppliers)
    ]
    return write_rows(folder / name, [*row], rows)


def report(done: "subprocess.CompletedProcess[str]", code: int) -> dict[str, Any]:
    assert done.returncode == code, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def states(found: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step["state"] for step in found["steps"]}


def token_of_both(run_batch: RunBatch, plan: Path) -> str:
    """Return the token that a plan shows, after a run has asked for the same."""
    planned = json.loads(run_batch("plan", plan, "--format", "json").stdout)["confirm"]
    asked = run_batch("run", plan)
    assert asked.returncode == 2, asked.stderr
    found = re.search(r"--confirm (\d+:[0-9a-f]{8})", asked.stderr)
    assert found is not None, asked.stderr
    assert planned == found[1]
    # The run has recorded its checks, and the plan is still the same.
    assert json.loads(run_batch("plan", plan, "--format", "json").stdout)["confirm"] == planned
    return str(planned)


def row_counts(**counts: int) -> dict[str, int]:
    """Return the row counts of a report, 0 by default."""
    names = ("read", "accepted", "unchanged", "held", "unknown", "unsent", "undone", "rejected")
    return dict.fromkeys(names, 0) | counts


def write_profile(
    home: Path,
    name: str,
    sandbox: RunningSandbox,
    *,
    production: bool = False,
    exclusive: bool = False,
) -> None:
    """Add an environment to the user's profiles, with its password."""
    home.mkdir(exist_ok=True)
    profile = Profile(name, sandbox.base_url, sandbox.email, production=production)
    with (home / "profiles.toml").open("a", encoding="utf-8") as file:
        file.write(
            f'[profiles.{name}]\nbase_url = "{profile.base_url}"\nemail = "{profile.email}"\n'
            f"production = {str(production).lower()}\n"
            f"exclusive = {str(exclusive).lower()}\n"
        )
    store_password(Settings(home), profile, sandbox.password, PasswordSource.FILE)
