"""Storage of passwords, and for which address and user they are used."""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, null

from xlbridge.errors import ConfigError
from xlbridge.profiles import Profile
from xlbridge.saved_logins import (
    PasswordSource,
    delete_password,
    find_password,
    others_let_in,
    store_password,
)
from xlbridge.settings import Settings

DEV = Profile("dev", "https://dev.erp.example.com", "int@example.com")
PASSWORD = "canary-password-4711"


class MemoryKeyring(KeyringBackend):
    """Keyring in the memory of this process."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def ring() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    memory = MemoryKeyring()
    keyring.set_keyring(memory)
    yield memory
    keyring.set_keyring(before)


@pytest.fixture(params=[fail.Keyring, null.Keyring])
def no_ring(request: pytest.FixtureRequest) -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(request.param())
    yield
    keyring.set_keyring(before)


@pytest.mark.usefixtures("no_ring")
def test_without_a_keyring_it_is_a_private_file(home: Path) -> None:
    assert store_password(Settings(home), DEV, PASSWORD, None) is PasswordSource.FILE
    found = find_password(Settings(home), DEV)
    assert (found.source, found.value) == (PasswordSource.FILE, PASSWORD)
    (file,) = (home / "secrets").iterdir()
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert PASSWORD not in repr(found)


def test_a_keyring_is_preferred_and_holds_it_alone(home: Path, ring: MemoryKeyring) -> None:
    store_password(Settings(home), DEV, "old", PasswordSource.FILE)
    assert store_password(Settings(home), DEV, PASSWORD, None) is PasswordSource.KEYRING
    assert find_password(Settings(home), DEV).source is PasswordSource.KEYRING
    assert list(ring.kept.values()) == [PASSWORD]
    assert [path for path in home.rglob("*") if path.is_file()] == []


@pytest.mark.usefixtures("ring")
def test_a_keyring_that_may_be_locked_is_not_opened_unasked(home: Path) -> None:
    store_password(Settings(home), DEV, PASSWORD, PasswordSource.KEYRING)
    assert find_password(Settings(home), DEV, silently=True).source is PasswordSource.NOWHERE
    store_password(Settings(home), DEV, PASSWORD, PasswordSource.FILE)
    assert find_password(Settings(home), DEV, silently=True).value == PASSWORD


@pytest.mark.usefixtures("no_ring")
def test_a_keyring_that_is_asked_for_must_be_there(home: Path) -> None:
    with pytest.raises(ConfigError, match="keyring"):
        store_password(Settings(home), DEV, PASSWORD, PasswordSource.KEYRING)
    assert find_password(Settings(home), DEV).source is PasswordSource.NOWHERE


@pytest.mark.parametrize("place", [PasswordSource.FILE, PasswordSource.KEYRING])
@pytest.mark.usefixtures("ring")
def test_a_password_is_only_used_for_its_own_address_and_user(
    home: Path, place: PasswordSource
) -> None:
    store_password(Settings(home), DEV, PASSWORD, place)
    for other in (
        replace(DEV, base_url="https://evil.example.com"),
        replace(DEV, base_url="http://dev.erp.example.com"),
        replace(DEV, email="other@example.com"),
        replace(DEV, name="prod"),
    ):
        assert find_password(Settings(home), other).source is PasswordSource.NOWHERE
    same = replace(DEV, base_url="https://DEV.erp.example.com:443/")
    assert find_password(Settings(home), same).value == PASSWORD


@pytest.mark.parametrize("place", [PasswordSource.FILE, PasswordSource.KEYRING])
@pytest.mark.usefixtures("ring")
def test_a_password_is_forgotten(home: Path, place: PasswordSource) -> None:
    store_password(Settings(home), DEV, PASSWORD, place)
    delete_password(home, DEV)
    assert find_password(Settings(home), DEV).source is PasswordSource.NOWHERE


@pytest.mark.usefixtures("ring")
def test_the_environments_password_comes_first(home: Path) -> None:
    store_password(Settings(home), DEV, "kept", PasswordSource.FILE)
    for address in ({"base_url": f"{DEV.base_url}/"}, {"credentials_profile": DEV.name}):
        found = find_password(Settings(home, password=PASSWORD, **address), DEV)
        assert (found.source, found.value) == (PasswordSource.ENVIRONMENT, PASSWORD)
    for address in ({"base_url": "https://other.example"}, {"credentials_profile": "other"}):
        found = find_password(Settings(home, password=PASSWORD, **address), DEV)
        assert (found.source, found.value) == (PasswordSource.FILE, "kept")


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such modes")
@pytest.mark.usefixtures("no_ring")
def test_a_file_that_others_may_read_is_refused(home: Path) -> None:
    store_password(Settings(home), DEV, PASSWORD, PasswordSource.FILE)
    (file,) = (home / "secrets").iterdir()
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="Other users") as caught:
        find_password(Settings(home), DEV)
    assert PASSWORD not in str(caught.value)


OWN, COLLEAGUE = "S-1-5-21-11-22-33-1001", "S-1-5-21-11-22-33-1002"


@pytest.mark.parametrize("own", [OWN, ""])
@pytest.mark.parametrize(
    ("entries", "others"),
    [
        # Made with mode 0700: system, administrators, owner.
        ("PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)", []),
        # Below a user's folder; of a domain with administrators of its own.
        (f"AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;FA;;;{OWN})", []),
        (f"AI(A;ID;FA;;;S-1-5-21-11-22-33-512)(A;ID;FA;;;{OWN})", []),
        # Shared with a colleague.
        (f"AI(A;;FR;;;{COLLEAGUE})(A;ID;FA;;;SY)(A;ID;FA;;;{OWN})", [COLLEAGUE]),
        (f"AI(D;;FR;;;{COLLEAGUE})(A;ID;FA;;;SY)(A;ID;FA;;;{OWN})", []),
        # Below C:\\: users may read, authenticated ones write.
        ("AI(A;ID;FA;;;BA)(A;ID;FA;;;SY)(A;ID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)", ["BU", "AU"]),
        ("AI(A;;FR;;;WD)(A;ID;FA;;;SY)", ["WD"]),
        ("AI(A;ID;0x1200a9;;;S-1-5-21-11-22-33-513)", ["S-1-5-21-11-22-33-513"]),
        ("AI(D;;FR;;;WD)(A;ID;FA;;;SY)", []),
        ("P(A;;WDWO;;;SY)(A;;WD;;;OW)", []),
        ("P", []),
        ("NO_ACCESS_CONTROL", None),
    ],
)
def test_other_users_are_seen_in_what_windows_saves(
    entries: str, others: list[str] | None, own: str
) -> None:
    """What ``icacls`` saves has no names, and so is the same in each language."""
    found = others_let_in(f"dev.json\r\nD:{entries}\r\n", own)
    assert found == others or (not own and found == [COLLEAGUE, OWN])


def test_unknown_permissions_count_as_open() -> None:
    assert others_let_in("", OWN) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"origin": 1}', "null"])
@pytest.mark.usefixtures("no_ring")
def test_a_file_that_is_none_of_ours_is_no_password(home: Path, text: str) -> None:
    store_password(Settings(home), DEV, PASSWORD, PasswordSource.FILE)
    (file,) = (home / "secrets").iterdir()
    file.write_text(text, encoding="utf-8")
    assert find_password(Settings(home), DEV).source is PasswordSource.NOWHERE
