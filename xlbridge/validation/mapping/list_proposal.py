"""Proposal of the lists of a sheet that has a row for each item: the key by which rows are one
record, the columns that are the same in all rows of a record, and those of its items.

Instalments that are side by side in a row, such as "Vencto 1" and "Valor 1", are items as well;
those of titles are titles of their own.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources import KEY, Resource
from xlbridge.resources.references import REFERENCES
from xlbridge.validation.cells.contents import display
from xlbridge.validation.cells.text_parsing import number_meanings
from xlbridge.validation.header_row import header_key
from xlbridge.validation.mapping.candidates import fit_and_body
from xlbridge.validation.mapping.column_fit import ForeignColumn
from xlbridge.validation.mapping.header_names import (
    DUE_DATE,
    document_words,
    mapping_words,
    vocabulary,
)
from xlbridge.validation.mapping.mapping_file import MappedList, SheetMapping
from xlbridge.validation.mapping.proposal import EARLIER_CONSTANT, NO_COLUMN, propose
from xlbridge.validation.mapping.proposed_mapping import (
    Confidence,
    MappingProposal,
    ProposedColumn,
    ProposedList,
    RememberedValues,
)

_ITEM_WORDS = frozenset({"item", "itens", "produto", "unitario", "unit", "unidade"})
"""Words of amounts that belong to an item, not to its document."""
_ORDINAL = re.compile(r"(?<!\d)(\d{1,2})\s*(?:[ªºa°]|(?!\d))")
_CODES = frozenset({"codigo", "sku"})
_STATUS = frozenset({"situacao", "status", "estado"})
_CANCELLED = "cancel"
_LEAST = 2
"""Number of columns of an item without which rows are no items."""
_AMOUNT, _SHARE = "valor", "percentual"
_HALF_A_CENT = Decimal("0.005")


@dataclass(frozen=True)
class _Groups:
    """Rows of records: ``rows`` are the zero-based rows by the text of the ``key``; ``varying`` are
    the headers with several texts in most records that have several rows, ``constant`` the others:
    a few records may be contradictory. ``down`` if some rows have no key and are the record's
    above."""

    key: str
    rows: Mapping[str, Sequence[int]]
    constant: Set[str]
    varying: Set[str]
    down: bool

    @property
    def repeat(self) -> bool:
        """True if a record has several rows."""
        return any(len(rows) > 1 for rows in self.rows.values())


class ListProposer:
    """Proposer of the lists of a sheet's records."""

    def __init__(self, columns: Sequence[ForeignColumn]) -> None:
        self._columns = {column.header: column for column in columns}
        self._texts = {
            one.header: [display(value).strip() for value in one.source.values(one.records)]
            for one in columns
        }
        self._groups: list[_Groups] = []
        # A bare number may only be that of a document without others.
        numbers = [one for one in self._columns if document_words(one)]
        bare = [one for one in self._columns if mapping_words(one) == {"numero"}]
        for header in numbers or bare:
            texts = self._texts[header]
            has_numbers = all(any(map(str.isdigit, text)) for text in texts if text)
            if has_numbers and any(texts[:1]) and not self._columns[header].are_dates:
                self._groups.append(self._groups_by(header))

    def _groups_by(self, header: str) -> _Groups:
        """Return the groups of the rows with the same text in a column, or none below it."""
        rows, above = defaultdict[str, list[int]](list), ""
        for row, text in enumerate(self._texts[header]):
            above = text or above
            rows[above].append(row)
        several = [one for one in rows.values() if len(one) > 1]
        varying = {
            name
            for name, found in self._texts.items()
            if 2 * sum(any(found[row] not in {"", found[one[0]]} for row in one) for one in several)
            > len(several)
        }
        constant = self._texts.keys() - varying
        return _Groups(header, rows, constant, varying, "" in self._texts[header])

    def _sampled(self, groups: _Groups, *, firsts: bool) -> Mapping[str, ForeignColumn]:
        """Return the columns with the cells of the first rows of records, or of the rows that have
        something of an item, if a record has its own cells in the first row only."""
        if not groups.down:
            return self._columns
        rows = [one[0] for one in groups.rows.values()]
        if not firsts:
            texts = zip(*(self._texts[header] for header in groups.varying), strict=True)
            rows = [row for row, found in enumerate(texts) if any(found)]
        return {
            header: replace(one, records=[one.records[row] for row in rows])
            for header, one in self._columns.items()
        }

    def with_lists(
        self,
        proposal: MappingProposal,
        earlier: Sequence[SheetMapping],
        remembered: RememberedValues,
    ) -> MappingProposal:
        """Return a proposal with the lists that are in the rows of the sheet, if it has some."""
        resource, base = proposal.resource, proposal.base
        is_flat = base is not None and base.title is None and not base.lists
        if is_flat or not (resource.children or _amount_of_title(resource)):
            return proposal
        if _amount_of_title(resource) and (base is None or not base.lists or base.records):
            titles = self._with_titles(proposal, earlier, remembered)
            if titles is not None:
                return titles
        known = () if base is None or not base.lists else self._present(base, KEY)
        documents = vocabulary().documents.get(resource.name, frozenset())
        by_name = (one for one in self._groups if document_words(one.key) <= documents)
        found = [
            one
            for groups in (map(self._groups_by, known) if known else by_name)
            if (one := self._with_items(proposal, groups, earlier, remembered)) is not None
        ]
        return max(found, key=lambda one: one.weight, default=proposal)

    def _with_titles(
        self,
        proposal: MappingProposal,
        earlier: Sequence[SheetMapping],
        remembered: RememberedValues,
    ) -> MappingProposal | None:
        """Return the proposal of a title for each instalment, None without instalments that have
        both due date and amount."""
        resource, base = proposal.resource, proposal.base
        found = self._side_by_side(resource, base).get(resource.name)
        needed = {DUE_DATE, _amount_of_title(resource)}
        if found is None or any(needed - {one.name for one in block} for block in found.items):
            return None
        taken = {text for column in found.columns for text in column.sources}
        known = {one.name for block in found.items for one in block}
        own = [one for header, one in self._columns.items() if header not in taken]
        main = propose(resource, proposal.sheet, own, (), earlier, base, remembered)
        columns = [one for one in main.columns if one.name not in known]
        keys = [
            one
            for one in (*columns, *found.items[0])
            if one.name in resource.natural_keys and one.sources
        ]
        items = []
        for number, block in enumerate(found.items, start=1):
            named = {one.name for one in block}
            numbered = [
                replace(
                    one,
                    # The key of the title of an instalment is the document's with its number.
                    body={key: it for key, it in one.body.items() if key != "link"}
                    | {"suffix": f"/{number}"},
                    reason=_NUMBERED_KEY,
                )
                for one in keys
                if one.name not in named
            ]
            items.append([*numbered, *block])
        columns = [one for one in columns if one.name not in resource.natural_keys]
        used = taken.union(main.rows, *(one.sources for one in (*columns, *keys)))
        return replace(
            main,
            header=proposal.header,
            columns=columns,
            ignore={
                header: proposal.ignore.get(header, main.ignore.get(header, NO_COLUMN))
                for header in proposal.header
                if header not in used
            },
            lists={resource.name: ProposedList(items)},
        )

    def _present(self, mapping: SheetMapping, name: str) -> Sequence[str]:
        """Return the header of a column in the mapping of a similar sheet, if it is still there."""
        keys = {header_key(header): header for header in self._columns}
        sources = [t for one in mapping.columns if one.name == name for t in one.sources]
        found = [keys[key] for text in sources if (key := header_key(text)) in keys]
        return found if len(found) == len(sources) == 1 else ()

    def _with_items(
        self,
        proposal: MappingProposal,
        groups: _Groups,
        earlier: Sequence[SheetMapping],
        remembered: RememberedValues,
    ) -> MappingProposal | None:
        """Return the proposal of records with the rows of ``groups``, None if they are no items."""
        resource, base = proposal.resource, proposal.base
        side_by_side = self._side_by_side(resource, base)
        taken = {
            text
            for one in side_by_side.values()
            for column in one.columns
            for text in column.sources
        }
        sampled = self._sampled(groups, firsts=True)
        own = [c for c in sampled.values() if c.header in groups.constant - taken]
        main = propose(resource, proposal.sheet, own, (), earlier, base, remembered)
        lists: dict[str, ProposedList] = {}
        used = set(taken)
        for child in resource.children:
            if child.sheet in side_by_side:
                lists[child.sheet] = side_by_side[child.sheet]
            elif items := self._items(child, groups, used, main, base, remembered):
                lists[child.sheet] = ProposedList([items])
                used |= {text for column in items for text in column.sources}
        # Rows of orders with nothing but instalments are rather those of titles.
        needed = {
            one.sheet
            for one in resource.children
            if len(one.required) > 1 or not resource.needs_children
        }
        rows_are_items = any(not one.once for one in lists.values())
        if not needed & lists.keys() or (groups.repeat and not rows_are_items):
            return None
        is_new = base is None
        columns = {
            c.name: c
            for c in main.columns
            if used.isdisjoint(c.sources) and not (is_new and self._is_guess(c, resource))
        }
        if any(c.name in resource.required and c.name not in columns for c in main.columns):
            return None
        body: dict[str, Any] = {"from": groups.key}
        if groups.down:
            body["down"] = True
        own_headers = {text for one in columns.values() for text in one.sources}
        certainty = self._certainty(groups, own_headers)
        columns[KEY] = ProposedColumn(KEY, body, certainty, _IS_KEY)
        if not resource.needs_children and not self._adds_up(resource, columns, lists, groups):
            return None
        used |= {text for one in columns.values() for text in one.sources}
        ordered = [columns[one.name] for one in resource.columns if one.name in columns]
        rows: dict[str, Mapping[str, bool | str]] = {
            header: {text: not text.casefold().startswith(_CANCELLED) for text in one.texts}
            for header, one in self._columns.items()
            if header not in used and mapping_words(header) & _STATUS and resource.needs_children
            if any(text.casefold().startswith(_CANCELLED) for text in one.texts)
        }
        rows = rows | dict(main.rows) if base is None else dict(main.rows)
        ignore = {
            header: _VARIES if header in groups.varying else main.ignore.get(header, NO_COLUMN)
            for header in proposal.header
            if header not in used and header not in rows
        }
        repeated = {text: why for text, why in proposal.ignore.items() if text not in self._columns}
        return replace(
            main,
            header=proposal.header,
            columns=ordered,
            ignore={**ignore, **repeated},
            rows=rows,
            lists=lists,
        )

    def _is_guess(self, column: ProposedColumn, resource: Resource) -> bool:
        """Return whether a column may be left out: an optional one with low confidence, or whose
        words a person would have to map one by one although they name places."""
        if column.name in resource.required:
            return False
        is_place = column.name.casefold().endswith("municipio") and column.is_incomplete
        return column.confidence is Confidence.LOW or is_place

    def _certainty(self, groups: _Groups, headers: Set[str]) -> Confidence:
        """Return the confidence in a key: low if another number would make other records, or rows
        without a key have other cells of a record, in the columns with the ``headers``."""
        below = [row for one in groups.rows.values() for row in one[1:]]
        if groups.down and any(self._texts[text][row] for text in headers for row in below):
            return Confidence.LOW
        if not groups.repeat:
            return Confidence.MEDIUM
        mine = {tuple(rows) for rows in groups.rows.values()}
        others = [{tuple(rows) for rows in one.rows.values()} for one in self._groups]
        finer = any(
            theirs != mine and one.repeat for theirs, one in zip(others, self._groups, strict=True)
        )
        return Confidence.LOW if finer else Confidence.HIGH

    def _items(
        self,
        child: Resource,
        groups: _Groups,
        used: Set[str],
        main: MappingProposal,
        base: SheetMapping | None,
        remembered: RememberedValues,
    ) -> Sequence[ProposedColumn]:
        """Return the columns of a list's items, none unless the sheet has all required ones."""
        sure = {
            text
            for column in main.columns
            for text in column.sources
            if column.confidence is Confidence.HIGH
        }
        known = _block_of(base, child, 0)
        before = set() if known is None else {t for one in known.columns for t in one.sources}
        own = [
            column
            for header, column in self._sampled(groups, firsts=False).items()
            if header not in used | {groups.key}
            and (header in groups.varying or header not in sure or header in before)
        ]
        items = replace(child, columns=tuple(c for c in child.columns if c.name != KEY))
        # The other system's number of a product says less than the code that people know.
        codes = [one for one in own if mapping_words(one.header) & _CODES]
        if codes and known is None:
            own = [one for one in own if "id" not in mapping_words(one.header)]
        proposed = propose(items, main.sheet, own, (), (), known, remembered)
        columns = {one.name: one for one in proposed.columns if one.sources}
        if known is None:
            columns |= _by_codes(items, columns, codes)
        kept = [
            columns[one.name]
            for one in items.columns
            if one.name in columns
            and (one.required or self._is_of_item(columns[one.name], groups, before))
        ]
        kept += _constants(known)
        is_complete = {one.name for one in kept}.issuperset(items.required)
        return kept if is_complete and len(kept) >= _LEAST else ()

    def _is_of_item(self, column: ProposedColumn, groups: _Groups, before: Set[str]) -> bool:
        """Return whether an optional column is that of an item: what is the same in all rows of a
        document may be the document's own, such as its freight. Names are only asked for if they
        are certainly those of items."""
        if not before.isdisjoint(column.sources):
            return True
        varies = any(text in groups.varying for text in column.sources)
        is_own = varies or any(mapping_words(text) & _ITEM_WORDS for text in column.sources)
        is_asked_for_nothing = column.is_incomplete and not varies
        return is_own and column.confidence is not Confidence.LOW and not is_asked_for_nothing

    def _adds_up(
        self,
        resource: Resource,
        columns: Mapping[str, ProposedColumn],
        lists: Mapping[str, ProposedList],
        groups: _Groups,
    ) -> bool:
        """Return whether the items of several rows add up to the total of each record: the parts of
        a title do, its instalments do not."""
        for declared in resource.sums:
            total, items = columns.get(declared.total or ""), lists.get(declared.sheet)
            parts = items and next((c for c in items.columns if c.name == declared.column), None)
            if total is None or not parts or not total.sources or not groups.repeat:
                continue
            totals, addends = (
                [_amount(text) for text in self._texts[one.sources[0]]] for one in (total, parts)
            )
            sums = [
                abs(sum(addends[row] for row in rows) - totals[rows[0]]) <= _HALF_A_CENT
                for rows in groups.rows.values()
            ]
            return all(sums)
        return False

    def _instalments(self, resource: Resource) -> Mapping[str, Sequence[Mapping[str, str]]]:
        """Return the headers of the instalments that are side by side, by the list: for each of
        them the columns by header."""
        amount = _amount_of_title(resource)
        child = next(
            (c for c in resource.children if {DUE_DATE, _AMOUNT} <= c.by_name.keys()), None
        )
        if amount is not None:
            child = resource
        numbered: defaultdict[int, dict[str, str]] = defaultdict(dict)
        for header, column in self._columns.items() if child is not None else ():
            ordinals = list(map(int, _ORDINAL.findall(header)))
            name = _instalment_column(header, column) if len(ordinals) == 1 else None
            name = amount if name == _AMOUNT and amount is not None else name
            if name is not None and name not in numbered[ordinals[0]].values():
                numbered[ordinals[0]][header] = name
        blocks: list[Mapping[str, str]] = []
        wanted = {amount or _AMOUNT, _SHARE, DUE_DATE}
        while (block := numbered.get(len(blocks) + 1)) and wanted & {*block.values()}:
            blocks.append(block)
        names = set(blocks[0].values()) if blocks else set()
        is_list = child is not None and len(blocks) > 1 and (wanted - {DUE_DATE}) & names
        return {child.sheet: blocks} if is_list and child is not None else {}

    def _side_by_side(
        self, resource: Resource, base: SheetMapping | None
    ) -> Mapping[str, ProposedList]:
        """Return the lists whose items are side by side: as in the mapping used before, as far as
        its headers are still there, and the instalments that are numbered in the header."""
        lists: dict[str, ProposedList] = {}
        numbered = self._instalments(resource)
        for child in (*resource.children, resource):
            blocks = numbered.get(child.sheet, ())
            items: list[Sequence[ProposedColumn]] = []
            declared = None if base is None else base.lists.get(child.sheet)
            is_repeated = declared and (declared.once or child is resource)
            for number in range(len(declared.items) if declared and is_repeated else 0):
                known = _block_of(base, child, number)
                headers = (
                    set(map(header_key, (t for one in known.columns for t in one.sources)))
                    if known
                    else set()
                )
                own = [one for key, one in self._columns.items() if header_key(key) in headers]
                if known is None or len(own) < len(headers):
                    items = []
                    break
                found = propose(child, "", own, (), (), known).columns
                items.append([*(c for c in found if c.sources), *_constants(known)])
            used = {text for block in items for column in block for text in column.sources}
            items += [
                [
                    ProposedColumn(
                        name,
                        fit_and_body(child.by_name[name], self._columns[header])[1],
                        Confidence.HIGH,
                        _NUMBERED,
                    )
                    for header, name in block.items()
                ]
                for block in blocks
                if used.isdisjoint(block)
            ]
            if items:
                lists[child.sheet] = ProposedList(items, once=True)
        return lists


