"""Atomic writes, checks of output paths, locks between processes, names and paths."""

import os
import re
import shlex
import stat
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import translate
from pathlib import Path
from typing import BinaryIO, Literal

from xlbridge.errors import (
    CHECK_HOME,
    LocalFailure,
    UsageError,
    XlbridgeError,
    is_local_failure,
    local_failure,
    os_error_reason,
    os_error_remedy,
)
from xlbridge.i18n import Text


def folded_name(name: str) -> str:
    """Return a name or path that is equal for names which differ in case or Unicode form only."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


_MAX_BYTES = 255
"""Length of a name that file systems allow."""


def path_beside(path: Path, ending: Text | str) -> Path:
    """Return the path of a file about another one, in its folder: its stem, then an ending in the
    active language.

    A stem that is too long for that is shortened.
    """
    stem = shortened_name(path.stem, _MAX_BYTES - len(os.fsencode(str(ending))))
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


Shell = Literal["sh", "powershell", "cmd"]

_ANOTHER_FILE = Text(pt="Grave em outro arquivo.", en="Write to another file.")
_IS_LINK = Text(
    pt="é um link, e nada é gravado através de um",
    en="it is a link, and links are not followed when writing",
)
_NAME_LINK_TARGET = Text(
    pt="Informe o arquivo de destino do link ou grave em outro.",
    en="Name the target of the link, or write to another file.",
)
_MAX_PREFIX_BYTES = 200
"""Length of what a temporary file keeps of the name of its file."""


@contextmanager
def replace_atomically(
    path: Path, *, shared: bool = False, in_home: bool = False
) -> Iterator[Path]:
    """Yield an empty temporary file in the same folder, which replaces ``path`` at the end.

    Any error, or an interruption, leaves ``path`` as it was and removes the temporary file; what a
    killed process has left is removed by the next write. The content is synchronised to disk before
    the rename. Links are not followed: one created in the meantime is itself replaced. The file is
    readable by its owner only, unless ``shared`` leaves that to the umask: for exports, which are
    made for others, and files without personal data. ``in_home`` as in ``report_write_errors``.

    Raises ``UsageError`` if the file cannot be written there or is not a regular file (a link, a
    device, a pipe); ``LocalFailure`` if this computer fails.
    """
    require_regular_or_absent(path)
    # Imported late: it loads much of the cryptography package, and most commands write no file.
    import secrets

    prefix = shortened_name(path.name, _MAX_PREFIX_BYTES)
    temporary = path.with_name(f".{prefix}.{secrets.token_hex(4)}.tmp")
    try:
        with report_write_errors(path, in_home=in_home):
            _remove_leftovers(path.parent, prefix)
            temporary.touch(0o666 if shared else 0o600, exist_ok=False)
            with temporary.open("rb") as held:
                _try_lock(held)
                yield temporary
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
            _replace(temporary, path)
    finally:
        # Where nothing may be written, nothing was: the first error is the one to report.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


_REPLACE_PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between attempts to replace a file on Windows."""


def _replace(temporary: Path, path: Path) -> None:
    """Rename a file; on Windows again while an antivirus or synchronising program has it open."""
    for pause in _REPLACE_PAUSES if os.name == "nt" else ():
        with suppress(PermissionError):
            temporary.replace(path)
            return
        time.sleep(pause)
    temporary.replace(path)


def _remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove the temporary files of a file whose processes were killed: those nobody holds."""
    pattern = re.compile(rf"\.{re.escape(prefix)}\.[0-9a-f]{{8}}\.tmp")
    with suppress(OSError):
        for path in folder.iterdir():
            if pattern.fullmatch(path.name) is None:
                continue
            with path.open("rb") as file:
                is_abandoned = _try_lock(file)
            if is_abandoned:
                path.unlink()


def _try_lock(file: BinaryIO) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it.

    On Windows, open files cannot be removed, so that they need no lock.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def require_regular_or_absent(path: Path) -> None:
    """Raise ``UsageError`` if ``path`` exists and is not a regular file."""
    with report_write_errors(path):
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return
    if stat.S_ISLNK(mode):
        raise _cannot_write(path, _IS_LINK, _NAME_LINK_TARGET)
    if not stat.S_ISREG(mode):
        reason = Text(pt="não é um arquivo comum", en="it is not a regular file")
        raise _cannot_write(path, reason, _ANOTHER_FILE)


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible to their owner only.

    Existing folders keep their permissions. Raises ``OSError`` if one cannot be created.
    """
    for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def write_private(path: Path, content: str, *, in_home: bool = True) -> None:
    """Write a text file atomically, readable by its owner only.

    ``in_home`` as in ``report_write_errors``. Raises ``UsageError`` if it cannot be written there.
    """
    with report_write_errors(path, in_home=in_home):
        make_private_folder(path.parent)
    with replace_atomically(path, in_home=in_home) as temporary:
        temporary.write_text(content, encoding="utf-8")


