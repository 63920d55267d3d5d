"""Misbehaviour on purpose: each kind does what it says, the same every time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from environment import clean_environment

from xlbridge.errors import UsageError
from xlbridge.sandbox.embedded import sandbox_process
from xlbridge.sandbox.faults import Fault, FaultKind, FaultPlan, parse_faults

CLIENT = {"nomeComercial": "Padaria Estrela"}


def test_a_plan_is_read() -> None:
    plan = parse_faults("delay=0.5@0.2, cut-after@0.05,slow-queue=3,error-before,seed=7")
    assert plan == FaultPlan(
        (
            Fault(FaultKind.DELAY, 0.5, 0.2),
            Fault(FaultKind.CUT_AFTER, 1.0, 0.05),
            Fault(FaultKind.SLOW_QUEUE, 3.0, 1.0),
            Fault(FaultKind.ERROR_BEFORE, 1.0, 1.0),
        ),
        seed=7,
    )
    assert plan.slow_queue == 3
    assert parse_faults("") == FaultPlan()


@pytest.mark.parametrize("text", ["delays", "delay=x", "cut-after@2", "seed", "expire@-1"])
def test_a_wrong_plan_names_what_there_is(text: str) -> None:
    with pytest.raises(UsageError, match="cut-before") as caught:
        parse_faults(text)
    assert text in caught.value.message.en


def test_the_same_seed_strikes_the_same_requests() -> None:
    def struck(seed: int) -> list[int]:
        plan = parse_faults(f"error-before@0.3,seed={seed}")
        return [number for number in range(1_000) if list(plan.striking(number))]

    assert struck(7) == struck(7)
    assert struck(7) != struck(8)
    assert 250 < len(struck(7)) < 350


@contextmanager
def faulty(folder: Path, faults: str) -> Iterator[httpx.Client]:
    """A client, logged in by a sandbox without faults on the same database."""
    environment = clean_environment(folder)
    with (
        sandbox_process(folder, ["--seed", "empty"], environment) as plain,
        httpx.Client(base_url=plain.base_url) as http,
    ):
        login = {"email": plain.email, "password": plain.password}
        token = http.post("/v2/autenticar", json=login).json()["accessToken"]
    with (
        sandbox_process(folder, ["--faults", faults], environment) as broken,
        httpx.Client(
            base_url=broken.base_url, headers={"Authorization": f"Bearer {token}"}, timeout=10
        ) as http,
    ):
        yield http


def registered(folder: Path) -> int:
    """How many clients a sandbox without faults finds in the database."""
    with (
        sandbox_process(folder, [], clean_environment(folder)) as plain,
        httpx.Client(base_url=plain.base_url) as http,
    ):
        login = {"email": plain.email, "password": plain.password}
        token = http.post("/v2/autenticar", json=login).json()["accessToken"]
        answer = http.get("/v2/cliente", headers={"Authorization": f"Bearer {token}"})
        return len(answer.json()["data"])


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
def test_each_kind(tmp_path: Path, faults: str, status: int | None, clients: int) -> None:
    with faulty(tmp_path, faults) as http:
        if status is None:
            with pytest.raises(httpx.RemoteProtocolError):
                http.post("/v2/cliente", json=CLIENT)
        else:
            answer = http.post("/v2/cliente", json=CLIENT)
            assert answer.status_code == status
            assert answer.json()["success"] == (status == 200)
            assert answer.headers.get("Retry-After") == ("2" if status == 429 else None)
        assert http.get("/openapi.json").status_code == 200
    assert registered(tmp_path) == clients
