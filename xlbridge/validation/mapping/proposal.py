"""Proposal of a mapping: the resource's column for each foreign column, with confidence and reason.

High confidence needs both the header and the values. A value that only a person knows, such as a
code of a branch, is left as ``?``, which is refused until it is replaced.
"""

from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources import Column, Resource
from xlbridge.resources.checks import DOCUMENTS
from xlbridge.validation.cells.contents import sign_of
from xlbridge.validation.header_row import header_key
from xlbridge.validation.mapping.candidates import (
    HIGH,
    MEDIUM,
    MIN_FIT,
    MIN_SCORE,
    RIVAL,
    Candidate,
    amounts_of_party,
    body_of,
    candidates_of,
    due_day,
    fit_and_body,
    has_codes,
    is_code,
    links_of,
    name_fit_of,
    selected_rows,
    unnamed_amounts,
)
from xlbridge.validation.mapping.column_fit import (
    NUMBERED,
    ForeignColumn,
    fit,
    is_name,
    listed_values,
)
from xlbridge.validation.mapping.header_names import (
    DUE_DATE,
    PARTIES,
    NameMatcher,
    mapping_words,
    party_of,
    says,
    vocabulary,
)
from xlbridge.validation.mapping.mapping_file import (
    TO_FILL_IN,
    MappedColumn,
    SheetMapping,
    value_key,
)
from xlbridge.validation.mapping.proposed_mapping import (
    RISING,
    Confidence,
    MappingProposal,
    ProposedColumn,
    RememberedValues,
)

_DOCUMENT_WORDS = frozenset({"cnpj", "cpf", "cgc", "documento"})
_OF_PARTY = frozenset({"numero", "cliente", "fornecedor", "empresa", "pessoa"})
_HISTORY_WORDS = frozenset({"tipo", "especie", "referencia", "parcela", "complemento"})
_KIND_WORDS = frozenset({"tipo", "especie", "parcela"})
"""Words of a history that do not describe an entry by themselves."""
_ADDRESS_WORDS = frozenset({"endereco", "logradouro", "rua", "bairro", "cep"})
_OF_ADDRESSES = frozenset({"numero", "complemento"})
_NOT_OF_ADDRESSES = NUMBERED | {"historico"}
_MONTH_WORDS = frozenset({"mes", "periodo"})
_BALANCE = frozenset({"saldo"})
_BRANCH, _OF_BRANCHES = "codigoDaFilial", frozenset({"filial"})


