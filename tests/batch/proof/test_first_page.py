"""The first page of a proof on paper: what, how much, what is open, and the signatures.

Inside: batch.
"""

from dataclasses import replace
from pathlib import Path

import openpyxl
from proof_parts import Proof

from xlbridge.batch.proof_content import proof_content, proof_report
from xlbridge.i18n import untranslated
from xlbridge.report_forms import more_text


def test_many_open_items_leave_room_for_the_signatures(tmp_path: Path, month: Proof) -> None:
    breaches = tuple(untranslated(f"contradiction {number}") for number in range(30))
    proof = replace(month, breaches=breaches)
    *first, rest = proof_content(proof).problems
    assert [str(one) for one in first] == [f"contradiction {number}" for number in range(10)]
    assert str(rest).startswith(str(more_text(30)))
    path = tmp_path / "proof.xlsx"
    proof_report(proof).write("workbook", path)
    cover = openpyxl.load_workbook(path).worksheets[0]
    assert any(cell.value == "Approved by" for cell in cover["A"])
    assert (cover.page_setup.fitToHeight, len(cover.row_breaks.brk)) == (None, 0)
