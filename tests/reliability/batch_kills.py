"""SIGKILL at random moments of a batch, repeatedly, until it is done.

Whatever the moments, the system must end with the records of an uninterrupted run.
"""

import json
import shutil
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from environment import clean_environment, credentials
from forked import Zygote
from make_month import Month, write_month
from sandboxes import sandbox_process
from trials import mark_exclusive

from xlbridge.sandbox import RunningSandbox

MONTH = Month(workbooks=16, rows=6, seed="kills")
SMALL = replace(MONTH, workbooks=8)
"""A workbook of each resource."""

RESOURCES = {
    "clients": "cnpjcpf, nomeComercial, seuCodigo, email, telefone",
    "receivables": "numeroDoDocumento, codigoDaFilial, historico, valorDoLancamento, "
    "dataDeVencimento, (SELECT cnpjcpf FROM clients WHERE clients.codigoDoCliente = "
    "receivables.codigoDoCliente)",
    "payables": "numeroDoDocumento, historico, valorDoLancamento, ValorBruto, (SELECT cnpjcpf "
    "FROM suppliers WHERE suppliers.codigoDoFornecedor = payables.codigoDoFornecedor)",
    "addressings": "codigoDaFilial, codigoDoAlmoxarifado, codigoDaSecao, idProd, ativo",
    "service_invoices": "codigoDaFilial, codigoDoCliente, codigoDoServicoPrestado, valorDoServico",
    "suppliers": "cnpjcpf, nomeComercial, email, telefone",
    "products": "codigoInterno, codigoDeBarras, descricaoDoProduto, valorUnitario, ncm",
    "sales_orders": "codigoDaFilial, dataDaOrdem, observacao, (SELECT cnpjcpf FROM clients WHERE "
    "clients.codigoDoCliente = sales_orders.codigoDoCliente)",
    "sales_order_items": "seq, quantidade, valorUnitario, (SELECT codigoInterno FROM products "
    "WHERE products.idProduto = sales_order_items.idProduto)",
    "sales_order_installments": "numeroDaParcela, dataDeVencimento, percentual, valor",
}
"""Tables of the month's records, and their compared columns."""

_TABLES = {
    "cliente": "clients",
    "contasreceber": "receivables",
    "contaspagar": "payables",
    "enderecamento-de-produto": "addressings",
    "nota-fiscal-servico": "service_invoices",
    "fornecedor": "suppliers",
    "produto": "products",
    "pedido": "sales_orders",
}
"""The tables of the resources."""

_MAX_RUNS = 60
_MAX_WAIT = 20.0
_KILLED = -9


@dataclass(frozen=True)
class BatchResult:
    """Result of a batch: each step's state and rows, the records in the system, the kills."""

    steps: dict[str, Any]
    records: dict[str, list[tuple[Any, ...]]]
    kills: int = 0
    decided: int = 0


@dataclass
class BatchTrials:
    """Runs batches in folders and processes of their own."""

    folder: Path
    zygote: Zygote

    def uninterrupted(self, month: Month) -> BatchResult:
        """Run the month to its end."""
        with self._scenario("undisturbed", month) as scenario:
            return scenario.end(kills=0)

    def corrected(self, month: Month, bad: float) -> tuple[int, BatchResult]:
        """Run the month with bad rows, correct it and resume; return the number of errors."""
        with self._scenario("corrected", replace(month, bad=bad)) as scenario:
            ended = scenario.run()
            if ended.returncode != 1:
                raise AssertionError(f"{ended.returncode}: {ended.stderr}")
            steps = json.loads(ended.stdout)["steps"]
            errors = sum(unit["errors"] for step in steps for unit in step["units"])
            write_month(scenario.folder, month)
            return errors, scenario.end(kills=0)

    def killed(self, month: Month, seed: int, kills: int, longest: float) -> BatchResult:
        """Run the month, killed ``kills`` times after up to ``longest`` seconds each."""
        with self._scenario(f"killed-{seed}", month) as scenario:
            random, done = Random(seed), 0
            for _ in range(kills):
                ended = scenario.run(random.uniform(0.0, longest))
                if ended.returncode != _KILLED:
                    break
                done += 1
            return scenario.end(kills=done)

    @contextmanager
    def _scenario(self, name: str, month: Month) -> Iterator["Scenario"]:
        folder = self.folder / name
        folder.mkdir()
        database = folder / "sandbox.db"
        written = folder / "month"
        write_month(written, month)
        options = ["--db", f"sqlite:///{database}"]
        with sandbox_process(folder, options, clean_environment(folder), few=True) as sandbox:
            mark_exclusive(written / "home", sandbox.base_url, sandbox.email)
            scenario = Scenario(written, database, sandbox, self.zygote)
            scenario.count_records()
            yield scenario
        shutil.rmtree(folder)


