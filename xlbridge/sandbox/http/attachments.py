"""Downloads of attached files under the URL in their record, token included.

The spec shows URLs with a token but no file. The response is a small file with the attachment's
name, so that downloads can be rehearsed.
"""

import re
from urllib.parse import quote
from xml.sax.saxutils import escape

from sqlalchemy import Connection, Row, select
from starlette.responses import Response

from xlbridge.sandbox.areas.financial.tables import payable_files
from xlbridge.sandbox.areas.purchasing.tables import purchase_order_files
from xlbridge.sandbox.handler_registry import Sandbox
from xlbridge.sandbox.http.messages import failure_response

_TOKEN = re.compile(r"[0-9a-f]{32}")
_PDF = "application/pdf"
_MEDIA_TYPES = {"pdf": _PDF, "xml": "application/xml"}


def attachment_response(sandbox: Sandbox, name: str, token: str) -> Response:
    """Return the file with this name and token, or a 404 response."""
    with sandbox.storage.transaction(writing=False) as connection:
        file = _find_file(connection, name, token)
    if file is None:
        return failure_response(404, [("", "Arquivo não encontrado.")])
    media_type = _MEDIA_TYPES.get(name.rpartition(".")[2].lower(), _PDF)
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "X-Content-Type-Options": "nosniff",
    }
    text = f"{name} - {file.Observacao or 'arquivo de teste'}"
    xml = f'<?xml version="1.0" encoding="UTF-8"?>\n<arquivo>{escape(text)}</arquivo>\n'
    content = _pdf_page(text) if media_type == _PDF else xml
    return Response(content, media_type=media_type, headers=headers)


def _find_file(connection: Connection, name: str, token: str) -> Row[tuple[str | None]] | None:
    if not _TOKEN.fullmatch(token):
        return None
    for files in (payable_files, purchase_order_files):
        condition = files.c.Url.endswith(f"token={token}") & (files.c.NomeDoArquivo == name)
        file = connection.execute(select(files.c.Observacao).where(condition)).first()
        if file is not None:
            return file
    return None


def _pdf_page(text: str) -> bytes:
    """Return a PDF of one page with one line."""
    line = re.sub(r"([\\()])", r"\\\1", text).encode("latin-1", "replace")
    drawing = b"BT /F1 12 Tf 60 760 Td (" + line + b") Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawing), drawing),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    document, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(document))
        document += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return document + (
        b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n<< /Size %d /Root 1 0 R >>\n"
        b"startxref\n%d\n%%%%EOF\n" % (size, table, size, len(document))
    )
