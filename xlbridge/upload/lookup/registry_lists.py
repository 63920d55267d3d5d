"""Records of the registries that a resource's sheets refer to, for the lists of a template."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import chain

from xlbridge.client import Client, Record
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Link, Resource
from xlbridge.resources.references import REFERENCES
from xlbridge.upload.lookup.links import named_record
from xlbridge.upload.lookup.registries import Registries
from xlbridge.workbook.write import ListedRecord, RegistryList, RegistryLists

_MOST_LISTED = 10_000
"""Records of one list; in more than that nobody finds one, and Excel becomes slow."""

_READING = Text(pt="Lendo {registry}", en="Reading {registry}")
_UNREAD = Text(pt="Sem lista de {registry}: {reason}", en="No list of {registry}: {reason}")
_CUT = Text(
    pt="A lista ({registry}) não é inteira, {listed} de {total}; os outros registros valem por "
    "código, nome ou documento.",
    en="The list ({registry}) is not whole, {listed} of {total}; other records may be given by "
    "code, name or document.",
)
_PARTLY_READ = Text(
    pt="Não é certo que a lista de {registry} esteja completa.",
    en="The list of {registry} is not proven complete.",
)


def registry_lists(
    client: Client,
    form: Resource,
    tell: Callable[[Text], None],
    progress: Callable[[Text], None] = lambda _text: None,
) -> RegistryLists:
    """Return the active records of each registry that ``form`` links to, ordered by their names.

    ``tell`` is told of what the lists lack. Raises ``TransportError`` or ``AuthenticationFailed``
    when the system cannot be asked.
    """
    registries = Registries(client)
    columns = chain(form.columns, *(child.columns for child in form.children))
    links = {c.link.registry: c.link for c in columns if c.link is not None}
    lists = []
    for link in links.values():
        title = REFERENCES[link.registry].title
        progress(_READING.format(registry=title))
        try:
            lists.append(_list(registries, link, tell))
        except RemoteRejected as error:
            tell(_UNREAD.format(registry=title, reason=error.message))
    moment = datetime.now().strftime("%d/%m/%Y %H:%M")
    return RegistryLists(f"{client.target.profile}, {moment}", tuple(lists))


def _list(registries: Registries, link: Link, tell: Callable[[Text], None]) -> RegistryList:
    reference = REFERENCES[link.registry]
    listed = registries.listed(reference)
    if not listed.complete:
        tell(_PARTLY_READ.format(registry=reference.title))
    fields = [name for name in link.fields if name not in (reference.key, reference.label)]
    records = {one.code: one for one in _records(listed.records, link, fields)}
    ordered = sorted(records.values(), key=lambda one: (one.label.casefold(), one.code))
    found = RegistryList(
        link.registry,
        _as_title(reference.title.pt),
        tuple(fields),
        tuple(ordered[:_MOST_LISTED]),
        len(ordered),
    )
    if found.is_cut:
        counts = {"listed": len(found.records), "total": found.total}
        tell(_CUT.format(registry=reference.title, **counts))
    return found


def _records(
    records: Iterable[Record], link: Link, fields: Iterable[str]
) -> Iterator[ListedRecord]:
    """Yield the records that may be used, as a template lists them."""
    for record in records:
        named = named_record(record, REFERENCES[link.registry])
        if named.active:
            names = tuple(str(record.get(field) or "") for field in fields)
            yield ListedRecord(str(named.code), " ".join(named.label.split()), names)


def _as_title(text: str) -> str:
    """Return "o cadastro de clientes" as a title: without its article."""
    _, _, rest = text.partition(" ")
    return rest[:1].upper() + rest[1:]
