"""The sandbox's description of itself."""

from typing import Any


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document of all operations."""
    return {}


def docs_page() -> str:
    """Return a self-contained page that lists all operations."""
    return ""
