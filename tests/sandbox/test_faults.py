"""Planned faults: behaviour of each kind, reproducible by seed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path

import httpx
import pytest
from servers import log_in, sandbox_on

from xlbridge.errors import UsageError
from xlbridge.sandbox import FaultKind, FaultPlan, parse_faults

CLIENT = {"nomeComercial": "Padaria Estrela"}


def test_a_plan_is_read() -> None:
    plan = parse_faults("delay=0.5@0.2, cut-after@0.05,slow-queue=3,error-before,seed=7")
    assert [astuple(fault) for fault in plan.faults] == [
        (FaultKind.DELAY, 0.5, 0.2),
        (FaultKind.CUT_AFTER, 1.0, 0.05),
        (FaultKind.SLOW_QUEUE, 3.0, 1.0),
        (FaultKind.ERROR_BEFORE, 1.0, 1.0),
    ]
    assert plan.seed == 7
    assert plan.slow_queue == 3
    assert parse_faults("") == FaultPlan()


@pytest.mark.parametrize(
    ("text", "share"),
    [("expire@0", 0), ("expire@1.0", 1), ("expire@.5", 0.5), ("expire@0.25", 0.25)],
)
def test_a_share_is_from_0_to_1(text: str, share: float) -> None:
    assert [astuple(fault) for fault in parse_faults(text).faults] == [
        (FaultKind.EXPIRE, 1.0, share)
    ]


@pytest.mark.parametrize(
    "text", ["delays", "delay=x", "cut-after@2", "cut-after@1.1", "seed", "expire@-1"]
)
def test_a_wrong_plan_is_refused_with_the_kinds_of_faults(text: str) -> None:
    with pytest.raises(UsageError, match="cut-before") as caught:
        parse_faults(text)
    assert text in caught.value.message.en


def test_the_same_seed_selects_the_same_requests() -> None:
    def struck(seed: int) -> list[int]:
        plan = parse_faults(f"error-before@0.3,seed={seed}")
        return [number for number in range(1_000) if list(plan.faults_of(number))]

    assert struck(7) == struck(7)
    assert struck(7) != struck(8)
    assert 250 < len(struck(7)) < 350


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def plain(folder: Path) -> Iterator[httpx.Client]:
    """A client of a sandbox without faults, on the database of those with faults."""
    with (
        sandbox_on(folder, "--seed", "empty") as server,
        log_in(server) as http,
    ):
        yield http


@contextmanager
def faulty(folder: Path, plain: httpx.Client, faults: str) -> Iterator[httpx.Client]:
    """A client of a sandbox with faults."""
    with (
        sandbox_on(folder, "--faults", faults, few=True) as broken,
        httpx.Client(base_url=broken.base_url, headers=plain.headers, timeout=60) as http,
    ):
        yield http


def registered(plain: httpx.Client) -> int:
    """Count the clients, through the sandbox without faults."""
    return len(plain.get("/v2/cliente").json()["data"])


@pytest.mark.parametrize(
    ("faults", "status", "clients"),
    [
        ("error-before", 500, 0),
        ("error-after", 500, 1),
        ("cut-before", None, 0),
        ("cut-after", None, 1),
        ("expire", 401, 0),
        ("throttle=2", 429, 0),
        ("delay=0.1", 200, 1),
    ],
)
def test_each_kind_of_fault_has_its_effect(
    folder: Path, plain: httpx.Client, faults: str, status: int | None, clients: int
) -> None:
    before = registered(plain)
    with faulty(folder, plain, faults) as http:
        if status is None:
            # A connection cut before the body is read ends with a reset.
            with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
                http.post("/v2/cliente", json=CLIENT)
        else:
            answer = http.post("/v2/cliente", json=CLIENT)
            assert answer.status_code == status
            assert answer.json()["success"] == (status == 200)
            assert answer.headers.get("Retry-After") == ("2" if status == 429 else None)
        assert http.get("/docs").status_code == 200
    assert registered(plain) == before + clients


def test_a_delayed_request_is_not_executed_meanwhile(folder: Path, plain: httpx.Client) -> None:
    before = registered(plain)
    with faulty(folder, plain, "delay=600") as http, pytest.raises(httpx.ReadTimeout):
        http.post("/v2/cliente", json=CLIENT, timeout=0.5)
    assert registered(plain) == before


def test_a_seed_selects_the_same_requests_in_every_run(folder: Path, plain: httpx.Client) -> None:
    spec = "error-before@0.3,throttle@0.2,seed=7"
    status = {FaultKind.ERROR_BEFORE: 500, FaultKind.THROTTLE: 429}
    plan = parse_faults(spec)
    planned = [
        next((status[fault.kind] for fault in plan.faults_of(number)), 200) for number in range(40)
    ]
    with faulty(folder, plain, spec) as http:
        assert [http.get("/v2/sistema/info").status_code for _ in planned] == planned
    assert set(planned) == {200, 429, 500}


def test_an_expired_token_stays_expired(folder: Path, plain: httpx.Client) -> None:
    spec = "expire@0.3,seed=7"
    plan = parse_faults(spec)
    planned = [bool(list(plan.faults_of(number))) for number in range(20)]
    first = planned.index(True)
    assert not all(planned[first:])
    with faulty(folder, plain, spec) as http:
        answers = [http.get("/v2/sistema/info").status_code for _ in planned]
    assert answers == [200] * first + [401] * (len(planned) - first)
