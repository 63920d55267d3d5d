"""What a release is checked for, and the manifests for winget that are made from its files."""

import hashlib
import importlib.util
import re
import subprocess
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from environment import ROOT

from xlbridge import __version__


def script(name: str) -> ModuleType:
    """Import a script of packaging/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def zipped(folder: Path, member: str) -> Path:
    path = folder / f"xlbridge-{__version__}-windows-x64.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "")
    return path


def test_the_manifests_for_winget_name_the_zip_of_the_release(tmp_path: Path) -> None:
    winget = script("winget_manifests")
    archive = zipped(tmp_path, "xlbridge/xlbridge.exe")
    texts = winget.manifests(archive, "https://git.example/xlbridge/")
    read: dict[str, dict[str, Any]] = {name: yaml.safe_load(texts[name]) for name in texts}
    assert {one["PackageVersion"] for one in read.values()} == {__version__}
    kinds = {one["ManifestType"]: one for one in read.values()}
    assert kinds.keys() == {"version", "installer", "defaultLocale", "locale"}
    (installer,) = kinds["installer"]["Installers"]
    assert installer["InstallerSha256"] == hashlib.sha256(archive.read_bytes()).hexdigest().upper()
    assert installer["InstallerUrl"].endswith(f"/releases/download/v{__version__}/{archive.name}")
    assert installer["InstallerUrl"].startswith("https://git.example/xlbridge/releases/")
    assert kinds["version"]["DefaultLocale"] == kinds["defaultLocale"]["PackageLocale"]


def test_a_zip_without_the_program_has_no_manifests(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="is missing"):
        script("winget_manifests").manifests(zipped(tmp_path, "xlbridge.exe"), "https://x.example")


def test_a_release_needs_the_digest_of_its_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = script("release_check")
    assert check.missing_digest() == []
    monkeypatch.setattr(check, "ROOT", tmp_path)
    (tmp_path / "packaging").mkdir()
    file = tmp_path / "packaging" / "Dockerfile"
    shipped = (ROOT / "packaging" / "Dockerfile").read_text(encoding="utf-8")
    digest = re.findall("@sha256:[0-9a-f]{64}", shipped)[0]
    for changed in ("", "@sha256:0", digest[:-1]):
        file.write_text(shipped.replace(digest, changed), encoding="utf-8")
        assert len(check.missing_digest()) == 1


@pytest.mark.processes
def test_a_version_is_tagged_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tag itself starts the release, which checks again."""

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True)

    check = script("release_check")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "First")
    assert check.repository_problems("9.9.9") == []
    git("tag", "v9.9.9")
    assert check.repository_problems("9.9.9") == []
    git("commit", "--quiet", "--allow-empty", "--message", "Second")
    (problem,) = check.repository_problems("9.9.9")
    assert "v9.9.9" in problem
    (tmp_path / "new").touch()
    assert len(check.repository_problems("9.9.9")) == 2
