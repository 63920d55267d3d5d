"""Links of the site of the documentation, in both languages. A hook of MkDocs.

Pages link to samples, templates and the readme where they are in the repository; the site has docs/
only. Such files are copied and the links turned to the copies; folders, which a site does not show,
become plain text. A page's line that leads to its other language gives way to the site's switch.
Headings of Portuguese pages keep the anchors of their English ones, as pages that exist in English
only link to them, and each language has a search index of its own. The site's name has the version.
"""

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

from xlbridge import __version__

_ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)\s#]*)(#[^)\s]*)?\)")
_COPIES = "project"
"""Folder of the site with what lies outside docs/."""
_PORTUGUESE = "pt-BR"
_SUFFIX = f".{_PORTUGUESE}.md"
_OTHER_LANGUAGE = re.compile(r"^\*\[(?:In English|Em português)\]\([^)]*\)\*\n", re.MULTILINE)
_HEADING = re.compile(r"^```(?s:.*?)^```$|^#+ (.*)$", re.MULTILINE)
_SLUG = slugify(case="lower")


def _outside(page: str, target: str) -> str | None:
    """Return the path of a link's target from the repository's root, None within docs/."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if path.startswith("docs/") or path == "docs" else path


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name the version at the top of each page: each release has a site of its own."""
    # Once for each language.
    config.site_name = f"{config.site_name.removesuffix(__version__).rstrip()} {__version__}"
    return config


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
    """Turn links that leave docs/ to the copies, and those between the languages."""
    source = page.file.src_uri

    def turned(link: re.Match[str]) -> str:
        text, target, _ = link.groups()
        path = _outside(source, target)
        if path is None:
            return link[0]
        kept = f"{_COPIES}/{path}.txt" if path.endswith(".md") else f"{_COPIES}/{path}"
        if files.get_file_from_path(kept) is None:
            return text
        return f"[{text}]({posixpath.relpath(kept, posixpath.dirname(source) or '.')})"

    markdown = _LINK.sub(turned, _OTHER_LANGUAGE.sub("", markdown))
    if not source.endswith(_SUFFIX):
        return markdown
    english = (Path(config.docs_dir) / source.replace(_SUFFIX, ".md")).read_text("utf-8")
    slugs = iter([_SLUG(text, "-") for text in _HEADING.findall(english) if text])

    def anchored(heading: re.Match[str]) -> str:
        if heading[1] is None or (slug := next(slugs, "")) in ("", _SLUG(heading[1], "-")):
            return heading[0]
        return f'<a id="{slug}"></a>\n\n{heading[0]}'

    return _HEADING.sub(anchored, markdown)


def on_page_context(
    context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation
) -> dict[str, Any]:
    """Make the folder of the Portuguese pages the root of their search."""
    if page.url.startswith(f"{_PORTUGUESE}/"):
        context["base_url"] = posixpath.relpath(_PORTUGUESE, posixpath.dirname(page.url))
    return context


@event_priority(-200)  # after the index is written
def on_post_build(config: MkDocsConfig) -> None:
    """Give each language a search index of its own pages."""
    site, prefix = Path(config.site_dir), f"{_PORTUGUESE}/"
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    portuguese = [
        entry | {"location": entry["location"].removeprefix(prefix)}
        for entry in index["docs"]
        if entry["location"].startswith(prefix)
    ]
    english = [entry for entry in index["docs"] if not entry["location"].startswith(prefix)]
    for folder, entries in ((site, english), (site / _PORTUGUESE, portuguese)):
        content = json.dumps(index | {"docs": entries}, ensure_ascii=False)
        (folder / "search").mkdir(parents=True, exist_ok=True)
        (folder / "search" / "search_index.json").write_text(content, "utf-8")
        (folder / "search" / "search_index.js").write_text(f"var __index = {content}", "utf-8")
