"""Mappings in Python: workbooks and DataFrames with foreign headers."""

from pathlib import Path

import pandas as pd
import pytest

import xlbridge as xb
from xlbridge.errors import UsageError

MAPPING = """version: 1
resource: cliente
header: [Nome, Documento]
columns:
  nomeComercial: {from: Nome}
  cnpj: {from: Documento, when: cnpj}
  cpf: {from: Documento, when: cpf}
  natureza: {from: Documento, values: {cnpj: J, cpf: F}}
"""


def test_a_frame_is_read_by_a_mapping(own_home: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(MAPPING, "utf-8")
    frame = pd.DataFrame({"Documento": ["11.222.333/0001-81", "x"], "Nome": ["Padaria", "B"]})
    report = xb.validate(frame, map=path)
    assert (report.resource, report.frame["natureza"].tolist()[0]) == ("cliente", "J")
    assert report.findings["row"].tolist() == [1, 1]
    assert set(report.findings["cell"]) == {"A3"}
    assert not list((own_home).glob("mappings/*"))
    with pytest.raises(UsageError):
        xb.validate(frame.rename(columns={"Nome": "Nomes"}), map=path)
