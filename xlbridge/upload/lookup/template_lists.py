"""Lists of a template: the active records of the registries that its columns refer to."""

from collections.abc import Callable
from datetime import datetime
from itertools import chain

from xlbridge.client import Client
from xlbridge.client.registries import Registries, named_record
from xlbridge.errors import RemoteRejected, UnknownFields
from xlbridge.i18n import Text, count_text
from xlbridge.progress import WorkProgress
from xlbridge.resources import Resource
from xlbridge.resources.names import field_title
from xlbridge.resources.references import REFERENCES, Link
from xlbridge.workbook.write import ListedRecord, RegistryList, RegistryLists

_MAX_LISTED = 10_000
"""Limit on the records of one list, beyond which it is unusable and Excel becomes slow."""

_READING = Text(pt="Lendo {registry}", en="Reading {registry}")
_READ = Text(
    pt="Lendo {registry}: {n} {n:registro|registros}",
    en="Reading {registry}: {n} {n:record|records}",
)
_UNREAD = Text(
    pt="A lista não foi lida ({registry}): {reason}", en="No list of {registry}: {reason}"
)
_CUT = Text(
    pt="A lista ({registry}) não está completa, {listed} de {total}; informe os outros registros "
    "pelo código, nome ou documento.",
    en="The list ({registry}) is not complete, {listed} of {total}; enter other records by code, "
    "name or document.",
)
_PARTLY_READ = Text(
    pt="Não há prova de que a lista ({registry}) esteja completa.",
    en="The list of {registry} is not proven complete.",
)


def registry_lists(
    client: Client,
    form: Resource,
    warn: Callable[[Text], None],
    progress: WorkProgress,
) -> RegistryLists:
    """Return the active records of each registry that ``form`` links to, ordered by label.

    ``warn`` is called about incomplete lists. Raises ``TransportError`` or
    ``AuthenticationFailed`` if the system cannot be reached.
    """
    registries = Registries(client)
    columns = chain(form.columns, *(child.columns for child in form.children))
    links = {c.link.registry: c.link for c in columns if c.link is not None}
    lists = []
    for done, link in enumerate(links.values()):
        title = REFERENCES[link.registry].title
        progress.count(done, len(links))
        progress.show(_READING.format(registry=title))
        try:
            lists.append(_registry_list(registries, link, warn, progress.show))
        except (RemoteRejected, UnknownFields) as error:
            warn(_UNREAD.format(registry=title, reason=error.message))
            if isinstance(error, UnknownFields) and error.hint is not None:
                warn(error.hint)
    progress.count(len(links), len(links))
    moment = datetime.now().strftime("%d/%m/%Y %H:%M")
    source = f"{client.target.profile}, {moment}"
    return RegistryLists(source, tuple(lists), client.identity)


def _registry_list(
    registries: Registries,
    link: Link,
    warn: Callable[[Text], None],
    show: Callable[[Text], None],
) -> RegistryList:
    reference = REFERENCES[link.registry]

    def on_records(count: int) -> None:
        show(_READ.format(registry=reference.title, n=count_text(count)))

    listed = registries.load_all(reference, on_records)
    if not listed.complete:
        warn(_PARTLY_READ.format(registry=reference.title))
    fields = [name for name in link.fields if name not in (reference.key, reference.label)]
    records = {}
    for record in listed.records:
        named = named_record(record, reference)
        if named.active:
            names = tuple(str(record.get(field) or "") for field in fields)
            one = ListedRecord(str(named.code), " ".join(named.label.split()), names)
            records[one.code] = one
    ordered = sorted(records.values(), key=lambda one: (one.label.casefold(), one.code))
    _, _, without_article = str(reference.title).partition(" ")
    found = RegistryList(
        link.registry,
        without_article[:1].upper() + without_article[1:],
        tuple(str(field_title(field)) for field in fields),
        tuple(ordered[:_MAX_LISTED]),
        len(ordered),
    )
    if found.is_truncated:
        counts = {"listed": len(found.records), "total": found.total}
        warn(_CUT.format(registry=reference.title, **counts))
    return found
