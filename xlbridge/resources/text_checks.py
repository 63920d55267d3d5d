"""The checks of a text by itself: what each is called, and what says whether a text passes."""

from collections.abc import Callable, Mapping

from xlbridge.resources.boleto import is_boleto
from xlbridge.resources.brazilian_codes import (
    is_access_key,
    is_cep,
    is_municipality,
    is_nbs,
    is_ncm,
    is_phone,
    is_uf,
)
from xlbridge.resources.documents import is_cnpj, is_cpf
from xlbridge.resources.emails import is_email

TEXT_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "email": is_email,
    "cnpj": is_cnpj,
    "cpf": is_cpf,
    "boleto": is_boleto,
    "cep": is_cep,
    "uf": is_uf,
    "ncm": is_ncm,
    "nbs": is_nbs,
    "municipality": is_municipality,
    "access_key": is_access_key,
    "telephone": is_phone,
}
"""What they say in words stands in ``rules.py``."""
