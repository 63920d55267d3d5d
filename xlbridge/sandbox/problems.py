"""Problems of a request: the errors that report them, the limits of every value; and registrations.

What passes the limits is stored alike by every database. The spec shows no such limits; these
are this project's choice (``docs/assumptions.md``). The strict sandbox demands more: names and
dates as in the spec's samples, which is how our client sends them, and the form of texts that have
one. Source: the spec, "Field names are exact and case-sensitive".
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from xlbridge.resources.checks import DOCUMENTS, bare_document, is_cep, is_email, is_uf
from xlbridge.wire import MAX_LENGTHS, WireModel, spellings

REQUIRED_MESSAGE = "Campo obrigatório não informado."

_PYDANTIC_MESSAGES: Mapping[str, str] = {
    "missing": REQUIRED_MESSAGE,
    "string_too_short": REQUIRED_MESSAGE,
    "too_short": "Informe ao menos {min_length} item(ns).",
    "literal_error": "Valor inválido: não é um dos permitidos ({expected}).",
    "greater_than": "Valor inválido: deve ser maior que {gt}.",
    "greater_than_equal": "Valor inválido: deve ser maior ou igual a {ge}.",
}

Found = TypeVar("Found")
Problem = tuple[str, str]
"""The field concerned, and what is wrong with it."""


def validation_problems(error: ValidationError) -> list[Problem]:
    """Return the problems of a failed validation: each field's path, and a message."""
    return [
        (
            ".".join(str(part) for part in item["loc"]) or "body",
            _PYDANTIC_MESSAGES.get(item["type"], "Valor inválido.").format(**item.get("ctx", {})),
        )
        for item in error.errors()
    ]


class RequestError(Exception):
    """A request that is answered with an error: the HTTP status, and what is wrong."""

    def __init__(self, status: int, problems: Sequence[Problem]) -> None:
        super().__init__(status, *problems)
        self.status = status
        self.problems = tuple(problems)