def _amount_of_title(resource: Resource) -> str | None:
    """Return the column with the amount of a title, None for other records."""
    return resource.totals.amount if DUE_DATE in resource.by_name else None


def _constants(known: SheetMapping | None) -> list[ProposedColumn]:
    """Return the constants of a list in the mapping used before."""
    columns = () if known is None else known.columns
    return [
        ProposedColumn(one.name, one.body, Confidence.MEDIUM, EARLIER_CONSTANT)
        for one in columns
        if not one.sources
    ]


def _by_codes(
    items: Resource, columns: Mapping[str, ProposedColumn], codes: Sequence[ForeignColumn]
) -> dict[str, ProposedColumn]:
    """Return the required columns of records that the other system's codes name: without another
    source, beside a mere name, or from a SKU, which is no number of this system."""
    linked = {}
    for column in items.columns:
        registry, found = REFERENCES.get(column.references or ""), columns.get(column.name)
        headers = [one.header for one in codes]
        is_code = found is None
        if found is not None:
            words = mapping_words(found.sources[0])
            if "link" not in found.body:
                headers, is_code = list(found.sources), "sku" in words
            elif words.isdisjoint(_CODES):
                headers = [text for text in headers if mapping_words(text) <= _CODES]
                is_code = True
        if registry is not None and column.required and headers and is_code:
            body = {"from": headers[0], "link": registry.resource or column.references}
            linked[column.name] = ProposedColumn(column.name, body, Confidence.MEDIUM, _BY_CODE)
    return linked


