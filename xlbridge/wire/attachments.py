"""Attached files. Source: the spec, Payable entry (Arquivos) and Purchasing."""

from pydantic import Field

from xlbridge.wire.model import WireModel


class Attachment(WireModel):
    """A file attached to a record. ``Url`` carries a token that lets its holder read the file."""

    Id: int
    NomeDoArquivo: str | None = None
    Url: str | None = Field(default=None, repr=False)
    Observacao: str | None = None
