"""Validate damaged copies of good workbooks in a separate process.

Usage: python fuzzing.py FOLDER COUNT SEED FILE... For every copy that is neither validated nor
refused it prints a line of JSON and keeps the copy in FOLDER. The last line counts the outcomes.
"""

import json
import random
import sys
import traceback
import zipfile
from collections import Counter
from pathlib import Path

from packing import packed, unpacked

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.validation import validate_workbook

_SIGNIFICANT = [
    b"<",
    b">",
    b'"',
    b"&",
    b"/",
    b"\0",
    b"0",
    b"9" * 20,
    b"-1",
    b"1e999",
    b"NaN",
    b"&#0;",
]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with some changed, removed, duplicated or moved."""
    changed = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8))):
        offset = rng.randrange(len(changed) or 1)
        match rng.randrange(5):
            case 0:
                changed[offset : offset + 1] = bytes([rng.randrange(256)])
            case 1:
                changed[offset : offset + 1] = bytes([changed[offset] ^ 1 << rng.randrange(8)])
            case 2:
                del changed[offset : offset + rng.choice((1, 4, 64))]
            case 3:
                changed[offset:offset] = rng.choice(_SIGNIFICANT)
            case 4:
                end = offset + rng.choice((4, 32, 256))
                changed[offset:offset] = changed[offset:end]
        if not changed:
            break
    return bytes(changed)


def mutated(path: Path, rng: random.Random) -> bytes:
    """Return a damaged copy of the archive, or of one part in an intact archive."""
    if rng.randrange(2) or path.suffix in {".csv", ".xls"}:
        return damaged(path.read_bytes(), rng)
    parts = unpacked(path)
    name = rng.choice([name for name in parts if name.endswith((".xml", ".rels", ".bin"))])
    parts[name] = damaged(parts[name], rng)
    return packed(parts, zipfile.ZIP_STORED)


def outcome(path: Path, catalogue: Catalogue) -> str:
    try:
        sheet = validate_workbook(path, catalogue)
    except WorkbookRefused as refusal:
        return refusal.code
    except UsageError:
        return "usage"
    return "good" if sheet.ok else "findings"


def main() -> None:
    folder, count, seed, *sources = sys.argv[1:]
    rng, outcomes, catalogue = random.Random(int(seed)), Counter[str](), load_catalogue()
    for number in range(int(count)):
        source = Path(rng.choice(sources))
        path = Path(folder) / f"{number}{source.suffix}"
        path.write_bytes(mutated(source, rng))
        try:
            outcomes[outcome(path, catalogue)] += 1
        except BaseException:
            print(json.dumps({"file": str(path), "crash": traceback.format_exc()}), flush=True)
        else:
            path.unlink()
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
