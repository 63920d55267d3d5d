"""Verdict of a proof: the rows that were verified, and the open items; report of a proof."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from xlbridge.batch.proof.model import OpenReason, Proof, ProofExport, ResourceSummary
from xlbridge.files import short_path
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Line, Tone, grouped_number

_VERIFIED = Text(
    pt="Tudo conferido: {found} de {read} {n:linha lida|linhas lidas} de volta, cada uma no "
    "sistema uma vez, com o valor enviado em cada campo comparado.",
    en="Everything accounted for: {found} of {read} {n:row|rows} read back, each in the system "
    "once, with the sent value in each compared field.",
)
_PARTLY_VERIFIED = Text(
    pt="{found} de {read} {n:linha lida|linhas lidas} de volta, cada uma no sistema uma vez. "
    "Das demais ({rest}), só a resposta do sistema ao envio prova que foram aceitas.",
    en="{found} of {read} {n:row|rows} read back, each in the system once. For the rest ({rest}), "
    "only the system's answer to the upload proves that it was accepted.",
)
_NO_ROWS = Text(
    pt="Tudo conferido: não havia linhas a enviar.",
    en="Everything accounted for: there were no rows to send.",
)
_OPEN = Text(
    pt="Em aberto: {open}. Lidas de volta: {found} de {read} {n:linha|linhas}.",
    en="Open: {open}. Read back: {found} of {read} {n:row|rows}.",
)
_RESOURCE_ROWS = Text(
    pt="{resource}: {accepted} {n:linha aceita|linhas aceitas}, lidas de volta: {found}",
    en="{resource}: {accepted} {n:row|rows} accepted, read back: {found}",
)
_RESOURCE_AMOUNT = Text(
    pt="{rows} · R$ {amount} enviados e aceitos, {found}",
    en="{rows} · R$ {amount} sent and accepted, {found}",
)
_AMOUNT_FOUND = Text(pt="R$ {amount} lidos de volta", en="R$ {amount} read back")
_AMOUNT_NOT_RETURNED = Text(pt="não informados pelo sistema", en="not returned by the system")

_REJECTED = Text(
    pt="linhas rejeitadas: {n} (destas, sem rejeição própria: {others})",
    en="rows rejected: {n} (of these, not rejected themselves: {others})",
)
_HELD = Text(pt="linhas retidas, não enviadas: {n}", en="rows held, not sent: {n}")
_UNSENT = Text(pt="linhas não enviadas: {n}", en="rows not sent: {n}")
_UNDONE = Text(
    pt="linhas aceitas e depois desfeitas: {n}", en="rows accepted, and undone since: {n}"
)
_COUNTED = {
    "unknown": Text(
        pt="linhas em dúvida ou ainda em andamento: {n}",
        en="rows in doubt or still under way: {n}",
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
    en="rejected rows that are in the system nevertheless: {n}",
)
_DIFFERS = Text(
    pt="células que o sistema tem com outro valor: {n}, em linhas: {rows}",
    en="cells that the system has with another value: {n}, in rows: {rows}",
)
_TOTALS = Text(
    pt="totais de controle que não conferem: {n}", en="control totals that do not agree: {n}"
)
_NOT_SENT = untranslated("{step} · {file}: {why}")
_NOT_DONE = Text(
    pt="{step}: a exportação de {listing} não foi feita: {why}",
    en="{step}: the export of {listing} was not done: {why}",
)
_EXPORT_CHANGED = Text(
    pt="{step}: a exportação de {listing} mudou depois de gravada: {why}",
    en="{step}: the export of {listing} was changed after it was written: {why}",
)
_INCOMPLETE = Text(
    pt="{step}: a exportação de {listing} pode estar incompleta; lacunas: {gaps}",
    en="{step}: the export of {listing} may be incomplete; gaps: {gaps}",
)


class ProofState(StrEnum):
    """State of a proof: all verified, verified in part with nothing open, or something open."""

    VERIFIED = "verified"
    PARTLY_VERIFIED = "partly_verified"
    OPEN = "open"


def proof_state(proof: Proof) -> ProofState:
    """Return the state of a proof."""
    if any(open_items(proof)):
        return ProofState.OPEN
    return ProofState.PARTLY_VERIFIED if proof.counts.unread else ProofState.VERIFIED


def verdict(proof: Proof) -> Text:
    """Return the verdict in one sentence, with the number of rows read back."""
    counts = proof.counts
    numbers: dict[str, object] = {
        "n": counts.read,
        "found": grouped_number(counts.found),
        "read": grouped_number(counts.read),
        "rest": grouped_number(counts.unread),
    }
    match proof_state(proof):
        case ProofState.OPEN:
            count = sum(1 for _ in open_items(proof))
            return _OPEN.format(open=grouped_number(count), **numbers)
        case ProofState.PARTLY_VERIFIED:
            return _PARTLY_VERIFIED.format(**numbers)
        case ProofState.VERIFIED:
            return _VERIFIED.format(**numbers) if counts.read else _NO_ROWS


def resource_lines(proof: Proof) -> Iterator[Text]:
    """Yield a line per resource: rows and amounts accepted and read back."""
    for summary in proof.resources:
        rows = _RESOURCE_ROWS.format(
            resource=summary.title,
            accepted=grouped_number(summary.accepted),
            n=summary.accepted,
            found=grouped_number(summary.found),
        )
        if summary.amount is None:
            yield rows
            continue
        found = _AMOUNT_NOT_RETURNED
        if summary.found_amount is not None:
            found = _AMOUNT_FOUND.format(amount=grouped_number(summary.found_amount))
        amount = grouped_number(summary.amount)
        yield _RESOURCE_AMOUNT.format(rows=rows, amount=amount, found=found)


def open_items(proof: Proof) -> Iterator[Text]:
    """Yield the open items, most severe first; none if everything is accounted for."""
    yield from proof.breaches
    yield from _open_row_items(proof)
    if differing := sum(not total.agrees for table in proof.totals for total in table.totals):
        yield _TOTALS.format(n=grouped_number(differing))
    if rejected := proof.counts.rejected:
        yield _REJECTED.format(
            n=grouped_number(rejected), others=grouped_number(proof.counts.not_written)
        )
    if held := proof.counts.held:
        yield _HELD.format(n=grouped_number(held))
    if undone := proof.counts.undone:
        yield _UNDONE.format(n=grouped_number(undone))
    if unsent := proof.counts.unsent:
        yield _UNSENT.format(n=grouped_number(unsent))
    for step, files in proof.steps.items():
        for file in files:
            if (why := file.file.not_sent_because) is not None:
                yield _NOT_SENT.format(step=step, file=file.file.path.name, why=why)
    for export in proof.exports:
        yield from _open_export_items(export)


def _open_row_items(proof: Proof) -> Iterator[Text]:
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


def _open_export_items(export: ProofExport) -> Iterator[Text]:
    names = {"step": export.name, "listing": export.listing}
    if export.manifest is None:
        yield _NOT_DONE.format(**names, why=export.not_done_because)
    elif export.problem is not None:
        yield _EXPORT_CHANGED.format(**names, why=export.problem)
    elif not export.manifest["complete"]:
        yield _INCOMPLETE.format(**names, gaps=len(export.manifest["holes"]))


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """A proof and the files that it was written to."""

    proof: Proof
    workbook: Path
    page: Path

    @property
    def settled(self) -> bool:
        """True if everything is accounted for."""
        return proof_state(self.proof) is not ProofState.OPEN


def proof_json(written: WrittenProof) -> dict[str, Any]:
    """Return the verdict of a proof and its files as JSON."""
    return {
        "profile": written.proof.profile,
        "settled": written.settled,
        "state": proof_state(written.proof).value,
        "verdict": str(verdict(written.proof)),
        "rows": {"read": written.proof.counts.read, "read_back": written.proof.counts.found},
        "resources": [_resource_json(summary) for summary in written.proof.resources],
        "open": [str(item) for item in open_items(written.proof)],
        "workbook": str(written.workbook),
        "page": str(written.page),
    }


def _resource_json(summary: ResourceSummary) -> dict[str, Any]:
    amounts = {"amount": summary.amount, "amount_read_back": summary.found_amount}
    return {
        "resource": summary.resource,
        "accepted": summary.accepted,
        "read_back": summary.found,
        **{name: None if value is None else f"{value:.2f}" for name, value in amounts.items()},
    }


def proof_line(written: WrittenProof) -> Line:
    """Return a proof as a line of a report, with its resources, open items and files below."""
    below = [untranslated("  {line}").format(line=line) for line in resource_lines(written.proof)]
    below += [untranslated("  ✗ {item}").format(item=item) for item in open_items(written.proof)]
    below += [untranslated(f"  {short_path(path)}") for path in (written.workbook, written.page)]
    text = Text(pt="Prova de fechamento: {verdict}", en="Closing proof: {verdict}")
    tone = Tone.PLAIN if written.settled else Tone.OPEN
    return Line(tone=tone, text=text.format(verdict=verdict(written.proof)), below=below)
