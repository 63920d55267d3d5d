"""Check what a release needs besides the tests; print what is missing, and return 1 then.

The checks of ``make release-check`` before this one are style, types and the site.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the checks."""
    init = (ROOT / "xlbridge" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "([^"]+)"$', init, re.MULTILINE)
    missing = [
        *_changelog(version),
        *repository_problems(version),
        *_security(),
        *missing_digest(),
        *_archives(version),
    ]
    for line in missing:
        print(f"✗ {line}")
    print(f"{version}: {'not ready' if missing else 'ready to be tagged'}")
    return int(bool(missing))


def _changelog(version: str) -> list[str]:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[([^\]]+)\](.*)$", text, re.MULTILINE)
    if not headings or headings[0][0] != version:
        return [f"CHANGELOG.md: the first entry is not that of {version}."]
    dated = re.fullmatch(r" - \d{4}-\d\d-\d\d", headings[0][1])
    return [] if dated else [f"CHANGELOG.md: the entry of {version} has no date (YYYY-MM-DD)."]


def repository_problems(version: str) -> list[str]:
    """Return what is wrong with the checkout; its tag may exist, as where it starts a release."""
    changed = _git("status", "--porcelain")
    tags = _git("tag", "--list", f"v{version}", "--no-contains", "HEAD")
    return [
        *(["git: there are uncommitted changes."] if changed else []),
        *([f"git: the tag v{version} is another commit; raise the version."] if tags else []),
    ]


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=ROOT,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout.strip()


def _security() -> list[str]:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    return ["SECURITY.md: fill in the address for reports."] if "ADDRESS" in text else []


def missing_digest() -> list[str]:
    """Return what to do if the image's base is not pinned."""
    text = (ROOT / "packaging" / "Dockerfile").read_text(encoding="utf-8")
    pinned = re.search(r"^FROM \S+@sha256:[0-9a-f]{64} AS base$", text, re.MULTILINE)
    return [] if pinned else ["packaging/Dockerfile: pin the base by its digest."]


def _archives(version: str) -> list[str]:
    """Build both archives, and name files of the checkout that the source archive lacks."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, str(ROOT)],
            check=True,
            capture_output=True,
        )
        names = {path.name for path in Path(folder).iterdir()}
        wheel = f"xlbridge-{version}-py3-none-any.whl"
        if names != {wheel, f"xlbridge-{version}.tar.gz"}:
            return [f"build: unexpected archives {sorted(names)}."]
        with zipfile.ZipFile(Path(folder) / wheel) as archive:
            packed = set(archive.namelist())
    tracked = _git("ls-files", "xlbridge").splitlines()
    left_out = sorted(set(tracked) - packed)
    return [f"wheel: {name} is missing." for name in left_out]


if __name__ == "__main__":
    sys.exit(main())
