"""Service invoices. Source: the spec, Service invoice (NFS-e), States.

The required fields are not shown there, nor what an invoice is read with beyond those that it is
created with; those here are this project's choice (``docs/assumptions.md``).
"""

from pydantic import Field

from xlbridge.wire.model import Moment, Number, QueryMoment, WireModel


class ServiceInvoiceTerms(WireModel):
    """What a service invoice says, with the tax-reform fields of release 6.0.298."""

    codigoDaFilial: int | None = None
    codigoDoCliente: int | None = None
    codigoDoServicoPrestado: str | None = None
    valorDoServico: Number | None = None
    aliquotaISSRetido: Number | None = None
    CodigoNBS: str | None = None
    CodigoIndicadorDaOperacao: str | None = None
    CodigoTipoDaOperacao: int | None = None
    CodigoIndicadorDoDestinatario: int | None = None
    CodigoDaSituacaoTributariaIBSCBS: str | None = None
    ClassificacaoIBSCBS: str | None = None
    AliquotaIBSMunicipal: Number | None = None
    ValorIBSMunicipal: Number | None = None
    AliquotaIBSEstadual: Number | None = None
    ValorIBSEstadual: Number | None = None
    AliquotaCBS: Number | None = None
    ValorCBS: Number | None = None
    CodigoDaSituacaoTributariaPIS: str | None = None
    CodigoDaSituacaoTributariaCOFINS: str | None = None
    CodigoDaRetencaoPisCofinsCsll: str | None = None


class ServiceInvoiceInput(ServiceInvoiceTerms):
    """A service invoice to create; it is pending until it is processed."""

    codigoDaFilial: int
    codigoDoCliente: int
    codigoDoServicoPrestado: str
    valorDoServico: Number


class ServiceInvoiceId(WireModel):
    """What names a service invoice."""

    idNF: int


class ServiceInvoiceChange(ServiceInvoiceInput, ServiceInvoiceId):
    """A pending service invoice's new content, named by its id in the body."""


class ServiceInvoice(ServiceInvoiceTerms, ServiceInvoiceId):
    """A service invoice. Number, key of 50 digits and issue date are null until it is emitted."""

    dataDeEmissao: Moment | None = None
    numeroDaNotaFiscalEletronica: int | None = None
    chaveDaNotaFiscalEletronica: str | None = None
    ultimaAtualizacao: Moment | None = None


class ServiceInvoiceQuery(WireModel):
    """Filters of the service-invoice listing, by last update; ``qtde`` 0 means unlimited."""

    dataInferior: QueryMoment | None = None
    dataSuperior: QueryMoment | None = None
    qtde: int = Field(default=0, ge=0)
    codigoDaFilial: int | None = None
    codigoDoCliente: int | None = None
