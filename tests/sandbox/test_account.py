"""Credentials that a sandbox accepts.

Inside: sandbox.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from xlbridge.errors import ConfigError
from xlbridge.sandbox import open_database, prepare_account
from xlbridge.sandbox.storage import Storage, database_url
from xlbridge.sandbox.users import HashCost, find_user, hash_password, password_matches
from xlbridge.settings import Settings

pytestmark = pytest.mark.one_database


def opened(path: str) -> Storage:
    return open_database(database_url(path))


def test_another_home_changes_the_password_only_if_one_is_set(tmp_path: Path) -> None:
    storage = opened(str(tmp_path / "shared.db"))
    first, second = Settings(home=tmp_path / "one"), Settings(home=tmp_path / "two")
    account = prepare_account(storage, first)
    with pytest.raises(ConfigError) as raised:
        prepare_account(storage, second)
    assert "XLBRIDGE_PASSWORD" in str(raised.value.hint)
    assert account.password not in str(raised.value)
    assert prepare_account(storage, first) == account
    settings = replace(second, email=account.email, password="chosen")
    assert prepare_account(storage, settings).password == "chosen"
    with storage.transaction(writing=False) as connection:
        assert find_user(connection, account.email, "chosen") is not None
    storage.close()


def test_password_from_the_environment_is_not_stored(tmp_path: Path) -> None:
    storage = opened(str(tmp_path / "own.db"))
    prepare_account(storage, Settings(home=tmp_path / "home", password="chosen"))
    storage.close()
    assert not list(tmp_path.glob("home/*"))


@pytest.mark.parametrize("spelling", ["same.db", "folder/../same.db", "sqlite:///same.db"])
def test_stored_password_does_not_depend_on_the_spelling_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    settings = Settings(home=tmp_path / "home")
    accounts = []
    for path in (str(tmp_path / "same.db"), spelling):
        storage = opened(path)
        accounts.append(prepare_account(storage, settings))
        storage.close()
    assert accounts[0] == accounts[1]


def test_a_hash_matches_at_the_cost_that_it_stores() -> None:
    cost, _salt, _digest = hash_password("secret").rsplit("$", 2)
    assert cost == "16384$8$1"
    cheap = hash_password("secret", HashCost(n=2, r=1, p=1))
    assert password_matches("secret", cheap)
    assert not password_matches("Secret", cheap)
