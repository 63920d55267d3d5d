"""Commands that call the remote system: output and exit codes."""

import json
import os
from pathlib import Path

import pytest
from scripted_server import EMAIL, INFO, PASSWORD, TOKEN, ScriptedServer, Step, answer, ok, reset

from xlbridge.cli.main import main

REFUSED_LOGIN: Step = answer(200, {"authenticated": False, "message": "Senha incorreta"})
HTML: Step = answer(200, b"<html>Portal</html>", "text/html")


@pytest.fixture(autouse=True)
def configured(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server.steps = [ok(INFO)]
    monkeypatch.setenv("XLBRIDGE_LANG", "en")
    monkeypatch.setenv("XLBRIDGE_HOME", str(tmp_path))
    monkeypatch.setenv("XLBRIDGE_BASE_URL", server.base_url)
    monkeypatch.setenv("XLBRIDGE_EMAIL", EMAIL)
    monkeypatch.setenv("XLBRIDGE_PASSWORD", PASSWORD)
    monkeypatch.setenv("XLBRIDGE_PROFILE", "homologacao")


@pytest.mark.parametrize("command", ["whoami", "login", "profiles", "doctor"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_command_reports_without_secrets(
    capsys: pytest.CaptureFixture[str], command: str, form: str
) -> None:
    assert main([command, "--format", form]) == 0
    captured = capsys.readouterr()
    assert EMAIL in captured.out
    assert PASSWORD not in captured.out + captured.err
    assert TOKEN not in captured.out + captured.err
    if form == "json":
        assert json.loads(captured.out)["version"] == 1


@pytest.mark.parametrize(
    ("expiration", "text"),
    [("2026-11-21 16:00:05", "21/11/2026 16:00:05"), ("tomorrow", "tomorrow"), (None, "?")],
)
def test_the_end_of_a_token_is_a_date_as_elsewhere(
    server: ScriptedServer,
    capsys: pytest.CaptureFixture[str],
    expiration: str | None,
    text: str,
) -> None:
    server.login = answer(
        200, {"authenticated": True, "accessToken": TOKEN, "expiration": expiration}
    )
    assert main(["login"]) == 0
    assert f"(token valid until {text})" in capsys.readouterr().out


def test_a_password_from_the_environment_is_used_and_not_stored(
    capsys: pytest.CaptureFixture[str], server: ScriptedServer
) -> None:
    new = ["login", "--profile", "novo", "--url", server.base_url, "--email", EMAIL]
    assert main([*new, "--no-production", "--store", "file"]) == 0
    remark = "The password is that of XLBRIDGE_PASSWORD and was not stored."
    assert remark in capsys.readouterr().err
    assert main([*new, "--no-production"]) == 0
    assert remark in capsys.readouterr().err
    assert main([*new, "--no-production", "--store", "none"]) == 0
    assert remark not in capsys.readouterr().err


def test_whoami_shows_the_systems_answer(capsys: pytest.CaptureFixture[str]) -> None:
    main(["whoami", "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["profile"], document["info"]) == ("homologacao", INFO)


def test_an_unknown_or_contradicting_profile_is_refused(
    server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["whoami", "--profile", "homologcao"]) == 2
    assert "There is no profile 'homologcao'" in capsys.readouterr().err
    assert main(["whoami", "--profile", "sandbox"]) == 2
    assert "XLBRIDGE_BASE_URL contradicts" in capsys.readouterr().err
    assert not server.requests
    assert main(["whoami", "--profile", "homologacao"]) == 0


def test_the_doctor_names_the_failed_check(
    server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.steps = [
        answer(200, {"success": True, "data": INFO}, Date="Mon, 05 Jan 2026 10:00:00 GMT")
    ]
    assert main(["doctor", "--format", "json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert [check["check"] for check in document["checks"] if not check["ok"]] == ["clock"]
    assert not document["ok"]


def test_the_doctor_names_a_broken_schema_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XLBRIDGE_SCHEMAS", str(tmp_path))
    (tmp_path / "x.yaml").write_text("title: [\n", encoding="utf-8")
    assert main(["doctor", "--format", "json"]) == 2
    [wrong] = [it for it in json.loads(capsys.readouterr().out)["checks"] if not it["ok"]]
    assert wrong["check"] == "schemas"
    assert f"{tmp_path / 'x.yaml'}:2: " in wrong["message"] + str(wrong["advice"])


@pytest.mark.parametrize("missing", ["XLBRIDGE_EMAIL", "XLBRIDGE_PASSWORD"])
def test_the_doctor_names_missing_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: str
) -> None:
    monkeypatch.delenv(missing)
    assert main(["doctor"]) == 2
    assert f"{missing} missing" in capsys.readouterr().out


@pytest.mark.parametrize(("language", "word"), [("pt-BR", "nenhum"), ("en", "none")])
def test_the_doctor_says_that_there_is_no_proxy(
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    language: str,
    word: str,
) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    server.steps = [answer(200, {"success": True, "data": INFO})]
    main(["--lang", language, "doctor"])
    assert f"proxies: {word};" in capsys.readouterr().out


def test_profiles_without_settings_name_the_embedded_sandbox(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("BASE_URL", "PROFILE", "EMAIL", "PASSWORD"):
        monkeypatch.delenv(f"XLBRIDGE_{name}")
    assert main(["profiles", "--format", "json"]) == 0
    (profile,) = json.loads(capsys.readouterr().out)["profiles"]
    assert (profile["profile"], profile["source"]) == ("sandbox", "embedded")


def test_an_address_with_a_password_in_it_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XLBRIDGE_BASE_URL", "https://me:topsecret@erp.example.com")
    for command in ("profiles", "doctor", "whoami"):
        assert main([command]) == 2
    captured = capsys.readouterr()
    assert "topsecret" not in captured.out + captured.err


@pytest.mark.parametrize(
    ("step", "code", "printed"),
    [
        (ok({"n": 1.10}), 0, {"success": True, "data": {"n": 1.10}}),
        (answer(200, [1, 2]), 0, [1, 2]),
        (answer(400, {"success": False, "errors": []}), 1, {"success": False, "errors": []}),
        (answer(200, {"success": False, "errors": []}), 1, {"success": False, "errors": []}),
        (answer(200, {"success": False}), 4, {"success": False}),
        (answer(404, "não existe"), 1, "não existe"),
        (answer(500, {"success": False}), 4, {"success": False}),
        (HTML, 4, None),
        (reset, 4, None),
        (answer(401, b""), 4, None),
    ],
)
def test_a_raw_call_prints_the_answer(
    server: ScriptedServer,
    capsys: pytest.CaptureFixture[str],
    step: Step,
    code: int,
    printed: object,
) -> None:
    server.steps = [step]
    assert main(["api", "GET", "/v2/x?a=1", "--query", "b=2", "--query", "b=3"]) == code
    captured = capsys.readouterr()
    assert (json.loads(captured.out) if captured.out.strip() else None) == printed
    assert bool(captured.err) == (code == 4)


def test_a_raw_call_has_the_given_timeout(server: ScriptedServer) -> None:
    server.steps = [lambda connection: connection.recv(1)]
    assert main(["api", "POST", "/v2/x", "--timeout", "0.2"]) == 5
    assert main(["api", "POST", "/v2/x", "--timeout", "0"]) == 2
    assert len(server.requests) == 1


@pytest.mark.parametrize("words", ["Pronto=over", "=finished", "Pronto"])
def test_invalid_log_words_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    monkeypatch.setenv("XLBRIDGE_LOG_WORDS", words)
    assert main(["jobs"]) == 2
    assert "XLBRIDGE_LOG_WORDS" in capsys.readouterr().err


def test_a_raw_query_is_sent_completely(server: ScriptedServer) -> None:
    main(["api", "GET", "/v2/x", "--query", "b=2", "--query", "b=3=4"])
    assert server.requests[0].path == "/v2/x?b=2&b=3%3D4"
    main(["api", "get", "/v2/x?a=1"])
    assert server.requests[1].path == "/v2/x?a=1"


@pytest.mark.parametrize("from_file", [False, True])
def test_a_raw_body_is_read_from_the_command_line_or_a_file(
    server: ScriptedServer, tmp_path: Path, from_file: bool
) -> None:
    text = '{"nome": "São João"}'
    file = tmp_path / "body.json"
    file.write_text(text, encoding="utf-8")
    assert main(["api", "POST", "/v2/x", "--data", f"@{file}" if from_file else text]) == 0
    assert json.loads(server.requests[0].body) == {"nome": "São João"}


@pytest.mark.parametrize("step", [reset, HTML, answer(500, {"success": False})])
def test_a_raw_write_without_a_clear_answer_is_in_doubt(server: ScriptedServer, step: Step) -> None:
    server.steps = [step]
    assert main(["api", "POST", "/v2/x", "--data", "{}"]) == 5


@pytest.mark.parametrize(
    "arguments",
    [
        ["GET", "v2/x"],
        ["GET", "/v2/x", "--query", "b"],
        ["POST", "/v2/x", "--data", "{"],
        ["POST", "/v2/x", "--data", '{"valor": 1e999999999}'],
        ["POST", "/v2/x", "--data", '{"valor": NaN}'],
        ["POST", "/v2/x", "--data", r'{"nome": "\ud800"}'],
        ["POST", "/v2/x", "--data", "[" * 100_000],
        ["POST", "/v2/x", "--data", "@missing.json"],
        ["BREW", "/v2/x"],
    ],
)
def test_wrong_usage_of_a_raw_call_exits_with_2(
    server: ScriptedServer, arguments: list[str]
) -> None:
    assert main(["api", *arguments]) == 2
    assert server.requests == []


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("ALL_PROXY", "socks5://user:canary-secret@127.0.0.1:9", "httpx[socks]"),
        ("HTTPS_PROXY", "ftp://user:canary-secret@127.0.0.1:9", "http://host:port"),
        ("HTTPS_PROXY", "http://user:canary-secret@[::1", "http://host:port"),
        ("REQUESTS_CA_BUNDLE", "/no/such/canary-secret", "REQUESTS_CA_BUNDLE is not a PEM file"),
        ("SSL_CERT_FILE", "/no/such/canary-secret", "SSL_CERT_FILE is not a PEM file"),
    ],
)
def test_an_unusable_environment_is_reported(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str,
    value: str,
    message: str,
) -> None:
    monkeypatch.setenv("XLBRIDGE_BASE_URL", "https://erp.invalid")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv(variable, value)
    assert main(["whoami"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "canary-secret" not in error


@pytest.mark.parametrize(
    ("language", "address", "message"),
    [
        ("pt-BR", "https://erp.invalid", "não respondeu (servidor não encontrado)"),
        ("pt-BR", "http://127.0.0.1:9", "http://127.0.0.1:9 não respondeu (conexão recusada)"),
        ("en", "http://127.0.0.1:9", "http://127.0.0.1:9 did not answer (connection refused)"),
    ],
)
def test_a_connection_failure_is_explained_in_the_users_language(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    language: str,
    address: str,
    message: str,
) -> None:
    monkeypatch.setenv("XLBRIDGE_BASE_URL", address)
    assert main(["--lang", language, "whoami"]) == 4
    error = capsys.readouterr().err
    assert message in error
    assert "xlbridge doctor" in error
    assert main(["--lang", language, "doctor"]) == 4
    output = capsys.readouterr().out
    assert message in output
    assert "xlbridge doctor" not in output  # the command that was just run


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("pt-BR", "--data não é JSON (linha 1, coluna 2).\n"),
        ("en", "(line 1, column 2).\n"),
    ],
)
def test_a_body_that_is_not_json_is_reported_in_the_users_language(
    server: ScriptedServer, capsys: pytest.CaptureFixture[str], language: str, message: str
) -> None:
    assert main(["--lang", language, "api", "POST", "/v2/x", "--data", "{nada"]) == 2
    assert message in capsys.readouterr().err
