"""The limits of a workbook, as the environment sets them."""

from dataclasses import fields

import pytest
from environment import ROOT

from xlbridge.errors import ConfigError
from xlbridge.limits import WorkbookLimits, read_limits


@pytest.mark.parametrize("limit", fields(WorkbookLimits), ids=lambda limit: limit.name)
def test_each_limit_can_be_set_and_is_documented(limit: object) -> None:
    variable, unit = limit.metadata["variable"], limit.metadata["unit"]  # type: ignore[attr-defined]
    assert getattr(read_limits({variable: "7"}), limit.name) == 7 * unit  # type: ignore[attr-defined]
    page = (ROOT / "docs" / "how-to" / "integrator.md").read_text(encoding="utf-8")
    assert f"`{variable}`" in page


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "٣", "9" * 30])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="XLBRIDGE_MAX_PARTS"):
        read_limits({"XLBRIDGE_MAX_PARTS": text})