class _Choice(dict[str, ProposedColumn]):
    """The chosen columns by name."""

    def add(self, name: str, body: Mapping[str, Any], confidence: Confidence, why: Text) -> None:
        self[name] = ProposedColumn(name, body, confidence, why)

    @property
    def headers(self) -> set[str]:
        """Headers that the columns use."""
        return {header for column in self.values() for header in column.sources}

    def reuse(
        self, base: SheetMapping, resource: Resource, columns: Sequence[ForeignColumn]
    ) -> None:
        """Choose the columns of a mapping whose headers are still there and whose values fit."""
        found = {header_key(foreign.header): foreign for foreign in columns}
        why = _EARLIER_SHEET if base.title is None else _LAYOUT.format(title=base.title)
        for mapped in base.columns:
            column = resource.by_name.get(mapped.name)
            sources = [found.get(header_key(header)) for header in mapped.sources]
            present = [foreign for foreign in sources if foreign is not None]
            if column is None or not sources or len(present) < len(sources):
                continue
            body, confidence = _reused_body(mapped, column, present)
            if body is not None:
                self.add(mapped.name, body, confidence, why)

    def doubt_rivals(self, candidates: Sequence[Candidate]) -> None:
        """Lower the confidence of chosen columns that a new header names as well."""
        for one in candidates:
            chosen = self.get(one.name)
            if (
                chosen is not None
                and chosen.confidence is Confidence.HIGH
                and one.header not in chosen.sources
                and one.score >= HIGH - RIVAL
            ):
                reason = WITH_RIVALS.format(reason=chosen.reason, others=one.header)
                self.add(one.name, chosen.body, Confidence.MEDIUM, reason)

    def doubt_bare_amount(self, resource: Resource, columns: Sequence[ForeignColumn]) -> None:
        """Lower the confidence of a bare "Valor" beside other amounts that no column takes."""
        name = resource.totals.amount or ""
        amount = self.get(name)
        if amount is None or amount.confidence is not Confidence.HIGH or len(amount.sources) != 1:
            return
        column, used = resource.by_name[name], self.headers
        own = next((one for one in columns if one.header == amount.sources[0]), None)
        if own is None or not mapping_words(own.header) <= vocabulary().amounts:
            return
        others = [
            one.header
            for one in columns
            if one.header not in used
            and (
                says(one.header, vocabulary().all_amounts)
                or "$" in one.header
                or _is_unnamed_amount(one)
            )
            and one.values != own.values
            and any(set(text) & set("123456789") for text in one.texts)
            # Negative amounts fit once their sign is taken away.
            and ((fit(column, one) or 0) >= MIN_FIT or "negative" in map(sign_of, one.values))
        ]
        if others:
            reason = WITH_RIVALS.format(reason=amount.reason, others=", ".join(others))
            self.add(name, amount.body, Confidence.MEDIUM, reason)

    def replace_gone(
        self, base: SheetMapping, resource: Resource, new: Sequence[ForeignColumn]
    ) -> None:
        """Take the only new column that is unused for the only one that is gone, if it fits."""
        left = [foreign for foreign in new if foreign.header not in self.headers]
        gone = [one for one in base.columns if one.is_direct and one.name not in self]
        if len(left) != 1 or len(gone) != 1 or gone[0].name not in resource.by_name:
            return
        share, body = fit_and_body(resource.by_name[gone[0].name], left[0])
        if share is not None and share >= MIN_FIT:
            why = _IN_PLACE_OF.format(header=gone[0].source)
            self.add(gone[0].name, body, Confidence.LOW, why)

    def split_documents(self, resource: Resource, columns: Sequence[ForeignColumn]) -> None:
        """Split a column with CNPJs and CPFs if only the resource has one for each."""
        by_kind = {c.kind.value: c for c in resource.columns if c.kind in DOCUMENTS}
        named = [mapping_words(foreign.header) & by_kind.keys() for foreign in columns]
        if len(by_kind) < len(DOCUMENTS) or all({kind} in named for kind in by_kind):
            return
        for foreign in columns:
            kinds, words = foreign.document_kinds, mapping_words(foreign.header)
            if not kinds or (len(kinds) == 1 and not {"cnpj", "cpf"} <= words):
                continue
            is_named = bool(words & _DOCUMENT_WORDS) and words <= _DOCUMENT_WORDS | _OF_PARTY
            confidence = Confidence.HIGH if is_named else Confidence.MEDIUM
            for kind, column in by_kind.items():
                body = {"from": foreign.header, "when": kind}
                self.add(column.name, body, confidence, _SPLIT)
            return

    def add_best(self, candidates: Sequence[Candidate]) -> None:
        """Choose the best candidates, one for each column and each header.

        Close rivals reduce the confidence.
        """
        used = self.headers
        free = [one for one in candidates if one.name not in self and one.header not in used]
        while free and (best := max(free, key=lambda one: one.score)).score >= MIN_SCORE:
            rivals = best.rivals(free)
            if rivals and best.score < MEDIUM:
                # Which of several names it is can only be said by a person.
                free = [one for one in free if one.name != best.name]
                continue
            confidence = Confidence.MEDIUM if best.score >= MEDIUM else Confidence.LOW
            reason = best.reason
            if rivals:
                reason = WITH_RIVALS.format(reason=reason, others=", ".join(rivals))
            elif best.score >= HIGH:
                confidence = Confidence.HIGH
            self.add(best.name, best.body, confidence, reason)
            free = [one for one in free if one.name != best.name and one.header != best.header]

    def join_parts(self, resource: Resource, columns: Sequence[ForeignColumn]) -> None:
        """Join unused columns: an instalment number to its document number, types and references to
        a missing history."""
        free = [f for f in columns if f.header not in self.headers and f.cells.kinds]
        document = self.get("numeroDoDocumento")
        for foreign in free:
            if document is not None and mapping_words(foreign.header) == {"parcela"}:
                body = {"join": [*document.sources, foreign.header], "with": "-"}
                lower = min(document.confidence, Confidence.MEDIUM, key=RISING.index)
                self.add("numeroDoDocumento", body, lower, _INSTALMENT)
                break
        if "historico" not in resource.required or "historico" in self:
            return
        used = self.headers
        found = [
            f
            for f in free
            if f.header not in used
            and f.are_texts()
            and mapping_words(f.header) & _HISTORY_WORDS
            and not mapping_words(f.header) & _MONTH_WORDS
        ]
        parts = [f.header for f in found]
        # Codes alone, such as those of documents, describe nothing.
        if any(mapping_words(header) & _HISTORY_WORDS - _KIND_WORDS for header in parts) and any(
            is_name(text) for f in found for text in f.words
        ):
            body = {"join": parts, "with": " "} if len(parts) > 1 else {"from": parts[0]}
            self.add("historico", body, Confidence.LOW, _HISTORY)

    def fill_values(self, columns: Sequence[ForeignColumn], remembered: RememberedValues) -> None:
        """Fill the values of words that earlier mappings have: codes if they have one for each, or
        names in the system."""
        words = {foreign.header: foreign.words for foreign in columns}
        for name, column in list(self.items()):
            codes, names = remembered.get((name, False), {}), remembered.get((name, True), {})
            body, listed = dict(column.body), column.body.get("values", {})
            missing = [text for text, value in listed.items() if value == TO_FILL_IN]
            if "link" in body and "from" in body:
                missing = [text for text in words[body["from"]] if text not in listed]
                if missing and not listed and all(value_key(text) in codes for text in missing):
                    del body["link"]
            known = names if "link" in body else codes
            found = {text: known[key] for text in missing if (key := value_key(text)) in known}
            if found:
                body["values"] = {**listed, **found}
                self.add(name, body, column.confidence, column.reason)

    def select_amounts(self, resource: Resource, columns: Sequence[ForeignColumn]) -> None:
        """Select the amounts with the sign of a resource if a sheet of titles has both signs, or
        only negative ones of payables."""
        party, name = _party(resource), resource.totals.amount or ""
        amount = self.get(name)
        foreign = next((f for f in columns if amount and amount.sources == (f.header,)), None)
        if party is None or amount is None or foreign is None or "sign" in amount.body:
            return
        signs, own = set(map(sign_of, foreign.values)) - {None}, PARTIES[party].sign
        if len(signs) > 1 or (signs == {own} and own == "negative"):
            confidence = min(amount.confidence, Confidence.MEDIUM, key=RISING.index)
            self.add(name, {**amount.body, "sign": own}, confidence, _SIGNED)

    def take_side(self, resource: Resource, columns: Sequence[ForeignColumn]) -> None:
        """Take the amounts of a sheet of titles that has a column for what comes in and one for
        what goes out."""
        party, name = _party(resource), resource.totals.amount or ""
        sides = amounts_of_party(columns, party) if party is not None else ()
        if not sides or ("sign" in self[name].body if name in self else False):
            return
        headers = {foreign.header for foreign in sides}
        amounts = self[name].sources if name in self else ()
        # The balance beside them is no amount of a title.
        if any(text not in headers and not says(text, _BALANCE) for text in amounts):
            return
        for other in [one.name for one in self.values() if not headers.isdisjoint(one.sources)]:
            del self[other]
        body = {**fit_and_body(resource.by_name[name], sides[0])[1], "sign": "any"}
        confidence = Confidence.MEDIUM if sides[0].amounts else Confidence.LOW
        self.add(name, body, confidence, _ONE_SIDE.format(other=sides[1].header))

    def take_due_day(self, resource: Resource, columns: Sequence[ForeignColumn]) -> None:
        """Take the due dates of titles from the day of a month; which month it is is asked for
        unless the sheet says so."""
        found = due_day(columns) if DUE_DATE in resource.by_name else None
        if found is None or (DUE_DATE in self and found[0].header not in self[DUE_DATE].sources):
            return
        days, month, is_certain = found
        body = {"from": days.header, "month": month.header if month else TO_FILL_IN}
        if not is_certain and month is not None:
            body["later"] = TO_FILL_IN
        confidence = Confidence.HIGH if is_certain else Confidence.LOW
        self.add(DUE_DATE, body, confidence, _DUE_DAY if is_certain else _WHICH_MONTH)

    def fill_missing(self, resource: Resource, earlier: Sequence[SheetMapping]) -> None:
        """Fill missing columns with the constant of an earlier mapping, required ones with ``?``.

        The nature of a client follows from the document.
        """
        nature, cpf, cnpj = (self.get(name) for name in ("natureza", "cpf", "cnpj"))
        if "natureza" in resource.by_name and nature is None and cpf is not None:
            natures = {"cpf": "F"} if cnpj is None else {"cnpj": "J", "cpf": "F"}
            if cnpj is None or cnpj.sources == cpf.sources:
                by_document = {"from": cpf.sources[0], "values": natures}
                self.add("natureza", by_document, cpf.confidence, _NATURE)
        constants = {
            mapped.name: mapped.body
            for mapping in earlier
            for mapped in mapping.columns
            if not mapped.sources
        }
        for column in [column for column in resource.columns if column.name not in self]:
            if column.name in constants:
                self.add(column.name, constants[column.name], Confidence.MEDIUM, EARLIER_CONSTANT)
            elif column.required and "no_repeats" not in column.checks:
                self.add(column.name, {"constant": TO_FILL_IN}, Confidence.LOW, _TO_BE_FILLED_IN)


