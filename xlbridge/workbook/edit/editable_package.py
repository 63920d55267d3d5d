"""Parts of an .xlsx file: some are changed, all others kept byte for byte.

Only for files that passed the safety checks (``read/archive.py``): there are no limits here.
"""

import posixpath
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import count
from pathlib import Path

from lxml import etree

from xlbridge.files import replace_atomically
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.read.refusals import not_editable

WORKBOOK = "xl/workbook.xml"
_TYPES = "[Content_Types].xml"
_NO_RELATIONS = (
    b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>'
)
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PARSE_ERRORS = (zipfile.BadZipFile, zlib.error, etree.LxmlError, LookupError, ValueError)


@contextmanager
def edit_package(path: Path) -> Iterator["EditablePackage"]:
    """Open an .xlsx file for a changed copy.

    Raises ``WorkbookRefused`` if the parts to change cannot be parsed.
    """
    try:
        with zipfile.ZipFile(path) as source:
            yield EditablePackage(source)
    except _PARSE_ERRORS as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            # A second Ctrl-C, while the copy was being closed because of the first.
            raise error.__context__ from None
        raise not_editable(path) from error


class EditablePackage:
    """An .xlsx file opened for a changed copy."""

    def __init__(self, source: zipfile.ZipFile) -> None:
        self._source = source
        self._names = {name.lower(): name for name in source.namelist()}
        self._changed: dict[str, bytes] = {}

    def __contains__(self, part: str) -> bool:
        return part in self._changed or part.lower() in self._names

    def read(self, part: str) -> bytes:
        """Return a part's content. Raises ``KeyError`` if there is none."""
        if part in self._changed:
            return self._changed[part]
        return self._source.read(self._names[part.lower()])

    def write(self, part: str, content: bytes) -> None:
        """Replace a part, or add one."""
        self._changed[self._names.get(part.lower(), part)] = content

    @contextmanager
    def tree(self, part: str) -> Iterator[xml.Element]:
        """Yield a part as a tree, and write it on exit."""
        root = xml.parse(self.read(part))
        yield root
        self.write(part, xml.to_bytes(root))

    def unused_name(self, pattern: str) -> str:
        """Return the first unused part name of a pattern such as ``xl/comments{}.xml``."""
        return next(name for name in map(pattern.format, count(1)) if name not in self)

    def add_part(self, part: str, content_type: str, owner: str, kind: str) -> str:
        """Declare a new part, add the relation of its owner to it and return the relation's id."""
        with self.tree(_TYPES) as types:
            xml.add_child(types, "Override", PartName=f"/{part}", ContentType=content_type)
        return self.add_relation(owner, part, kind)

    def declare_extension(self, extension: str, content_type: str) -> None:
        """Declare the content type of an extension, unless it is declared."""
        with self.tree(_TYPES) as types:
            if any(item.get("Extension", "").lower() == extension for item in types):
                return
            default = etree.Element(xml.tag_like(types, "Default"), Extension=extension)
            default.set("ContentType", content_type)
            types.insert(0, default)

    def related(self, part: str, kind: str) -> str | None:
        """Return the related part of a kind such as ``comments``, None if there is none."""
        return self._target(part, lambda item: str(item.get("Type", "")).endswith(f"/{kind}"))

    def relation_target(self, part: str, identity: str | None) -> str | None:
        """Return the target of a part's relation, None if there is none of that id."""
        return self._target(part, lambda item: bool(item.get("Id") == identity))

    def add_relation(self, part: str, target: str, kind: str) -> str:
        """Add a relation between two parts and return its id."""
        relations = self._relations(part)
        used = {item.get("Id") for item in relations}
        identity = next(i for i in (f"rXb{n}" for n in range(1, len(used) + 2)) if i not in used)
        types = (item.get("Type", "").rpartition("/")[0] for item in relations)
        kinds = next((base for base in types if "officeDocument" in base), RELATIONS)
        added = xml.add_child(relations, "Relationship", Id=identity, Type=f"{kinds}/{kind}")
        added.set("Target", f"/{target}")
        self.write(_relations_part(part), xml.to_bytes(relations))
        return identity

    def save(self, target: Path) -> None:
        """Write the copy atomically, readable by its owner only.

        Raises ``UsageError`` if it cannot be written.
        """
        with (
            replace_atomically(target) as temporary,
            zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as copy,
        ):
            for entry in self._source.infolist():
                member = zipfile.ZipInfo(entry.filename, entry.date_time)
                member.compress_type = zipfile.ZIP_DEFLATED
                member.external_attr = entry.external_attr
                changed = self._changed.get(entry.filename)
                content = self._source.open(entry) if changed is None else BytesIO(changed)
                with content, copy.open(member, "w") as output:
                    shutil.copyfileobj(content, output, 1 << 20)
            for name, added in self._changed.items():
                if name not in self._source.NameToInfo:
                    copy.writestr(name, added)

    def _target(self, part: str, is_wanted: Callable[[xml.Element], bool]) -> str | None:
        """Return the target of the first wanted relation of a part."""
        target = next((r.get("Target", "") for r in self._relations(part) if is_wanted(r)), None)
        # A path from the root stays, any other is relative to the part's folder.
        folder = posixpath.join("/", posixpath.dirname(part))
        return target and posixpath.normpath(posixpath.join(folder, target)).lstrip("/")

    def _relations(self, part: str) -> xml.Element:
        name = _relations_part(part)
        return xml.parse(self.read(name) if name in self else _NO_RELATIONS)


def _relations_part(part: str) -> str:
    folder, name = posixpath.split(part)
    return f"{folder}/_rels/{name}.rels"
