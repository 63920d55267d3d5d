"""Writers take turns; who waits too long is told to come back, and readers never wait."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread

import httpx
import pytest
import uvicorn
from databases import open_storage

from xlbridge.resources.catalogue import load_catalogue
from xlbridge.sandbox.account import prepare_account
from xlbridge.sandbox.app import build_app
from xlbridge.sandbox.seed import seed
from xlbridge.sandbox.server import Sandbox
from xlbridge.sandbox.storage import Storage, engines, postgresql, sqlite, writers
from xlbridge.settings import Settings

MORE_THAN_THREADS = 40


@contextmanager
def served(storage: Storage, home: Path) -> Iterator[httpx.Client]:
    """Serve a database by a thread, and give a bare HTTP client with a token."""
    with storage.transaction(writing=True) as connection:
        seed(connection, "empty", 1)
    account = prepare_account(storage, Settings(home=home))
    app = build_app(Sandbox(storage, load_catalogue(Settings(home=home).schemas)))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    [listener] = server.servers[0].sockets
    with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=30) as http:
        credentials = {"email": account.email, "password": account.password}
        token = http.post("/v2/autenticar", json=credentials).json()["accessToken"]
        http.headers["Authorization"] = f"Bearer {token}"
        yield http
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize("whose", ["this process", "another"])
def test_a_writer_that_waits_too_long_is_told_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    monkeypatch.setattr(writers, "TURN_SECONDS", 0.2)
    for dialect in (sqlite, postgresql):
        monkeypatch.setattr(dialect, "LOCK_SECONDS", 0.2)
    with closing(open_storage(tmp_path)) as storage, served(storage, tmp_path) as http:
        client = {"nomeComercial": "Espera"}
        with closing(open_storage(tmp_path)) as other:
            holder = storage if whose == "this process" else other
            with holder.transaction(writing=True):
                told = http.post("/v2/cliente", json=client)
                assert (told.status_code, told.headers["Retry-After"]) == (503, "5")
                assert told.json()["success"] is False
        assert http.get("/v2/cliente").json()["data"] == []
        assert http.post("/v2/cliente", json=client).status_code == 200


def test_those_who_wait_to_write_hold_up_no_reader(tmp_path: Path) -> None:
    with closing(open_storage(tmp_path)) as storage, served(storage, tmp_path) as http:

        def create(number: int) -> int:
            return http.post("/v2/cliente", json={"nomeComercial": str(number)}).status_code

        with ThreadPoolExecutor(MORE_THAN_THREADS) as pool:
            with storage.transaction(writing=True):
                waiting = [pool.submit(create, number) for number in range(MORE_THAN_THREADS)]
                for _ in range(engines.POOL_SIZE):
                    assert http.get("/v2/cliente").json()["data"] == []
            assert {each.result() for each in waiting} == {200}
        assert len(http.get("/v2/cliente").json()["data"]) == MORE_THAN_THREADS
