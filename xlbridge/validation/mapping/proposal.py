"""Proposal of a mapping: which column of a foreign sheet is which, why, and how sure that is.

Headers and values both have to agree for a proposal that is sure. What only a person can know, a
code or a branch, is left as ``?``, which the mapping is refused with.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources import (
    KEY,
    Column,
    Kind,
    Resource,
)
from xlbridge.resources.references import REFERENCES
from xlbridge.validation.headers.header_matching import header_key
from xlbridge.validation.mapping.conversion import (
    LISTED_CODES,
    ForeignColumn,
    fit,
    listed_values,
    takes_list,
)
from xlbridge.validation.mapping.mapping_file import (
    TO_FILL_IN,
    DocumentKind,
    SheetMapping,
)
from xlbridge.validation.mapping.synonyms import (
    NameFit,
    NameMatcher,
    columns_called,
    mapping_words,
)

_TOLD, _HIGH, _MEDIUM, _LEAST, _FITS, _CLOSE = 0.88, 0.86, 0.6, 0.42, 0.85, 0.06
_LINKED = 0.7
_AGAINST = 0.5
_PARTIES = frozenset({"cliente", "fornecedor"})
_DOCUMENT_WORDS = frozenset({"cnpj", "cpf", "cgc"})
_CALLED = frozenset({"nome", "razao", "fantasia", "name"})
_JOINED = ("tipo", "especie", "referencia", "parcela", "complemento")
_DOCUMENTS: Mapping[Kind, DocumentKind] = {Kind.CNPJ: "cnpj", Kind.CPF: "cpf"}
_MONEY = frozenset({Kind.NUMBER, Kind.MONEY})


class Confidence(StrEnum):
    """Confidence of a proposal."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class ProposedColumn:
    """A proposed column: its ``body`` as the mapping file has it, how sure that is, and why."""

    name: str
    body: Mapping[str, Any]
    confidence: Confidence
    reason: Text

    @property
    def sources(self) -> tuple[str, ...]:
        """The headers that it is made from."""
        return tuple(self.body.get("join", [self.body["from"]] if "from" in self.body else []))

    @property
    def asks(self) -> bool:
        """True where a person has to fill something in."""
        stated = [self.body.get("constant"), *self.body.get("values", {}).values()]
        return TO_FILL_IN in stated


