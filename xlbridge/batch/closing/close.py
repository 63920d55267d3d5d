"""Closing a batch: what was sent is held against what became of it and what the system has."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from urllib.parse import urlsplit, urlunsplit

from xlbridge.api.client import Client
from xlbridge.batch.closing.counting import count_rows, count_unread
from xlbridge.batch.closing.given import ProofExport, ProofStep, ProofTitle
from xlbridge.batch.closing.listing import cell_differences, open_rows, refused_rows
from xlbridge.batch.closing.proof import ComparedFields, FileProof, Proof, StepProof
from xlbridge.batch.closing.read_back import SeenRow, Tell, read_back
from xlbridge.batch.closing.sent_rows import SentFile, SentRow, Uploads
from xlbridge.batch.closing.totals import total_tables
from xlbridge.i18n import Text
from xlbridge.resources.resource import Resource
from xlbridge.upload.desk import Desk
from xlbridge.upload.fates import Fate
from xlbridge.upload.journal.states import State
from xlbridge.upload.report import verdict_of
from xlbridge.upload.send import require_profile

_DOES_NOT_ADD_UP = Text(
    pt="{file}: lidas {read}, mas aceitas {accepted}, rejeitadas {rejected}, não enviadas "
    "{unsent}, sem resultado {unknown}",
    en="{file}: read {read}, but accepted {accepted}, rejected {rejected}, not sent {unsent}, "
    "unknown {unknown}",
)

_ANSWERED = frozenset({State.PARTIAL, State.REJECTED})


def close_batch(
    desk: Desk,
    client: Client,
    title: ProofTitle,
    steps: Sequence[ProofStep],
    exports: Sequence[ProofExport] = (),
    *,
    at: datetime,
    tell: Tell = lambda _text: None,
) -> Proof:
    """Return the closing proof of a batch: every row of its workbooks accounted for.

    The journal says what became of each row, retries and parts of split sheets included; the
    system is asked what it has for the accepted ones. ``at`` is the proof's time.

    Raises ``UsageError`` when a job does not exist, is of another environment, or its resource is
    not known any more; ``TransportError`` or ``AuthenticationFailed`` when the system cannot be
    asked.
    """
    uploads = Uploads(desk.journal)
    files = [uploads.of(step.name, file) for step in steps for file in step.files]
    for job in (job for file in files for job in file.jobs):
        require_profile(job, client.target.profile)
    seen = [
        (resource, read_back(desk, client, resource, rows, tell))
        for resource, rows in _by_resource(desk, files)
    ]
    by_file = _by_file(files, [row for _, rows in seen for row in rows])
    proofs = [_file_proof(file, rows) for file, rows in zip(files, by_file, strict=True)]
    in_order = [row for rows in by_file for row in rows]
    accepted = [(r, [row for row in rows if row.accepted]) for r, rows in seen]
    return Proof(
        title=title,
        profile=client.target.profile,
        base_url=_address(client.target.base_url),
        at=at,
        steps=tuple(_steps(steps, proofs)),
        exports=tuple(exports),
        totals=tuple(table for r, rows in accepted if rows for table in total_tables(r, rows)),
        cells=tuple(cell_differences(in_order, desk.catalogue)),
        rows=tuple(open_rows(in_order)),
        refused=tuple(refused for file in files for refused in refused_rows(file)),
        unread=tuple(unread for r, rows in accepted for unread in count_unread(r, rows)),
        fields=tuple(_compared(resource) for resource, _ in seen),
        breaches=(*(b for f in files for b in f.breaches), *_breaches(proofs, in_order)),
    )


def _by_resource(
    desk: Desk, files: Sequence[SentFile]
) -> Iterator[tuple[Resource, list[tuple[SentFile, SentRow]]]]:
    """Yield the rows that may have records in the system, resource by resource.

    Rejected rows too, if the system has answered: it may have written them all the same.
    """
    rows: dict[str, list[tuple[SentFile, SentRow]]] = {}
    for file in files:
        for row in file.rows:
            if row.fate in (Fate.ACCEPTED, Fate.UNKNOWN) or row.job.state in _ANSWERED:
                rows.setdefault(row.job.what.resource, []).append((file, row))
    for name, of_resource in rows.items():
        yield desk.catalogue.named(name), of_resource


def _by_file(files: Sequence[SentFile], rows: Sequence[SeenRow]) -> list[list[SeenRow]]:
    """Return the rows of each file, in the order in which they stand there."""
    by_file: dict[int, list[SeenRow]] = {id(file): [] for file in files}
    for row in rows:
        by_file[id(row.file)].append(row)
    return [sorted(by_file[id(file)], key=lambda row: row.sent.origin) for file in files]


def _file_proof(file: SentFile, rows: Sequence[SeenRow]) -> FileProof:
    resources = {job.what.resource: None for job in file.jobs}
    return FileProof(
        file=file.file,
        resource=", ".join(resources) or None,
        jobs=tuple((job, verdict_of(job)) for job in file.jobs),
        counts=count_rows(file, rows),
    )


def _steps(steps: Sequence[ProofStep], proofs: Sequence[FileProof]) -> Iterator[StepProof]:
    left = iter(proofs)
    for step in steps:
        yield StepProof(step.name, tuple(islice(left, len(step.files))))


def _compared(resource: Resource) -> ComparedFields:
    """Say which columns are held against the system; by those of a key a record is found."""
    declared = resource.read_back
    told = set() if declared is None else {*declared.compare}
    keys = () if declared is None else (name for way in declared.lookups for name in way.key)
    told |= {*keys}
    names = [column.name for column in resource.columns]
    return ComparedFields(
        resource.name,
        compared=tuple(name for name in names if name in told),
        untold=tuple(name for name in names if name not in told),
    )


def _breaches(proofs: Sequence[FileProof], rows: Sequence[SeenRow]) -> Iterator[Text]:
    yield from dict.fromkeys(row.why for row in rows if row.lost and row.why is not None)
    for proof in proofs:
        if not proof.counts.adds_up:
            yield _DOES_NOT_ADD_UP.format(
                file=proof.file.path.name,
                read=proof.counts.read,
                accepted=proof.counts.accepted,
                rejected=proof.counts.rejected,
                unsent=proof.counts.unsent,
                unknown=proof.counts.unknown,
            )


def _address(base_url: str) -> str:
    """Return an address without what a person may have written into it to log in."""
    parts = urlsplit(base_url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment=""))