@dataclass
class Scenario:
    """One month, from its first run to its end."""

    folder: Path
    database: Path
    sandbox: RunningSandbox
    zygote: Zygote
    decided: int = 0
    counted: Counter[str] = field(default_factory=Counter)

    def run(self, seconds: float | None = None) -> "subprocess.CompletedProcess[str]":
        """Run or resume the batch; kill it after the given seconds."""
        return self._xlbridge(
            "batch", "run", "plan.yaml", "--month", MONTH.month, "--yes", "--format", "json",
            "--workers", "1", longest=seconds,
        )  # fmt: skip

    def end(self, kills: int) -> BatchResult:
        """Run the batch until it is done, resolving doubts like a person."""
        for _ in range(_MAX_RUNS):
            self._settle()
            ended = self.run()
            if ended.returncode not in (0, 1, 5):
                raise AssertionError(f"{ended.returncode}: {ended.stderr}")
            report = json.loads(ended.stdout)
            if report["done"]:
                steps = {step["step"]: (step["state"], step["rows"]) for step in report["steps"]}
                return BatchResult(steps, self._records(), kills, self.decided)
            self._decide()
        raise AssertionError(f"the batch does not end: {report}")

    def _decide(self) -> None:
        """Resolve each job in doubt by the records of the system."""
        listed = json.loads(self._xlbridge("jobs", "--format", "json").stdout)["jobs"]
        for job in listed:
            if job["state"] != "in_doubt":
                continue
            again = self._xlbridge("resume", job["job"], "--yes", "--format", "json")
            if json.loads(again.stdout)["state"] != "in_doubt":
                continue
            applied = self._was_applied(job)
            resolution = "applied" if applied else "not-applied"
            self._xlbridge("resolve", job["job"], "--as", resolution, "--reason", "looked")
            self.decided += 1

    def _was_applied(self, job: dict[str, Any]) -> bool:
        """Return whether a workbook was imported: its resource has more records than were accepted.

        A kill may come before a request is sent, which the client cannot know.
        """
        resource = job["resource"]
        listed = json.loads(self._xlbridge("jobs", "--format", "json").stdout)["jobs"]
        accepted = sum(o["rows"]["accepted"] for o in listed if o["resource"] == resource)
        return self._count(resource) - self.counted[resource] > accepted

    def count_records(self) -> None:
        """Store the number of records of each resource."""
        for resource in _TABLES:
            self.counted[resource] = self._count(resource)

    def _count(self, resource: str) -> int:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
            (count,) = db.execute(f"SELECT COUNT(*) FROM {_TABLES[resource]}").fetchone()
        return int(count)

    def _records(self) -> dict[str, list[tuple[Any, ...]]]:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
            return {
                table: sorted(db.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)
                for table, columns in RESOURCES.items()
            }

    def _settle(self) -> None:
        """Wait until all requests of a killed process are finished."""
        query = "SELECT COUNT(*) FROM import_logs WHERE finished IS NULL AND released"
        deadline = time.monotonic() + _MAX_WAIT
        while time.monotonic() < deadline:
            time.sleep(0.1)
            with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
                if not db.execute(query).fetchone()[0]:
                    return
        raise TimeoutError("a queued file does not end")

    def _xlbridge(
        self, *arguments: str, longest: float | None = None
    ) -> "subprocess.CompletedProcess[str]":
        environment = clean_environment(
            self.folder / "home", **credentials(self.sandbox, XLBRIDGE_SETTLE="0")
        )
        return self.zygote.run(self.folder, environment, list(arguments), longest=longest)
