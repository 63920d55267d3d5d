"""Names of the records that codes stand for: clients, branches, cost centres.

They are read from the page's environment when a code is first typed, and kept for the next time, so
that they are shown without a connection, too.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from xlbridge.errors import XlbridgeError
from xlbridge.files import write_private
from xlbridge.resources import Column, strip_accents
from xlbridge.resources.references import REFERENCES
from xlbridge.ui.environment import PageConnection
from xlbridge.upload.lookup import Registries

_MAX_OFFERED = 20

Names = dict[str, str]
"""Names of the records of a registry by their codes."""


class RegistryNames:
    """Names of records in the page's environment, by registry."""

    def __init__(self, remote: PageConnection) -> None:
        self._remote = remote
        self._known: dict[Path, Names] = {}
        self._active: dict[Path, Names] = {}

    def known(self, registry: str) -> Names:
        """Return the names that were read now or earlier."""
        path = self._path(registry)
        if path not in self._known:
            try:
                self._known[path] = json.loads(path.read_text("utf-8"))
            except (OSError, ValueError):
                self._known[path] = {}
        return self._known[path]

    def offer(self, column: Column, typed: str) -> dict[str, Any]:
        """Return the records that a typed text may mean, and whether names were read just now.

        Without a connection those that are known are offered.
        """
        registry = column.references or (column.link and column.link.registry)
        if not registry:
            return {"records": [], "read": False}
        path = self._path(registry)
        is_new = path not in self._active
        if is_new:
            try:
                self._read(registry, path)
            except XlbridgeError:
                is_new = False
        records = self._active.get(path) or self.known(registry)
        words = _folded(typed).split()
        offered = []
        for code, name in records.items():
            text = f" {_folded(f'{code} {name}')}"
            if all(f" {word}" in text for word in words):
                # A column of names gets both, which the look-up of links reads.
                value = code if column.link is None else f"{code} – {name}"
                offered.append({"value": value, "code": code, "name": name})
        return {"records": offered[:_MAX_OFFERED], "read": is_new}

    def _read(self, registry: str, path: Path) -> None:
        """Read the names of a registry. Raises ``XlbridgeError`` if that is not possible."""
        with self._remote.connected(looking_up=True) as (_, client):
            records = Registries(client).named(REFERENCES[registry])
        by_name = sorted(records, key=lambda one: one.label.casefold())
        self._active[path] = {str(one.code): one.label for one in by_name if one.active}
        self._known[path] = {str(one.code): one.label for one in by_name}
        write_private(path, json.dumps(self._known[path], ensure_ascii=False))

    def _path(self, registry: str) -> Path:
        settings = self._remote.settings
        system = f"{settings.profile} {settings.base_url}"
        name = hashlib.sha256(system.encode()).hexdigest()[:16]
        return settings.home / "names" / name / f"{registry}.json"


def _folded(text: str) -> str:
    return strip_accents(text).casefold()
