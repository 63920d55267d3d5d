"""The command line against a sandbox with the demo's records."""

import pytest
from environment import Xlbridge, credentials

from xlbridge.sandbox import RunningSandbox


@pytest.fixture
def at_demo(xlbridge: Xlbridge, demo_sandbox: RunningSandbox) -> Xlbridge:
    """Run the real command against the sandbox with the demo's records."""
    toward = credentials(demo_sandbox)
    return lambda *arguments, **more: xlbridge(*arguments, **toward | more)
