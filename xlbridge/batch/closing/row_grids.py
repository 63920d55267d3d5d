"""What is open, as tables: cells that differ, rows that are open, rows that were refused."""

from xlbridge.batch.closing.grids import Grid, Heading, Line, Value
from xlbridge.batch.closing.proof import Open, OpenRow, Place, Proof, RefusedRow
from xlbridge.batch.closing.values import shown, typed
from xlbridge.i18n import Text

_STEP = Heading(Text(pt="Etapa", en="Step"), 14)
_WORKBOOK = Heading(Text(pt="Pasta de trabalho", en="Workbook"), 34)
_ROW = Heading(Text(pt="Linha", en="Row"), 8)
_SHEET = Heading(Text(pt="Planilha", en="Sheet"), 16)
_CELL = Heading(Text(pt="Célula", en="Cell"), 9)
_COLUMN = Heading(Text(pt="Coluna", en="Column"), 22)
_CODE = Heading(Text(pt="Código no sistema", en="Code in the system"), 24)
_MENDED = Text(pt="{file} (linha {row} de {workbook})", en="{file} (row {row} of {workbook})")

_STATES = {
    Open.MISSING: Text(pt="não está no sistema", en="not in the system"),
    Open.DOUBLED: Text(pt="mais de uma vez no sistema", en="more than once in the system"),
    Open.WRITTEN: Text(
        pt="rejeitada; está no sistema mesmo assim", en="rejected; in the system all the same"
    ),
}
_DOUBT_FOUND = Text(pt="sem resultado; encontrada no sistema", en="unknown; found in the system")
_DOUBT_NOT_FOUND = Text(
    pt="sem resultado; não encontrada no sistema", en="unknown; not found in the system"
)
_DOUBT_NO_KEY = Text(pt="sem resultado; não pode ser procurada", en="unknown; cannot be looked for")


def difference_grid(proof: Proof) -> Grid:
    """Return the cells that the system has otherwise than they were sent."""
    return Grid(
        sheet=Text(pt="Diferenças", en="Differences"),
        headings=(
            _STEP,
            _WORKBOOK,
            _SHEET,
            _CELL,
            _COLUMN,
            Heading(Text(pt="Enviado", en="Sent"), 24),
            Heading(Text(pt="No sistema", en="In the system"), 24),
            _CODE,
        ),
        lines=[
            Line(
                (
                    cell.place.step,
                    _file(cell.place),
                    cell.place.sheet,
                    cell.cell or str(cell.place.row),
                    cell.column,
                    shown(typed(cell.kind, cell.sent)),
                    shown(typed(cell.kind, cell.found)),
                    cell.code,
                ),
            )
            for cell in proof.cells
        ],
        none=Text(pt="Nenhuma célula difere.", en="No cell differs."),
        about=Text(
            pt="Cada valor de uma linha aceita que o sistema tem de outra forma, com o endereço da "
            "célula na planilha enviada. Uma célula vazia nada diz, e não é comparada.",
            en="Each value of an accepted row that the system has otherwise, with the address of "
            "the cell in the sheet that was sent. An empty cell says nothing, and is not compared.",
        ),
    )


def open_row_grid(proof: Proof) -> Grid:
    """Return the rows that are open."""
    return Grid(
        sheet=Text(pt="Linhas em aberto", en="Open rows"),
        headings=(
            _STEP,
            _WORKBOOK,
            _SHEET,
            _ROW,
            Heading(Text(pt="Situação", en="State"), 30),
            Heading(Text(pt="Chave procurada", en="Key looked for"), 40),
            Heading(Text(pt="Códigos no sistema", en="Codes in the system"), 30),
        ),
        lines=[
            Line(
                (
                    row.place.step,
                    _file(row.place),
                    row.place.sheet,
                    str(row.place.row),
                    _state(row),
                    " · ".join(f"{name}: {value}" for name, value in row.key.items()) or None,
                    ", ".join(row.codes) or None,
                )
            )
            for row in proof.rows
        ],
        none=Text(
            pt="Nenhuma linha falta, se repete, está sem resultado ou onde não devia.",
            en="No row is missing, there more than once, unknown, or where it should not be.",
        ),
    )


def refused_grid(proof: Proof) -> Grid:
    """Return what the system said of the rows that were not written."""
    return Grid(
        sheet=Text(pt="Rejeitadas", en="Rejected rows"),
        headings=(
            _STEP,
            _WORKBOOK,
            _SHEET,
            _ROW,
            _CELL,
            _COLUMN,
            Heading(Text(pt="Motivo", en="Reason"), 60),
        ),
        lines=[
            Line(
                (
                    row.step,
                    _retried(row),
                    row.sheet,
                    None if row.row is None else str(row.row),
                    row.cell,
                    row.column,
                    row.message,
                )
            )
            for row in proof.refused
        ],
        none=Text(pt="Nenhuma linha foi rejeitada.", en="No row was rejected."),
        about=Text(
            pt="O que o sistema respondeu de cada linha que ao fim não foi gravada.",
            en="What the system answered of each row that was not written in the end.",
        ),
    )


def _file(place: Place) -> Value:
    """Name the file that a row was sent from, and where it stands in the step's workbook."""
    if place.file.name == place.workbook.name:
        return place.file.name
    return _MENDED.format(file=place.file.name, row=place.origin, workbook=place.workbook.name)


def _retried(row: RefusedRow) -> str:
    if row.file.name == row.workbook.name:
        return row.file.name
    return f"{row.file.name} ({row.workbook.name})"


def _state(row: OpenRow) -> Text:
    if row.state is not Open.UNKNOWN:
        return _STATES[row.state]
    if not row.key:
        return _DOUBT_NO_KEY
    return _DOUBT_FOUND if row.codes else _DOUBT_NOT_FOUND
