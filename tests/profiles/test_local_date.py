"""The date of an environment: that of its time zone, the computer's, or Brasília's."""

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from xlbridge.errors import ConfigError
from xlbridge.profiles import choose_profile
from xlbridge.settings import Settings

PROFILE = '[profiles.%s]\nbase_url = "https://%s.example"\nemail = "a@example.com"\n'
EARLIEST, LATEST = "Etc/GMT+12", "Pacific/Kiritimati"
"""Zones whose dates always differ: 12 hours behind UTC, and 14 ahead."""


@pytest.fixture
def computer_zone() -> Iterator[Callable[[str | None], None]]:
    """Set the time zone of this computer, None for a container that has none but UTC."""
    before = os.environ.get("TZ")

    def set_zone(name: str | None) -> None:
        os.environ.pop("TZ", None)
        if name is not None:
            os.environ["TZ"] = name
        time.tzset()

    yield set_zone
    set_zone(before)


def date_at(hours: int) -> date:
    return (datetime.now(UTC) + timedelta(hours=hours)).date()


def test_the_date_is_that_of_the_profile(tmp_path: Path) -> None:
    zones = {"early": EARLIEST, "late": LATEST}
    tables = [PROFILE % (one, one) + f'time_zone = "{zone}"\n' for one, zone in zones.items()]
    (tmp_path / "profiles.toml").write_text('default = "late"\n' + "".join(tables))
    settings = Settings(home=tmp_path)
    before = [date_at(-12), date_at(14)]
    found = [choose_profile(settings.with_profile("early")).today, choose_profile(settings).today]
    assert found in (before, [date_at(-12), date_at(14)])
    assert found[0] < found[1]


def test_without_a_zone_it_is_the_computers_if_one_was_chosen(
    tmp_path: Path, computer_zone: Callable[[str | None], None]
) -> None:
    settings = Settings(home=tmp_path)
    for zone, hours in ((EARLIEST, -12), (LATEST, 14), ("UTC", 0)):
        computer_zone(zone)
        before = date_at(hours)
        assert choose_profile(settings).today in (before, date_at(hours)), zone


@pytest.mark.skipif(
    Path("/etc/localtime").resolve().name not in {"UTC", "Universal", "localtime"},
    reason="this computer has a time zone of its own",
)
def test_in_a_container_it_is_brasilias(
    tmp_path: Path, computer_zone: Callable[[str | None], None]
) -> None:
    computer_zone(None)
    before = date_at(-3)
    assert choose_profile(Settings(home=tmp_path)).today in (before, date_at(-3))


def test_an_unknown_zone_is_reported(tmp_path: Path) -> None:
    (tmp_path / "profiles.toml").write_text(PROFILE % ("a", "a") + 'time_zone = "Brasilia"\n')
    with pytest.raises(ConfigError, match=r"profiles\.a\.time_zone cannot have that value"):
        choose_profile(Settings(home=tmp_path))