class InvalidParameterError(Exception):
    """A read whose parameter cannot be read: answered with a bare message string."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.message = f"Parâmetro inválido: {name}"


def invalid(*problems: Problem) -> RequestError:
    """Return the error for a request that breaks a rule (400)."""
    return RequestError(400, problems)


def not_found(key: str, message: str) -> RequestError:
    """Return the error for something in the path or query that does not exist (404)."""
    return RequestError(404, [(key, message)])


def first_found(records: Sequence[Found], key: str, message: str) -> Found:
    """Return the first of the records found; raise ``RequestError`` (404) where there is none."""
    if not records:
        raise not_found(key, message)
    return records[0]


PRICE_PLACES = 6
"""Decimal places of a price per unit: with two, cheap articles in great numbers are mispriced."""

_AMOUNT_LIMIT = Decimal(10) ** 12


def amount_problems(key: str, amount: Decimal | None, places: int = 2) -> list[Problem]:
    """Return the problem of an amount that is negative, too great or too fine.

    ``places`` are its decimal places at most: two for reais and cents.
    """
    if amount is None:
        return []
    if not 0 <= amount < _AMOUNT_LIMIT:
        return [(key, "Valor fora do intervalo permitido.")]
    if amount != round(amount, places):
        return [(key, f"Valor com mais de {places} casas decimais.")]
    return []


Input = TypeVar("Input", bound=WireModel, contravariant=True)
Record = TypeVar("Record", covariant=True)


class Registration(Protocol[Input, Record]):
    """Registration of the new records of one kind, within one transaction."""

    def problems(self, data: Input) -> list[Problem]:
        """Return the rules that a new record breaks, given those accepted before it."""

    def accept(self, data: Input) -> Record:
        """Accept a record without problems: number it and keep it for ``write``."""

    def write(self) -> None:
        """Write all accepted records."""


def require_no_problems(problems: Sequence[Problem]) -> None:
    """Raise ``RequestError`` (400) where there are problems."""
    if problems:
        raise RequestError(400, problems)


def register_one(registration: Registration[Input, Record], data: Input) -> Record:
    """Register a single record.

    Raises ``RequestError`` (400) with every rule that it breaks.
    """
    require_no_problems(registration.problems(data))
    record = registration.accept(data)
    registration.write()
    return record


INTEGER_LIMIT = 2**31
NUMBER_LIMIT = 10**12
NUMBER_PLACES = 6
YEARS = range(1900, 3000)
ISO_8601 = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
"""Spelling of a date in a body, as a regular expression."""

OUT_OF_RANGE = "Valor inválido: número fora do intervalo."
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def limit_problem(name: str, value: Any) -> str | None:
    """Return which limit the value of a field passes, None where it passes none."""
    if isinstance(value, str):
        longest = MAX_LENGTHS.get(name)
        if not is_storable(value):
            return "Valor inválido: texto com caracteres não permitidos."
        if longest is not None and len(value) > longest:
            return f"Valor inválido: texto com mais de {longest} caracteres."
        return None
    if isinstance(value, datetime):
        return None if value.year in YEARS else "Data fora do intervalo permitido."
    if isinstance(value, Decimal):
        if abs(value) >= NUMBER_LIMIT:
            return OUT_OF_RANGE
        if value != round(value, NUMBER_PLACES):
            return f"Valor inválido: número com mais de {NUMBER_PLACES} casas decimais."
        return None
    if isinstance(value, int) and not -INTEGER_LIMIT <= value < INTEGER_LIMIT:
        return OUT_OF_RANGE
    return None


def record_problems(record: WireModel) -> Iterator[Problem]:
    """Yield the fields of a record without lists that pass a limit."""
    for name, value in record:
        if value is None:
            continue
        problem = limit_problem(name, value)
        if problem is not None:
            yield name, problem


def is_storable(text: str) -> bool:
    """Tell whether every database can keep a text.

    Half a surrogate pair cannot be encoded, and no database but SQLite keeps a NUL.
    """
    return _NOT_STORABLE.search(text) is None


MISSPELLED = "Grafia do nome: escreva"
"""Beginning of the message about a misspelled name."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,7})?)?")


def _is_document(text: str) -> bool:
    bare = bare_document(text)
    return any(document.is_valid(bare) for document in DOCUMENTS.values())


def _is_masked_cnpj(text: str) -> bool:
    return DOCUMENTS["cnpj"].is_valid(bare_document(text))


_FORMS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "cep": (is_cep, "um CEP"),
    "entregaCEP": (is_cep, "um CEP"),
    "cnpjcpf": (_is_document, "um CNPJ ou CPF"),
    "transportadoraCNPJ": (_is_masked_cnpj, "um CNPJ"),
    "uf": (is_uf, "a sigla de um estado"),
    "entregaUF": (is_uf, "a sigla de um estado"),
    "transportadoraUF": (is_uf, "a sigla de um estado"),
    "transportadoraPlacaUF": (is_uf, "a sigla de um estado"),
    "email": (is_email, "um e-mail"),
}
"""Form of a text by its field's name: the test, and the form's name in messages."""


def misspelled_names(model: type[WireModel], names: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the names that are a field's in another spelling than that in which it is sent."""
    known = spellings(model)
    for name in names:
        if name in known:
            field = model.model_fields[known[name]]
            sent = field.serialization_alias or known[name]
            if name != sent:
                yield name, f"{MISSPELLED} {sent}."


def form_problem(name: str, text: str) -> str | None:
    """Return what is wrong with a text that has a form; blank ones say nothing."""
    if name not in _FORMS or not text.strip():
        return None
    fits, called = _FORMS[name]
    return None if fits(text) else f"Valor inválido: informe {called}."


def is_date_as_shown(text: str) -> bool:
    """Tell whether a date is as in the samples: a T before the time, no zone."""
    return _DATE.fullmatch(text) is not None
