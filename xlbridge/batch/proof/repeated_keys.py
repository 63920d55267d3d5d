"""Keys that the system has more than once: rows of several workbooks, records from elsewhere.

A row's own record says nothing of another one with the same key, which a late workbook, another
program or a person may have brought.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from xlbridge.batch.proof.matches import key_text
from xlbridge.batch.proof.read_back import ReadBackRow
from xlbridge.i18n import Text
from xlbridge.resources import Kind, Resource
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload.lookup import FoundRecord
from xlbridge.validation.cross_sheet import unique_keys

_Key = tuple[str, ...]
_Positions = Sequence[int]

_IN_SEVERAL_WORKBOOKS = Text(
    pt="{later}, linha {row}: a mesma chave de {earlier}, linha {first} ({columns}), e as duas "
    "foram aceitas{more}",
    en="{later}, row {row}: the same key as {earlier}, row {first} ({columns}), and both were "
    "accepted{more}",
)
_MORE = Text(
    pt="; mais {n} {n:linha|linhas} destes arquivos também",
    en="; likewise {n} more {n:row|rows} of these workbooks",
)


def mark_repeated_keys(resource: Resource, rows: Sequence[ReadBackRow]) -> list[ReadBackRow]:
    """Give each accepted row the other records of its key, if the system has too many of them.

    Each row of one workbook may have brought a record, but of rows that several workbooks have
    only one. Amounts are no part of a key. Rows that replace each other have one record anyway.
    """
    marked = list(rows)
    if resource.read_back is None or resource.read_back.existing is ExistingPolicy.REPLACED:
        return marked
    for index, (_, columns) in enumerate(unique_keys(resource)):
        identity = tuple(n for n in columns if resource.by_name[n].kind is not Kind.MONEY)
        records = _records_by_key(rows, identity)
        for key, positions in _positions_by_key(rows, index, columns, identity).items():
            found = records.get(key, {})
            if max(len(found), len(positions)) < 2:
                continue
            of_key = [marked[at] for at in positions]
            repeats = sum(len(again) for _, again in _repeats(of_key, index))
            explained = sum(len(row.match.extra_records) for row in of_key if row.match)
            if len(found) + repeats - len(positions) > explained:
                for at in positions:
                    marked[at] = _with_other_records(marked[at], found)
    return marked


def repeated_key_breaches(resource: Resource, rows: Sequence[ReadBackRow]) -> Iterator[Text]:
    """Yield the workbooks that share keys of accepted rows, each pair once with its first rows."""
    if resource.read_back and resource.read_back.existing is ExistingPolicy.REPLACED:
        return
    pairs: dict[tuple[int, int], tuple[Text, int]] = {}
    for index, (_, columns) in enumerate(unique_keys(resource)):
        for positions in _positions_by_key(rows, index, columns, columns).values():
            if len(positions) < 2:
                continue
            for first, repeats in _repeats([rows[at] for at in positions], index):
                for row in repeats:
                    pair = id(first.file), id(row.file)
                    text, count = pairs.get(pair, (_breach_text(first, row, columns), 0))
                    pairs[pair] = text, count + 1
    for text, count in pairs.values():
        yield text.format(more=_MORE.format(n=count - 1) if count > 1 else "")


def _records_by_key(
    rows: Sequence[ReadBackRow], columns: Sequence[str]
) -> Mapping[_Key, Mapping[str, FoundRecord]]:
    """Return the records that were found, by their keys and their codes."""
    found: defaultdict[_Key, dict[str, FoundRecord]] = defaultdict(dict)
    readings = (each for row in rows for each in (row.reading, *row.other_readings) if each)
    for reading in {key_text(each.key): each for each in readings}.values():
        for record in reading.found:
            values = [record.values.get(name, reading.key.get(name)) for name in columns]
            if key := _complete(values):
                found[key][record.code] = record
    return found


def _positions_by_key(
    rows: Sequence[ReadBackRow], index: int, columns: Sequence[str], identity: Sequence[str]
) -> Mapping[_Key, _Positions]:
    """Return the rows that were accepted, or may have been, by the columns of their key."""
    places = [columns.index(name) for name in identity]
    positions: defaultdict[_Key, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        if not row.refused and row.keys:
            values = row.keys[index]
            if key := _complete([values[place] for place in places]):
                positions[key].append(at)
    return {key: _bringing(rows, of_key) for key, of_key in positions.items()}


def _bringing(rows: Sequence[ReadBackRow], positions: _Positions) -> _Positions:
    """Return the rows of a key that may each have brought a record.

    Where none was written, those are the rows of one workbook that were in the system before.
    """
    written = [at for at in positions if rows[at].sent.planned is None]
    first = rows[positions[0]].file
    return written or [at for at in positions if rows[at].file is first]


def _complete(values: Sequence[str | None]) -> _Key | None:
    return None if None in values else tuple(map(str, values))


def _repeats(
    rows: Sequence[ReadBackRow], index: int
) -> Iterator[tuple[ReadBackRow, list[ReadBackRow]]]:
    """Yield each accepted row with those of later workbooks that have all of its key, too."""
    by_key: defaultdict[_Key, list[ReadBackRow]] = defaultdict(list)
    for row in rows:
        if row.accepted and (key := _complete(row.keys[index])):
            by_key[key].append(row)
    for first, *others in by_key.values():
        own = first.file.file.path
        if elsewhere := [row for row in others if row.file.file.path != own]:
            yield first, elsewhere


def _with_other_records(row: ReadBackRow, found: Mapping[str, FoundRecord]) -> ReadBackRow:
    if not row.accepted or row.match is None or row.match.record is None:
        return row
    own = {record.code for record in (row.match.record, *row.match.extra_records)}
    others = tuple(record for code, record in found.items() if code not in own)
    return replace(row, match=replace(row.match, same_key=others))


def _breach_text(first: ReadBackRow, later: ReadBackRow, columns: Sequence[str]) -> Text:
    return _IN_SEVERAL_WORKBOOKS.format(
        later=later.file.file.path.name,
        row=later.sent.origin,
        earlier=first.file.file.path.name,
        first=first.sent.origin,
        columns=", ".join(columns),
        more="{more}",
    )
