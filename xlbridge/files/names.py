"""Names of files as people write them: in any case and any Unicode form, and with patterns."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from pathlib import Path


def folded_name(name: str) -> str:
    """Return a name or path that is equal for names which differ in case or Unicode form only."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


_MAX_BYTES = 255
"""Length of a name that file systems allow."""


def path_beside(path: Path, ending: str) -> Path:
    """Return the path of a file about another one, in its folder: its stem, then an ending.

    A stem that is too long for that is shortened.
    """
    stem = shortened_name(path.stem, _MAX_BYTES - len(os.fsencode(ending)))
    return path.with_name(f"{stem}{ending}")


def shortened_name(name: str, size: int) -> str:
    """Return as much of a name as fits into a number of bytes."""
    return name.encode(errors="surrogateescape")[:size].decode(errors="ignore")


def matching_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files that a path with ``*``, ``?``, ``[…]`` and ``**`` matches, sorted.

    A relative pattern starts at ``folder``. Case and Unicode form do not matter, but a name that
    exists exactly as it is written matches only itself, brackets included.
    """
    written = Path(pattern)
    start = Path(written.anchor) if written.anchor else folder
    parts = written.parts[1:] if written.anchor else written.parts
    return sorted({path for path in _matches(start, parts) if _is_true(path.is_file)})


def _matches(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    if not parts:
        yield folder
        return
    name, *rest = parts
    try:
        children = list(folder.iterdir())
    except OSError:
        # A folder that cannot be listed may still be entered.
        if _is_true((folder / name).exists):
            yield from _matches(folder / name, rest)
        return
    if name == "**":
        yield from _matches(folder, rest)
        for child in children:
            if _is_true(child.is_dir) and not child.is_symlink():
                yield from _matches(child, parts)
    elif name == ".." or any(child.name == name for child in children):
        yield from _matches(folder / name, rest)
    else:
        fits = re.compile(translate(folded_name(name))).match
        for child in children:
            if fits(folded_name(child.name)):
                yield from _matches(child, rest)


def _is_true(test: Callable[[], bool]) -> bool:
    """Return the answer about a path, False if the system gives none."""
    try:
        return test()
    except OSError:
        return False
