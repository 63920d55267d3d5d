"""Candidates of a proposal: the columns of a resource that a foreign column may be, by its header
and its values, each with a score and a reason; and what it
reads of rows of titles."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.checks import DOCUMENTS
from xlbridge.resources.references import REFERENCES
from xlbridge.validation.mapping.column_fit import (
    ACCOUNTS,
    DIGIT,
    LETTER,
    NUMBERED,
    ForeignColumn,
    can_list_values,
    fit,
    is_name,
    listed_values,
    takes_listed_names,
)
from xlbridge.validation.mapping.header_names import (
    PARTIES,
    REGISTRIES,
    NameFit,
    NameMatcher,
    columns_called,
    is_unknown_amount,
    known_values,
    mapping_words,
    says,
    side_of,
    vocabulary,
)
from xlbridge.validation.mapping.mapping_file import TO_FILL_IN, value_key

_BY_VALUE_SCORE, HIGH, MEDIUM, MIN_SCORE = 0.88, 0.86, 0.6, 0.42
_EMPTY_SCORE = 0.55
_LINK_SCORE = 0.7
MIN_FIT = 0.85
_CERTAIN_NAME, _MIN_COUNTED = 0.9, 0.8
_CLOSE = 0.06
RIVAL = 0.34
"""Distance of a header that may be meant as well, if a sheet has several amounts or dates."""
_DOCUMENT_WORDS = frozenset({"cnpj", "cpf", "cgc"})
_NAME_WORDS = frozenset({"nome", "razao", "fantasia", "name"})
_NUMBER, _CODE = frozenset({"numero"}), frozenset({"codigo", "code", "sku"})
_GENERIC = frozenset({"numero", "codigo", "id", "nome", "data", "tipo"})
"""Words that are a column's name in one sheet and say little in another."""
_WITH_OWN_CODES = frozenset({"cliente", "produto"})
_BRANCHES, _WAREHOUSES = "codigoDaFilial", "codigoDoAlmoxarifado"
_MONEY = frozenset({Kind.NUMBER, Kind.MONEY})
_OFTEN_SEVERAL = _MONEY | {Kind.DATE}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible match of a foreign column and a column of the resource."""

    foreign: ForeignColumn
    column: Column
    score: float
    reason: Text
    body: Mapping[str, Any]
    is_called: bool = False
    """True if the header is a certain name of the column, whatever its values."""

    @property
    def header(self) -> str:
        """The foreign header."""
        return self.foreign.header

    @property
    def name(self) -> str:
        """Name of the resource's column."""
        return self.column.name

    @property
    def says_amount(self) -> bool:
        """True if the column takes an amount, and the header of cells says that it has one."""
        is_amount = self.score > 0 and self.column.kind in _MONEY
        return is_amount and says(self.header, vocabulary().all_amounts)

    def rivals(self, others: Sequence["Candidate"]) -> list[str]:
        """Return the headers and columns that may be meant instead: those with close scores, other
        amounts or dates unless their cells are the same, and columns with its name that are empty
        or count."""
        best: dict[str, float] = {}
        for one in others:
            best[one.header] = max(best.get(one.header, 0), one.score)
        found: dict[str, None] = {}
        for one in others:
            if one is self or (one.name != self.name and one.header != self.header):
                continue
            distance = self.score - one.score
            is_other_amount = (
                one.name == self.name
                and self.column.kind in _OFTEN_SEVERAL
                and distance < RIVAL
                and one.score >= best[one.header]
                and one.foreign.values != self.foreign.values
            )
            says_nothing = not one.foreign.cells.kinds or one.foreign.is_counter
            is_called = one.name == self.name and one.is_called and says_nothing
            if distance < _CLOSE or is_other_amount or is_called:
                found[one.header if one.name == self.name else one.name] = None
        return list(found)