@dataclass(frozen=True, slots=True)
class MappingProposal:
    """A proposed mapping of the sheet with a header; ``ignore`` are the headers that are not used,
    each with the reason, ``header_row`` is Excel's number of the header's row."""

    resource: Resource
    sheet: str
    header: Sequence[str]
    columns: Sequence[ProposedColumn]
    ignore: Mapping[str, Text]
    header_row: int = 1

    @property
    def weight(self) -> float:
        """Share of the sheet and of the resource that is told, to compare resources by.

        A record that cannot be without rows of other sheets needs the key that joins them.
        """
        points = {Confidence.HIGH: 1.0, Confidence.MEDIUM: 0.6, Confidence.LOW: 0.2}
        told = {c.name: points[c.confidence] for c in self.columns if c.sources}
        used = {header for column in self.columns for header in column.sources}
        required = self.resource.required
        if self.resource.needs_children and KEY not in told:
            return -math.inf
        lacking = sum(name not in told for name in required) / max(1, len(required))
        share = len(used) / max(1, len(self.header))
        return sum(told.values()) + share - 2 * lacking - _AGAINST * len(self.other_things)

    @property
    def other_things(self) -> Mapping[str, frozenset[str]]:
        """The unused headers that are usual names of columns which the resource has not, with these
        columns."""
        called = {header: columns_called(header) for header in self.ignore}
        own = self.resource.names_with_lists
        return {header: names for header, names in called.items() if names and not names & own}


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A header that may be a column."""

    foreign: ForeignColumn
    column: Column
    score: float
    reason: Text
    body: Mapping[str, Any]


@dataclass(slots=True)
class _Choice:
    """The columns and headers that are taken so far."""

    columns: dict[str, ProposedColumn] = field(default_factory=dict)
    headers: set[str] = field(default_factory=set)

    def take(self, name: str, body: Mapping[str, Any], sure: Confidence, reason: Text) -> None:
        self.columns[name] = ProposedColumn(name, body, sure, reason)
        self.headers.update(self.columns[name].sources)


def propose(
    resource: Resource,
    sheet: str,
    columns: Sequence[ForeignColumn],
    repeated: Sequence[str],
    earlier: Sequence[SheetMapping],
) -> MappingProposal:
    """Propose which columns of a foreign sheet are which of a resource.

    ``repeated`` are headers that are there more than once, which cannot be used. ``earlier`` are
    mappings to the resource that a person confirmed, the latest last.
    """
    known = {
        header_key(mapped.source): mapped.name
        for mapping in earlier
        for mapped in mapping.columns
        if mapped.source is not None and mapped.is_direct
    }
    choice = _Choice()
    _take_documents(resource, columns, choice)
    matcher = NameMatcher(resource, known)
    candidates = [one for foreign in columns for one in _candidates(matcher, resource, foreign)]
    candidates += [one for foreign in columns for one in _links(matcher, resource, foreign)]
    _take_best(candidates, choice)
    _join_parts(resource, columns, choice)
    _fill_missing(resource, choice, earlier)
    header = [foreign.header for foreign in columns] + [*repeated]
    ordered = [choice.columns[c.name] for c in resource.columns if c.name in choice.columns]
    unused = [foreign.header for foreign in columns if foreign.header not in choice.headers]
    ignore = dict.fromkeys(unused, _NO_COLUMN) | dict.fromkeys(repeated, _REPEATED)
    return MappingProposal(resource, sheet, header, ordered, ignore)


def _take_documents(resource: Resource, columns: Sequence[ForeignColumn], choice: _Choice) -> None:
    """Take a column of CNPJs and CPFs for the two columns of a resource that has both."""
    own = {_DOCUMENTS[c.kind]: c for c in resource.columns if c.kind in _DOCUMENTS}
    if len(own) < len(_DOCUMENTS):
        return
    for foreign in columns:
        kinds, words = foreign.document_kinds(), mapping_words(foreign.header)
        says_both = {"cnpj", "cpf"} <= words
        if not kinds or (len(kinds) == 1 and not says_both):
            continue
        named = bool(words & {"cnpj", "cpf", "cgc", "documento"})
        sure = Confidence.HIGH if named and kinds else Confidence.MEDIUM
        for kind, column in own.items():
            body = {"from": foreign.header, "when": kind}
            choice.take(column.name, body, sure, _SPLIT)
        return


def _candidates(
    matcher: NameMatcher, resource: Resource, foreign: ForeignColumn
) -> Iterator[_Candidate]:
    """Yield the columns that a header may be, by its words and its values."""
    for column in resource.columns:
        named = _named(matcher, foreign, column)
        if named is None:
            if _tells_by_values(column, foreign):
                alone = {"from": foreign.header}
                yield _Candidate(foreign, column, _MEDIUM, _BY_VALUES, alone)
            continue
        if _tells_by_values(column, foreign):
            score = max(named.score, _TOLD)
        else:
            # A link is better for names: it finds what is a code after all, too.
            most = _LINKED - _CLOSE - 0.01 if _names_records(column, foreign) else 1.0
            score = min(named.score, most)
        fits, body = _reading(column, foreign)
        score, reason = _by_values(named, score, fits, body)
        if reason is not None:
            yield _Candidate(foreign, column, score, reason.format(reason=named.reason), body)


def _named(matcher: NameMatcher, foreign: ForeignColumn, column: Column) -> NameFit | None:
    """Return how well a header fits a column by itself, or with the text above its group."""
    texts = [foreign.header, f"{foreign.group} {foreign.header}"][: 1 + bool(foreign.group)]
    return max(filter(None, (matcher.fit(text, column) for text in texts)), default=None)


def _by_values(
    named: NameFit, score: float, fits: float | None, body: Mapping[str, Any]
) -> tuple[float, Text | None]:
    """Return the score of a header that fits by name, and the reason, None where it is no column.

    ``fits`` is the share of values that the column takes, None where there are none.
    """
    if fits is None:
        return min(score, _HIGH - 0.01), _NO_VALUES
    if fits >= _FITS:
        return score, _VALUES_FIT
    if "values" in body:
        asks = TO_FILL_IN in body["values"].values()
        return min(score, _HIGH - 0.01) if asks else score, _LISTED
    if fits > 1 / 2:
        return _LEAST + (min(score, _MEDIUM) - _LEAST) * fits, _PARTLY
    # Left out, the column would be missing from every record; its cells are told one by one.
    return _LEAST, _FEW_FIT if fits and named.score >= _HIGH else None


def _links(
    matcher: NameMatcher, resource: Resource, foreign: ForeignColumn
) -> Iterator[_Candidate]:
    """Yield the columns of codes whose records a header names, by documents or as people do."""
    words, kinds = mapping_words(foreign.header), foreign.document_kinds()
    has_documents = any(column.kind in _DOCUMENTS for column in resource.columns)
    for column in resource.columns:
        if column.references is None or column.name in LISTED_CODES:
            continue
        registry = REFERENCES[column.references].resource or column.references
        body = {"from": foreign.header, "link": registry}
        is_party = registry in _PARTIES and not has_documents
        if is_party and kinds and words & _DOCUMENT_WORDS:
            # A document is that of one record; several may bear a name.
            yield _Candidate(foreign, column, _LINKED + 0.01, _BY_DOCUMENT, body)
        elif _names_records(column, foreign):
            named = _named(matcher, foreign, column)
            if named is not None and named.score >= _MEDIUM:
                yield _Candidate(foreign, column, _LINKED, _BY_NAME, body)
            elif is_party and words & _CALLED:
                yield _Candidate(foreign, column, _LEAST, _BY_NAME, body)


def _names_records(column: Column, foreign: ForeignColumn) -> bool:
    """Tell whether the values name records of which a column takes the codes.

    Texts without any digit are names, where codes may be texts.
    """
    if column.references is None or column.name in LISTED_CODES or not foreign.are_names():
        return False
    return column.kind is Kind.INTEGER or not any(map(_DIGIT.search, foreign.texts))


_DIGIT = re.compile(r"\d")


def column_body(column: Column, foreign: ForeignColumn) -> Mapping[str, Any]:
    """Return how the cells under a header that a person chose become a column of the resource."""
    if column.kind in _DOCUMENTS and len(foreign.document_kinds()) > 1:
        return {"from": foreign.header, "when": _DOCUMENTS[column.kind]}
    return _reading(column, foreign)[1]


def _reading(column: Column, foreign: ForeignColumn) -> tuple[float | None, Mapping[str, Any]]:
    """Return how well the values under a header fit a column, and how they are read."""
    body: dict[str, Any] = {"from": foreign.header}
    if column.kind in _MONEY and (style := foreign.number_style()):
        body["numbers"] = style
    fits = fit(column, foreign)
    if fits is not None and fits < _FITS and takes_list(column, foreign):
        body["values"] = listed_values(column, foreign)
    return fits, body


def _tells_by_values(column: Column, foreign: ForeignColumn) -> bool:
    """Return whether the values alone tell a column, whatever its header says."""
    if column.kind in _DOCUMENTS:
        return foreign.document_kinds() == {_DOCUMENTS[column.kind]}
    return "email" in column.checks and foreign.are_emails()


def _take_best(candidates: Sequence[_Candidate], choice: _Choice) -> None:
    """Take the best candidates, one for each column and each header.

    Where others are as good it is less sure.
    """
    for one in sorted(candidates, key=lambda one: -one.score):
        name, header = one.column.name, one.foreign.header
        if name in choice.columns or header in choice.headers or one.score < _LEAST:
            continue
        rivals = [
            other
            for other in candidates
            if other is not one
            and one.score - other.score < _CLOSE
            and (
                (other.column.name == name and other.foreign.header not in choice.headers)
                or (other.foreign.header == header and other.column.name not in choice.columns)
            )
        ]
        sure = Confidence.MEDIUM if one.score >= _MEDIUM else Confidence.LOW
        if one.score >= _HIGH and not rivals:
            sure = Confidence.HIGH
        names = (
            rival.foreign.header if rival.column.name == name else rival.column.name
            for rival in rivals
        )
        others = ", ".join(dict.fromkeys(names))
        reason = _WITH_RIVALS.format(reason=one.reason, others=others) if rivals else one.reason
        choice.take(name, one.body, sure, reason)


def _join_parts(resource: Resource, columns: Sequence[ForeignColumn], choice: _Choice) -> None:
    """Join what is left over: the number of an instalment to that of its document, a type and a
    reference to a history that the sheet lacks."""
    free = [f for f in columns if f.header not in choice.headers and f.cells.kinds]
    document = choice.columns.get("numeroDoDocumento")
    for foreign in free:
        if document is not None and mapping_words(foreign.header) == {"parcela"}:
            body = {"join": [*document.sources, foreign.header], "with": "-"}
            sure = min(document.confidence, Confidence.MEDIUM, key=list(Confidence)[::-1].index)
            choice.take("numeroDoDocumento", body, sure, _INSTALMENT)
            break
    if "historico" not in resource.required or "historico" in choice.columns:
        return
    parts = [
        foreign.header
        for foreign in free
        if foreign.header not in choice.headers and mapping_words(foreign.header) & {*_JOINED}
    ]
    if parts:
        body = {"join": parts, "with": " "} if len(parts) > 1 else {"from": parts[0]}
        choice.take("historico", body, Confidence.LOW, _HISTORY)


def _fill_missing(resource: Resource, choice: _Choice, earlier: Sequence[SheetMapping]) -> None:
    """Give the required columns that no header gives a constant: the earlier one, or a question.

    A client by CPF has the nature that goes with it.
    """
    constants = {
        mapped.name: mapped.constant
        for mapping in earlier
        for mapped in mapping.columns
        if not mapped.sources
    }
    for column in resource.columns:
        if column.name in choice.columns:
            continue
        if column.name in constants:
            stated = {"constant": constants[column.name]}
            choice.take(column.name, stated, Confidence.MEDIUM, _EARLIER_CONSTANT)
        elif column.required:
            choice.take(column.name, {"constant": TO_FILL_IN}, Confidence.LOW, _ASKED)
    nature, cpf, cnpj = (choice.columns.get(name) for name in ("natureza", "cpf", "cnpj"))
    if "natureza" in resource.by_name and nature is None and cpf is not None:
        natures = {"cpf": "F"} if cnpj is None else {"cnpj": "J", "cpf": "F"}
        if cnpj is None or cnpj.sources == cpf.sources:
            of_document = {"from": cpf.sources[0], "values": natures}
            choice.take("natureza", of_document, cpf.confidence, _NATURE)


_NO_VALUES = Text(pt="{reason}; não há valores para conferir", en="{reason}; there are no values")
_FEW_FIT = Text(
    pt="{reason}, mas a maioria dos valores não serve",
    en="{reason}, but most of the values do not fit",
)
_VALUES_FIT = Text(pt="{reason}, e os valores servem", en="{reason}, and the values fit")
_LISTED = Text(
    pt="{reason}; os valores são palavras, e cada uma vale o que a lista diz",
    en="{reason}; the values are words, and each stands for what the list says",
)
_PARTLY = Text(
    pt="{reason}, mas nem todos os valores servem", en="{reason}, but not all values fit"
)
_BY_VALUES = Text(pt="os valores são desta coluna", en="the values are those of this column")
_BY_DOCUMENT = Text(
    pt="são documentos; o código de cada um é procurado no sistema",
    en="they are documents; the code of each is looked up in the system",
)
_BY_NAME = Text(
    pt="são nomes; o código de cada um é procurado no sistema",
    en="they are names; the code of each is looked up in the system",
)
_WITH_RIVALS = Text(
    pt="{reason}; poderia ser também: {others}", en="{reason}; it could also be: {others}"
)
_SPLIT = Text(
    pt="CNPJ e CPF estão na mesma coluna; cada um vai para a sua",
    en="CNPJ and CPF are in one column; each goes to its own",
)
_NATURE = Text(
    pt="a natureza se sabe pelo documento: J com CNPJ, F com CPF",
    en="the document tells the nature: J with a CNPJ, F with a CPF",
)
_INSTALMENT = Text(
    pt="as parcelas de um documento se distinguem pelo número da parcela",
    en="the instalments of a document are told apart by their number",
)
_HISTORY = Text(
    pt="a planilha não tem histórico; estas colunas dizem do que se trata",
    en="the sheet has no history; these columns say what it is about",
)
_EARLIER_CONSTANT = Text(
    pt="a planilha não tem a coluna; o valor é o de um mapeamento anterior",
    en="the sheet lacks the column; the value is that of an earlier mapping",
)
_ASKED = Text(
    pt="a planilha não tem a coluna; escreva o valor no lugar de ?",
    en="the sheet lacks the column; write the value in place of ?",
)
_NO_COLUMN = Text(pt="nenhuma coluna combina", en="no column goes with it")
_REPEATED = Text(
    pt="aparece mais de uma vez; para usá-la, dê outro nome na planilha",
    en="it is there more than once; to use it, rename it in the sheet",
)
