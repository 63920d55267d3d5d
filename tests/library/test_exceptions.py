"""Exceptions pass between processes: each is the same after pickling."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import xlbridge as xb
from xlbridge.errors import ErrorDetail, RemoteRejected, XlbridgeError
from xlbridge.export import Filter, Filters, InvalidFilter
from xlbridge.i18n import Text

_REJECTED = Text(pt="recusado", en="rejected")


def damaged(folder: Path) -> None:
    path = folder / "damaged.xlsx"
    path.write_bytes(b"PK\x03\x04 cut off")
    xb.validate(path)


def missing(folder: Path) -> None:
    xb.validate(folder / "missing.xlsx")


def unreadable_filter(_folder: Path) -> None:
    Filters.parse({Filter.FROM: "yesterday"})


def rejected(_folder: Path) -> None:
    details = [ErrorDetail("codigo", "desconhecido")]
    raise RemoteRejected(_REJECTED, status=400, details=details, hint=_REJECTED)


@pytest.mark.parametrize("fail", [damaged, missing, unreadable_filter, rejected])
def test_an_exception_is_the_same_after_pickling(
    fail: Callable[[Path], None], tmp_path: Path
) -> None:
    with pytest.raises(XlbridgeError) as caught:
        fail(tmp_path)
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), vars(again)) == (str(error), vars(error))
    assert isinstance(error, InvalidFilter) == (fail is unreadable_filter)
