"""What is said when rows were sent already, and how to go on from there."""

from collections.abc import Mapping

from xlbridge.errors import JournalError
from xlbridge.i18n import Text
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.states import State


def claimed(job: Job, holders: Mapping[str, int]) -> JournalError:
    """Return the refusal of rows that ``holders`` claim; ``job`` is the newest of them."""
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
            now=_WHAT_NOW.get(job.state, _SEE).format(job=job.id), emptied=_EMPTIED
        ),
    )


_SEE = Text(
    pt="Veja-o com xlbridge jobs {job}; continue-o com xlbridge resume {job}; ou envie de novo "
    'de propósito com --again "motivo".',
    en="See it with xlbridge jobs {job}; continue it with xlbridge resume {job}; or send again on "
    'purpose with --again "reason".',
)
_WHAT_NOW = {
    State.DONE: Text(
        pt='Tire essas linhas da planilha, ou envie de novo de propósito com --again "motivo". '
        "O envio: xlbridge jobs {job}",
        en='Take those rows out of the sheet, or send again on purpose with --again "reason". '
        "The upload: xlbridge jobs {job}",
    ),
    State.PARTIAL: Text(
        pt="Só as linhas rejeitadas e corrigidas: xlbridge retry {job}; a planilha inteira de "
        'propósito: --again "motivo".',
        en="Only the rejected rows, once mended: xlbridge retry {job}; the whole sheet on purpose: "
        '--again "reason".',
    ),
    State.NEEDS_PERSON: Text(
        pt="Veja no sistema se as linhas estão lá, e diga o que viu: xlbridge resolve {job} "
        '--as applied|not-applied --reason "…".',
        en="Look in the system whether the rows are there, and say what you saw: xlbridge resolve "
        '{job} --as applied|not-applied --reason "…".',
    ),
}
_EMPTIED = Text(
    pt="Se o sistema foi esvaziado desde então (por exemplo, o banco do sandbox foi apagado), o "
    'diário não sabe disso: envie de novo com --again "sistema esvaziado".',
    en="If the system was emptied since then (the sandbox's database was deleted, say), the "
    'journal does not know: send again with --again "system emptied".',
)
