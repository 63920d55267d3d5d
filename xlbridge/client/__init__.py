"""Client of the remote system: requests, replies, login, listings, one retry policy."""

import sys
from typing import Any

import lazy_loader

# Keeps httpx from importing its command line, and with it rich.
_modules: dict[str, Any] = sys.modules
_modules.setdefault("httpx._main", None)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
