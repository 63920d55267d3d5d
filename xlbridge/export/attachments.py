"""Download attached files: only from allowed addresses, never over another file.

Source: the spec, Payable entry (Arquivos) and Purchasing.
"""

import ipaddress
import re
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any
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
"""The largest file that is downloaded."""


class AttachmentDownloads:
    """Puts the attached files of records into a folder, each named by its record's key.

    ``origin`` is the remote system's address: a file comes from there, or from another place by
    https. What is not downloaded is told in ``problems``, without its address.
    """

    def __init__(
        self, folder: Path, listing: Listing, origin: str, most: int = MAX_ATTACHMENT_BYTES
    ) -> None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(
                Text(pt="{path} não é uma pasta.", en="{path} is not a folder.").format(path=folder)
            )
        self._folder = folder
        self._listing = listing
        self._origin = urlsplit(origin)
        self._most = most
        self._lock = threading.Lock()
        self._fields = tuple(
            name
            for name, field in listing.model.model_fields.items()
            if record_model(field.annotation) is Attachment
        )
        self._taken: set[Path] = set()
        self.files = 0
        self.problems: list[Text] = []

    def take(self, record: Record) -> None:
        """Download the files of one record. A file that cannot be had is a problem, no error."""
        key = "-".join(str(record.get(name)) for name in self._listing.key)
        for name in self._fields:
            for attachment in record.get(name) or ():
                self._fetch(key, attachment)

    def _fetch(self, key: str, attachment: Record) -> None:
        name = safe_name(f"{key}-{attachment.get('Id')}-{attachment.get('NomeDoArquivo') or ''}")
        try:
            address = self._checked(str(attachment.get("Url") or ""))
            self._write(self._place(name), self._content(address))
        except _Refused as refused:
            self.problems.append(_problem(name, refused.reason))
        except httpx.HTTPError as error:
            self.problems.append(_problem(name, type(error).__name__))
        else:
            self.files += 1

    def _place(self, name: str) -> Path:
        """Return where a file goes; a name that another one has taken is refused."""
        with self._lock:
            self._folder.mkdir(parents=True, exist_ok=True)
            target = self._folder / name
            if target in self._taken:
                raise _Refused(Text(pt="outro anexo tem o nome", en="another file has the name"))
            self._taken.add(target)
            return target

    def _write(self, target: Path, content: Iterator[bytes]) -> None:
        """Write a file; one that is there already stays, and is refused unless it is the same."""
        if not target.exists():
            with (
                replace_atomically(target, shared=True) as temporary,
                temporary.open("wb") as stream,
            ):
                stream.writelines(content)
        elif not _is_same(target, content):
            raise _Refused(
                Text(pt="já existe, com outro conteúdo", en="exists already, with another content")
            )

    def _checked(self, address: str) -> str:
        """Return an address that a file may come from; another is refused."""
        parts = urlsplit(address)
        ours = (self._origin.scheme, self._origin.netloc)
        if (parts.scheme, parts.netloc) != ours and not _is_public_https(parts):
            raise _Refused(
                Text(
                    pt="o endereço não é https nem do próprio sistema",
                    en="its address is neither https nor the system's own",
                )
            )
        return address

    def _content(self, address: str) -> Iterator[bytes]:
        """Yield a file's content. The system's own token is not sent: the address carries one."""
        size = 0
        with httpx.stream(
            "GET", address, timeout=_TIMEOUT_SECONDS, follow_redirects=False
        ) as answer:
            if not answer.is_success:
                raise _Refused(f"status {answer.status_code}")
            for chunk in answer.iter_bytes(_CHUNK):
                size += len(chunk)
                if size > self._most:
                    raise _Refused(Text(pt="grande demais", en="too large"))
                yield chunk


class _Refused(Exception):
    def __init__(self, reason: Text | str) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _is_same(path: Path, content: Iterator[bytes]) -> bool:
    with path.open("rb") as stream:
        are_same = all(stream.read(len(chunk)) == chunk for chunk in content)
        return are_same and not stream.read(1)


def safe_name(name: str) -> str:
    """Return a file's name without folders, devices, and symbols that some system refuses.

    What is not seen, and may turn the rest around, is left out.
    """
    plain = unicodedata.normalize("NFC", name)
    plain = "".join(char for char in plain if unicodedata.category(char) not in _INVISIBLE)
    plain = _UNSAFE.sub("_", plain).strip(" .") or "_"
    stem, dot, ending = plain.rpartition(".")
    if dot and len(ending) <= 10:
        plain = stem[: _MAX_NAME_LENGTH - len(ending) - 1] + dot + ending
    plain = plain[:_MAX_NAME_LENGTH]
    return f"_{plain}" if _DEVICES.match(plain) else plain


def _is_public_https(parts: Any) -> bool:
    host = parts.hostname or ""
    try:
        private = not ipaddress.ip_address(host).is_global
    except ValueError:
        private = host == "localhost" or "." not in host
    return parts.scheme == "https" and not private


def _problem(name: str, reason: Text | str) -> Text:
    return Text(
        pt="Não baixado: {name} ({reason}).", en="Not downloaded: {name} ({reason})."
    ).format(name=name, reason=reason)
