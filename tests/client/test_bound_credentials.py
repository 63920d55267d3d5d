"""Credentials of environment variables: sent only to the address that they were given with."""

from pathlib import Path

import pytest
from environment import Xlbridge
from scripted_server import EMAIL, INFO, PASSWORD, ScriptedServer, ok

import xlbridge as xb
from xlbridge.errors import ConfigError

PROFILES = """\
default = "homolog"

[profiles.homolog]
base_url = "{homolog}"
email = "{email}"

[profiles.other]
base_url = "{other}"
email = "{email}"
"""


@pytest.fixture(autouse=True)
def profiles(server: ScriptedServer, home: Path) -> None:
    """Profiles of two systems; that of the tests' server counts what is sent to it."""
    server.steps = [ok(INFO)]
    home.mkdir()
    text = PROFILES.format(homolog="https://homolog.invalid", other=server.base_url, email=EMAIL)
    (home / "profiles.toml").write_text(text)


@pytest.mark.parametrize("chosen", [(), ("--profile", "other"), ("--profile", "homolog")])
@pytest.mark.parametrize("command", ["whoami", "login", "doctor"])
def test_a_password_alone_is_an_error(
    xlbridge: Xlbridge, server: ScriptedServer, command: str, chosen: tuple[str, ...]
) -> None:
    done = xlbridge(command, *chosen, XLBRIDGE_PASSWORD=PASSWORD)
    assert done.returncode == 2, done.stderr
    assert "XLBRIDGE_PASSWORD" in done.stdout + done.stderr
    assert "XLBRIDGE_BASE_URL" in done.stdout + done.stderr
    assert server.logins == 0


def test_a_password_given_with_a_profile_is_for_that_one(
    xlbridge: Xlbridge, server: ScriptedServer
) -> None:
    given = {"XLBRIDGE_PROFILE": "homolog", "XLBRIDGE_EMAIL": EMAIL, "XLBRIDGE_PASSWORD": PASSWORD}
    other = xlbridge("whoami", "--profile", "other", **given)
    assert (other.returncode, server.logins) == (2, 0)
    assert "XLBRIDGE_PROFILE" in other.stderr
    new = ("login", "--profile", "new", "--url", server.base_url, "--email", EMAIL)
    created = xlbridge(*new, "--no-production", **given)
    assert (created.returncode, server.logins) == (2, 0)
    elsewhere = {"XLBRIDGE_BASE_URL": "https://homolog.invalid", "XLBRIDGE_PASSWORD": PASSWORD}
    created = xlbridge(*new, "--no-production", **elsewhere)
    assert (created.returncode, server.logins) == (2, 0)
    matching = given | {"XLBRIDGE_PROFILE": "other"}
    assert xlbridge("whoami", **matching).returncode == 0
    assert xlbridge("whoami", "--profile", "other", **matching).returncode == 0


def test_python_binds_a_password_too(
    server: ScriptedServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLBRIDGE_HOME", str(home))
    monkeypatch.setenv("XLBRIDGE_PASSWORD", PASSWORD)
    for profile in (None, "other"):
        with pytest.raises(ConfigError, match="XLBRIDGE_PASSWORD"):
            xb.connect(profile)
    monkeypatch.setenv("XLBRIDGE_PROFILE", "homolog")
    with pytest.raises(ConfigError, match="missing"):
        xb.connect("other")
    assert server.logins == 0


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"XLBRIDGE_BASEURL": "https://erp.example.com"}, "XLBRIDGE_BASE_URL"),
        ({"XLBRIDGE_BASEURL": ""}, "XLBRIDGE_BASE_URL"),
        ({"XLBRIDGE_PROFILES": "producao"}, "XLBRIDGE_PROFILE"),
        ({}, "XLBRIDGE_BASE_URL"),
    ],
)
@pytest.mark.parametrize("command", [("whoami",), ("doctor",), ("upload", "x.xlsx", "--yes")])
def test_misspelt_variables_never_lead_to_the_embedded_sandbox(
    xlbridge: Xlbridge,
    home: Path,
    command: tuple[str, ...],
    variables: dict[str, str],
    named: str,
) -> None:
    (home / "profiles.toml").unlink()
    done = xlbridge(*command, XLBRIDGE_EMAIL=EMAIL, XLBRIDGE_PASSWORD=PASSWORD, **variables)
    printed = done.stdout + done.stderr
    assert done.returncode == 2, printed
    assert named in printed
    assert all(variable in printed for variable in variables)
    assert not (home / "sandbox.db").exists()