def candidates_of(
    matcher: NameMatcher, resource: Resource, foreign: ForeignColumn
) -> Iterator[Candidate]:
    """Yield the columns that may match a header by its words and its values."""
    for column in resource.columns:
        name_fit = name_fit_of(matcher, foreign, column)
        if name_fit is None:
            if _is_identified_by_values(column, foreign):
                body: Mapping[str, Any] = {"from": foreign.header}
                yield Candidate(foreign, column, MEDIUM, _BY_VALUES, body)
            continue
        score, are_names = name_fit.score, names_records(column, foreign)
        if _is_identified_by_values(column, foreign):
            # A header with other words may be that of somebody else: "CPF do sócio".
            score = max(score, _BY_VALUE_SCORE if score >= MEDIUM else HIGH - 0.01)
        elif are_names:
            # A column of names, or a link, which also finds codes, is preferred.
            score = min(score, _LINK_SCORE - _CLOSE - 0.02 + score / 100)
        words, is_certain = mapping_words(foreign.header), name_fit.score >= _CERTAIN_NAME
        if foreign.is_counter and not (is_certain and is_code(column)):
            if words == _NUMBER or (name_fit.score < _MIN_COUNTED and not words & _CODE):
                continue
            if column.kind in _MONEY and not is_certain:
                continue
            # What counts again from 1 is the number of a row rather than a product.
            if column.references == "produto" and len(foreign.texts) < len(foreign.values):
                continue
            score = min(score, HIGH - 0.01)
        if words <= _GENERIC or (column.name in NUMBERED and foreign.are_months):
            score = min(score, HIGH - 0.01)
        if not _may_be(column, resource, foreign, name_fit):
            continue
        share, body = fit_and_body(column, foreign)
        # An empty column is only what it is certainly called.
        if share is None and name_fit.score < HIGH:
            continue
        score, reason = _score_with_values(column, name_fit, score, share, body)
        if are_names and reason in {_VALUES_FIT, _LISTED}:
            reason = _NOT_CODES
        if reason is not None:
            reason = reason.format(reason=name_fit.reason)
            is_called = name_fit.score >= HIGH
            yield Candidate(foreign, column, score, reason, body, is_called)


def unnamed_amounts(
    resource: Resource, columns: Sequence[ForeignColumn], matched: Set[str]
) -> Iterator[Candidate]:
    """Yield the columns whose headers say an amount, without a word of another one, as the
    resource's main amount."""
    amount = resource.by_name.get(resource.totals.amount or "")
    if amount is None:
        return
    for foreign in columns:
        if foreign.header in matched or not is_unknown_amount(foreign.header):
            continue
        share, body = fit_and_body(amount, foreign)
        if share is not None and share >= MIN_FIT and not foreign.is_counter:
            yield Candidate(foreign, amount, MEDIUM - 0.01, _SAYS_AMOUNT, body)


def _may_be(
    column: Column, resource: Resource, foreign: ForeignColumn, name_fit: NameFit | None
) -> bool:
    """Return whether the values may be those of a column of codes: no words that another column has
    in every company, such as "Jurídica", and neither many branches nor names of other accounts."""
    is_called = name_fit is not None and name_fit.score >= HIGH
    # "Estoque" is rather a quantity.
    is_place = column.name == _BRANCHES or (column.name == _WAREHOUSES and not is_called)
    if is_place and not foreign.may_be_branches:
        return False
    if column.name in ACCOUNTS and not is_called and not foreign.may_be_accounts:
        return False
    others = [known_values(one.name) for one in resource.columns if one is not column]
    return not is_code(column) or not any(
        known and all(text.casefold() in known for text in foreign.words) for known in others
    )


def is_code(column: Column) -> bool:
    return column.name.casefold().startswith("codigo")


def name_fit_of(matcher: NameMatcher, foreign: ForeignColumn, column: Column) -> NameFit | None:
    """Return the fit of a header to a column by itself, or with the text above its group."""
    texts = [foreign.header, f"{foreign.group} {foreign.header}"][: 1 + bool(foreign.group)]
    return max(filter(None, (matcher.fit(text, column) for text in texts)), default=None)


def _score_with_values(
    column: Column, name_fit: NameFit, score: float, share: float | None, body: Mapping[str, Any]
) -> tuple[float, Text | None]:
    """Return the score of a header that fits by name, and the reason, None if it does not match.

    ``share`` is the share of values that the column accepts, None if there are no values.
    """
    if share is None:
        # A required column needs another source, which is doubtful beside an empty one of its name.
        return 0.0 if column.required else min(score, _EMPTY_SCORE), _NO_VALUES
    if "values" in body:
        is_incomplete = TO_FILL_IN in body["values"].values()
        return min(score, HIGH - 0.01) if is_incomplete else score, _LISTED
    if share >= MIN_FIT:
        return score, _VALUES_FIT
    if share > 1 / 2:
        return MIN_SCORE + (min(score, MEDIUM) - MIN_SCORE) * share, _PARTLY
    # Without the column every record would be incomplete; its wrong cells are reported anyway.
    return MIN_SCORE, _FEW_FIT if share and name_fit.score >= HIGH else None


