"""CNPJ and CPF without mask: their forms and check digits."""

import re

from stdnum.br import cnpj as stdnum_cnpj
from stdnum.br import cpf as stdnum_cpf

_NO_SYMBOL = re.compile(r"[\W_]+")
_CNPJ_SHAPE = re.compile(r"[0-9A-Za-z]{12}[0-9]{2}")
_CPF_SHAPE = re.compile(r"[0-9]{11}")


def is_cnpj(text: str) -> bool:
    """Tell whether ``text`` is a CNPJ without mask, numeric or alphanumeric."""
    return _is_document(_CNPJ_SHAPE, text) and bool(stdnum_cnpj.is_valid(text))


def is_cpf(text: str) -> bool:
    """Tell whether ``text`` is a CPF without mask."""
    return _is_document(_CPF_SHAPE, text) and bool(stdnum_cpf.is_valid(text))


def bare_document(text: str) -> str:
    """Return a document as documents are compared: without its mask, in capitals."""
    return _NO_SYMBOL.sub("", text).upper()


def masked_cnpj(text: str) -> str:
    """Return a CNPJ of fourteen symbols as people write it."""
    return f"{text[:2]}.{text[2:5]}.{text[5:8]}/{text[8:12]}-{text[12:]}"


def masked_cpf(text: str) -> str:
    """Return a CPF of eleven digits as people write it."""
    return f"{text[:3]}.{text[3:6]}.{text[6:9]}-{text[9:]}"


def _is_document(shape: re.Pattern[str], text: str) -> bool:
    """One symbol repeated passes the check digits, and is never a document."""
    return shape.fullmatch(text) is not None and len(set(text)) > 1
