"""Profiles on the command line: created, checked, listed, removed."""

import io
import json
from pathlib import Path

import pytest
from scripted_server import EMAIL, INFO, PASSWORD, ScriptedServer, answer, ok

from xlbridge.cli.main import main
from xlbridge.profiles import read_profile_file
from xlbridge.settings import Settings


@pytest.fixture(autouse=True)
def _own_home(server: ScriptedServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.steps = [ok(INFO)]
    monkeypatch.setenv("XLBRIDGE_LANG", "en")
    monkeypatch.setenv("XLBRIDGE_HOME", str(home))
    for name in ("BASE_URL", "EMAIL", "PASSWORD", "PROFILE", "CA_BUNDLE", "SETTLE"):
        monkeypatch.delenv(f"XLBRIDGE_{name}", raising=False)


def log_in(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, name: str, *options: str
) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    arguments = ["login", "--profile", name, "--url", server.base_url, "--email", EMAIL]
    return main([*arguments, "--password-stdin", "--store", "file", *options])


def list_profiles(
    capsys: pytest.CaptureFixture[str], *options: str
) -> dict[str, dict[str, object]]:
    capsys.readouterr()
    assert main(["profiles", "--format", "json", *options]) == 0
    output = json.loads(capsys.readouterr().out)
    return {profile["profile"]: profile for profile in output["profiles"]}


def test_a_profile_is_created_and_used(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert log_in(server, monkeypatch, "dev", "--no-production") == 0
    output = capsys.readouterr()
    assert "not encrypted" in output.err
    assert PASSWORD not in output.out + output.err
    assert main(["whoami", "--profile", "dev", "--format", "json"]) == 0
    who = json.loads(capsys.readouterr().out)
    assert (who["profile"], who["production"], who["info"]["email"]) == ("dev", False, EMAIL)
    assert list_profiles(capsys, "--default", "dev")["dev"] == {
        "profile": "dev",
        "source": "file",
        "chosen": True,
        "base_url": server.base_url,
        "email": EMAIL,
        "production": False,
        "password": "file",
    }
    assert main(["whoami"]) == 0
    assert main(["login"]) == 0


def test_a_profile_that_is_created_again_keeps_its_settle_time(
    server: ScriptedServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(server, monkeypatch, "dev", "--no-production")
    path = home / "profiles.toml"
    path.write_text(path.read_text(encoding="utf-8") + "settle_seconds = 30\n", encoding="utf-8")
    assert log_in(server, monkeypatch, "dev", "--no-production") == 0
    assert read_profile_file(Settings(home)).profiles["dev"].settle_seconds == 30


def test_production_cannot_be_the_default_profile(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert log_in(server, monkeypatch, "prod", "--production") == 0
    assert main(["profiles", "--default", "prod"]) == 2
    assert "production" in capsys.readouterr().err
    profiles = list_profiles(capsys)
    assert (profiles["sandbox"]["chosen"], profiles["prod"]["chosen"]) == (True, False)
    assert main(["whoami", "--profile", "prod"]) == 0
    assert "production: yes" in capsys.readouterr().out


def test_refused_credentials_leave_nothing_behind(
    server: ScriptedServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.login = answer(200, {"authenticated": False, "message": "Senha incorreta"})
    assert log_in(server, monkeypatch, "dev", "--no-production") == 4
    assert not (home / "profiles.toml").exists()
    assert not (home / "secrets").exists()


def test_a_profile_is_removed_with_its_password(
    server: ScriptedServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_in(server, monkeypatch, "dev", "--no-production")
    assert list(list_profiles(capsys, "--remove", "dev")) == ["sandbox"]
    assert list((home / "secrets").iterdir()) == []
    assert main(["whoami", "--profile", "dev"]) == 2


def test_a_password_is_not_stored_unless_requested(
    server: ScriptedServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(server, monkeypatch, "dev", "--no-production", "--store", "none")
    assert not (home / "secrets").exists()
    assert main(["whoami", "--profile", "dev"]) == 2
    monkeypatch.setenv("XLBRIDGE_PROFILE", "dev")
    monkeypatch.setenv("XLBRIDGE_PASSWORD", PASSWORD)
    assert main(["whoami", "--profile", "dev"]) == 0


class Terminal(io.StringIO):
    """Standard input of a person who types the given lines."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("options", "typed", "production"),
    [
        (["--production"], [EMAIL], True),
        ([], [EMAIL, "perhaps", "no"], False),
        (["--email", EMAIL], ["Y"], True),
    ],
)
def test_a_terminal_is_asked_for_the_email_and_for_production(
    server: ScriptedServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    typed: list[str],
    production: bool,
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("\n".join([*typed, ""])))
    monkeypatch.setenv("XLBRIDGE_PASSWORD", PASSWORD)
    arguments = ["login", "--profile", "company", "--url", server.base_url, *options]
    assert main(arguments) == 0
    profile = read_profile_file(Settings(home)).profiles["company"]
    assert (profile.email, profile.production) == (EMAIL, production)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--url", "https://x.example", "--profile", "dev", "--email", "a@b.c"],
        ["--url", "https://x.example", "--email", "a@b.c", "--production"],
        ["--url", "http://x.example", "--profile", "d", "--email", "a@b.c", "--no-production"],
        ["--url", "https://x.example", "--profile", "D", "--email", "a@b.c", "--no-production"],
        ["--profile", "nobody"],
        ["--ask"],
    ],
)
def test_invalid_login_options_exit_with_2(home: Path, arguments: list[str]) -> None:
    assert main(["login", *arguments]) == 2
    assert not (home / "profiles.toml").exists()


def test_the_doctor_reports_where_the_password_is_stored(
    server: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_in(server, monkeypatch, "prod", "--production")
    capsys.readouterr()
    assert main(["doctor", "--profile", "prod", "--format", "json"]) in (0, 2)
    output = json.loads(capsys.readouterr().out)
    checks = {check["check"]: check["message"] for check in output["checks"]}
    assert checks["settings"] == "prod from profiles.toml, production"
    assert "not encrypted" in checks["password"]


def test_the_doctor_explains_a_broken_profile_file(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir()
    (home / "profiles.toml").write_text("default = 3\n", encoding="utf-8")
    assert main(["doctor"]) == 2
    assert "profiles.toml" in capsys.readouterr().out
