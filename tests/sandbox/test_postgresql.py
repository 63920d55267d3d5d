"""PostgreSQL: unavailable servers, locale, limits.

Inside: sandbox.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import databases
import pytest
from databases import TABLES
from environment import Xlbridge
from postgresql_server import PASSWORD, PostgresqlServer, postgresql_server
from servers import log_in, sandbox_on
from sqlalchemy import Connection, insert, select
from test_import_rules import finished
from workbooks import upload

from xlbridge.errors import ConfigError
from xlbridge.i18n import set_language
from xlbridge.sandbox import open_database, storage as dialect
from xlbridge.sandbox.areas.registries import Numbers
from xlbridge.sandbox.storage import Storage, database_url
from xlbridge.wire import OPERATIONS

abc_costs = TABLES["abc_costs"]

pytestmark = [pytest.mark.one_database, pytest.mark.programs]

CLIENTS = [["nomeComercial", "seuCodigo"], *(["Da fila", "FILA"] for _ in range(20))]


@pytest.fixture(scope="module")
def postgresql() -> PostgresqlServer:
    """The server of this run's tests."""
    return databases.postgresql()


@pytest.fixture
def own_server(postgresql: PostgresqlServer) -> Iterator[PostgresqlServer]:
    """A server that a test may stop."""
    with postgresql_server() as started:
        yield started


@pytest.fixture
def storage(postgresql: PostgresqlServer, tmp_path: Path) -> Iterator[Storage]:
    opened = open_database(database_url(postgresql.database_of(tmp_path)))
    yield opened
    opened.close()


def test_texts_are_in_the_order_of_their_bytes_as_on_sqlite(storage: Storage) -> None:
    codes = ["a", "B", "á", "Z", "1", " x", "-y", "A", "_"]
    with storage.transaction(writing=True) as connection:
        connection.execute(insert(abc_costs), [{"code": code, "name": "x"} for code in codes])
        found = connection.scalars(select(abc_costs.c.code).order_by(abc_costs.c.code)).all()
        beyond = connection.scalars(select(abc_costs.c.code).where(abc_costs.c.code > "Z")).all()
    assert found == sorted(codes, key=str.encode)
    assert set(beyond) == {"a", "á", "_"}


def test_concurrent_transactions_do_not_share_the_first_number_of_a_scope(storage: Storage) -> None:
    def draw(_: int) -> int:
        with storage.transaction(writing=True) as connection:
            numbers = Numbers(connection)
            number = numbers.next("new")
            time.sleep(0.01)
            numbers.write()
            return number

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(draw, range(16))) == list(range(1, 17))


def test_a_reading_transaction_sees_one_moment_and_cannot_write(storage: Storage) -> None:
    def count(connection: Connection) -> int:
        return len(connection.execute(select(abc_costs)).all())

    with storage.transaction(writing=False) as reading:
        before = count(reading)
        with storage.transaction(writing=True) as writing:
            writing.execute(insert(abc_costs).values(code="new", name="x"))
        assert count(reading) == before
    with pytest.raises(Exception, match="read-only"), storage.transaction(writing=False) as reading:
        reading.execute(insert(abc_costs).values(code="other", name="x"))


def test_writer_waits_for_the_previous_one_up_to_a_limit(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "LOCK_SECONDS", 0.2)
    set_language("en")
    with (
        closing(open_database(storage.url)) as other,
        storage.transaction(writing=True),
        pytest.raises(Exception, match="lock timeout"),
    ):
        other.transaction(writing=True).__enter__()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("%40ss", "%40sS"), "password authentication failed"),
        (("/there", "/not_there"), '"not_there" does not exist'),
        (("127.0.0.1:", "127.0.0.1:1/"), "onnection refused"),
        (("127.0.0.1", "no-such-host.invalid"), "no-such-host.invalid"),
        (("/there", "/there?sslmode=never"), "sslmode"),
    ],
    ids=["password", "database", "port", "host", "option"],
)
def test_an_unusable_server_is_reported_without_the_password(
    postgresql: PostgresqlServer, xlbridge: Xlbridge, change: tuple[str, str], reason: str
) -> None:
    url = postgresql.url("there").replace(*change)
    ended = xlbridge("sandbox", "--db", url)
    assert ended.returncode == 2
    assert reason in ended.stderr
    assert "user and database in the --db address, and the password (PGPASSWORD" in ended.stderr
    for secret in (PASSWORD, "p%40ss", "Traceback"):
        assert secret not in ended.stderr