def propose(
    resource: Resource,
    sheet: str,
    columns: Sequence[ForeignColumn],
    repeated: Sequence[str],
    earlier: Sequence[SheetMapping],
    base: SheetMapping | None = None,
    remembered: RememberedValues = MappingProxyType({}),
) -> MappingProposal:
    """Propose a mapping of the columns of a foreign sheet to a resource's.

    ``repeated`` are headers that occur more than once and cannot be used. ``earlier`` are mappings
    to the resource that a person confirmed, the latest last; ``base`` is the one of a similar
    sheet, which is kept as far as the header is the same. ``remembered`` are the values of words in
    earlier mappings, also those to other resources.
    """
    known = {
        header_key(mapped.source): mapped.name
        for mapping in earlier
        for mapped in mapping.columns
        if mapped.source is not None and mapped.is_direct
    }
    choice, open_columns, lost = _Choice(), columns, set[str]()
    if base is not None:
        choice.reuse(base, resource, columns)
        ignored = set(map(header_key, base.ignore))
        open_columns = [one for one in columns if header_key(one.header) not in ignored]
        # A layout ignores the name of a party beside its document, which a sheet may lack.
        if base.title is not None:
            lost = {
                one.name for one in base.columns if one.sources
            } & PARTIES.keys() - choice.keys()
    if not DOCUMENTS.keys() & choice.keys():
        choice.split_documents(resource, open_columns)
    matcher = NameMatcher(resource, known)
    opened = {one.header for one in open_columns}
    candidates = [
        one
        for find in (candidates_of, links_of)
        for foreign in columns
        if lost or foreign.header in opened
        for one in find(matcher, resource, foreign)
        if one.name in lost or foreign.header in opened
    ]
    matched = {one.header for one in candidates if one.score >= MEDIUM}
    candidates += unnamed_amounts(resource, open_columns, matched)
    # A header that says what it is outranks a bare noun.
    said = {one.name for one in candidates if one.says_amount}
    candidates = [one for one in candidates if one.says_amount or one.name not in said]
    # So does an amount outrank its balance.
    said = {one.name for one in candidates if one.says_amount and not says(one.header, _BALANCE)}
    candidates = [
        one for one in candidates if one.name not in said or not says(one.header, _BALANCE)
    ]
    # "Filial" is the branch rather than "Empresa" beside it.
    branches = [one for one in candidates if one.name == _BRANCH and one.score > 0]
    said = {one.header for one in branches if says(one.header, _OF_BRANCHES)}
    candidates = [
        one for one in candidates if one.name != _BRANCH or not said or one.header in said
    ]
    # Parts of an address, unless the resource has one itself.
    parts = _parts_of_address(columns)
    candidates = [
        one for one in candidates if one.name not in _NOT_OF_ADDRESSES or one.header not in parts
    ]
    if base is not None:
        old = set(map(header_key, base.header))
        choice.doubt_rivals([one for one in candidates if header_key(one.header) not in old])
    choice.add_best(candidates)
    if base is None:
        choice.doubt_bare_amount(resource, columns)
    else:
        new = [one for one in open_columns if header_key(one.header) not in old]
        choice.replace_gone(base, resource, new)
    choice.join_parts(resource, [one for one in open_columns if one.header not in parts])
    choice.fill_values(columns, remembered)
    choice.take_side(resource, columns)
    choice.take_due_day(resource, columns)
    choice.select_amounts(resource, columns)
    rows = _proposed_rows(resource, columns, base, choice.headers)
    choice.fill_missing(resource, earlier)
    header = [foreign.header for foreign in columns] + [*repeated]
    ordered = [choice[c.name] for c in resource.columns if c.name in choice]
    missing = [column for column in resource.columns if column.name not in choice]
    ignore: dict[str, Text] = {}
    for foreign in columns:
        if foreign.header not in choice.headers and foreign.header not in rows:
            # A header that names a missing column has unusable values.
            fits = ((one.name, name_fit_of(matcher, foreign, one)) for one in missing)
            named = next((name for name, fit in fits if fit and fit.score >= HIGH), None)
            ignore[foreign.header] = _UNUSABLE.format(column=named) if named else NO_COLUMN
            if foreign not in open_columns:
                ignore[foreign.header] = _IGNORED_BEFORE
    ignore |= dict.fromkeys(repeated, _REPEATED)
    return MappingProposal(resource, sheet, header, ordered, ignore, base=base, rows=rows)


