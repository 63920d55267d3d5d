"""Demands of the strict sandbox on a request beyond the tolerant one.

Names and dates are written as in the spec's samples, which is how our client sends them, and texts
that have a form have it. Source: the spec, "Field names are exact and case-sensitive".
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xlbridge.resources.checks import bare_document, is_cep, is_cnpj, is_cpf, is_email, is_uf
from xlbridge.sandbox.problems import Problem
from xlbridge.wire import WireModel, spellings

MISSPELLED = "Grafia do nome: escreva"
"""Beginning of the message about a misspelled name."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,7})?)?")


def _is_document(text: str) -> bool:
    bare = bare_document(text)
    return is_cnpj(bare) or is_cpf(bare)


def _is_masked_cnpj(text: str) -> bool:
    return is_cnpj(bare_document(text))


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
