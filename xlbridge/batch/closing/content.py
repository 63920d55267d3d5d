"""What a proof shows, in the order in which it is read: the facts at its head, then its tables."""

from collections.abc import Iterator
from dataclasses import fields

from xlbridge import __version__
from xlbridge.batch.closing.evidence_grids import export_grid, file_grid, job_grid
from xlbridge.batch.closing.grids import Grid
from xlbridge.batch.closing.proof import Counts, Proof
from xlbridge.batch.closing.row_grids import difference_grid, open_row_grid, refused_grid
from xlbridge.batch.closing.step_grids import field_grid, step_grid, unread_grid
from xlbridge.batch.closing.total_grids import total_grids
from xlbridge.batch.closing.values import counted
from xlbridge.i18n import Text

_TITLE = Text(pt="Prova de fechamento · {batch}", en="Closing proof · {batch}")


_ROWS = Text(
    pt="lidas {read} · aceitas {accepted} · rejeitadas {rejected} · não enviadas {unsent} · "
    "sem resultado {unknown}",
    en="read {read} · accepted {accepted} · rejected {rejected} · not sent {unsent} · "
    "unknown {unknown}",
)
_READ_BACK = Text(
    pt="iguais {same} · com diferença {differs} · ausentes {missing} · mais de uma vez {doubled} · "
    "sem leitura possível {unread}",
    en="the same {same} · different {differs} · missing {missing} · more than once {doubled} · "
    "cannot be read back {unread}",
)


def title(proof: Proof) -> Text:
    """Return the heading of a proof."""
    return _TITLE.format(batch=proof.title.batch)


def facts(proof: Proof) -> Iterator[tuple[Text, Text | str]]:
    """Yield what is proven, of what, and when."""
    counts = {field.name: counted(getattr(proof.counts, field.name)) for field in fields(Counts)}
    yield Text(pt="Linhas", en="Rows"), _ROWS.format(**counts)
    yield Text(pt="Lidas de volta", en="Read back"), _READ_BACK.format(**counts)
    yield Text(pt="Ambiente", en="Environment"), proof.profile
    yield Text(pt="Sistema", en="System"), proof.base_url
    yield Text(pt="Conferido em", en="Proven at"), f"{proof.at:%d/%m/%Y %H:%M:%S}"
    yield Text(pt="Plano", en="Plan"), str(proof.title.plan)
    yield Text(pt="SHA-256 do plano", en="SHA-256 of the plan"), proof.title.plan_sha256
    for name, value in proof.title.parameters.items():
        yield Text(pt="Parâmetro {name}", en="Parameter {name}").format(name=name), value
    yield Text(pt="Feita com", en="Made with"), f"xlbridge {__version__}"


def grids(proof: Proof) -> Iterator[Grid]:
    """Yield the tables; those of one sheet follow one another."""
    yield step_grid(proof)
    yield from total_grids(proof)
    yield difference_grid(proof)
    yield open_row_grid(proof)
    yield refused_grid(proof)
    yield unread_grid(proof)
    yield field_grid(proof)
    yield export_grid(proof)
    yield file_grid(proof)
    yield job_grid(proof)