def _parts_of_address(columns: Sequence[ForeignColumn]) -> Set[str]:
    """Return the headers beside those of an address that mean a part of it: the number of a house
    rather than of a document."""
    words = [mapping_words(one.header) for one in columns]
    has_address = any(found & _ADDRESS_WORDS for found in words)
    known, nothing = _ADDRESS_WORDS | _OF_ADDRESSES, frozenset[str]()
    return {
        one.header
        for one, before, found, after in zip(
            columns, [nothing, *words], words, [*words[1:], nothing], strict=False
        )
        if has_address and found <= _OF_ADDRESSES and (before | after) & known
    }


def _is_unnamed_amount(foreign: ForeignColumn) -> bool:
    """Return whether values have cents below a header that says another thing than a share, a tax
    or an interest, such as "Aluguel" and "Mensalidade"."""
    have_cents = any(isinstance(value, float) and value % 1 for value in foreign.values)
    has_own_name = says(foreign.header, vocabulary().others) or "%" in foreign.header
    return not has_own_name and (have_cents or foreign.number_style() is not None)


def _party(resource: Resource) -> str | None:
    """Return the column of the party of titles, None for other resources."""
    return party_of(resource) if DUE_DATE in resource.by_name else None


def _proposed_rows(
    resource: Resource,
    columns: Sequence[ForeignColumn],
    base: SheetMapping | None,
    used: Set[str],
) -> Mapping[str, Mapping[str, bool | str]]:
    """Return the words of the rows of a sheet of titles that are read and left out, by header."""
    found: dict[str, Mapping[str, bool | str]] = {}
    known = {header_key(text): words for text, words in base.rows.items()} if base else {}
    party = _party(resource)
    for foreign in columns:
        words: Mapping[str, bool | str] | None = known.get(header_key(foreign.header))
        if words is None and party is not None and foreign.header not in used:
            words = selected_rows(foreign, party)
        if words is not None:
            found[foreign.header] = words
    return found