@contextmanager
def report_write_errors(path: Path, *, in_home: bool = False) -> Iterator[None]:
    """Turn an ``OSError`` while ``path`` is being written into an error that names it.

    ``in_home``: the path was not chosen by the user, but is in the home. Raises ``LocalFailure`` if
    this computer failed, ``UsageError`` if the path is wrong.
    """
    try:
        yield
    except OSError as error:
        kind = LocalFailure if is_local_failure(error) else UsageError
        remedy = CHECK_HOME if in_home else os_error_remedy(error)
        raise _cannot_write(path, os_error_reason(error), remedy, kind) from error


@contextmanager
def report_local_failures() -> Iterator[None]:
    """Turn an error that is a failure of this computer into a ``LocalFailure``."""
    try:
        yield
    except Exception as error:
        if not is_local_failure(error):
            raise
        raise local_failure(error) from error


def _cannot_write(
    path: Path, reason: Text, remedy: Text, kind: type[XlbridgeError] = UsageError
) -> XlbridgeError:
    return kind(
        Text(
            pt="Não foi possível gravar {path}: {reason}.", en="Cannot write {path}: {reason}."
        ).format(path=path, reason=reason),
        remedy,
    )


def require_distinct(outputs: Iterable[Path | None], inputs: Iterable[Path] = ()) -> None:
    """Raise ``UsageError`` if an output is the same file as an input or another output, however the
    paths are spelled, or exists and is not a regular file. Outputs of None are skipped.
    """
    used = list(inputs)
    for path in outputs:
        if path is None:
            continue
        require_regular_or_absent(path)
        if any(_is_same(path, other) for other in used):
            raise UsageError(
                Text(
                    pt="{path} já é outro arquivo deste comando.",
                    en="{path} is already another file of this command.",
                ).format(path=path),
                _ANOTHER_FILE,
            )
        used.append(path)


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        # Files that do not exist yet can only be compared by name.
        return os.path.normcase(path.resolve()) == os.path.normcase(other.resolve())


def require_new(path: Path) -> None:
    """Raise ``UsageError`` if ``path`` already exists."""
    if path.exists():
        raise UsageError(
            Text(pt="{path} já existe.", en="{path} already exists.").format(path=path),
            Text(
                pt="Grave com outro nome ou em outra pasta, ou substitua com --force.",
                en="Choose another name or folder, or replace it with --force.",
                page=Text(
                    pt="Escolha outro nome ou outra pasta.",
                    en="Choose another name or folder.",
                ),
            ),
        )


def short_path(path: Path) -> Path:
    """Return a path relative to the current folder if it lies below it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def as_arguments(*words: Path | str, shell: Shell | None = None) -> str:
    """Return words of a command shown to the user, quoted for a shell, by default the one in use.

    A path below the current folder becomes relative, and none begins like an option, unless it is
    the ``-`` of standard input.
    """
    quote = _QUOTES[shell or _shell_in_use()]
    texts = (_path_argument(word) if isinstance(word, Path) else word for word in words)
    return " ".join(text if text and _PLAIN.fullmatch(text) else quote(text) for text in texts)


def _path_argument(path: Path) -> str:
    text = str(short_path(path))
    return f".{os.sep}{text}" if text.startswith("-") and text != "-" else text


def _shell_in_use() -> Shell:
    """Return the kind of shell that the user's commands are for."""
    if os.name != "nt":
        return "sh"
    # PowerShell puts the user's folders before those that every process inherits.
    modules = os.environ.get("PSMODULEPATH", "").split(os.pathsep)
    return "powershell" if len(modules) >= _POWERSHELL_FOLDERS else "cmd"


_POWERSHELL_FOLDERS = 3
_PLAIN = re.compile(r"[\w=:./\\-]+" if os.name == "nt" else r"[\w@%+=:,./-]+")
"""Words that every shell of the system leaves as they are."""

_QUOTES: Mapping[Shell, Callable[[str], str]] = {
    "sh": shlex.quote,
    "powershell": lambda text: "'" + re.sub("(['‘’‚‛])", r"\1\1", text) + "'",
    "cmd": lambda text: '"' + text.replace('"', r"\"") + '"',
}


@contextmanager
def file_lock(path: Path, refusal: Text | None = None) -> Iterator[None]:
    """Hold a lock for the block; the system releases it if the process dies.

    Without a ``refusal`` it is waited for. Its folder is created for its owner only. Raises
    ``UsageError`` if it cannot be written there, or with ``refusal`` if another process holds it.
    """
    # Imported late for the sake of commands that take no lock.
    from filelock import FileLock, Timeout

    lock = FileLock(path, mode=0o600)
    with report_write_errors(path, in_home=True):
        make_private_folder(path.parent)
        try:
            lock.acquire(timeout=-1 if refusal is None else 0)
        except Timeout:
            if refusal is None:
                raise
            raise UsageError(refusal) from None
    try:
        yield
    finally:
        lock.release()
