"""Claims on rows: the journal's guard against sending a row twice, and its error message."""

import json
from collections.abc import Iterable, Mapping, Sequence

from xlbridge.errors import JournalError
from xlbridge.files import LocalDatabase
from xlbridge.i18n import Text
from xlbridge.upload.job import Job, State


class Claims:
    """Claims in the journal's file; the caller has begun the transaction."""

    def __init__(self, db: LocalDatabase) -> None:
        self._db = db

    def add(self, job_id: str, digests: Iterable[str]) -> None:
        """Claim the rows of a job, by their digests, in order."""
        self._db.executemany(
            "INSERT INTO claims VALUES (?, ?, ?)",
            ((job_id, position, digest) for position, digest in enumerate(digests)),
        )

    def free(self, job_id: str) -> None:
        """Free all rows of a job."""
        self._db.execute("DELETE FROM claims WHERE job = ?", (job_id,))

    def free_rows(self, job_id: str, positions: Iterable[int]) -> None:
        """Free some rows of a job, by their positions."""
        self._db.executemany(
            "DELETE FROM claims WHERE job = ? AND position = ?",
            ((job_id, position) for position in positions),
        )

    def holders(self, profile: str, resource: str, digests: Sequence[str]) -> dict[str, int]:
        """Return the jobs that claim some of the rows, newest first, and how many each."""
        found = self._db.execute(
            "SELECT jobs.id, COUNT(*) FROM claims JOIN jobs ON jobs.id = claims.job "
            "WHERE profile = ? AND resource = ? "
            "AND claims.digest IN (SELECT value FROM json_each(?)) "
            "GROUP BY jobs.id ORDER BY created_at DESC",
            (profile, resource, json.dumps(sorted(set(digests)))),
        )
        return dict(found.fetchall())


def already_sent_error(job: Job, holders: Mapping[str, int]) -> JournalError:
    """Return the error about rows that ``holders`` claim; ``job`` is the newest of them."""
    return JournalError(
        Text(
            pt="Já enviadas a {profile}: {n} destas linhas. Envio {job}, de {when}, estado "
            "{state}.",
            en="Sent to {profile} already: {n} of these rows. Upload {job} of {when}, state "
            "{state}.",
        ).format(
            profile=job.what.profile,
            n=sum(holders.values()),
            job=job.id,
            when=f"{job.created_at:%d/%m/%Y %H:%M}",
            state=job.state.public,
        ),
        Text(pt="{now}\n{emptied}", en="{now}\n{emptied}").format(
            now=_HINTS.get(job.state, _DEFAULT_HINT).format(job=job.id), emptied=_SYSTEM_EMPTIED
        ),
    )


_DEFAULT_HINT = Text(
    pt="Veja-o com xlbridge jobs {job}; continue-o com xlbridge resume {job}; ou envie de novo "
    'de propósito com --again "motivo".',
    en="See it with xlbridge jobs {job}; continue it with xlbridge resume {job}; or send again on "
    'purpose with --again "reason".',
)
_HINTS = {
    State.DONE: Text(
        pt='Tire essas linhas da planilha, ou envie de novo de propósito com --again "motivo". '
        "O envio: xlbridge jobs {job}",
        en='Take those rows out of the sheet, or send again on purpose with --again "reason". '
        "The upload: xlbridge jobs {job}",
    ),
    State.PARTIAL: Text(
        pt="Só as linhas rejeitadas e corrigidas: xlbridge retry {job}; a planilha inteira de "
        'propósito: --again "motivo".',
        en="Only the rejected rows, once fixed: xlbridge retry {job}; the whole sheet on purpose: "
        '--again "reason".',
    ),
    State.NEEDS_PERSON: Text(
        pt="Confira no sistema se as linhas estão lá e registre o que viu: xlbridge resolve {job} "
        '--as applied|not-applied --reason "…".',
        en="Check in the system whether the rows are there, and record what you saw: "
        'xlbridge resolve {job} --as applied|not-applied --reason "…".',
    ),
}
_SYSTEM_EMPTIED = Text(
    pt="Se o sistema foi esvaziado desde então (por exemplo, o banco do sandbox foi apagado), o "
    'diário não sabe disso: envie de novo com --again "sistema esvaziado".',
    en="If the system was emptied since then (the sandbox's database was deleted, say), the "
    'journal does not know: send again with --again "system emptied".',
)
