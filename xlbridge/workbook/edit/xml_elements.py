"""Elements of an XML part: parsing, searching, adding."""

import re
from collections.abc import Sequence
from typing import Any

from lxml import etree

from xlbridge.workbook.address import MAX_TEXT_LENGTH, escape_text

Element = Any
"""Element of an XML tree; lxml has no types."""

_FORBIDDEN_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def parse(content: bytes, *, recover: bool = False) -> Element:
    """Parse an XML part; ``recover`` accepts malformed XML."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=True, recover=recover
    )
    return etree.fromstring(content, parser)


def without_comments(content: bytes) -> bytes:
    """Return an XML part in UTF-8 without comments, CDATA sections and processing instructions."""
    if b"<!" not in content and content.rfind(b"<?") <= 0:
        return content
    root = parse(content)
    etree.strip_tags(root, etree.Comment, etree.ProcessingInstruction)
    return to_bytes(root)


def to_bytes(root: Element) -> bytes:
    """Return a tree as an XML part, with its original prefixes."""
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True))


def local_name(element: Element) -> str:
    """Return an element's name without its namespace, empty for comments."""
    tag = element.tag
    return str(tag).rpartition("}")[2] if isinstance(tag, str) else ""


def add_child(parent: Element, name: str, /, **attributes: str) -> Element:
    """Append a child in the parent's namespace and return it."""
    return etree.SubElement(parent, tag_like(parent, name), attributes)


def allowed_text(text: str) -> str:
    """Return a text with characters that XML forbids replaced; too long a text is cut."""
    return _FORBIDDEN_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text)[:MAX_TEXT_LENGTH]


def add_text(parent: Element, text: str) -> None:
    """Append a text, as ``allowed_text`` returns it."""
    child = add_child(parent, "t")
    child.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    child.text = escape_text(allowed_text(text))


def relation_id(element: Element) -> str | None:
    """Return the id of an element's relation, in any namespace."""
    return next((v for k, v in element.attrib.items() if k.endswith("}id")), None)


def tag_like(element: Element, name: str) -> str:
    """Return a tag in an element's namespace, which differs between strict and other files."""
    space = etree.QName(element).namespace
    return f"{{{space}}}{name}" if space else name


def insert_in_order(parent: Element, element: Element, order: Sequence[str]) -> None:
    """Insert a child in the required ``order``, after others of its name."""
    later = order[order.index(local_name(element)) + 1 :]
    following = next((item for item in parent if local_name(item) in later), None)
    if following is None:
        parent.append(element)
    else:
        following.addprevious(element)


def find_or_insert(parent: Element, name: str, order: Sequence[str]) -> Element:
    """Return the first child of a local name; a missing one is inserted in the required order."""
    found = parent.find(f"{{*}}{name}")
    if found is None:
        found = etree.Element(tag_like(parent, name))
        insert_in_order(parent, found, order)
    return found
