"""Write ``xlbridge/resources/model_fields.json``: what the models of shipped sheets say of fields.

Usage: python docs/generate_model_fields.py [FILE]
"""

import json
import sys
from pathlib import Path

import xlbridge
from xlbridge.resources.extensions import shipped_folder
from xlbridge.resources.model_columns import FIELDS_FILE, fields_of_model
from xlbridge.resources.yaml_files import YamlDocument

FIELDS = Path(xlbridge.__file__).parent / "resources" / FIELDS_FILE


def fields_json() -> str:
    """Return what the models that schema files name say of their fields, one line for each."""
    paths = sorted(shipped_folder("schemas").glob("*.yaml"))
    documents = (YamlDocument(path.read_text(encoding="utf-8")).content for path in paths)
    models = sorted(document["metadata"]["model"] for document in documents)
    lines = (
        f"{json.dumps(model)}: {{\n"
        + ",\n".join(
            f"  {json.dumps(name)}: {json.dumps(field)}"
            for name, field in fields_of_model(model).items()
        )
        + "\n}"
        for model in models
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FIELDS
    target.write_text(fields_json(), encoding="utf-8")
