"""TLS is always verified: a server that nobody vouches for gets neither credentials nor retries."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import PASSWORD, open_client

from xlbridge.errors import TransportError

_OPENSSL = shutil.which("openssl")


@pytest.fixture
def untrusted(tmp_path: Path) -> Iterator[tuple[str, list[bytes]]]:
    """A TLS server with a certificate of its own making; yields its address and what it read."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    made = ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-nodes"]
    command = [str(_OPENSSL), "req", "-x509", "-newkey", "rsa:2048", *made, *subject]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    read: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    with context.wrap_socket(connection, server_side=True) as secured:
                        read.append(secured.recv(1000))
                except OSError:
                    read.append(b"")

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"https://127.0.0.1:{listener.getsockname()[1]}", read
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.skipif(_OPENSSL is None, reason="makes its certificate with the openssl program")
def test_an_unknown_certificate_ends_it_at_once(
    untrusted: tuple[str, list[bytes]], pauses: list[float]
) -> None:
    base_url, read = untrusted
    with open_client(base_url, pauses) as client, pytest.raises(TransportError) as caught:
        client.login()
    assert "certificate" in str(caught.value).lower()
    assert pauses == []
    assert PASSWORD.encode() not in b"".join(read)
