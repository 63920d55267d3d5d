"""Edits of ``profiles.toml``: the user's text is preserved, invalid changes are refused."""

from pathlib import Path

import pytest

from xlbridge.errors import ConfigError, UsageError
from xlbridge.profiles import Profile, read_profile_file
from xlbridge.saved_logins import check_profile, remove_profile, save_profile, set_default
from xlbridge.settings import Settings

DEV = Profile("dev", "https://dev.erp.example.com", "int@example.com", settle_seconds=60)
PROD = Profile("prod", "https://erp.example.com", "int@example.com", production=True)
COMMENT = "# asked for by Ana, 2026\n"


def test_profiles_are_added_changed_and_removed(home: Path) -> None:
    for profile in (DEV, PROD):
        save_profile(Settings(home), profile)
    assert dict(read_profile_file(Settings(home)).profiles) == {"dev": DEV, "prod": PROD}
    changed = Profile("dev", "https://new.example.com", "other@example.com")
    save_profile(Settings(home), changed)
    assert read_profile_file(Settings(home)).profiles["dev"] == changed
    assert remove_profile(Settings(home), "dev") == changed
    assert list(read_profile_file(Settings(home)).profiles) == ["prod"]


def test_a_certificate_file_is_stored_by_its_full_path(home: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "company.pem"
    save_profile(Settings(home), Profile("dev", "https://x.example", "a@b.c", ca_bundle=bundle))
    assert read_profile_file(Settings(home)).profiles["dev"].ca_bundle == bundle


def test_comments_and_order_stay(home: Path) -> None:
    home.mkdir()
    path = home / "profiles.toml"
    text = f'{COMMENT}[profiles.zeta]\nemail = "z@example.com" # hers\nbase_url = "https://z"\n'
    path.write_text(text, encoding="utf-8")
    save_profile(Settings(home), DEV)
    set_default(Settings(home), "zeta")
    set_default(Settings(home), "dev")
    written = path.read_text(encoding="utf-8")
    assert COMMENT in written
    assert "# hers" in written
    assert list(read_profile_file(Settings(home)).profiles) == ["zeta", "dev"]
    assert read_profile_file(Settings(home)).default == "dev"


def test_the_default_goes_with_its_profile(home: Path) -> None:
    save_profile(Settings(home), DEV)
    set_default(Settings(home), "dev")
    remove_profile(Settings(home), "dev")
    assert read_profile_file(Settings(home)).default is None


@pytest.mark.parametrize(
    "profile",
    [
        Profile("Dev", "https://x.example", "a@b.c"),
        Profile("sandbox", "https://x.example", "a@b.c"),
        Profile("copy", "https://ERP.example.com/", "a@b.c"),
    ],
)
def test_what_cannot_be_is_not_written(home: Path, profile: Profile) -> None:
    save_profile(Settings(home), PROD)
    before = (home / "profiles.toml").read_bytes()
    for change in (check_profile, save_profile):
        with pytest.raises(ConfigError):
            change(Settings(home), profile)
    with pytest.raises(ConfigError, match="production"):
        set_default(Settings(home), "prod")
    with pytest.raises(UsageError):
        set_default(Settings(home), "none")
    with pytest.raises(UsageError):
        remove_profile(Settings(home), "none")
    assert (home / "profiles.toml").read_bytes() == before
