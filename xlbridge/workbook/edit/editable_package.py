"""Parts of an .xlsx file: some are changed, all others kept byte for byte.

Only for files that passed the safety checks (``read/archive.py``): there are no limits here.
"""

import posixpath
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from lxml import etree

from xlbridge.errors import WorkbookRefused
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text
from xlbridge.workbook.address import MAX_TEXT_LENGTH, escape_text

_FORBIDDEN_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


Element = Any
"""Element of an XML tree; lxml has no types."""

WORKBOOK = "xl/workbook.xml"
_TYPES = "[Content_Types].xml"
_TYPES_SPACE = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS_SPACE = "http://schemas.openxmlformats.org/package/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_DECLARED_ENCODING = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.-]+)["'][^>]*\?>""")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PARSE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    etree.LxmlError,
    ExpatError,
    LookupError,
    ValueError,
)


def in_utf8(content: bytes) -> bytes:
    """Return an XML part in UTF-8, without a declaration of another encoding.

    Raises ``LookupError`` or ``ValueError`` if the declared encoding is wrong.
    """
    if content.startswith(_UTF16_MARKS):
        text = content.decode("utf-16")
        return re.sub(r"^\s*<\?xml.*?\?>", "", text).encode()
    declared = _DECLARED_ENCODING.match(content)
    if declared is None or declared[1].lower() in {b"utf-8", b"us-ascii", b"ascii"}:
        return content
    return content[declared.end() :].decode(declared[1].decode()).encode()


def parse_xml(content: bytes, *, recover: bool = False) -> Element:
    """Parse an XML part; ``recover`` accepts malformed XML."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=True, recover=recover
    )
    return etree.fromstring(in_utf8(content), parser)


def to_xml(root: Element) -> bytes:
    """Return a tree as an XML part, with its original prefixes."""
    content: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return content


def local_name(element: Element) -> str:
    """Return an element's name without its namespace, empty for comments."""
    tag = element.tag
    return str(tag).rpartition("}")[2] if isinstance(tag, str) else ""


def find_child(parent: Element, name: str) -> Element | None:
    """Return the first child of a local name."""
    return next((item for item in parent if local_name(item) == name), None)


def list_entries(parent: Element, name: str) -> list[Element]:
    """Return the elements in the first child of a local name, none if there is none."""
    listing = find_child(parent, name)
    return [] if listing is None else [item for item in listing if isinstance(item.tag, str)]


def add_child(parent: Element, name: str, /, **attributes: str) -> Element:
    """Append a child in the parent's namespace and return it."""
    return etree.SubElement(parent, tag_like(parent, name), attributes)


def add_text(parent: Element, text: str) -> None:
    """Append a text, with characters that XML forbids replaced; too long a text is cut."""
    allowed = _FORBIDDEN_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text)
    child = add_child(parent, "t")
    child.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    child.text = escape_text(allowed[:MAX_TEXT_LENGTH])


def relation_id(element: Element) -> str | None:
    """Return the id of an element's relation, in any namespace."""
    return next((v for k, v in element.attrib.items() if k.endswith("}id")), None)


def tag_like(element: Element, name: str) -> str:
    """Return a tag in an element's namespace, which differs between strict and other files."""
    space = etree.QName(element).namespace
    return f"{{{space}}}{name}" if space else name


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
        raise WorkbookRefused(
            "unreadable",
            Text(
                pt="{path} pode ser conferido, mas não copiado com mudanças.",
                en="{path} can be checked, but not copied with changes.",
            ).format(path=path),
            Text(
                pt="Abra-o no Excel, salve de novo como .xlsx e tente outra vez.",
                en="Open it in Excel, save it again as .xlsx and try once more.",
            ),
        ) from error


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
    def tree(self, part: str) -> Iterator[Element]:
        """Yield a part as a tree, and write it on exit."""
        root = parse_xml(self.read(part))
        yield root
        self.write(part, to_xml(root))

    def unused_name(self, pattern: str) -> str:
        """Return the first unused part name of a pattern such as ``xl/comments{}.xml``."""
        number = 1
        while pattern.format(number) in self:
            number += 1
        return pattern.format(number)

    def declare_part(self, part: str, content_type: str) -> None:
        """Declare the content type of a new part."""
        with self.tree(_TYPES) as types:
            etree.SubElement(
                types,
                f"{{{_TYPES_SPACE}}}Override",
                {"PartName": f"/{part}", "ContentType": content_type},
            )

    def declare_extension(self, extension: str, content_type: str) -> None:
        """Declare the content type of an extension, unless it is declared."""
        with self.tree(_TYPES) as types:
            if any(item.get("Extension", "").lower() == extension for item in types):
                return
            default = etree.Element(f"{{{_TYPES_SPACE}}}Default")
            default.set("Extension", extension)
            default.set("ContentType", content_type)
            types.insert(0, default)

    def related(self, part: str, kind: str) -> str | None:
        """Return the related part of a kind such as ``comments``, None if there is none."""
        for item in self._relations(part):
            if item.get("Type", "").endswith(f"/{kind}"):
                return _target_part(part, item)
        return None

    def relation_target(self, part: str, identity: str | None) -> str | None:
        """Return the target of a part's relation, None if there is none of that id."""
        for item in self._relations(part):
            if item.get("Id") == identity:
                return _target_part(part, item)
        return None

    def add_relation(self, part: str, target: str, kind: str) -> str:
        """Add a relation between two parts and return its id."""
        relations = self._relations(part)
        used = {item.get("Id") for item in relations}
        identity = next(i for i in (f"rXb{n}" for n in range(1, len(used) + 2)) if i not in used)
        types = (item.get("Type", "").rpartition("/")[0] for item in relations)
        kinds = next((base for base in types if "officeDocument" in base), RELATIONS)
        etree.SubElement(
            relations,
            f"{{{_RELATIONS_SPACE}}}Relationship",
            {"Id": identity, "Type": f"{kinds}/{kind}", "Target": f"/{target}"},
        )
        self.write(_relations_part(part), to_xml(relations))
        return identity

    def save(self, target: Path) -> None:
        """Write the copy atomically, readable by its owner only.

        Raises ``UsageError`` if it cannot be written.
        """
        written = set()
        with (
            replace_atomically(target) as temporary,
            zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as copy,
        ):
            for entry in self._source.infolist():
                written.add(entry.filename)
                member = zipfile.ZipInfo(entry.filename, entry.date_time)
                member.compress_type, member.external_attr = (
                    zipfile.ZIP_DEFLATED,
                    entry.external_attr,
                )
                if entry.filename in self._changed:
                    copy.writestr(member, self._changed[entry.filename])
                    continue
                with self._source.open(entry) as content, copy.open(member, "w") as output:
                    shutil.copyfileobj(content, output, 1 << 20)
            for name, added in self._changed.items():
                if name not in written:
                    copy.writestr(name, added)

    def _relations(self, part: str) -> Element:
        name = _relations_part(part)
        if name in self:
            return parse_xml(self.read(name))
        return etree.Element(f"{{{_RELATIONS_SPACE}}}Relationships", nsmap={None: _RELATIONS_SPACE})


def _relations_part(part: str) -> str:
    folder, name = posixpath.split(part)
    return f"{folder}/_rels/{name}.rels"


def _target_part(part: str, relation: Element) -> str:
    target = str(relation.get("Target", ""))
    if target.startswith("/"):
        return target.lstrip("/")
    return posixpath.normpath(posixpath.join(posixpath.dirname(part), target))