def links_of(
    matcher: NameMatcher, resource: Resource, foreign: ForeignColumn
) -> Iterator[Candidate]:
    """Yield the columns of codes whose records the values identify by documents or names."""
    words, kinds = mapping_words(foreign.header), foreign.document_kinds
    has_documents = any(column.kind in DOCUMENTS for column in resource.columns)
    for column in resource.columns:
        if column.references is None:
            continue
        name_fit = name_fit_of(matcher, foreign, column)
        if not _may_be(column, resource, foreign, name_fit):
            continue
        registry = REFERENCES[column.references].resource or column.references
        body = {"from": foreign.header, "link": registry}
        # "CNPJ do fornecedor" is no client's.
        is_of_other = column.name in PARTIES and side_of(foreign.header) not in {None, column.name}
        is_party = registry in REGISTRIES and not has_documents and not is_of_other
        if is_party and kinds and words & _DOCUMENT_WORDS and not words & vocabulary().others:
            # A document belongs to one record, a name may belong to several.
            score = _LINK_SCORE + 0.01
            yield Candidate(foreign, column, score, _BY_DOCUMENT, body)
        elif are_names_of_records(column, foreign):
            if name_fit is not None and name_fit.score >= MEDIUM:
                # The better name is preferred, and "código do material" to "material".
                score = _LINK_SCORE + name_fit.score / 200
                if name_fit.score >= HIGH and words & _CODE:
                    score = _LINK_SCORE + 0.008
                yield Candidate(foreign, column, score, _BY_NAME, body)
            elif (
                is_party
                and words & _NAME_WORDS
                and not words & vocabulary().others
                and not columns_called(" ".join(words - _NAME_WORDS)) - {column.name}
                # The own company's name is the same in all rows.
                and len(foreign.words) > min(1, len(foreign.values) - 1)
            ):
                yield Candidate(foreign, column, MIN_SCORE, _BY_NAME, body)


def are_names_of_records(column: Column, foreign: ForeignColumn) -> bool:
    """Return whether the values name records of the registry of a column: all are names, or codes
    with letters that the company gives, which records of some registries have besides their own."""
    if column.references in _WITH_OWN_CODES and not foreign.document_kinds:
        has_letters = all(map(LETTER.search, foreign.words))
        return has_letters and foreign.are_texts()
    return names_records(column, foreign) and all(map(is_name, foreign.words))


def names_records(column: Column, foreign: ForeignColumn) -> bool:
    """Return whether the values are names, although the column has the codes of records.

    A single name among codes that a company gives would be sent as a code. Other codes may be
    texts: only those without digits are names.
    """
    has_codes = column.kind is Kind.CODE and is_code(column)
    if not has_codes and column.references is None:
        return False
    if has_codes and takes_listed_names(column) and not foreign.are_dates:
        return any(map(is_name, foreign.words))
    if not foreign.are_names():
        return False
    return column.kind is Kind.INTEGER or not any(map(DIGIT.search, foreign.texts))


def fit_and_body(column: Column, foreign: ForeignColumn) -> tuple[float | None, Mapping[str, Any]]:
    """Return the share of values that fit a column, and the column's body for the mapping file."""
    body: dict[str, Any] = {"from": foreign.header}
    if column.kind in _MONEY and (style := foreign.number_style()):
        body["numbers"] = style
    share = fit(column, foreign)
    has_names = takes_listed_names(column) and any(map(is_name, foreign.words))
    fits = share is None or share >= MIN_FIT
    is_word = has_names or names_records(column, foreign) or not fits
    if share is not None and is_word and can_list_values(column, foreign):
        body["values"] = listed_values(column, foreign)
    return share, body


def body_of(column: Column, foreign: ForeignColumn) -> Mapping[str, Any]:
    """Return the body of a column whose source is certain: its values are codes, or are looked up
    as names or documents of records."""
    body = fit_and_body(column, foreign)[1]
    if column.references is None or has_codes(column, foreign):
        return body
    registry = REFERENCES[column.references].resource or column.references
    if are_names_of_records(column, foreign) or (registry in REGISTRIES and foreign.document_kinds):
        return {"from": foreign.header, "link": registry}
    return body


def has_codes(column: Column, foreign: ForeignColumn) -> bool:
    """Return whether the values are codes of records rather than their names or documents."""
    if column.kind is Kind.INTEGER:
        return (fit(column, foreign) or 0) >= MIN_FIT
    return not foreign.document_kinds and not any(map(is_name, foreign.words))


def _is_identified_by_values(column: Column, foreign: ForeignColumn) -> bool:
    """Return whether the values alone identify a column, whatever the header."""
    if column.kind in DOCUMENTS:
        of_other = says(foreign.header, vocabulary().other_persons)
        return foreign.document_kinds == {column.kind} and not of_other
    return (
        "email" in column.checks
        and foreign.are_emails()
        and not says(foreign.header, vocabulary().others)
    )


