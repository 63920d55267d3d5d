"""What became of the rows, step by step and workbook by workbook; what cannot be read back."""

from xlbridge.batch.closing.grids import Grid, Heading, Line, Tone, Value
from xlbridge.batch.closing.proof import Counts, Proof
from xlbridge.i18n import Text

_ALL = Text(pt="Total do lote", en="The whole batch")
_SHEET = Text(pt="Etapas", en="Steps")
_RESOURCE = Heading(Text(pt="Recurso", en="Resource"), 26)

_HEADINGS = (
    Heading(Text(pt="Etapa e arquivo", en="Step and workbook"), 34),
    _RESOURCE,
    Heading(Text(pt="Lidas", en="Read"), 10),
    Heading(Text(pt="Aceitas", en="Accepted"), 10),
    Heading(Text(pt="Rejeitadas", en="Rejected"), 10, alarming=True),
    Heading(
        Text(pt="Destas, sem recusa própria", en="Of these, not refused themselves"),
        10,
        alarming=True,
    ),
    Heading(Text(pt="Não enviadas", en="Not sent"), 10, alarming=True),
    Heading(Text(pt="Sem resultado", en="Unknown"), 10, alarming=True),
    Heading(Text(pt="Lidas de volta: iguais", en="Read back: the same"), 10),
    Heading(Text(pt="Com diferença", en="Different"), 10, alarming=True),
    Heading(Text(pt="Ausentes", en="Missing"), 10, alarming=True),
    Heading(Text(pt="Mais de uma vez", en="More than once"), 10, alarming=True),
    Heading(Text(pt="Sem leitura possível", en="Cannot be read back"), 10),
    Heading(Text(pt="Observação", en="Note"), 40),
)


def step_grid(proof: Proof) -> Grid:
    """Return the counts of each step and each of its workbooks."""
    lines = []
    for step in proof.steps:
        lines.append(_line(step.name, None, step.counts, Tone.HEAD))
        for file in step.files:
            why = file.file.not_sent_because
            lines.append(_line(file.file.path.name, file.resource, file.counts, note=why))
    if proof.steps:
        lines.append(_line(_ALL, None, proof.counts, Tone.SUM))
    return Grid(
        sheet=_SHEET,
        headings=_HEADINGS,
        lines=lines,
        none=Text(pt="O lote não tem envios.", en="The batch has no uploads."),
        about=Text(
            pt="Lidas = aceitas + rejeitadas + não enviadas + sem resultado. Aceitas = iguais + "
            "com diferença + ausentes + mais de uma vez + sem leitura possível.",
            en="Read = accepted + rejected + not sent + unknown. Accepted = the same + different + "
            "missing + more than once + cannot be read back.",
        ),
    )


def _line(
    name: Value,
    resource: Value,
    counts: Counts,
    tone: Tone = Tone.PLAIN,
    note: Value = None,
) -> Line:
    return Line(
        (
            name,
            resource,
            counts.read,
            counts.accepted,
            counts.rejected,
            counts.not_written,
            counts.unsent,
            counts.unknown,
            counts.same,
            counts.differs,
            counts.missing,
            counts.doubled,
            counts.unread,
            note,
        ),
        tone,
    )


def unread_grid(proof: Proof) -> Grid:
    """Return how many accepted rows cannot be read back, and why."""
    return Grid(
        sheet=_READING,
        title=Text(pt="Linhas sem leitura possível", en="Rows that cannot be read back"),
        headings=(
            _RESOURCE,
            Heading(Text(pt="Linhas", en="Rows"), 10),
            Heading(Text(pt="Por quê", en="Why"), 60),
        ),
        lines=[Line((unread.resource, unread.rows, unread.why)) for unread in proof.unread],
        none=Text(
            pt="Todas as linhas aceitas foram lidas de volta.",
            en="All accepted rows were read back.",
        ),
        about=Text(
            pt="Destas linhas, só a resposta do sistema ao envio prova que foram aceitas.",
            en="Of these rows, only the system's answer to the upload proves that they were "
            "accepted.",
        ),
    )


_READING = Text(pt="Leitura de volta", en="Read-back")


def field_grid(proof: Proof) -> Grid:
    """Return which columns are held against the system, and which it does not tell."""
    return Grid(
        sheet=_READING,
        title=Text(pt="Campos comparados", en="Fields compared"),
        headings=(
            _RESOURCE,
            Heading(Text(pt="Comparados com o sistema", en="Held against the system"), 60),
            Heading(Text(pt="Não comparados", en="Not compared"), 60),
        ),
        lines=[
            Line((told.resource, ", ".join(told.compared) or None, ", ".join(told.untold) or None))
            for told in proof.fields
        ],
        none=Text(pt="Nada foi lido de volta.", en="Nothing was read back."),
    )
