"""Write ``xlbridge/resources/shipped_schemas.json``: schema files completed from their models.

Usage: python docs/generate_shipped_schemas.py [FILE]
"""

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

from xlbridge.resources.names import SHARED_COLUMNS, SHIPPED_FILE, schemas_folder
from xlbridge.resources.schema_content import completed, shared_columns
from xlbridge.resources.yaml_files import YamlDocument


def shipped_json() -> str:
    """Return the schema files by name as JSON, one line per block."""
    files, folder = [], schemas_folder()
    # Those of lists stand in folders beside their records', shared columns in one of their own.
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*/*.yaml")]):
        if path.parent.name == "shared":
            continue
        content = completed(YamlDocument(path.read_text(encoding="utf-8")).content)
        blocks = (f"  {_json(key)}: {_lines(value)}" for key, value in content.items())
        files.append(
            f"{_json(path.relative_to(folder).as_posix())}: {{\n" + ",\n".join(blocks) + "\n}"
        )
    titles = {
        name: {"title": body["title"], "title_en": body["title_en"]}
        for name, body in shared_columns().items()
    }
    files.append(f"{_json(SHARED_COLUMNS)}: {_lines(titles)}")
    return "{\n" + ",\n".join(files) + "\n}\n"


def _lines(value: Any) -> str:
    if not isinstance(value, dict):
        return _json(value)
    lines = (f"    {_json(key)}: {_json(part)}" for key, part in value.items())
    return "{\n" + ",\n".join(lines) + "\n  }"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_date)


def _date(value: date) -> dict[str, str]:
    return {"date": value.isoformat()}


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED_FILE
    target.write_text(shipped_json(), encoding="utf-8")