def _reused_body(
    mapped: MappedColumn, column: Column, sources: Sequence[ForeignColumn]
) -> tuple[Mapping[str, Any] | None, Confidence]:
    """Return the body of a column of a similar sheet's mapping for this sheet, None if its values
    do not fit, and the confidence; words that are new in a list are left to be filled in."""
    foreign, body = sources[0], dict(mapped.body)
    if not all(one.cells.kinds for one in sources):
        return body, Confidence.LOW
    if mapped.link is not None:
        # The cells may have the codes instead of names or documents.
        direct = fit_and_body(column, foreign)[1]
        if foreign.are_dates:
            return None, Confidence.LOW
        return (direct if has_codes(column, foreign) else body), Confidence.HIGH
    if mapped.values is not None:
        listed = listed_values(column, foreign)
        known = {value_key(text) for text in mapped.values}
        if known.isdisjoint(DOCUMENTS):
            listed = {text: it for text, it in listed.items() if value_key(text) not in known}
            body["values"] = {**mapped.values, **listed}
            if TO_FILL_IN in listed.values():
                return body, Confidence.MEDIUM
        elif not foreign.document_kinds:
            return None, Confidence.LOW
        return body, Confidence.HIGH
    if len(sources) > 1 or mapped.when is not None or mapped.suffix:
        if column.kind.is_text and any(one.are_dates for one in sources):
            return body, Confidence.LOW
        is_counter = foreign.is_counter and not mapped.suffix
        return body, Confidence.MEDIUM if is_counter else Confidence.HIGH
    share, direct = fit(column, foreign), body_of(column, foreign)
    if mapped.sign is not None and share:
        # Amounts of the other sign do not fit, and are left out.
        return {**direct, "sign": mapped.sign}, Confidence.HIGH
    if "link" in direct:
        return direct, Confidence.MEDIUM
    is_doubtful = foreign.is_counter and not is_code(column)
    if "values" in direct or (share is not None and share >= MIN_FIT):
        is_incomplete = TO_FILL_IN in direct.get("values", {}).values()
        doubtful = is_doubtful or is_incomplete
        return direct, Confidence.MEDIUM if doubtful else Confidence.HIGH
    return (direct, Confidence.LOW) if share and share > 1 / 2 else (None, Confidence.LOW)


