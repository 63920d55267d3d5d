"""Writers wait for their turn, up to a limit; readers never wait.

Inside: sandbox.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest
import uvicorn
from child_processes import wait_until
from databases import TABLES, open_storage
from sheets import write_rows
from sqlalchemy import insert, select

from xlbridge.resources import load_catalogue
from xlbridge.sandbox import imports, prepare_account, seed_database, storage as database
from xlbridge.sandbox.app import build_app
from xlbridge.sandbox.area_declarations import Sandbox
from xlbridge.sandbox.storage import Storage
from xlbridge.settings import Settings
from xlbridge.wire.imports import NO_QUIRKS, ImportLog, ImportState

clients = TABLES["clients"]
users = TABLES["users"]

MORE_THAN_THREADS = 40
LINES = 20


def log(storage: Storage, log_id: int) -> ImportLog:
    with storage.transaction(writing=False) as connection:
        return imports.read_log(connection, log_id, NO_QUIRKS)


def done(storage: Storage, log_id: int) -> int:
    found = log(storage, log_id)
    return found.registrosImportados + found.registrosRejeitados


@contextmanager
def served(storage: Storage, home: Path) -> Iterator[httpx.Client]:
    """Serve a database in a thread, and yield a bare HTTP client with a token."""
    with storage.transaction(writing=True) as connection:
        seed_database(connection, "empty", 1)
    account = prepare_account(storage, Settings(home=home))
    app = build_app(Sandbox(storage, load_catalogue(Settings(home=home).schemas)))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    [listener] = server.servers[0].sockets
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with httpx.Client(base_url=address, timeout=30, verify=False) as http:
        credentials = {"email": account.email, "password": account.password}
        token = http.post("/v2/autenticar", json=credentials).json()["accessToken"]
        http.headers["Authorization"] = f"Bearer {token}"
        yield http
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize("whose", ["this process", "another"])
def test_a_writer_that_waits_too_long_gets_a_503(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    monkeypatch.setattr(database, "TURN_SECONDS", 0.2)
    monkeypatch.setattr(database, "LOCK_SECONDS", 0.2)
    with closing(open_storage(tmp_path)) as storage, served(storage, tmp_path) as http:
        client = {"nomeComercial": "Espera"}
        with closing(open_storage(tmp_path)) as other:
            holder = storage if whose == "this process" else other
            with holder.transaction(writing=True):
                response = http.post("/v2/cliente", json=client)
                assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
                assert response.json()["success"] is False
        assert http.get("/v2/cliente").json()["data"] == []
        assert http.post("/v2/cliente", json=client).status_code == 200


def test_waiting_writers_do_not_block_readers(tmp_path: Path) -> None:
    with closing(open_storage(tmp_path)) as storage, served(storage, tmp_path) as http:

        def create(number: int) -> int:
            return http.post("/v2/cliente", json={"nomeComercial": str(number)}).status_code

        with ThreadPoolExecutor(MORE_THAN_THREADS) as pool:
            with storage.transaction(writing=True):
                waiting = [pool.submit(create, number) for number in range(MORE_THAN_THREADS)]
                for _ in range(database.POOL_SIZE):
                    assert http.get("/v2/cliente").json()["data"] == []
            assert {future.result() for future in waiting} == {200}
        assert len(http.get("/v2/cliente").json()["data"]) == MORE_THAN_THREADS


class StoppedMeanwhile(Event):
    """Event of released files, whose worker is stopped just before it is cleared."""

    stop: Callable[[], None]

    def clear(self) -> None:
        Thread(target=self.stop, daemon=True).start()
        self.wait()
        super().clear()


def test_a_worker_stopped_before_it_waits_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "_IDLE_SECONDS", 30)
    released = StoppedMeanwhile()
    with closing(open_storage(tmp_path)) as storage:
        catalogue = load_catalogue(Settings(home=tmp_path).schemas)
        worker = imports.ImportWorker(Sandbox(storage, catalogue, file_released=released))
        released.stop = worker.stop
        others = set(threading.enumerate())  # those of sandboxes of other tests, too
        worker.start()
        started = set(threading.enumerate()) - others
        threads = [one for one in started if one.name == "import-worker"]
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)


def test_a_long_file_lets_others_write_and_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "LINES_PER_TRANSACTION", 2)
    rows = [[f"Client {number}", "J" if number % 10 else "X"] for number in range(LINES)]
    path = write_rows(tmp_path / "c.xlsx", ["nomeComercial", "natureza"], rows)
    with closing(open_storage(tmp_path)) as storage:
        with storage.transaction(writing=True) as connection:
            seed_database(connection, "empty", 1)
        prepare_account(storage, Settings(home=tmp_path))
        others, alone = storage._writers._waiting, Event()

        def now() -> datetime:
            """Return the time of a transaction, once another writer waits for its end."""
            wait_until(lambda: others or alone.is_set())
            return datetime(2026, 11, 21)

        sandbox = Sandbox(storage, load_catalogue(Settings(home=tmp_path).schemas), clock=now)
        with storage.transaction(writing=True) as connection:
            queued = insert(TABLES["import_logs"]).values(
                resource="cliente",
                filename="c.xlsx",
                content=path.read_bytes(),
                user_id=connection.scalar(select(users.c.id)) or 0,
                state=ImportState.PENDING,
                released=True,
                included=datetime(2026, 11, 21),
            )
            (log_id,) = connection.execute(queued).inserted_primary_key or (0,)
        seen, interrupted = set[int](), imports.ImportWorker(sandbox)
        interrupted.start()
        while len(seen) < 3 and log(storage, log_id).situacao != ImportState.FINISHED:
            with storage.transaction(writing=True):
                seen.add(done(storage, log_id))
        assert len(seen) == 3
        with storage.transaction(writing=True):
            stop = Thread(target=interrupted.stop)
            stop.start()
            wait_until(sandbox.file_released.is_set)  # It has been told to stop.
            alone.set()
        stop.join()
        assert 0 < done(storage, log_id) < LINES
        resumed = imports.ImportWorker(sandbox)
        resumed.start()
        wait_until(lambda: log(storage, log_id).situacao == ImportState.FINISHED)
        resumed.stop()
        ended = log(storage, log_id)
        assert (ended.registrosImportados, ended.registrosRejeitados) == (
            LINES * 9 // 10,
            LINES // 10,
        )
        with storage.transaction(writing=False) as connection:
            names = connection.scalars(select(clients.c.nomeComercial)).all()
        assert sorted(names) == sorted(name for name, nature in rows if nature == "J")
