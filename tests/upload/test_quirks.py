"""An installation with quirks is used like one without, given the file that declares them."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from databases import database_options
from environment import ROOT, Xlbridge, clean_environment, credentials
from sampling import sampled
from sandboxes import sandbox_process
from sheets import write_records
from upload_parts import new_cnpj

TENANTS = sorted((ROOT / "samples/quirks").glob("*.quirks.yaml"))
SAMPLE = {"everything-else.quirks.yaml", "rows-from-zero.quirks.yaml"}
DOCUMENTS = [new_cnpj() for _ in range(3)]
DUE = date(2026, 12, 10)

Report = dict[str, Any]


class Tenant:
    """A sandbox, commands that use it, and its quirks file."""

    def __init__(self, xlbridge: Xlbridge, folder: Path, environment: dict[str, str]) -> None:
        self._xlbridge = xlbridge
        self._environment = {"XLBRIDGE_HOME": str(folder / "home"), **environment}
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
            *arguments, "--format", "json", **{**self._environment, **environment}
        )
        assert ended.stdout, ended.stderr
        return ended.returncode, json.loads(ended.stdout)

    def text(self, *arguments: object, **environment: str) -> str:
        """Run a command; return all that it prints."""
        ended = self._xlbridge(*arguments, **{**self._environment, **environment})
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

    def payables(self, document: str) -> Path:
        """Write a workbook of payables, with fields whose spelling the interface leaves open."""
        rows = [
            {
                "numeroDoDocumento": f"{document}-{n}",
                "dataDeVencimento": DUE,
                "ValorPISRetido": 0.65,
                "ValorBruto": 95.65,
            }
            for n in range(2)
        ]
        return write_records(self.folder / f"pagar-{document}.xlsx", "contaspagar", rows)

    def exported(self, listing: str, *options: object) -> list[dict[str, Any]]:
        """Export a listing; return its records."""
        path = self.folder / f"{listing}.jsonl"
        said = self.text("export", listing, "-o", path, "--force", *options)
        assert path.exists(), said
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


Start = Callable[[str | Path | None], Tenant]


@pytest.fixture
def start(tmp_path: Path, xlbridge: Xlbridge) -> Iterator[Start]:
    """Start a sandbox with quirks, which commands know too."""
    with ExitStack() as stack:

        def start(quirks: str | Path | None) -> Tenant:
            folder = tmp_path / f"tenant-{len(list(tmp_path.iterdir()))}"
            folder.mkdir()
            options = ["--seed", "empty", *database_options(folder)]
            if isinstance(quirks, str):
                (folder / "quirks.yaml").write_text(quirks, "utf-8")
            if quirks is not None:
                file = quirks if isinstance(quirks, Path) else folder / "quirks.yaml"
                options += ["--quirks", str(file)]
            running = stack.enter_context(
                sandbox_process(folder, options, clean_environment(folder), ignore_run_options=True)
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


@pytest.mark.parametrize("quirks", sampled(TENANTS, lambda _, file: file.name in SAMPLE))
def test_an_installation_with_quirks_gives_the_same_outcome(start: Start, quirks: Path) -> None:
    expected = outcome(start(None))
    assert [one[1] for one in expected if isinstance(one, tuple)] == [
        *("done", "rejected", "partial", "done", "done", "done", "done"),
    ]
    assert outcome(start(quirks)) == expected
