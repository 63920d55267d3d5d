"""Chains of ``--since-last``: what moves them, and what does not."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge
from fake_system import FakeSystem, Query, fake_system

pytestmark = pytest.mark.one_database

NOW = datetime.now().replace(microsecond=0)
DAY = timedelta(days=1)
CLIENTS = "/v2/cliente"


class Clients:
    """Clients by number, with their last update; ``answer`` heeds the window."""

    def __init__(self, count: int) -> None:
        self.updated = {code: NOW - 30 * DAY + code * timedelta(minutes=1) for code in range(count)}

    def answer(self, query: Query) -> list[dict[str, Any]]:
        low, high = (
            datetime.strptime(query[name][0], "%d/%m/%Y %H:%M") if name in query else None
            for name in ("dataInferior", "dataSuperior")
        )
        return [
            {"codigoDoCliente": code, "ultimaAtualizacao": time.isoformat()}
            for code, time in sorted(self.updated.items(), key=lambda one: one[1])
            if (low is None or time >= low) and (high is None or time < high + DAY / 1440)
        ][:500]


class Runs:
    """Exports of clients into numbered files."""

    def __init__(self, xlbridge: Xlbridge, system: FakeSystem, folder: Path) -> None:
        self._xlbridge, self._system, self._folder = xlbridge, system, folder
        self._count = 0

    def __call__(self, *options: str, profile: str = "stand-in") -> tuple[list[int], Any]:
        """Return the numbers of the exported clients, and the manifest."""
        self._count += 1
        output = self._folder / f"{self._count}.jsonl"
        manifest = output.with_suffix(".json")
        arguments = ["export", "clientes", "-o", output, "--manifest", manifest, *options]
        done = self._xlbridge(*arguments, **self._system.environment(XLBRIDGE_PROFILE=profile))
        assert done.returncode == 0, done.stderr
        self.stderr = done.stderr
        lines = output.read_text("utf-8").splitlines()
        codes = [json.loads(line)["codigoDoCliente"] for line in lines]
        return codes, json.loads(manifest.read_text("utf-8"))


def test_only_its_own_runs_move_a_chain(tmp_path: Path, xlbridge: Xlbridge) -> None:
    clients = Clients(20)
    with fake_system({CLIENTS: clients.answer}) as system:
        export = Runs(xlbridge, system, tmp_path)
        assert len(export()[0]) == 20
        assert len(export("--since-last")[0]) == 20
        clients.updated[3] = NOW - 2 * DAY
        clients.updated[4] = NOW - DAY
        start = f"{NOW - 1.5 * DAY:%d/%m/%Y}"
        assert 4 in export("--from", start)[0]
        export()
        codes, _ = export("--since-last")
        assert {3, 4} <= set(codes)
        assert len(codes) < 10
        assert export("--since-last")[0] == [4]


def test_a_chain_belongs_to_its_filters_and_not_to_a_profile(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    with fake_system({CLIENTS: Clients(20).answer}) as system:
        export = Runs(xlbridge, system, tmp_path)
        export("--since-last")
        assert len(export("--since-last", profile="other-name")[0]) < 20
        assert len(export("--since-last", "--document", "1")[0]) == 20


def test_a_named_chain_is_of_its_name_alone(tmp_path: Path, xlbridge: Xlbridge) -> None:
    with fake_system({CLIENTS: Clients(20).answer, "/v2/fornecedor": []}) as system:
        export = Runs(xlbridge, system, tmp_path)
        export("--since-last")
        assert len(export("--chain", "nightly")[0]) == 20
        assert len(export("--chain", "nightly")[0]) < 20
        assert len(export("--chain", "weekly")[0]) == 20
        arguments = ["export", "pedidos", "-o", tmp_path / "p.csv", "--chain", "nightly"]
        refused = xlbridge(*arguments, **system.environment())
    assert refused.returncode == 2
    assert "clientes" in refused.stderr


@pytest.mark.parametrize("ahead", [366 * DAY, timedelta(hours=20)], ids=["a year", "hours"])
def test_a_record_from_the_future_does_not_silence_a_chain(
    tmp_path: Path, xlbridge: Xlbridge, ahead: timedelta
) -> None:
    clients = Clients(1_338)
    clients.updated[7] = NOW + ahead
    with fake_system({CLIENTS: clients.answer}) as system:
        export = Runs(xlbridge, system, tmp_path)
        codes, manifest = export("--since-last")
        assert sorted(codes) == list(range(1_338))
        is_named = ahead > DAY
        assert manifest["future"] == (["7"] if is_named else [])
        assert ("in the future; check in the system: 7" in export.stderr) is is_named
        clients.updated[8] = NOW - timedelta(minutes=1)
        codes, manifest = export("--since-last")
    assert {7, 8} <= set(codes)
    assert manifest["complete"]


def test_an_unreadable_update_time_does_not_move_a_chain(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    record = {"codigoDoCliente": 1, "ultimaAtualizacao": f"{NOW:%d/%m/%Y %H:%M}"}
    with fake_system({CLIENTS: [record]}) as system:
        export = Runs(xlbridge, system, tmp_path)
        assert export("--since-last")[0] == [1]
        assert export("--since-last")[0] == [1]
