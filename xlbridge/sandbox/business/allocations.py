"""The rules of split titles (rateio). Source: the spec, Payable entry: "both entry kinds can be
split by branch, category, cost center, project and ABC cost".
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems, category_problems
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.tables.financial import OWNER_KEY
from xlbridge.sandbox.tables.registries import abc_costs, branches, cost_centres, projects
from xlbridge.wire.financial import Allocation, AllocationInput, EntryInput, EntryTerms

_REGISTRIES = {
    "codigoDaFilialDoRateio": (branches, "Filial"),
    "codigoDoCentroDeCusto": (cost_centres, "Centro de custo"),
    "codigoDoProjeto": (projects, "Projeto"),
    "CodigoDoCustoABC": (abc_costs, "Custo ABC"),
}


def allocation_problems(known: Known, data: EntryInput, *, revenue: bool) -> Iterator[Problem]:
    """Yield the rules that the parts of an entry break; without parts there are none."""
    if not data.rateio:
        return
    for index, part in enumerate(data.rateio):
        yield from _part_problems(known, part, f"rateio.{index}.", revenue=revenue)
    total = sum(part.valor for part in data.rateio)
    if total != (data.valorDoLancamento or 0):
        yield "rateio", f"A soma do rateio ({total}) difere do valor do lançamento."


def allocated(data: EntryInput) -> list[Allocation]:
    """Return the parts of an entry; what a part leaves out is the entry's own."""
    own = _own_codes(data)
    return [Allocation(**own | part.model_dump(exclude_none=True)) for part in data.rateio]


def undivided(title: EntryTerms, value: Decimal) -> Allocation:
    """Return the one part that a title is while it is not split."""
    return Allocation(**_own_codes(title), valor=value)


def allocation_rows(key: Sequence[object], parts: Sequence[Allocation]) -> Iterator[dict[str, Any]]:
    """Yield a title's parts as rows of their table; ``key`` is the title's."""
    owner = dict(zip(OWNER_KEY, key, strict=True))
    for place, part in enumerate(parts):
        yield {**owner, "place": place, **part.model_dump()}


def _own_codes(data: EntryTerms) -> dict[str, Any]:
    codes = data.model_dump(include=set(Allocation.model_fields))
    return codes | {"codigoDaFilialDoRateio": data.codigoDaFilial}


def _part_problems(
    known: Known, part: AllocationInput, place: str, *, revenue: bool
) -> Iterator[Problem]:
    for name, (registry, label) in _REGISTRIES.items():
        yield from known.complaint(place + name, registry, getattr(part, name), label)
    category = part.codigoDoItemDeLancamento
    if category is not None:
        key = f"{place}codigoDoItemDeLancamento"
        yield from category_problems(known, key, category, revenue=revenue)
    yield from amount_problems(f"{place}valor", part.valor)
    if part.valor == Decimal(0):
        yield f"{place}valor", "Valor inválido: deve ser maior que 0."
