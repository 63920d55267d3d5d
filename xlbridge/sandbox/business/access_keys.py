"""The access keys of electronic invoices.

Their layouts are the tax authorities' own: 44 digits for product invoices (model 55), 50 for
service invoices. Both end with a check digit modulo 11.
"""

from dataclasses import dataclass
from datetime import datetime

from xlbridge.resources.brazilian_codes import access_key_digit

_PRODUCT_MODEL = "55"
_NORMAL_EMISSION = "1"
_OWN_SYSTEM, _BY_CNPJ = "1", "2"


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who issues an invoice: its CNPJ, and the IBGE code of its municipality."""

    cnpj: str
    municipality: str


def product_invoice_key(issuer: Issuer, series: int, number: int, emitted: datetime) -> str:
    """Return the key of 44 digits of a product invoice."""
    state = issuer.municipality[:2]
    stem = (
        f"{state}{emitted:%y%m}{issuer.cnpj}{_PRODUCT_MODEL}{series:03}{number:09}"
        f"{_NORMAL_EMISSION}{_code(number, 8)}"
    )
    return stem + access_key_digit(stem)


def service_invoice_key(issuer: Issuer, number: int, emitted: datetime) -> str:
    """Return the key of 50 digits of a service invoice."""
    stem = (
        f"{issuer.municipality}{_OWN_SYSTEM}{_BY_CNPJ}{issuer.cnpj}{number:013}{emitted:%y%m}"
        f"{_code(number, 9)}"
    )
    return stem + access_key_digit(stem)


def _code(number: int, width: int) -> str:
    """The key's own code, which must never be the invoice's number."""
    return f"{(10**width - 1 - number) % 10**width:0{width}}"
