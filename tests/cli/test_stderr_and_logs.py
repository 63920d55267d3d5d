"""What commands say on stderr, and what they log."""

import json
import logging
import re
from pathlib import Path

import pytest
from environment import ROOT, Xlbridge, credentials

from xlbridge.client import Client, Target
from xlbridge.sandbox import RunningSandbox

SAMPLE = ROOT / "samples" / "tipocliente.xlsx"
LINE = re.compile(r"^\d{4}-\d\d-\d\d [\d:,]{12} (DEBUG|INFO) xlbridge\.[\w.]+: ", re.MULTILINE)


def test_a_quiet_command_says_nothing_beside_its_result(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    done = xlbridge("upload", SAMPLE, "--yes", "-q", **credentials(empty_sandbox))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Done.")


def test_a_quiet_command_that_fails_says_all(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    done = xlbridge("upload", SAMPLE, "--quiet", "--again", "a test", **credentials(empty_sandbox))
    assert done.returncode == 2
    assert done.stderr.index("Plan:") < done.stderr.index("Confirmation is missing")


@pytest.mark.parametrize(("option", "levels"), [("-v", {"INFO"}), ("-vv", {"INFO", "DEBUG"})])
def test_log_lines_are_shown_on_request(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, option: str, levels: set[str]
) -> None:
    sheet = ROOT / "samples" / "cliente.xlsx"
    done = xlbridge("upload", sheet, "--mode", "preview", option, **credentials(empty_sandbox))
    assert set(LINE.findall(done.stderr)) == levels
    assert re.search(r"plan of \d+ rows of cliente: \{'create': \d", done.stderr)
    assert logging.getLogger("xlbridge").handlers == []


def test_a_log_file_is_continued_without_secrets_and_values(
    xlbridge: Xlbridge, empty_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    system = credentials(empty_sandbox)
    for _ in range(2):
        query = ("--query", "cnpjcpf=11222333000181")
        done = xlbridge("api", "GET", "/v2/cliente", *query, "--log-file", "calls.log", **system)
        assert "xlbridge.client" not in done.stderr
    lines = (tmp_path / "calls.log").read_text("utf-8")
    assert lines.count("GET /v2/cliente: ") == 2
    assert "11222333000181" not in lines
    assert system["XLBRIDGE_PASSWORD"] not in lines
    refused = xlbridge("listings", "--log-file", "none/calls.log")
    assert refused.returncode == 2
    assert json.dumps("none/calls.log")[1:-1] in refused.stderr


def test_documents_in_queries_are_in_no_log_of_the_process(
    empty_sandbox: RunningSandbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    target = Target("t", empty_sandbox.base_url, empty_sandbox.email, empty_sandbox.password)
    with Client(target) as client:
        assert client.registry.clients.list(cnpjcpf="11222333000181") is None
    assert "xlbridge.client.transport" in {record.name for record in caplog.records}
    assert "11222333000181" not in caplog.text
    logging.getLogger("httpx").info("of another client")
    assert "of another client" in caplog.text
