"""Shipped schema files are valid, and their JSON copy is up to date."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from environment import ROOT

from xlbridge.resources import load_catalogue, schema_file_format


@pytest.mark.parametrize("path", sorted((ROOT / "schemas").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_shipped_files_fit_the_json_schema(path: Path) -> None:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    document = json.loads(json.dumps(content, default=str))
    validator = jsonschema_rs.Draft202012Validator(schema_file_format())
    assert [error.message for error in validator.iter_errors(document)] == []
    column = next(iter(document["columns"].values()))
    column["dtype"] = "text"
    assert [e.instance_path[-1] for e in validator.iter_errors(document)] == ["dtype"]


@pytest.mark.processes
def test_shipped_json_matches_the_schema_files(tmp_path: Path) -> None:
    written = tmp_path / "shipped_schemas.json"
    script = ROOT / "docs" / "generate_shipped_schemas.py"
    subprocess.run([sys.executable, script, written], check=True)
    committed = ROOT / "xlbridge" / "resources" / written.name
    assert committed.read_text(encoding="utf-8") == written.read_text(encoding="utf-8"), (
        "run: make reference"
    )


def test_shipped_resource_equals_that_of_its_file() -> None:
    of_files = load_catalogue(ROOT / "schemas")
    for name, resource in load_catalogue().items():
        assert of_files[name] == resource, name
