"""Model of the closing proof, which its workbook and its page show, and its verdict."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

from xlbridge.batch.batch import RowCounts
from xlbridge.export import LISTINGS
from xlbridge.files import short_path
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Line, Tone, grouped_number
from xlbridge.report_forms.totals import Axis
from xlbridge.resources import Catalogue, Kind
from xlbridge.upload import Job
from xlbridge.upload.results import RowChange, RowLedger


@dataclass(frozen=True, slots=True)
class RowLocation:
    """Location of a row.

    ``file``, ``sheet`` and ``row`` (Excel's number) are where it was sent from, which is the
    rejects workbook for a row corrected there; ``workbook`` and ``origin`` are the step's workbook
    and the row's number in it. Both numbers are 0 for an answer about a whole sheet.
    """

    step: str
    resource: str
    workbook: Path
    origin: int
    file: Path
    sheet: str
    row: int


@dataclass(frozen=True, slots=True)
class ProofTitle:
    """Identity of the proven batch: its name, its plan, and the parameters of the run."""

    batch: str
    plan: Path
    plan_sha256: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepFile:
    """A workbook of a step, with what the batch knows about it.

    ``sha256`` and ``rows_in_sheet`` are those when it was read; rows that are not records are not
    counted. ``job_id`` is its first upload, whose retries send it again; ``not_sent_because`` is
    the reason if there is none, or not for all rows.
    """

    path: Path
    sha256: str
    rows_in_sheet: int
    not_sent_because: Text | None = None
    job_id: str | None = None


@dataclass(frozen=True, slots=True)
class ProofExport:
    """A step that exports a listing.

    ``manifest`` is None if the export was not done; ``problem`` is why, or how its files were
    changed afterwards.
    """

    name: str
    listing: str
    output: Path
    sha256: str | None = None
    manifest: Mapping[str, Any] | None = None
    problem: Text | None = None

    @property
    def not_done_because(self) -> Text:
        """The reason why the export was not done."""
        return self.problem or _NO_REASON


_NO_REASON = Text(pt="motivo não registrado", en="no reason recorded")


class ReadBackStatus(StrEnum):
    """Read-back status of an accepted row.

    ``DOUBLED``: the system has more than one record for it. ``UNREAD``: it cannot be read back.
    """

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"
    DOUBLED = "doubled"
    UNREAD = "unread"


class OpenReason(StrEnum):
    """Reason why a row is open; a ``WRITTEN`` row was rejected but is in the system."""

    MISSING = "missing"
    DOUBLED = "doubled"
    UNKNOWN = "unknown"
    WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class ProofCounts(RowCounts):
    """Row counts of a proof: accepted and unchanged rows are also counted by read-back status."""

    same: int = 0
    differs: int = 0
    missing: int = 0
    doubled: int = 0
    unread: int = 0

    @property
    def found(self) -> int:
        """Number of accepted rows that the system has, with or without differences."""
        return self.same + self.differs + self.doubled


@dataclass(frozen=True, slots=True)
class CellDifference:
    """A value that differs in the system; both are a ``comparable_value``.

    ``cell`` is the address in the location's sheet, None if the sheet has no such column; ``code``
    is the record's in the system.
    """

    location: RowLocation
    cell: str | None
    column: str
    kind: Kind
    sent: str | None
    found: str | None
    code: str


@dataclass(frozen=True, slots=True)
class OpenRow:
    """A row that is open.

    ``key`` is what its records were looked up by, ``codes`` are those of the records found; for a
    row that was not accepted, of the equal records found.
    """

    location: RowLocation
    state: OpenReason
    key: Mapping[str, str]
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that was rejected, not written because of others, or held, and the message."""

    location: RowLocation
    cell: str | None
    column: str | None
    message: str


@dataclass(frozen=True, slots=True)
class UnreadRows:
    """Count of a resource's accepted rows that cannot be read back, and the reason."""

    resource: str
    reason: Text
    rows: int


@dataclass(frozen=True, slots=True)
class Total:
    """Total of the accepted rows with a label, as they were sent and as they were read back.

    ``unread`` is the part of the sent amount that cannot be read back. ``found_rows`` and ``found``
    are None if the system does not return them.
    """

    label: str | None
    rows: int
    amount: Decimal
    unread_rows: int
    unread: Decimal
    found_rows: int | None
    found: Decimal | None

    @property
    def difference(self) -> Decimal | None:
        """Amount read back minus the readable amount sent."""
        return None if self.found is None else self.found - (self.amount - self.unread)

    @property
    def rows_difference(self) -> int | None:
        """Number of rows read back minus the readable rows sent."""
        return None if self.found_rows is None else self.found_rows - (self.rows - self.unread_rows)

    @property
    def agrees(self) -> bool:
        """True if both sides have the same rows and amounts."""
        return not self.difference and not self.rows_difference


@dataclass(frozen=True, slots=True)
class TotalTable:
    """Control totals of a resource's rows by an axis; ``amount`` is None if rows are counted."""

    resource: Text
    axis: Axis
    amount: Text | None
    totals: tuple[Total, ...]
    sum: Total

    @property
    def agrees(self) -> bool:
        """True if no total differs from what was read back."""
        return all(total.agrees for total in self.totals)


@dataclass(frozen=True, slots=True)
class ResourceSummary:
    """Accepted rows of a resource, and how many of them the system has.

    ``amount`` is None if rows have none, ``found_amount`` also if the system returns none.
    """

    resource: str
    title: Text
    accepted: int
    found: int
    amount: Decimal | None
    found_amount: Decimal | None


@dataclass(frozen=True, slots=True)
class ComparedFields:
    """Columns of a resource that are compared with the system, and those it does not return."""

    resource: str
    compared: tuple[str, ...]
    not_returned: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileProof:
    """A workbook of a step, the jobs that sent rows of it, and what became of each row.

    ``jobs`` are oldest first, with retries, and with the parts of a split sheet instead of the
    whole; ``ledger`` is None if there are none. ``rows`` are in the order of the workbook.
    """

    step: str
    file: StepFile
    ledger: RowLedger | None = None
    jobs: tuple[Job, ...] = ()
    rows: tuple[RowChange, ...] = ()
    counts: ProofCounts = ProofCounts()

    @property
    def resources(self) -> Sequence[str]:
        """Names of the resources that were sent."""
        return list(dict.fromkeys(job.spec.resource for job in self.jobs))

    def location(self, job: Job, row: RowChange | None) -> RowLocation:
        """Return the location of a row that a job has sent, of its whole sheet if None."""
        return RowLocation(
            step=self.step,
            resource=job.spec.resource,
            workbook=self.file.path,
            origin=0 if row is None else row.origin,
            file=Path(job.spec.file),
            sheet=job.spec.sheet,
            row=0 if row is None else row.row,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The closing proof of a batch, from the system's records at the time ``at``.

    ``quirks`` is the environment's quirks file, if it has one.
    ``steps`` are the workbooks of the steps that upload, by the steps' names.
    ``breaches`` are contradictions, for example of counts.
    ``catalogue`` has the titles of resources and columns.
    """

    title: ProofTitle
    profile: str
    base_url: str
    quirks: str | None
    at: datetime
    steps: Mapping[str, Sequence[FileProof]]
    exports: tuple[ProofExport, ...]
    resources: tuple[ResourceSummary, ...]
    totals: tuple[TotalTable, ...]
    cells: tuple[CellDifference, ...]
    rows: tuple[OpenRow, ...]
    refused: tuple[RefusedRow, ...]
    unread: tuple[UnreadRows, ...]
    fields: tuple[ComparedFields, ...]
    breaches: tuple[Text, ...]
    catalogue: Catalogue = field(repr=False)

    def column_title(self, resource: str, path: str) -> Text:
        """Return the title of a resource's column, that of a list with the name of its sheet."""
        return self.catalogue.named(resource).title_at(path)

    @property
    def counts(self) -> ProofCounts:
        """Sum of the counts of all workbooks."""
        return total_counts(chain.from_iterable(self.steps.values()))


def total_counts(files: Iterable[FileProof]) -> ProofCounts:
    """Return the sum of the counts of some workbooks."""
    return sum((file.counts for file in files), ProofCounts())


_VERIFIED = Text(
    pt="Tudo certo: {found} de {read} {n:linha conferida|linhas conferidas} no sistema, cada uma "
    "só uma vez, com o valor enviado em cada campo comparado.",
    en="Everything accounted for: {found} of {read} {n:row|rows} read back, each in the system "
    "once, with the sent value in each compared field.",
)
_PARTLY_VERIFIED = Text(
    pt="{found} de {read} {n:linha conferida|linhas conferidas} no sistema, cada uma só uma vez. "
    "Das demais ({rest}), só a resposta do sistema ao envio prova que foram aceitas.",
    en="{found} of {read} {n:row|rows} read back, each in the system once. For the rest ({rest}), "
    "only the system's answer to the upload proves that it was accepted.",
)
_NO_ROWS = Text(
    pt="Tudo certo: não havia linhas a enviar.",
    en="Everything accounted for: there were no rows to send.",
)
_OPEN = Text(
    pt="Em aberto: {open}. Conferidas no sistema: {found} de {read} {n:linha|linhas}.",
    en="Open: {open}. Read back: {found} of {read} {n:row|rows}.",
)
_RESOURCE_ROWS = Text(
    pt="{resource}: {accepted} {n:linha aceita|linhas aceitas}, conferidas no sistema: {found}",
    en="{resource}: {accepted} {n:row|rows} accepted, read back: {found}",
)
_RESOURCE_AMOUNT = Text(
    pt="{rows} · R$ {amount} enviados e aceitos, {found}",
    en="{rows} · R$ {amount} sent and accepted, {found}",
)
_AMOUNT_FOUND = Text(pt="R$ {amount} conferidos no sistema", en="R$ {amount} read back")
_AMOUNT_NOT_RETURNED = Text(pt="não informados pelo sistema", en="not returned by the system")

_NOT_WRITTEN = {
    "rejected": Text(
        pt="linhas rejeitadas: {n} (destas, sem rejeição própria: {others})",
        en="rows rejected: {n} (of these, not rejected themselves: {others})",
    ),
    "held": Text(
        pt="linhas não enviadas, aguardando você: {n}", en="rows not sent, waiting for you: {n}"
    ),
    "undone": Text(
        pt="linhas aceitas e depois desfeitas: {n}", en="rows accepted, and undone since: {n}"
    ),
    "unsent": Text(pt="linhas não enviadas: {n}", en="rows not sent: {n}"),
}
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
    pt="{step}: a exportação de “{listing}” não foi feita: {why}",
    en="{step}: the export of “{listing}” was not done: {why}",
)
_EXPORT_CHANGED = Text(
    pt="{step}: a exportação de “{listing}” mudou depois de gravada: {why}",
    en="{step}: the export of “{listing}” was changed after it was written: {why}",
)
_INCOMPLETE = Text(
    pt="{step}: a exportação de “{listing}” pode estar incompleta; lacunas: {gaps}",
    en="{step}: the export of “{listing}” may be incomplete; gaps: {gaps}",
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
    if differing := sum(not total.agrees for table in proof.totals for total in table.totals):
        yield _TOTALS.format(n=grouped_number(differing))
    others = grouped_number(proof.counts.not_written)
    for name, text in _NOT_WRITTEN.items():
        if count := getattr(proof.counts, name):
            yield text.format(n=grouped_number(count), others=others)
    for step, files in proof.steps.items():
        for file in files:
            if (why := file.file.not_sent_because) is not None:
                yield _NOT_SENT.format(step=step, file=file.file.path.name, why=why)
    for export in proof.exports:
        names = {"step": export.name, "listing": LISTINGS[export.listing].title}
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

    def to_json(self) -> dict[str, Any]:
        """Return the verdict of the proof and its files as JSON."""
        return {
            "profile": self.proof.profile,
            "quirks": self.proof.quirks,
            "settled": self.settled,
            "state": proof_state(self.proof).value,
            "verdict": str(verdict(self.proof)),
            "rows": {"read": self.proof.counts.read, "read_back": self.proof.counts.found},
            "resources": [
                {
                    "resource": one.resource,
                    "accepted": one.accepted,
                    "read_back": one.found,
                    "amount": None if one.amount is None else f"{one.amount:.2f}",
                    "amount_read_back": None
                    if one.found_amount is None
                    else f"{one.found_amount:.2f}",
                }
                for one in self.proof.resources
            ],
            "open": [str(item) for item in open_items(self.proof)],
            "workbook": str(self.workbook),
            "page": str(self.page),
        }

    def line(self) -> Line:
        """Return the proof as a line of a report, with resources, open items and files below."""
        below = [untranslated("  {line}").format(line=line) for line in resource_lines(self.proof)]
        below += [untranslated("  ✗ {item}").format(item=item) for item in open_items(self.proof)]
        below += [untranslated(f"  {short_path(path)}") for path in (self.workbook, self.page)]
        text = Text(pt="Prova de fechamento: {verdict}", en="Closing proof: {verdict}")
        tone = Tone.PLAIN if self.settled else Tone.OPEN
        return Line(tone=tone, text=text.format(verdict=verdict(self.proof)), below=below)
