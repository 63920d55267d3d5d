"""Headers and values that mislead are never proposed with high confidence."""

from collections.abc import Sequence

import pytest
from header_score import HALVES, Grade, Layout, layouts, proposals, scores
from misleading_sheets import misleading

from xlbridge.resources import Catalogue

SAMPLE = 61


@pytest.mark.parametrize(
    ("half", "step"),
    [
        *((half, SAMPLE) for half in HALVES),
        *(pytest.param(half, 1, marks=pytest.mark.slow) for half in HALVES),
    ],
)
def test_no_misleading_column_is_proposed_with_high_confidence(
    catalogue: Catalogue, half: str, step: int
) -> None:
    sheets = [sheet for layout in layouts(half) for sheet in misleading(layout, catalogue)]
    found = scores(proposals(sheets[::step], catalogue))
    assert [(s.what, s.header, *s.sure) for s in found if s.grade is Grade.SURE] == []


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("CPF do sócio", ("529.982.247-25", "111.444.777-35")),
        ("CNPJ da transportadora", ("11.222.333/0001-81", "11.444.777/0001-61")),
        ("CPF/CNPJ do avalista", ("11.222.333/0001-81", "529.982.247-25")),
        ("E-mail do contador", ("a@exemplo.com.br", "b@exemplo.com.br")),
        ("E-mail do vendedor", ("a@exemplo.com.br", "b@exemplo.com.br")),
        ("ID contato", (700222, 700223)),
        ("Nome do pet", ("Thor", "Mel")),
    ],
)
def test_what_belongs_to_somebody_else_is_doubtful(
    catalogue: Catalogue, header: str, values: Sequence[object]
) -> None:
    nothing = frozenset[str]()
    columns = {"Fantasia": frozenset({"nomeComercial"}), header: nothing}
    rows = list(zip(("Padaria Estrela", "Mercado Sol"), values, strict=True))
    layout = Layout(
        header, "cliente", list(columns), rows, columns, dict.fromkeys(columns, nothing)
    )
    (found,) = (one for one in scores(proposals([layout], catalogue)) if one.header == header)
    assert not found.sure
