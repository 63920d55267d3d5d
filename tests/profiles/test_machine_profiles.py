"""Profiles and policy that IT keeps for all users of a computer: commands and page."""

import json
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Protocol

import keyring
import pytest
from environment import Xlbridge, clean_environment
from forked import Zygote
from keyring.backends import fail
from running_page import running_page

from xlbridge.errors import ConfigError
from xlbridge.profiles import choose_profile, read_profile_file
from xlbridge.saved_logins import PasswordSource, find_password, store_password
from xlbridge.settings import Settings, read_settings

ERP = '[profiles.erp]\nbase_url = "https://erp.example.com"\nemail = "int@example.com"\n'
OWN = '[profiles.own]\nbase_url = "https://own.example.com"\nemail = "me@example.com"\n'


class Run(Protocol):
    """Runs a command on the machine."""

    def __call__(self, *arguments: str, **environment: str) -> "CompletedProcess[str]": ...


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Folder of a machine with a profile, which is the default."""
    folder = tmp_path / "machine"
    write(folder / "profiles.d" / "10-erp.toml", f'default = "erp"\n{ERP}')
    return folder


@pytest.fixture
def run(xlbridge: Xlbridge, machine: Path) -> Run:
    def run(*arguments: str, **environment: str) -> "CompletedProcess[str]":
        return xlbridge(*arguments, XLBRIDGE_MACHINE=str(machine), **environment)

    return run


@pytest.fixture
def settings(home: Path, machine: Path) -> Settings:
    return Settings(home, machine=machine)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def sources(done: "CompletedProcess[str]") -> dict[str, tuple[str, bool]]:
    """Return source and choice of each listed profile."""
    assert done.returncode == 0, done.stderr
    return {
        one["profile"]: (one["source"], one["chosen"])
        for one in json.loads(done.stdout)["profiles"]
    }


def test_profiles_of_the_machine_are_listed_and_the_user_chooses(run: Run, home: Path) -> None:
    write(home / "profiles.toml", OWN)
    listing = ("profiles", "--format", "json")
    assert sources(run(*listing)) == {"erp": ("machine", True), "own": ("file", False)}
    assert "IT's file" in run("profiles").stdout
    assert sources(run(*listing, XLBRIDGE_PROFILE="own"))["own"] == ("file", True)
    for name in ("own", "erp"):
        assert sources(run("profiles", "--default", name, "--format", "json"))[name][1]


def test_the_last_file_gives_the_default(settings: Settings, machine: Path) -> None:
    other = ERP.replace("erp", "other")
    write(machine / "profiles.d" / "20-other.toml", f'default = "other"\n{other}')
    write(machine / "profiles.d" / "30-none.txt", "no profiles")
    file = read_profile_file(settings)
    assert (list(file.profiles), file.default) == (["erp", "other"], "other")


def test_doctor_names_the_file_of_the_machine(run: Run, machine: Path) -> None:
    checks = json.loads(run("doctor", "--format", "json").stdout)["checks"]
    (found,) = (one for one in checks if one["check"] == "settings")
    assert found["message"] == f"erp from IT's file {machine / 'profiles.d' / '10-erp.toml'}"


def test_it_keeps_its_profiles(run: Run, home: Path, machine: Path) -> None:
    new = ("--url", "https://x.example", "--email", "a@b.c", "--no-production")
    for command in (("profiles", "--remove", "erp"), ("login", "--profile", "erp", *new)):
        done = run(*command, XLBRIDGE_PASSWORD="x", XLBRIDGE_BASE_URL="https://x.example")
        assert done.returncode == 2
        assert f"keeps it in {machine}" in done.stderr
    assert not (home / "profiles.toml").exists()


def test_a_name_that_both_have_is_refused(run: Run, home: Path, machine: Path) -> None:
    own = write(home / "profiles.toml", OWN.replace("own", "erp"))
    for command in ("profiles", "whoami"):
        done = run(command)
        assert done.returncode == 2
        assert str(own) in done.stderr
        assert str(machine / "profiles.d" / "10-erp.toml") in done.stderr


def test_an_address_is_production_in_both_files_or_in_none(run: Run, home: Path) -> None:
    text = OWN.replace("own.example", "erp.example")
    write(home / "profiles.toml", f"{text}production = true\n")
    done = run("profiles")
    assert done.returncode == 2
    assert "same address" in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("profiles.d/x.toml", f'{OWN}password = "secret-4711"\n', "xlbridge login"),
        ("profiles.d/x.toml", ERP, "profiles.erp is already in"),
        ("profiles.d/x.toml", b"\xff", "UTF-8"),
        ("profiles.d/x.toml", None, "directory"),
        ("policy.toml", b"\xff", "UTF-8"),
        ("policy.toml", None, "directory"),
        ("policy.toml", "own_environments = no\n", "line 1"),
        ("policy.toml", "\nown_environments = 0\n", "line 2: own_environments cannot"),
        ("policy.toml", 'passwords = "file"\n', "line 1: passwords cannot"),
        (
            "policy.toml",
            "own_environments = false\n# own\nown = 1\n",
            "line 3: unknown key own.",
        ),
        ("policy.toml", "[own]\n", 'own_environments = false, passwords = "keyring"'),
    ],
)
def test_a_wrong_file_of_the_machine_stops_every_command(
    run: Run, machine: Path, name: str, content: str | bytes | None, expected: str
) -> None:
    path = machine / name
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    done = run("profiles")
    assert done.returncode == 2
    assert str(path) in done.stderr
    assert expected in done.stderr
    assert "secret-4711" not in done.stderr


def test_a_named_folder_must_exist(xlbridge: Xlbridge, tmp_path: Path) -> None:
    done = xlbridge("profiles", XLBRIDGE_MACHINE=str(tmp_path / "none"))
    assert done.returncode == 2
    assert str(tmp_path / "none") in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the folder is the operating system's")
def test_the_folder_is_that_of_the_operating_system() -> None:
    assert read_settings({}).machine == Path("/etc/xlbridge")


def test_a_policy_allows_only_the_profiles_of_the_machine(
    run: Run, home: Path, machine: Path
) -> None:
    policy = write(machine / "policy.toml", "own_environments = false\n")
    write(home / "profiles.toml", OWN)
    new = ("--url", "https://x.example", "--email", "a@b.c", "--no-production")
    address = {"XLBRIDGE_BASE_URL": "https://x.example", "XLBRIDGE_EMAIL": "a@b.c"}
    secret = {"XLBRIDGE_PASSWORD": "x"}
    for done in (
        run("whoami", "--profile", "own"),
        run("profiles", "--default", "erp", **address),
        run("profiles", "--default", "own"),
        run("whoami", **address, **secret),
        run("login", "--profile", "new", *new, **secret, XLBRIDGE_PROFILE="new"),
    ):
        assert done.returncode == 2
        assert str(policy) in done.stderr
        assert "erp, sandbox" in done.stderr
    assert 'default = "own"' not in (home / "profiles.toml").read_text("utf-8")
    assert sources(run("profiles", "--format", "json"))["erp"] == ("machine", True)
    sandbox = run("profiles", "--format", "json", XLBRIDGE_PROFILE="sandbox")
    assert sources(sandbox)["sandbox"] == ("embedded", True)
    assert run("profiles", "--remove", "own").returncode == 0


def test_a_policy_applies_on_the_page(
    forks: Zygote, tmp_path: Path, home: Path, machine: Path
) -> None:
    policy = write(machine / "policy.toml", "own_environments = false\n")
    write(home / "profiles.toml", OWN)
    new = {"name": "new", "url": "https://x.example", "email": "a@b.c", "password": "x"}
    environment = clean_environment(home, XLBRIDGE_MACHINE=str(machine))
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        listed = client.get("/api/profiles").json()["profiles"]
        marks = {one["profile"]: (one["machine"], one["kept"]) for one in listed}
        assert marks == {"erp": (True, False), "own": (False, True), "sandbox": (False, False)}
        for name, body, path in (
            ("use-profile", {"name": "own"}, policy),
            ("login", {"name": "own"}, policy),
            ("new-profile", new | {"production": False}, policy),
            ("production", {"name": "erp", "production": True}, machine / "profiles.d"),
        ):
            answer = client.post(f"/api/{name}", json=body)
            assert answer.is_client_error
            assert str(path) in answer.text


def test_a_policy_keeps_passwords_out_of_files(
    settings: Settings, home: Path, machine: Path
) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    try:
        erp = choose_profile(settings)
        assert store_password(settings, erp, "x", PasswordSource.FILE) is PasswordSource.FILE
        policy = write(machine / "policy.toml", 'passwords = "keyring"\n')
        assert find_password(settings, erp).source is PasswordSource.NOWHERE
        with pytest.raises(ConfigError, match=str(policy)):
            store_password(settings, erp, "x", PasswordSource.FILE)
        with pytest.raises(ConfigError, match="cannot be used") as caught:
            store_password(settings, erp, "x", None)
    finally:
        keyring.set_keyring(before)
    assert str(policy) in str(caught.value.hint)
    assert not list((home / "secrets").iterdir())


def test_quirks_of_the_machine_are_those_of_its_profile(
    run: Run, home: Path, machine: Path
) -> None:
    name = "erp.quirks.yaml"
    for folder in (machine, home):
        path = write(folder / "profiles.d" / name, "first_line: 1\n")
        checks = json.loads(run("doctor", "--format", "json").stdout)["checks"]
        assert [one["message"] for one in checks if one["check"] == "quirks"] == [str(path)]
