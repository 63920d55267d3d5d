"""Forms of the closing proof: a workbook, and a page without scripts for browser and paper."""

from pathlib import Path

from xlbridge.batch.proof.content import proof_facts, proof_tables, proof_title
from xlbridge.batch.proof.model import Proof
from xlbridge.batch.proof.verdict import (
    ProofState,
    open_items,
    proof_state,
    resource_lines,
    verdict,
)
from xlbridge.i18n import Text
from xlbridge.report_forms import Grade, Report, ReportForms
from xlbridge.workbook import WorkbookMark
from xlbridge.workbook.write import write_report

_COVER = Text(pt="Prova", en="Proof")
_COMPLETE = Text(pt="o arquivo da prova", en="the proof's workbook")
_GRADES = {
    ProofState.VERIFIED: Grade.GOOD,
    ProofState.PARTLY_VERIFIED: Grade.WARNING,
    ProofState.OPEN: Grade.ERROR,
}


def proof_report(proof: Proof) -> ReportForms:
    """Return the report of a proof in the active language, as a page and as a workbook."""

    def workbook(target: Path) -> None:
        signature = (WorkbookMark.PROVEN.text, proof.title.plan_sha256)
        write_report(proof_content(proof), target, cover=_COVER, signature=signature)

    return ReportForms.of_report(lambda: proof_content(proof), workbook=workbook)


def proof_content(proof: Proof) -> Report:
    """Return the content of a proof: its verdict, facts and tables."""
    return Report(
        title=proof_title(proof),
        verdict=verdict(proof),
        grade=_GRADES[proof_state(proof)],
        remarks=list(resource_lines(proof)),
        problems=list(open_items(proof)),
        facts=list(proof_facts(proof)),
        tables=list(proof_tables(proof)),
        complete=_COMPLETE,
    )