_NO_VALUES = Text(
    pt="{reason}; não há valores para conferir", en="{reason}; there are no values to check"
)
_FEW_FIT = Text(
    pt="{reason}, mas a maioria dos valores não serve",
    en="{reason}, but most of the values do not fit",
)
_VALUES_FIT = Text(pt="{reason}, e os valores servem", en="{reason}, and the values fit")
_NOT_CODES = Text(
    pt="{reason}, mas os valores parecem nomes, não códigos",
    en="{reason}, but the values seem to be names, not codes",
)
_LISTED = Text(
    pt="{reason}; os valores são palavras, convertidas pela lista",
    en="{reason}; the values are words, which the list converts",
)
_PARTLY = Text(
    pt="{reason}, mas nem todos os valores servem", en="{reason}, but not all values fit"
)
_SAYS_AMOUNT = Text(
    pt="diz que é um valor, e os valores servem", en="it says an amount, and the values fit"
)
_BY_VALUES = Text(pt="os valores são típicos da coluna", en="the values are typical of the column")
_BY_DOCUMENT = Text(
    pt="os valores são documentos; o código de cada um é procurado no sistema",
    en="the values are documents, whose codes are looked up in the system",
)
_BY_NAME = Text(
    pt="os valores são nomes; o código de cada um é procurado no sistema",
    en="the values are names, whose codes are looked up in the system",
)


_MOST_OF_ROWS, _BOTH_SIDES = 0.9, 1.02
_AMOUNT_WORDS = frozenset({"valor", "total", "r"})
_DAY, _DUE = frozenset({"dia"}), frozenset({"vencimento"})
_MONTHS = frozenset({"mes", "competencia", "referencia", "periodo"})


def selected_rows(foreign: ForeignColumn, party: str) -> Mapping[str, bool | str] | None:
    """Return which words of a column are those of open titles of the party, or of what comes from
    or goes to it, ``TO_FILL_IN`` for a word that is not known among those of settled titles; None
    unless most words are known and some rows are left out."""
    words, rows = {text: value_key(text) for text in foreign.texts}, vocabulary().row_words
    for kept, left in (("open", "settled"), PARTIES[party].sides):
        read, known = rows[kept], rows[kept] | rows[left]
        unknown = sum(word not in known for word in words.values())
        if unknown and (kept != "open" or 2 * unknown > len(words)):
            continue
        found: dict[str, bool | str] = {
            text: word in read if word in known else TO_FILL_IN for text, word in words.items()
        }
        if False in found.values() and len({*found.values()}) > 1:
            return found
    return None


def amounts_of_party(columns: Sequence[ForeignColumn], party: str) -> Sequence[ForeignColumn]:
    """Return the column with the amounts of the party, then the one with the others, if a sheet has
    one for what comes in and one for what goes out, of which each row fills one, and one may be
    empty; else nothing."""
    found: list[ForeignColumn] = []
    for side in PARTIES[party].sides:
        words = frozenset(
            word for text in vocabulary().row_words[side] for word in mapping_words(text)
        )
        named = []
        for one in columns:
            bare = {word.removesuffix("s") for word in mapping_words(one.header)}
            is_amount_or_empty = one.amounts or not one.cells.kinds
            if is_amount_or_empty and bare & words and bare <= words | _AMOUNT_WORDS:
                named.append(one)
        found += named if len(named) == 1 else []
    share = sum(one.amounts for one in found)
    return found if len(found) == 2 and _MOST_OF_ROWS <= share <= _BOTH_SIDES else ()


def due_day(
    columns: Sequence[ForeignColumn],
) -> tuple[ForeignColumn, ForeignColumn | None, bool] | None:
    """Return the column with the days of due dates, such as "todo dia 10", the only one with months
    if there is one, and whether that says that it is the month of the due date; None without
    days."""
    days = [
        one
        for one in columns
        if one.are_days
        and (words := mapping_words(one.header)) >= _DUE
        and (words & _DAY or any("dia" in value_key(text) for text in one.texts))
        and not says(one.header, vocabulary().amounts)
    ]
    if len(days) != 1:
        return None
    months = [one for one in columns if mapping_words(one.header) & _MONTHS and one.are_months]
    due = [one for one in months if mapping_words(one.header) >= _DUE]
    found = due if len(due) == 1 else months
    return days[0], found[0] if len(found) == 1 else None, len(due) == 1
