"""Messages from another process contain only data, or are refused.

Inside: parallel.
"""

import os
import pickle
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from xlbridge.cli.main import main
from xlbridge.errors import ErrorDetail, RemoteRejected, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.parallel.messages import UnexpectedType, pack, unpack
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding

_TEXT = Text(pt="Não.", en="No.")


class Harm:
    """A message that a compromised process could send."""

    def __init__(self, function: object, *arguments: object) -> None:
        self.called = function, arguments

    def __reduce__(self) -> object:
        return self.called


@pytest.mark.parametrize(
    "harm",
    [
        Harm(os.system, "true"),
        Harm(eval, "1"),
        Harm(getattr, "text", "upper"),
        Harm(main, ["--help"]),
        Harm(Path.unlink, Path("/none")),
        Harm(__import__, "antigravity"),
    ],
    ids=lambda harm: harm.called[0].__name__,
)
def test_nothing_is_run(harm: Harm) -> None:
    with pytest.raises(UnexpectedType):
        unpack(pickle.dumps(harm))


def test_data_arrives() -> None:
    finding = Finding(
        CATALOGUE["type-integer"], 3, "a", "A3", "x", {"n": 1, "t": _TEXT}, Decimal("1.50")
    )
    sent = [finding, date(2026, 1, 2), Path("a"), {"x": (1, 2.5, None, b"y")}]
    assert unpack(pack(sent)) == sent
    assert unpack(pack(finding)).kind is finding.kind
    assert unpack(pack(np.array([1, 2], dtype=np.uint16))).tolist() == [1, 2]


@pytest.mark.parametrize(
    "error",
    [
        WorkbookRefused("hostile", _TEXT),
        RemoteRejected(_TEXT, status=409, details=[ErrorDetail("k", "v")], hint=_TEXT),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_arrive_unchanged(error: XlbridgeError) -> None:
    received = unpack(pack(error))
    assert type(received) is type(error)
    assert (received.args, vars(received)) == (error.args, vars(error))
    assert str(received) == str(error)


def test_columns_arrive_unchanged() -> None:
    frame = pd.DataFrame(
        {
            "text": pd.Series(["á", None, ""], dtype="str"),
            "whole": pd.Series([1, None, -(2**62)], dtype="Int64"),
            "number": pd.Series([0.1, None, 1e300], dtype="Float64"),
            "truth": pd.Series([True, None, False], dtype="boolean"),
            "day": pd.Series(["2026-01-02", None, "1900-01-01"], dtype="datetime64[us]"),
        }
    )
    for sent in (frame, frame.iloc[:0]):
        received = unpack(pack(sent))
        pd.testing.assert_frame_equal(received, sent)
