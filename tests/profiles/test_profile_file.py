"""Profiles of ``profiles.toml``, and the choice of one."""

from pathlib import Path

import pytest

from xlbridge.errors import ConfigError
from xlbridge.profiles import (
    ProfileSource,
    choose_profile,
    is_profile_name,
    origin_of,
    read_profile_file,
    settings_for,
)
from xlbridge.settings import Settings

TWO = """
default = "dev"
[profiles.dev]
base_url = "https://dev.erp.example.com"
email = "int@example.com"
settle_seconds = 60
ca_bundle = "empresa.pem"
trust_429 = true
timeout_seconds = 600
[profiles.prod]
base_url = "https://erp.example.com"
email = "int@example.com"
production = true
"""


def write(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "profiles.toml").write_text(text, encoding="utf-8")


def test_without_a_file_there_are_no_profiles(home: Path) -> None:
    assert not read_profile_file(Settings(home)).profiles


def test_the_profiles_are_read(home: Path) -> None:
    write(home, TWO)
    known = read_profile_file(Settings(home))
    dev, prod = known.profiles["dev"], known.profiles["prod"]
    assert (known.default, dev.production, prod.production) == ("dev", False, True)
    assert (dev.settle_seconds, prod.settle_seconds) == (60.0, 900.0)
    assert (dev.trust_429, prod.trust_429) == (True, False)
    assert (dev.timeout_seconds, prod.timeout_seconds) == (600.0, 60.0)
    assert (dev.ca_bundle, prod.ca_bundle) == (home / "empresa.pem", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default =", "profiles.toml"),
        ("colour = 1", "unknown key colour"),
        ("profiles = 3", "profiles is not a table"),
        ("[profiles]\ndev = 3", "profiles.dev is not a table"),
        ("[profiles.Dev]", "lower-case"),
        ("[profiles.sandbox]", "lower-case"),
        ("[profiles.con]", "lower-case"),
        ('[profiles."../x"]', "lower-case"),
        ('[profiles.dev]\nbase_url = "https://x"', "profiles.dev.email is missing"),
        ('[profiles.dev]\nemail = ""', "profiles.dev.base_url is missing"),
        ("[profiles.dev]\nbase_url = 3", "profiles.dev.base_url"),
        ("[profiles.dev]\nproduction = 1", "profiles.dev.production"),
        ("[profiles.dev]\nsettle_seconds = true", "profiles.dev.settle_seconds"),
        ("[profiles.dev]\nsettle_seconds = -1", "profiles.dev.settle_seconds"),
        ("[profiles.dev]\ntrust_429 = 1", "profiles.dev.trust_429"),
        ("[profiles.dev]\ntimeout_seconds = -1", "profiles.dev.timeout_seconds"),
        ("[profiles.dev]\ntimeout_seconds = 0", "profiles.dev.timeout_seconds"),
        ('[profiles.dev]\npassword = "x"', "unknown key profiles.dev.password"),
        ('default = "none"', "default is not one of the profiles"),
        (TWO.replace('default = "dev"', 'default = "prod"'), "default is a production profile"),
        (TWO.replace("dev.erp", "ERP").replace("ERP.example.com", "erp.EXAMPLE.com:443/"), "same"),
    ],
)
def test_an_invalid_file_is_reported_with_its_location(home: Path, text: str, message: str) -> None:
    write(home, text)
    with pytest.raises(ConfigError, match=message) as refused:
        read_profile_file(Settings(home))
    assert refused.value.hint is not None


def test_a_file_that_is_no_utf8_is_refused(home: Path) -> None:
    home.mkdir()
    (home / "profiles.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_profile_file(Settings(home))


@pytest.mark.parametrize(
    ("settings", "name", "source", "production"),
    [
        ({}, "dev", ProfileSource.FILE, False),
        ({"profile": "prod"}, "prod", ProfileSource.FILE, True),
        ({"profile": "sandbox"}, "sandbox", ProfileSource.EMBEDDED, False),
        ({"base_url": "https://x.example"}, "https://x.example", ProfileSource.ENVIRONMENT, False),
        ({"profile": "y", "base_url": "https://x.example"}, "y", ProfileSource.ENVIRONMENT, False),
        (
            {"profile": "prod", "base_url": "https://erp.example.com/"},
            "prod",
            ProfileSource.FILE,
            True,
        ),
        (
            {"base_url": "https://ERP.example.com:443"},
            "https://ERP.example.com:443",
            ProfileSource.ENVIRONMENT,
            True,
        ),
    ],
)
def test_which_profile_is_chosen(
    home: Path, settings: dict[str, str], name: str, source: ProfileSource, production: bool
) -> None:
    write(home, TWO)
    profile = choose_profile(Settings(home, **settings))  # type: ignore[arg-type]
    assert (profile.name, profile.source, profile.production) == (name, source, production)


def test_a_password_in_an_address_is_no_name(home: Path) -> None:
    profile = choose_profile(Settings(home, base_url="https://me:topsecret@erp.example.com"))
    assert "topsecret" not in profile.name


def test_production_is_never_chosen_for_want_of_another(home: Path) -> None:
    write(home, TWO.replace('default = "dev"', ""))
    assert choose_profile(Settings(home)).source is ProfileSource.EMBEDDED


@pytest.mark.parametrize(
    "settings",
    [
        {"profile": "none"},
        {"profile": "prod", "base_url": "https://dev.erp.example.com"},
        {"profile": "prod", "email": "someone@example.com"},
        # Asked for by --profile, which never names the environment's address.
        {"profile": "homolgo", "profile_must_exist": True, "base_url": "https://x.example"},
        {"profile": "", "profile_must_exist": True},
        {"profile": "sandbox", "profile_must_exist": True, "base_url": "https://x.example"},
    ],
)
def test_what_contradicts_itself_is_refused(home: Path, settings: dict[str, str]) -> None:
    write(home, TWO)
    with pytest.raises(ConfigError):
        choose_profile(Settings(home, **settings))  # type: ignore[arg-type]


def test_each_profile_has_its_own_journal_and_settle_time(home: Path) -> None:
    write(home, TWO)
    found = {}
    for name in ("dev", "prod", "sandbox"):
        settings = Settings(home, profile=name)
        chosen = settings_for(settings, choose_profile(settings))
        found[chosen.journal] = chosen.settle_seconds
    assert found == {
        home / "profiles" / "dev" / "journal.db": 60.0,
        home / "profiles" / "prod" / "journal.db": 900.0,
        home / "journal.db": 900.0,
    }
    asked = Settings(home, profile="dev", settle=5.0)
    assert settings_for(asked, choose_profile(asked)).settle_seconds == 5.0


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://ERP.example.com/v2/", "https://erp.example.com:443"),
        ("http://127.0.0.1:8800", "http://127.0.0.1:8800"),
        ("erp.example.com", ""),
        ("https://[", ""),
        ("https://x:99999", ""),
    ],
)
def test_an_origin_is_spelt_one_way(address: str, origin: str) -> None:
    assert origin_of(address) == origin


@pytest.mark.parametrize("name", ["", "A", "a b", "..", "nul", "com1", "é", "a" * 41, "-a"])
def test_names_are_folders_everywhere(name: str) -> None:
    assert not is_profile_name(name)
