"""Service invoices, as created. Source: the spec, Service invoice (NFS-e).

The required fields are not shown there; those here are this project's choice
(``docs/assumptions.md``).
"""

from xlbridge.wire.model import Number, WireModel


class ServiceInvoiceInput(WireModel):
    """A service invoice to create, with the tax-reform fields of release 6.0.298."""

    codigoDaFilial: int
    codigoDoCliente: int
    codigoDoServicoPrestado: str
    valorDoServico: Number
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
