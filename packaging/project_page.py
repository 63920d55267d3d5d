"""Build hook: readme and addresses of the package's metadata.

Package indexes show the readme outside the repository, where its relative links lead nowhere. With
the repository's address in ``XLBRIDGE_REPOSITORY``, links and pictures lead to the files of the
release's tag, and the metadata lists the addresses of the project.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_ADDRESS = "XLBRIDGE_REPOSITORY"
_RELATIVE_LINK = re.compile(
    r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|mailto:|#)(?P<path>[^)\s]+)\)"
)


class ProjectPage(MetadataHookInterface):
    """Fills in the dynamic fields ``readme`` and ``urls``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the fields; without an address, the readme is taken as it is."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        address = os.environ.get(_ADDRESS, "").rstrip("/")
        if address:
            tag = f"v{metadata['version']}"
            readme = _with_absolute_links(readme, address, tag)
            files = f"{address}/blob/{tag}"
            metadata["urls"] = {
                "Repository": address,
                "Documentation": f"{files}/docs/README.md",
                "Changelog": f"{files}/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def _with_absolute_links(markdown: str, address: str, tag: str) -> str:
    """Return Markdown whose relative links lead to the repository's files at a tag."""

    def absolute(link: re.Match[str]) -> str:
        # A picture needs the file itself, not the page that shows it.
        view = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({address}/{view}/{tag}/{link['path']})"

    return _RELATIVE_LINK.sub(absolute, markdown)
