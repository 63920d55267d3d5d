"""Names of the records that codes stand for: clients, branches, cost centres.

They are read from the page's environment when a code is first typed, and kept for the next time, so
that they are shown without a connection, too.
"""

from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import Any

from xlbridge.client import Client
from xlbridge.client.registries import Registries, StoredNames
from xlbridge.errors import XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Column
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.resources.references import REFERENCES
from xlbridge.settings import Settings
from xlbridge.ui.answers import FieldProblem
from xlbridge.ui.environment import PageConnection
from xlbridge.upload.lookup import OnlineCheck
from xlbridge.validation.cells import folded_text
from xlbridge.validation.mapping import MappingProposal, SheetMapping
from xlbridge.workbook.read import SheetCells

_MAX_OFFERED = 20
_UNCHECKED = Text(
    pt="O sistema não responde agora: este nome só será conferido com conexão, no plano.",
    en="The system does not answer now: this name is checked only when connected, by the plan.",
)
_KNOWN_BEFORE = Text(
    pt=" Sem conexão, vale a última leitura. Nomes parecidos: {names}.",
    en=" Without a connection, the last reading counts. Similar names: {names}.",
)

Names = dict[str, str]
"""Names of the records of a registry by their codes."""


class RegistryNames:
    """Names of records in the page's environment, by registry."""

    def __init__(self, remote: PageConnection) -> None:
        self._remote = remote
        self._names: dict[Path, Names] = {}
        self._usable: dict[Path, Names] = {}
        self._read: set[Path] = set()

    def known(self, registry: str, settings: Settings | None = None) -> Names:
        """Return the names that were read now or earlier; ``settings`` are those of another
        environment than the page's."""
        stored = self._stored(registry, settings)
        if stored.path not in self._names:
            self._keep(stored.path, *stored.read())
        return self._names[stored.path]

    def read(self, registry: str) -> Names:
        """Return the names, read now unless they were since the page began, or cannot be."""
        if self._stored(registry).path not in self._read:
            self._read_names(registry)
        return self.known(registry)

    def offer(self, column: Column, typed: str) -> dict[str, Any]:
        """Return the records that a typed text may mean, and whether names were read just now.

        Without a connection those that are known are offered.
        """
        registry = column.references or (column.link and column.link.registry)
        if not registry:
            return {"records": [], "read": False}
        path = self._stored(registry).path
        is_new = path not in self._read and self._read_names(registry)
        self.known(registry)
        records = self._usable[path]
        is_code = typed in records
        # A code that is complete may be replaced by any other one.
        words = [] if is_code else folded_text(typed).split()
        first = {typed: records[typed]} if is_code else {}
        offered = []
        for code, name in (first | records).items():
            text = f" {folded_text(f'{code} {name}')}"
            if all(f" {word}" in text for word in words):
                # A column of names gets both, which the look-up of links reads.
                value = code if column.link is None else f"{code} – {name}"
                offered.append({"value": value, "code": code, "name": name})
        if typed.isdecimal() and not is_code:  # the codes that begin so come first, in their order
            offered.sort(key=lambda one: (not one["code"].startswith(typed), one["code"]))
        return {"records": offered[:_MAX_OFFERED], "read": is_new}

    def ask_unknown(
        self, proposal: MappingProposal, cells: SheetCells, catalogue: Catalogue
    ) -> MappingProposal:
        """Return a proposed mapping that asks for the names in ``cells`` which the system lacks.

        Raises what ``PageConnection.connected`` and ``OnlineCheck.ask_unknown_names`` raise.
        """
        if not any(proposal.names_to_look_up(cells).values()):
            return proposal
        with self._remote.connected(looking_up=True) as (_, client):
            return OnlineCheck(client).ask_unknown_names(proposal, cells, catalogue)

    def problems(
        self, mapping: SheetMapping, catalogue: Catalogue, *, with_doubts: bool = False
    ) -> list[FieldProblem]:
        """Return the problems of the names in a mapping.

        If the page's environment cannot be asked, there are only doubts: names that are not among
        those read earlier, which may have new ones by now, or that cannot be compared.
        """
        if not any(one.link and (one.constant or one.values) for _, one in mapping.all_columns):
            return []
        with suppress(XlbridgeError), self._remote.connected(looking_up=True) as (_, client):
            found = OnlineCheck(client).problems_of_names(mapping, catalogue)
            return [FieldProblem(name, word, str(message)) for name, word, message in found]
        problems: list[FieldProblem] = []
        if not with_doubts:
            return problems
        for column, _, link, given in OnlineCheck.names_in_mapping(mapping, catalogue):
            known = self.known(link.registry)
            # Records with several names are known by one of them only.
            if not known or len(link.fields) > 1:
                problems += (FieldProblem(column, word, str(_UNCHECKED)) for word, _ in given)
                continue
            records = [f"{code} – {name}" for code, name in known.items()]
            spellings = set(map(folded_text, [*known, *known.values(), *records]))
            for word, text in given:
                if (wanted := folded_text(text)) not in spellings:
                    similar = [one for one in records if wanted in folded_text(one)]
                    about = {"by": link.by, "registry": REFERENCES[link.registry].title}
                    about["similar"] = _KNOWN_BEFORE.format(names="; ".join(similar[:3] or ["–"]))
                    finding = Finding(CATALOGUE["link-unknown"], value=text, details=about)
                    problems.append(FieldProblem(column, word, str(finding.message)))
        return problems

    def read_with(self, client: Client, registry: str, settings: Settings | None = None) -> Names:
        """Return the names in another environment, read with its client as ``read`` does."""
        stored = self._stored(registry, settings)
        if stored.path not in self._read:
            with suppress(XlbridgeError):
                records = Registries(client).named(REFERENCES[registry])
                by_name = sorted(records, key=lambda one: one.label.casefold())
                names = {str(one.code): one.label for one in by_name}
                inactive = {str(one.code) for one in by_name if not one.active}
                self._keep(stored.path, names, inactive)
                self._read.add(stored.path)
                stored.write(names, inactive)
        return self.known(registry, settings)

    def _read_names(self, registry: str) -> bool:
        """Read the names of a registry; return whether that was possible."""
        with suppress(XlbridgeError), self._remote.connected(looking_up=True) as (_, client):
            self.read_with(client, registry)
        return self._stored(registry).path in self._read

    def _keep(self, path: Path, names: Names, inactive: Set[str]) -> None:
        self._names[path] = names
        self._usable[path] = {code: name for code, name in names.items() if code not in inactive}

    def _stored(self, registry: str, settings: Settings | None = None) -> StoredNames:
        return StoredNames(settings or self._remote.settings, registry)
