"""The parties of the demo's sales orders: client, place of delivery, carrier."""

from decimal import Decimal
from random import Random
from typing import Any

from xlbridge.sandbox.seed.clients import Customer
from xlbridge.wire.sales import SalesOrder

_CARRIERS = (
    {
        "transportadoraCodigo": 503,
        "transportadoraNome": "Transportes Rio Claro S.A.",
        "transportadoraEndereco": "Rodovia Washington Luís, km 173",
        "transportadoraCidade": "Rio Claro",
        "transportadoraUF": "SP",
        "transportadoraPlaca": "BRA2E19",
        "transportadoraPlacaUF": "SP",
        "transportadoraCNPJ": "11222333000181",
    },
    {
        "transportadoraCodigo": 506,
        "transportadoraNome": "Expresso Araucária Ltda",
        "transportadoraEndereco": "Avenida das Araucárias, 1500",
        "transportadoraCidade": "Araucária",
        "transportadoraUF": "PR",
        "transportadoraPlaca": "QQP4F56",
        "transportadoraPlacaUF": "PR",
        "transportadoraCNPJ": "12ABC34501DE35",
    },
)
_NO_CARRIER: dict[str, Any] = {
    name: None for name in SalesOrder.model_fields if name.startswith("transportadora")
}
_PAID_BY_SENDER = "E"


def client(customer: Customer) -> dict[str, Any]:
    """Return the client's fields of an order."""
    place = customer.place
    return {
        "codigoDoCliente": customer.code,
        "nomeDoCliente": customer.name,
        "nomeDoClienteFmt": f"{customer.code} - {customer.name}",
        "naturezaJuridica": customer.nature,
        "cnpjcpf": customer.document,
        "inscricaoEstadual": "ISENTO" if customer.nature == "J" else None,
        "inscricaoMunicipal": None,
        "cep": customer.postcode,
        "logradouro": customer.street,
        "numero": customer.number,
        "complemento": None,
        "bairro": customer.district,
        "cidade": place.city,
        "uf": place.state,
        "codigoDoMunicipio": place.municipality,
        "contato": customer.contact,
        "telefone": customer.telephone,
        "email": customer.email,
    }


def delivery(customer: Customer) -> dict[str, Any]:
    """Return the fields of delivery to the client's own address."""
    return {
        "entregaNomeContato": customer.contact,
        "entregaCEP": customer.postcode,
        "entregaLogradouro": customer.street,
        "entregaNumero": customer.number,
        "entregaComplemento": None,
        "entregaBairro": customer.district,
        "entregaCidade": customer.place.city,
        "entregaCodigoMunicipio": customer.place.municipality,
        "entregaUF": customer.place.state,
    }


def carrier(random: Random, items: list[dict[str, Any]], *, carried: bool) -> dict[str, Any]:
    """Return the carrier's fields; without one they are all empty."""
    if not carried:
        return _NO_CARRIER
    return {
        **random.choice(_CARRIERS),
        "transportadoraNatureza": "J",
        "transportadoraIE": "ISENTO",
        "transportadoraEspecie": "CAIXA",
        "transportadoraVolume": str(len(items)),
        "transportadoraFreteEmiDest": _PAID_BY_SENDER,
        "transportadoraObservacao": "Entregar em horário comercial",
        "transportadoraPesoBruto": sum(item["pesoBruto"] for item in items),
        "transportadoraPesoLiquido": sum(item["pesoLiquido"] for item in items),
        "transportadoraValorFrete": sum(item["valorFrete"] for item in items),
        "transportadoraValorSeguro": Decimal("0.00"),
        "transportadoraVolumeComprimento": Decimal("0.60"),
        "transportadoraVolumeAltura": Decimal("0.40"),
        "transportadoraVolumeLargura": Decimal("0.40"),
        "transportadoraQtde": Decimal(len(items)),
    }
