"""One browser for all tests of pages: it takes a second to start."""

from collections.abc import Iterator

import pytest
from browser import Page, browser_page


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser_page(tmp_path_factory.mktemp("browser")) as opened:
        yield opened
