"""Plugin for pytest: the suite with httpx2, which continues httpx under its own name.

``make test-httpx2``. Programs that tests start in processes of their own still use httpx.
"""

import sys

import httpcore2
import httpx2

sys.modules["httpx"] = httpx2
sys.modules["httpcore"] = httpcore2
