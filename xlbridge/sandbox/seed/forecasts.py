"""The demo's recurring service forecasts."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any

from xlbridge.sandbox.business.dates import months_after
from xlbridge.sandbox.seed.billing import ISSUERS
from xlbridge.sandbox.seed.calendar import TODAY, at_work, some_day
from xlbridge.sandbox.seed.clients import Customer
from xlbridge.sandbox.seed.registries import codes
from xlbridge.sandbox.tables.registries import services
from xlbridge.wire.forecasts import YEAR

_ENDED, _READJUSTED, _AUTOMATIC = 0.2, 0.7, 0.5


def forecast_rows(
    random: Random, customers: list[Customer], count: int
) -> Iterator[dict[str, Any]]:
    """Yield forecasts, some of them ended, as rows of their table."""
    active = [customer for customer in customers if customer.active]
    for code in range(1, count + 1):
        begun = some_day(random).replace(day=1)
        has_ended = random.random() < _ENDED
        between = random.choice((1, 1, 3, YEAR))
        is_readjusted = random.random() < _READJUSTED
        yield {
            "codigoDaPrevisao": code,
            "codigoDaFilial": random.choice(list(ISSUERS)),
            "codigoDoCliente": random.choice(active).code,
            "codigoDoServicoPrestado": random.choice(codes(services)),
            "valorDoServico": Decimal(random.randrange(20_000, 400_000)).scaleb(-2),
            "dataDeInicio": begun,
            "dataDeTermino": max(begun, TODAY) if has_ended else None,
            "mesesEntreEmissoes": between,
            "codigoDaCondicaoDePagamento": 1,
            "percentualDeReajuste": Decimal("4.5") if is_readjusted else None,
            "mesesEntreReajustes": YEAR,
            "emissaoAutomatica": random.random() < _AUTOMATIC,
            "ativo": not has_ended,
            "observacao": None,
            "dataDaProximaEmissao": None if has_ended else _following(begun, between),
            "dataDoProximoReajuste": _following(begun, YEAR) if is_readjusted else None,
            "ultimaAtualizacao": at_work(random, some_day(random)),
        }


def _following(begun: datetime, months: int) -> datetime:
    """The first of the dates so many months apart that is still to come."""
    day = months_after(begun, months)
    while day <= TODAY:
        day = months_after(day, months)
    return day