@pytest.mark.parametrize(
    "text", ["postgresql+psycopg://me:p@ss@host/db", "postgresql://me:p@ss:x/y@host:one/db"]
)
def test_an_invalid_address_is_reported_without_the_password(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        database_url(text)
    assert "ss" not in str(raised.value).replace("postgresql+psycopg", "").partition("://")[2]


def test_a_database_of_another_encoding_is_refused(postgresql: PostgresqlServer) -> None:
    options = "encoding 'LATIN1' locale_provider libc locale 'C' template template0"
    set_language("en")
    with pytest.raises(ConfigError, match="is LATIN1; it must be UTF-8"):
        open_database(database_url(postgresql.database("latin", options)))


def test_sandbox_recovers_when_the_server_is_back(
    own_server: PostgresqlServer, tmp_path: Path
) -> None:
    database = ("--db", own_server.database("lost"))
    options = ("--seed", "empty", *database, "--faults", "slow-queue=1")
    with (
        sandbox_on(tmp_path, *options, own_process=True) as server,
        log_in(server) as http,
    ):
        log_id = http.post("/v2/importacao/cliente/fila", files=upload(CLIENTS)).json()["data"]
        own_server.stop()
        for lost in (http.get("/v2/cliente"), http.post("/v2/cliente", json={})):
            assert lost.status_code == 500
            assert lost.json()["success"] is False
            assert "psycopg" not in lost.text
        own_server.start()
        assert http.get("/v2/cliente").status_code == 200
        assert http.post("/v2/cliente", json={"nomeComercial": "Volta"}).status_code == 200
        assert finished(http, log_id)["registrosImportados"] == 20
    assert PASSWORD not in (tmp_path / "sandbox.log").read_text(encoding="utf-8")


def test_idle_connections_that_were_cut_are_not_noticed(
    own_server: PostgresqlServer, tmp_path: Path
) -> None:
    database = ("--db", own_server.database("cut"))
    with sandbox_on(tmp_path, "--seed", "empty", *database) as server, log_in(server) as http:
        own_server.stop()
        own_server.start()
        assert http.get("/v2/cliente").status_code == 200


def test_every_listing_is_the_same_as_on_sqlite(
    postgresql: PostgresqlServer, tmp_path: Path
) -> None:
    narrowed = {"filial": 1, "codigoDaFilial": 1, "codigoDaContaCorrente": 1, "idws": "WS-1002"}
    narrowed |= {"dataInferior": "15/10/2026", "dataSuperior": "31/10/2026", "qtde": 60}
    listings = [
        operation
        for operation in OPERATIONS.values()
        if operation.method == "GET" and "{" not in operation.path
    ]
    on_sqlite, on_postgresql = tmp_path / "sqlite", tmp_path / "postgresql"
    with (
        sandbox_on(on_sqlite, "--db", str(on_sqlite / "sandbox.db"), few=True) as one,
        sandbox_on(on_postgresql, "--db", postgresql.database_of(on_postgresql), few=True) as other,
        log_in(one) as expected,
        log_in(other) as found,
    ):
        for operation in listings:
            names = () if operation.query is None else operation.query.model_fields
            query = {name: value for name, value in narrowed.items() if name in names}
            wanted = expected.get(operation.path, params=query)
            assert wanted.status_code == 200, (operation.path, wanted.text)
            assert found.get(operation.path, params=query).text == wanted.text, operation.path
    assert len(listings) > 20