def column_body(column: Column, foreign: ForeignColumn) -> Mapping[str, Any]:
    """Return the body of a column whose source header was chosen by a person."""
    if column.kind in DOCUMENTS and len(foreign.document_kinds) > 1:
        return {"from": foreign.header, "when": column.kind.value}
    return body_of(column, foreign)


WITH_RIVALS = Text(
    pt="{reason}; poderia ser também: {others}", en="{reason}; it could also be: {others}"
)
_SPLIT = Text(
    pt="CNPJ e CPF estão na mesma coluna; cada um vai para a sua",
    en="CNPJ and CPF are in one column; each goes to its own",
)
_NATURE = Text(
    pt="o documento determina a natureza: J com CNPJ, F com CPF",
    en="the document determines the nature: J with a CNPJ, F with a CPF",
)
_INSTALMENT = Text(
    pt="o número da parcela distingue as parcelas de um documento",
    en="the instalment number distinguishes the instalments of a document",
)
_HISTORY = Text(
    pt="a planilha não tem histórico; estas colunas descrevem o lançamento",
    en="the sheet has no description; these columns describe the entry",
)
EARLIER_CONSTANT = Text(
    pt="a planilha não tem a coluna; o valor é o de um mapeamento anterior",
    en="the sheet lacks the column; the value comes from an earlier mapping",
)
_TO_BE_FILLED_IN = Text(
    pt="a planilha não tem a coluna; escreva o valor no lugar de ?",
    en="the sheet lacks the column; replace ? with the value",
)
_EARLIER_SHEET = Text(
    pt="é como no mapeamento usado antes, e os valores servem",
    en="it is as in the mapping used before, and the values fit",
)
_LAYOUT = Text(pt="é assim nos arquivos de {title}", en="so it is called in files of {title}")
_IN_PLACE_OF = Text(
    pt="é a única coluna nova, e {header} não está mais na planilha",
    en="it is the only new column, and {header} is no longer in the sheet",
)
_IGNORED_BEFORE = Text(pt="não é usada no mapeamento", en="the mapping does not use it")
_ONE_SIDE = Text(
    pt="só as linhas com valor nesta coluna são lidas; as outras o têm em {other}",
    en="only rows with an amount in this column are read; the others have it in {other}",
)
_DUE_DAY = Text(
    pt="é o dia do mês, e a planilha tem o mês do vencimento",
    en="it is the day of the month, and the sheet has the month of the due date",
)
_WHICH_MONTH = Text(
    pt="é só o dia: diga de que coluna é o mês (month), e quantos meses depois vence (later: 0 no "
    "mesmo mês)",
    en="it is only the day: say which column has the month (month), and how many months later it "
    "is due (later: 0 in the same month)",
)
_SIGNED = Text(
    pt="a coluna tem valores positivos e negativos; só os de um sinal são lidos, sem ele",
    en="the column has positive and negative amounts; only those of one sign are read, without it",
)
NO_COLUMN = Text(pt="nenhuma coluna corresponde", en="no column matches")
_UNUSABLE = Text(
    pt="parece ser {column}, mas nenhum dos valores serve",
    en="it seems to be {column}, but none of the values fit",
)
_REPEATED = Text(
    pt="aparece mais de uma vez; para usá-la, dê outro nome na planilha",
    en="it occurs more than once; to use it, rename it in the sheet",
)
