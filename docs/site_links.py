"""Copy what pages link to outside docs/ into the site, and turn those links to the copies.

Pages link to samples, templates and the readme where they are in the repository; the site has docs/
only. Folders, which a site does not show, become plain text. A hook of MkDocs.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)\s#]*)(#[^)\s]*)?\)")
_COPIES = "project"
"""Folder of the site with what lies outside docs/."""


def _outside(page: str, target: str) -> str | None:
    """Return the path of a link's target from the repository's root, None within docs/."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if path.startswith("docs/") or path == "docs" else path


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every file outside docs/ that a page links to."""
    for page in list(files.documentation_pages()):
        for _, target, _ in _LINK.findall(page.content_string):
            path = _outside(page.src_uri, target)
            if path is None or not (_ROOT / path).is_file():
                continue
            name = f"{_COPIES}/{path}"
            if files.get_file_from_path(name) is None:
                # A page of its own would need the links of its own turned, too.
                kept = f"{name}.txt" if path.endswith(".md") else name
                if files.get_file_from_path(kept) is None:
                    files.append(File.generated(config, kept, abs_src_path=str(_ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links that leave docs/ to the copies."""

    def turned(link: re.Match[str]) -> str:
        text, target, _ = link.groups()
        path = _outside(page.file.src_uri, target)
        if path is None:
            return link[0]
        kept = f"{_COPIES}/{path}.txt" if path.endswith(".md") else f"{_COPIES}/{path}"
        if files.get_file_from_path(kept) is None:
            return text
        start = posixpath.dirname(page.file.src_uri) or "."
        return f"[{text}]({posixpath.relpath(kept, start)})"

    return _LINK.sub(turned, markdown)
