"""Verdict of a proof: everything accounted for, or the open items; report of a written proof."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xlbridge.batch.proof.grids import grouped_number
from xlbridge.batch.proof.inputs import ProofExport
from xlbridge.batch.proof.model import OpenReason, Proof
from xlbridge.files import short_path
from xlbridge.i18n import Text

ACCOUNTED_FOR = Text(
    pt="Tudo conferido: cada linha lida está no sistema uma vez, com o valor enviado em cada campo "
    "comparado.",
    en="Everything accounted for: each row that was read is in the system once, with the value "
    "that was sent in each field compared.",
)
ACCEPTED = Text(
    pt="Tudo conferido: cada linha lida foi aceita uma vez; nem todas podem ser lidas de volta.",
    en="Everything accounted for: each row that was read was accepted once; not all can be read "
    "back.",
)
OPEN = Text(pt="Em aberto: {n}", en="Open: {n}")

_REJECTED = Text(
    pt="linhas rejeitadas: {n} (destas, não gravadas sem recusa própria: {fallen})",
    en="rows rejected: {n} (of these, not written without a refusal of their own: {fallen})",
)
_UNSENT = Text(pt="linhas não enviadas: {n}", en="rows not sent: {n}")
_COUNTED = {
    "unknown": Text(
        pt="linhas sem resultado, em dúvida ou ainda a caminho: {n}",
        en="rows without an outcome, in doubt or still under way: {n}",
    ),
    "missing": Text(
        pt="linhas aceitas que não estão no sistema: {n}",
        en="accepted rows that are not in the system: {n}",
    ),
    "doubled": Text(
        pt="linhas aceitas que estão no sistema mais de uma vez: {n}",
        en="accepted rows that are in the system more than once: {n}",
    ),
}
_WRITTEN = Text(
    pt="linhas rejeitadas que estão no sistema mesmo assim: {n}",
    en="rejected rows that are in the system all the same: {n}",
)
_DIFFERS = Text(
    pt="células que o sistema tem com outro valor: {n}, em linhas: {rows}",
    en="cells that the system has with another value: {n}, in rows: {rows}",
)
_TOTALS = Text(
    pt="totais de controle que não conferem: {n}", en="control totals that do not agree: {n}"
)
_NOT_SENT = Text(pt="{step} · {file}: {why}", en="{step} · {file}: {why}")
_NOT_DONE = Text(
    pt="{step}: a exportação de {listing} não foi feita: {why}",
    en="{step}: the export of {listing} was not done: {why}",
)
_NOT_AS_WRITTEN = Text(
    pt="{step}: a exportação de {listing} não está como foi gravada: {why}",
    en="{step}: the export of {listing} is not as it was written: {why}",
)
_INCOMPLETE = Text(
    pt="{step}: a exportação de {listing} pode estar incompleta; lacunas: {holes}",
    en="{step}: the export of {listing} may be incomplete; holes: {holes}",
)
_NO_REASON = Text(pt="sem motivo anotado", en="no reason noted")


def verdict(proof: Proof) -> Text:
    """Return the proof in one sentence."""
    count = sum(1 for _ in open_items(proof))
    if count:
        return OPEN.format(n=grouped_number(count))
    return ACCEPTED if proof.counts.unread else ACCOUNTED_FOR


def open_items(proof: Proof) -> Iterator[Text]:
    """Yield what is open, the gravest first; nothing where everything is accounted for."""
    yield from proof.breaches
    yield from _of_rows(proof)
    if apart := sum(not total.agrees for table in proof.totals for total in table.totals):
        yield _TOTALS.format(n=grouped_number(apart))
    if rejected := proof.counts.rejected:
        yield _REJECTED.format(
            n=grouped_number(rejected), fallen=grouped_number(proof.counts.not_written)
        )
    if unsent := proof.counts.unsent:
        yield _UNSENT.format(n=grouped_number(unsent))
    for step in proof.steps:
        for file in step.files:
            if (why := file.file.not_sent_because) is not None:
                yield _NOT_SENT.format(step=step.name, file=file.file.path.name, why=why)
    for export in proof.exports:
        yield from _of_export(export)


def _of_rows(proof: Proof) -> Iterator[Text]:
    for name, text in _COUNTED.items():
        if count := getattr(proof.counts, name):
            yield text.format(n=grouped_number(count))
    if written := sum(row.state is OpenReason.WRITTEN for row in proof.rows):
        yield _WRITTEN.format(n=grouped_number(written))
    if proof.cells:
        rows = {
            (cell.location.step, cell.location.workbook, cell.location.origin)
            for cell in proof.cells
        }
        yield _DIFFERS.format(n=grouped_number(len(proof.cells)), rows=grouped_number(len(rows)))


def _of_export(export: ProofExport) -> Iterator[Text]:
    said = {"step": export.name, "listing": export.listing}
    if export.manifest is None:
        yield _NOT_DONE.format(**said, why=export.problem or _NO_REASON)
    elif export.problem is not None:
        yield _NOT_AS_WRITTEN.format(**said, why=export.problem)
    elif not export.manifest["complete"]:
        yield _INCOMPLETE.format(**said, holes=len(export.manifest["holes"]))


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """A proof and the files that it was written to."""

    proof: Proof
    workbook: Path
    page: Path

    @property
    def settled(self) -> bool:
        """True if everything is accounted for."""
        return not any(open_items(self.proof))


def proof_json(written: WrittenProof) -> dict[str, Any]:
    """Return what a proof says, and where it is, as JSON."""
    return {
        "profile": written.proof.profile,
        "settled": written.settled,
        "verdict": str(verdict(written.proof)),
        "open": [str(item) for item in open_items(written.proof)],
        "workbook": str(written.workbook),
        "page": str(written.page),
    }


def proof_text(written: WrittenProof) -> Iterator[Text]:
    """Yield the lines of a proof's report."""
    yield Text(pt="Prova de fechamento: {verdict}", en="Closing proof: {verdict}").format(
        verdict=verdict(written.proof)
    )
    for item in open_items(written.proof):
        yield Text(pt="  ✗ {item}", en="  ✗ {item}").format(item=item)
    for path in (written.workbook, written.page):
        yield Text(pt="  {path}", en="  {path}").format(path=short_path(path))