def _block_of(base: SheetMapping | None, child: Resource, number: int) -> SheetMapping | None:
    """Return the columns of the items of a list in a mapping as a mapping of their own."""
    declared = None if base is None else base.lists.get(child.sheet)
    if base is None or declared is None or number >= len(declared.items):
        return None
    columns = tuple(declared.items[number].values())
    return replace(base, resource=child.name, columns=columns, lists=dict[str, MappedList]())


_DUE_WORDS = frozenset({"vencimento", "data", "vence", "venc"})
_OF_INSTALMENTS = frozenset({"parcela", "vencimento", "vence", "valor", "data", "percentual"})
_FILLERS = frozenset({"a", "p", "parc", "prestacao", "r", "duplicata", "numero", "pagamento"})


def _instalment_column(header: str, column: ForeignColumn) -> str | None:
    """Return the column of an instalment that a numbered header means, None for another thing."""
    words = frozenset(word for word in mapping_words(header) if not word.isdecimal())
    if not words or not words <= _OF_INSTALMENTS | _FILLERS:
        return None
    if "%" in header or "percentual" in words:
        return _SHARE
    if column.are_dates:
        return DUE_DATE
    # A column that is empty in this file is what its header says.
    if words & _DUE_WORDS:
        return None if column.cells.kinds else DUE_DATE
    return _AMOUNT if words & {"valor", "parcela", "p", "parc"} else None


def _amount(text: str) -> Decimal:
    """Return an amount in either style, rather with decimals, zero for another text."""
    found = number_meanings(text)
    either = (found.native, found.foreign) if found else ()
    return min((one for one in either if one is not None), key=abs, default=Decimal(0))


_IS_KEY = Text(
    pt="as linhas com o mesmo número são um registro, e os itens dele",
    en="the rows with the same number are one record with its items",
)
_BY_CODE = Text(
    pt="o código, que outro sistema usa, é procurado no cadastro",
    en="the code, which another system uses, is looked up in the registry",
)
_VARIES = Text(pt="muda entre as linhas de um registro", en="it differs among the rows of a record")
_NUMBERED_KEY = Text(
    pt="cada parcela é um título, com o número do documento e o da parcela",
    en="each instalment is a title, with the number of the document and its own",
)
_NUMBERED = Text(
    pt="as parcelas estão lado a lado, numeradas no cabeçalho",
    en="the instalments are side by side, numbered in the header",
)
