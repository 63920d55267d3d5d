"""Uploads of the same second have different names."""

import itertools
import secrets
from datetime import datetime
from pathlib import Path

import pytest

from xlbridge.resources.resource import Mode
from xlbridge.upload.job import NewJob
from xlbridge.upload.journal import Journal


def test_a_name_that_is_taken_is_not_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = itertools.chain(["aaaa", "aaaa"], itertools.repeat("bbbb"))
    monkeypatch.setattr(secrets, "token_hex", lambda _bytes: next(drawn))
    journal = Journal(tmp_path / "journal.db", now=lambda: datetime(2026, 11, 21, 12))
    new = NewJob("rehearsal", "contaspagar", Mode.QUEUE, "a.xlsx", "a", "1", "1", (2,), {})
    names = [journal.create(new, [digest]).id for digest in ("1", "2")]
    journal.close()
    assert names == ["20261121-120000-aaaa", "20261121-120000-bbbb"]
