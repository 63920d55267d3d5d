"""TLS is always verified: an untrusted server gets neither credentials nor retries."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_server import EMAIL, PASSWORD, ScriptedServer, answer, open_client

from xlbridge.client import Client, RetryPolicy, Target
from xlbridge.errors import ConfigError, TransportError

_OPENSSL = shutil.which("openssl")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return tmp_path / "certificate.pem"


@pytest.fixture
def untrusted(tmp_path: Path, certificate: Path) -> Iterator[tuple[str, list[bytes]]]:
    """TLS server with a self-signed certificate; yields its address and the bytes it received."""
    key = tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    options = ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-nodes"]
    command = [str(_OPENSSL), "req", "-x509", "-newkey", "rsa:2048", *options, *subject]
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


@pytest.mark.processes
@pytest.mark.skipif(_OPENSSL is None, reason="makes its certificate with the openssl program")
def test_an_unknown_certificate_fails_without_retries(
    untrusted: tuple[str, list[bytes]], pauses: list[float]
) -> None:
    base_url, read = untrusted
    with open_client(base_url, pauses) as client, pytest.raises(TransportError) as caught:
        client.login()
    assert "certificate" in str(caught.value).lower()
    assert "XLBRIDGE_CA_BUNDLE" in str(caught.value)
    assert pauses == []
    assert PASSWORD.encode() not in b"".join(read)


@pytest.mark.processes
@pytest.mark.skipif(_OPENSSL is None, reason="makes its certificate with the openssl program")
def test_a_certificate_of_the_bundle_is_trusted(
    untrusted: tuple[str, list[bytes]], certificate: Path, pauses: list[float]
) -> None:
    base_url, read = untrusted
    policy = RetryPolicy(tries=1, sleep=pauses.append)
    target = Target("test", base_url, EMAIL, PASSWORD, ca_bundle=str(certificate))
    with Client(target, retry_policy=policy) as client, pytest.raises(TransportError):
        client.login()
    assert read[0].startswith(b"POST /v2/autenticar ")


@pytest.mark.processes
@pytest.mark.skipif(_OPENSSL is None, reason="makes its certificate with the openssl program")
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_the_certificates_of_a_variable_are_trusted(
    untrusted: tuple[str, list[bytes]],
    certificate: Path,
    pauses: list[float],
    variable: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base_url, read = untrusted
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv(variable, str(certificate))
    with open_client(base_url, pauses) as client, pytest.raises(TransportError):
        client.login()
    assert read[0].startswith(b"POST /v2/autenticar ")


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_an_invalid_certificate_bundle_is_refused(tmp_path: Path, content: bytes | None) -> None:
    bundle = tmp_path / "company.pem"
    if content is not None:
        bundle.write_bytes(content)
    with pytest.raises(ConfigError, match="certificates"):
        Client(Target("test", "https://erp.example.com", EMAIL, PASSWORD, ca_bundle=bundle))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("use", [Client.login, lambda client: client.system.info()])
def test_redirects_are_not_followed(
    server: ScriptedServer, client: Client, status: int, use: Callable[[Client], object]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        location = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"
        step = answer(status, b"", Location=location)
        if use is Client.login:
            server.login = step
        server.steps = [step]
        with pytest.raises(TransportError):
            use(client)
        with pytest.raises(BlockingIOError):
            elsewhere.accept()
