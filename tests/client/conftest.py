"""Fixtures: a scripted server, and a client without pauses."""

import socket
import threading
from collections.abc import Iterator

import pytest
from scripted_server import ScriptedServer, open_client

from xlbridge.client import Client


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer(socket.create_server(("127.0.0.1", 0)))
    thread = threading.Thread(target=scripted.serve)
    thread.start()
    yield scripted
    scripted.stop()
    thread.join()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(server: ScriptedServer, pauses: list[float]) -> Iterator[Client]:
    with open_client(server.base_url, pauses) as opened:
        yield opened
