"""Fixtures shared by all tests: catalogue, command line, running sandboxes, browser."""

import gc
import signal
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import databases
import forked
import in_process
import pytest
import sampling
import sandboxes
from browser import Page, browser_page
from databases import database_options
from environment import ROOT, Xlbridge, clean_environment, work_in_memory
from exercised import forget_answers, was_carried_out
from forked import Zygote, shared_zygote
from hypothesis import HealthCheck, settings
from sandboxes import sandbox_process

from xlbridge.i18n import set_language
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.sandbox import RunningSandbox

# The same examples in each run of the suite; ``make test-slow`` draws new ones. There is no time
# limit, as durations on a busy machine prove nothing.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same-examples", _UNTIMED, derandomize=True)
settings.register_profile("new-examples", _UNTIMED, derandomize=False, print_blob=True)
settings.load_profile("same-examples")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--db", choices=databases.KINDS, default=databases.KINDS[0], help="the sandboxes' database"
    )
    parser.addoption(
        "--strict-sandbox", action="store_true", help="every sandbox with --strict, but one's own"
    )
    parser.addoption(
        "--other-shapes",
        action="store_true",
        help="every sandbox behind a proxy that changes undocumented parts of its answers",
    )
    parser.addoption("--pictures", metavar="FOLDER", help="keep pictures of the page's screens")
    parser.addoption(
        "--in-process",
        action="store_true",
        help="without tests that need processes of their own",
    )


def pytest_configure(config: pytest.Config) -> None:
    work_in_memory()
    forked.save_time()
    databases.choose(config.getoption("--db"))
    if config.getoption("--strict-sandbox"):
        sandboxes.make_all_strict()
    if config.getoption("--other-shapes"):
        sandboxes.use_other_shapes()
    if config.getoption("--in-process"):
        in_process.exclude_processes()
    if "not slow" in config.option.markexpr:
        sampling.leave_out_slow()
    _restore_signals()


def _restore_signals() -> None:
    """Handle Ctrl-C and hang-up, which a background process of a script inherits as ignored."""
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            default = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
            signal.signal(number, default)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw the sample of combined parameters, and deselect what the run's options exclude.

    On PostgreSQL tests that do not depend on the database, ``--in-process`` those with processes.
    """
    sampling.sample_products(items)
    left: list[pytest.Item] = []
    if databases.is_postgresql():
        left += [item for item in items if item.get_closest_marker("one_database")]
    if in_process.excludes_processes():
        left += filter(in_process.needs_process, items)
    if left:
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=left)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude imported objects from garbage collection, and collect less often afterwards.

    That saves a twentieth of the tests' processor time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*forked.GC_THRESHOLD)
        gc.enable()


def pytest_unconfigure() -> None:
    sandboxes.end()
    forked.end()
    databases.end()


@pytest.fixture(autouse=True)
def check_exercised_operations(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test during which an operation of its ``exercises`` mark has not succeeded."""
    names = [name for mark in request.node.iter_markers("exercises") for name in mark.args]
    forget_answers()
    yield
    assert [name for name in names if not was_carried_out(name)] == []


@pytest.fixture(autouse=True)
def english() -> None:
    """Begin every test in English: a command that runs in its process leaves its own language."""
    set_language("en")


@pytest.fixture(scope="session", autouse=True)
def filled_databases(pytestconfig: pytest.Config) -> None:
    """Share filled databases between the workers of this run and later ones."""
    if pytestconfig.pluginmanager.hasplugin("cacheprovider"):
        sandboxes.share_in(pytestconfig.cache.mkdir("sandboxes"))


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return load_catalogue()


@pytest.fixture(scope="session")
def samples() -> Path:
    return ROOT / "samples"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="session")
def forks() -> Zygote:
    """Zygote that runs command lines in forked processes, without the seconds of a start."""
    return shared_zygote()


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Disable garbage collection during the test.

    Python 3.11 counts the depth of the JSON decoder as its own, so a finalizer that runs while a
    text nested to the limit is decoded would fail, and the test with it.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def xlbridge(home: Path, tmp_path: Path) -> Xlbridge:
    """Run the real command; keywords are environment variables.

    It runs in this process, or in a fork if its language or its environment would remain there.
    """

    def run(*arguments: object, **environment: str) -> "subprocess.CompletedProcess[str]":
        own = clean_environment(home, **environment)
        command = [*map(str, arguments)]
        # click caches its texts in the language of their first use.
        english = own["XLBRIDGE_LANG"] == "en" and "--lang" not in command
        usual = all(name.startswith("XLBRIDGE_") for name in environment)
        if english and usual:
            return in_process.run_command(tmp_path, own, command)
        in_process.skip_if_excluded("a command in another language or environment")
        return shared_zygote().run(tmp_path, own, command, longest=120)

    return run


@pytest.fixture(scope="session")
def empty_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    """Sandbox with the supporting registries and no records."""
    folder = tmp_path_factory.mktemp("empty-sandbox")
    options = ["--seed", "empty", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder)) as running:
        yield running


@pytest.fixture
def demo_sandbox(home: Path) -> Iterator[RunningSandbox]:
    """Sandbox of the test's own with some records of the demo company."""
    with sandbox_process(home, [], clean_environment(home), few=True) as running:
        yield running


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """Browser for all tests of a module, as it takes a second to start."""
    with browser_page() as opened:
        yield opened
