"""The pinned installation with hashes has the versions that the tests use."""

import re

from environment import ROOT


def pins(text: str) -> set[tuple[str, str]]:
    """Return the normalised names with their versions, of which markers may choose one."""
    found = re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE)
    return {(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in found}


def test_every_requirement_has_the_tested_version_and_hashes() -> None:
    text = (ROOT / "packaging" / "requirements.txt").read_text("utf-8")
    tested = pins((ROOT / "constraints.txt").read_text("utf-8"))
    required = pins(text)
    assert len(required) > 30
    assert required - tested == set()
    assert len(re.findall(r"\\\n    --hash=sha256:[0-9a-f]{64}\b", text)) >= len(required)
