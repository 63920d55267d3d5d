"""Files derived from a file whose name is as long as file systems allow."""

import json
from pathlib import Path

import pytest
from environment import Xlbridge, credentials
from sheets import write_records
from upload_parts import new_cnpj

from xlbridge.sandbox import RunningSandbox


@pytest.mark.parametrize("stem", ["x" * 225, "ç" * 125])
def test_a_long_name_is_shortened_in_the_names_of_other_files(
    tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox, stem: str
) -> None:
    own = credentials(empty_sandbox)
    records = [{"cnpj": new_cnpj()}, {"cnpj": new_cnpj(), "natureza": "X"}]
    book = write_records(tmp_path / f"{stem}.xlsx", "cliente", records)
    options = ["--good-rows", "--create-unread", "--yes", "--format", "json"]
    sent = xlbridge("upload", book, *options, **own)
    document = json.loads(sent.stdout)
    assert (sent.returncode, document["rows"]["held"]) == (1, 1), sent.stderr
    rejects = Path(document["rejects_file"])
    assert (rejects.parent, rejects.is_file()) == (tmp_path, True)
    assert rejects.name.startswith(stem[:90])
    assert len(rejects.name.encode()) <= 255
    again = xlbridge("jobs", document["job"], "--format", "json", **own)
    assert json.loads(again.stdout)["rejects_file"] == str(rejects)
    marked = tmp_path / f"{'é' * 125}.xlsx"
    assert xlbridge("validate", rejects, "--annotate", marked).returncode in {0, 1}
    assert marked.is_file()
