"""Of combined parameters the default suite runs a sample in which every value occurs."""

from pathlib import Path

import pytest
from sampling import sample_products

MODULE = """\
import pytest

@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(("name", "code"), [("a", 0), ("a", 1), ("b", 0)])
def test_combined(name, code, size): ...

@pytest.mark.parametrize("size", [1, 2, 3])
def test_alone(size): ...

@pytest.mark.parametrize("size", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", [[], {}])
def test_slow_values(form, size): ...
"""


class Sample:
    """Plugin that draws the sample of the collected tests, and keeps their names."""

    names: list[str]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        sample_products(items)
        self.names = [item.name for item in items if not item.get_closest_marker("slow")]


def test_each_value_of_combined_parameters_is_in_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_combined_parameters.py").write_text(MODULE, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    sample = Sample()
    # Its handler of faults would end that of the run around it; other plugins only take time.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    left_out = ("cacheprovider", "faulthandler", "unraisableexception")
    options = [f"-pno:{name}" for name in left_out]
    assert pytest.main(["--collect-only", *options], plugins=[sample]) == 0
    assert "13 tests collected" in capsys.readouterr().out
    assert sample.names == [
        *("test_combined[a-0-1]", "test_combined[a-1-2]", "test_combined[b-0-1]"),
        *("test_alone[1]", "test_alone[2]", "test_alone[3]"),
        *("test_slow_values[form0-1]", "test_slow_values[form1-1]"),
    ]
