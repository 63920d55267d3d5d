"""Download attached files: only from allowed addresses, never over another file.

Source: the spec, Payable entry (Arquivos) and Purchasing.
"""

import ipaddress
import re
import threading
import unicodedata
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from xlbridge.client import Record
from xlbridge.errors import UsageError
from xlbridge.export.listing_model import Listing
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.wire import Attachment, record_model

_MAX_NAME_LENGTH = 120
_UNSAFE = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?$")
_INVISIBLE = ("Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_CHUNK = 2**16
_TIMEOUT_SECONDS = 60.0
MAX_ATTACHMENT_BYTES = 50 * 2**20
"""Maximum size of a download."""


class AttachmentDownloads:
    """Downloads the attached files of records into a folder, named by their record's key.

    ``origin`` is the remote system's address: files are downloaded from there, or from public
    addresses by https. Failed downloads are listed in ``problems``, without their address.
    """

    def __init__(
        self, folder: Path, listing: Listing, origin: str, max_size: int = MAX_ATTACHMENT_BYTES
    ) -> None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(
                Text(pt="{path} não é uma pasta.", en="{path} is not a folder.").format(path=folder)
            )
        self._folder = folder
        self._listing = listing
        self._origin = urlsplit(origin)
        self._max_size = max_size
        self._lock = threading.Lock()
        self._fields = tuple(
            name
            for name, field in listing.model.model_fields.items()
            if record_model(field.annotation) is Attachment
        )
        self._used: set[Path] = set()
        self.files = 0
        self.problems: list[Text] = []

    def download(self, record: Record) -> None:
        """Download the files of one record; failures are added to ``problems``."""
        key = "-".join(str(record.get(name)) for name in self._listing.key)
        for attachment in chain.from_iterable(record.get(name) or () for name in self._fields):
            file_name = f"{key}-{attachment.get('Id')}-{attachment.get('NomeDoArquivo') or ''}"
            name = safe_name(file_name)
            try:
                address = str(attachment.get("Url") or "")
                self._require_allowed(address)
                self._write(name, self._content(address))
            except _Refused as error:
                self.problems.append(_problem(name, error.reason))
            except httpx.HTTPError as error:
                self.problems.append(_problem(name, type(error).__name__))
            else:
                self.files += 1

    def _write(self, name: str, content: Iterator[bytes]) -> None:
        """Write a file; refuse to replace another one of this export, or other content."""
        target = self._folder / name
        with self._lock:
            self._folder.mkdir(parents=True, exist_ok=True)
            if target in self._used:
                raise _Refused(
                    Text(
                        pt="outro anexo tem o mesmo nome", en="another attachment has the same name"
                    )
                )
            self._used.add(target)
        if not target.exists():
            with (
                replace_atomically(target, shared=True) as temporary,
                temporary.open("wb") as stream,
            ):
                stream.writelines(content)
            return
        with target.open("rb") as stream:
            is_same = all(stream.read(len(chunk)) == chunk for chunk in content)
            if not is_same or stream.read(1):
                raise _Refused(
                    Text(
                        pt="já existe, com outro conteúdo", en="exists already, with other content"
                    )
                )

    def _require_allowed(self, address: str) -> None:
        """Refuse addresses that are neither the remote system's nor public https ones."""
        parts = urlsplit(address)
        if (parts.scheme, parts.netloc) == (self._origin.scheme, self._origin.netloc):
            return
        host = parts.hostname or ""
        try:
            is_public = ipaddress.ip_address(host).is_global
        except ValueError:
            is_public = host != "localhost" and "." in host
        if parts.scheme != "https" or not is_public:
            raise _Refused(
                Text(
                    pt="o endereço não é https nem do próprio sistema",
                    en="its address is neither https nor the system's own",
                )
            )

    def _content(self, address: str) -> Iterator[bytes]:
        """Yield a file's content. The access token is not sent: the address carries its own."""
        size = 0
        with httpx.stream(
            "GET", address, timeout=_TIMEOUT_SECONDS, follow_redirects=False
        ) as answer:
            if not answer.is_success:
                raise _Refused(f"status {answer.status_code}")
            for chunk in answer.iter_bytes(_CHUNK):
                size += len(chunk)
                if size > self._max_size:
                    raise _Refused(Text(pt="grande demais", en="too large"))
                yield chunk


class _Refused(Exception):
    def __init__(self, reason: Text | str) -> None:
        super().__init__(str(reason))
        self.reason = reason


def safe_name(name: str) -> str:
    """Return a file name without folders, device names and characters that some systems refuse.

    Invisible characters, which may reverse the text direction, are removed.
    """
    safe = unicodedata.normalize("NFC", name)
    safe = "".join(char for char in safe if unicodedata.category(char) not in _INVISIBLE)
    safe = _UNSAFE.sub("_", safe).strip(" .") or "_"
    stem, dot, extension = safe.rpartition(".")
    if dot and len(extension) <= 10:
        safe = stem[: _MAX_NAME_LENGTH - len(extension) - 1] + dot + extension
    safe = safe[:_MAX_NAME_LENGTH]
    return f"_{safe}" if _DEVICES.match(safe) else safe


def _problem(name: str, reason: Text | str) -> Text:
    return Text(
        pt="Não baixado: {name} ({reason}).", en="Not downloaded: {name} ({reason})."
    ).format(name=name, reason=reason)
