"""An interrupt ends a command with its exit code at any moment."""

import subprocess
import sys
from pathlib import Path

import pytest
from environment import clean_environment, without_coverage

pytestmark = pytest.mark.processes


def run(command: list[str | Path], *, home: Path) -> "subprocess.CompletedProcess[str]":
    environment = without_coverage(clean_environment(home))
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


INTERRUPTED_IN_AN_IMPORT = """
import sys
from xlbridge.cli.main import run

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "xlbridge.cli.doctor":
            exec("raise KeyboardInterrupt")

sys.meta_path.insert(0, Interrupting())
sys.argv = ["xlbridge", "doctor"]
run()
"""


def test_an_interrupted_import_does_not_end_by_the_signal(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(INTERRUPTED_IN_AN_IMPORT, encoding="utf-8")
    done = run([sys.executable, tmp_path], home=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (130, "Interrupted.")


INTERRUPTED_BEFORE_THE_COMMANDS = """
import sys
from xlbridge.__main__ import main

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "xlbridge.cli.output":
            exec("raise KeyboardInterrupt")

sys.meta_path.insert(0, Interrupting())
sys.argv = ["xlbridge", "doctor"]
main()
"""


def test_an_interruption_before_the_commands_are_loaded_prints_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(INTERRUPTED_BEFORE_THE_COMMANDS, encoding="utf-8")
    done = run([sys.executable, tmp_path], home=tmp_path)
    assert (done.returncode, done.stderr) == (130, "")


STUB_STREAM = """
class StubStream:
    def flush(self):
        pass

    def isatty(self):
        return False
"""

LOST_IN_AN_IMPORT = """
import signal
import sys
import time
from xlbridge.cli.main import run

class Swallowing:
    def find_spec(self, name, path=None, target=None):
        if name == "xlbridge.cli.resources":
            try:
                signal.raise_signal(signal.SIGINT)
                time.sleep(0.1)
            except KeyboardInterrupt:
                pass

class Stream(StubStream):
    def write(self, text):
        time.sleep(0.5)

sys.meta_path.insert(0, Swallowing())
sys.stdout = Stream()
sys.argv = ["xlbridge", "resources"]
run()
"""

LOST_IN_A_FINALIZER = """
import signal
import sys
import time
from xlbridge.cli.main import run

class Interrupting:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

class Stream(StubStream):
    def write(self, text):
        if text.strip():
            Interrupting()
            time.sleep(0.5)

sys.stdout = Stream()
sys.argv = ["xlbridge", "resources"]
run()
"""

LOST_IN_A_LOOKUP = """
import ctypes
import signal
import sys
import time
from xlbridge.cli.main import run

find = ctypes.pythonapi.PyDict_GetItem
find.argtypes = [ctypes.py_object, ctypes.py_object]

class Interrupting:
    def __hash__(self):
        signal.raise_signal(signal.SIGINT)
        return 0

class Stream(StubStream):
    def write(self, text):
        if text.strip():
            find({}, Interrupting())
            time.sleep(0.5)

sys.stdout = Stream()
sys.argv = ["xlbridge", "resources"]
run()
"""


LOST_BEFORE_A_WAIT = """
import _thread
import signal
import sys
import threading
import time
from xlbridge.cli.main import run

send, waiting, lock = signal.pthread_kill, threading.Event(), threading.Lock()

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "xlbridge.cli.doctor":
            signal.raise_signal(signal.SIGINT)

class Stream(StubStream):
    def write(self, text):
        with lock:
            waiting.set()
            lock.acquire()

def send_without_ending_the_wait(thread, number):
    # Like a signal that arrives just before the main thread begins to wait.
    signal.pthread_kill = send
    waiting.wait()
    time.sleep(0.1)
    _thread.interrupt_main(number)

signal.pthread_kill = send_without_ending_the_wait
sys.meta_path.insert(0, Interrupting())
sys.stdout = Stream()
sys.argv = ["xlbridge", "doctor", "--help"]
run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a signal ends the process at once there")
@pytest.mark.parametrize(
    "script", [LOST_IN_AN_IMPORT, LOST_IN_A_FINALIZER, LOST_IN_A_LOOKUP, LOST_BEFORE_A_WAIT]
)
def test_an_interruption_is_not_lost(tmp_path: Path, script: str) -> None:
    done = run([sys.executable, "-c", STUB_STREAM + script], home=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (130, "Interrupted.")


INTERRUPTED_AGAIN = """
import io
import sys
from xlbridge.cli.main import run

class Interrupting(io.StringIO):
    def write(self, text):
        raise KeyboardInterrupt

    def find_spec(self, name, path=None, target=None):
        if name == "xlbridge.cli.doctor":
            exec("raise KeyboardInterrupt")

sys.stderr = Interrupting()
sys.meta_path.insert(0, sys.stderr)
sys.argv = ["xlbridge", "doctor"]
run()
"""

INTERRUPTED_AT_THE_END = """
import atexit
import signal
import sys
from xlbridge.cli.main import run

atexit.register(signal.raise_signal, signal.SIGINT)
atexit.register(signal.raise_signal, signal.SIGTERM)
sys.argv = ["xlbridge", "--version"]
run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a signal ends the process at once there")
@pytest.mark.parametrize(
    ("code", "script"), [(130, INTERRUPTED_AGAIN), (0, INTERRUPTED_AT_THE_END)]
)
def test_another_interruption_changes_nothing(tmp_path: Path, code: int, script: str) -> None:
    done = run([sys.executable, "-c", script], home=tmp_path)
    assert (done.returncode, done.stderr) == (code, "")


ENDING = """
import atexit
import sys
from xlbridge.processes import exit_at_once

atexit.register(print, "registered")
print("printed")
print("told", file=sys.stderr)
exit_at_once(3)
"""


def test_output_and_exit_handlers_are_not_lost_at_the_end(tmp_path: Path) -> None:
    done = run([sys.executable, "-c", ENDING], home=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, "printed\nregistered\n", "told\n")


@pytest.mark.skipif(sys.platform == "win32", reason="the shell limits the size of files")
def test_a_failing_finalizer_prints_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "xlbridge", "template", "cliente", "-o", tmp_path / "c.xlsx"]
    done = run(["sh", "-c", 'ulimit -f 4; exec "$@"', "sh", *command], home=tmp_path)
    assert done.returncode == 6
    assert done.stderr.startswith("Error: Cannot write ")
    assert "Exception" not in done.stderr
    assert not any(tmp_path.glob("*.xlsx"))
