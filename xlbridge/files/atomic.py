"""Atomic writes, a file whole or not at all; and locks of files between processes.

Also which paths a command may write to: regular files, none of them twice, none that exists; and a
path as it is shown to a person.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from xlbridge.errors import (
    LocalFailure,
    UsageError,
    XlbridgeError,
    is_local_failure,
    local_failure,
    os_error_reason,
    os_error_remedy,
)
from xlbridge.i18n import Text

_OWNER_ONLY = 0o600
_FOLDER_OF_OWNER = 0o700
_OF_ALL = 0o666  # less what the user's own mask takes
_ANOTHER_FILE = Text(pt="Grave em outro arquivo.", en="Write to another file.")
_IS_LINK = Text(
    pt="é um link, e nada é gravado através de um",
    en="it is a link, and links are not followed when writing",
)
_WHERE_IT_LEADS = Text(
    pt="Informe o arquivo a que ele leva, ou grave em outro.",
    en="Give the file that it leads to, or write to another one.",
)
_MAX_PREFIX_LENGTH = 200
"""Characters of a name that its temporary file keeps: file systems allow 255 bytes."""


@contextmanager
def replace_atomically(path: Path, *, shared: bool = False) -> Iterator[Path]:
    """Give an empty file beside ``path``; what is written to it becomes ``path`` at the end.

    Whatever goes wrong in between, an interruption included, leaves ``path`` as it was and no
    other file behind. The content is on the disk before the name is. Nothing is written through a
    link: one that comes to be there meanwhile is replaced itself. The file is for its owner only,
    unless it is ``shared``: then the user's mask decides, as for what holds no records of anybody,
    and for exports, which are made for others.

    Raises ``UsageError`` when the file cannot be written there, and for what is no file: a link, a
    device, a pipe; ``LocalFailure`` when this computer fails.
    """
    require_file_or_nothing(path)
    # Late: most commands write no file, and it imports all of cryptography.
    import secrets

    temporary = path.with_name(f".{path.name[:_MAX_PREFIX_LENGTH]}.{secrets.token_hex(4)}.tmp")
    try:
        with report_write_errors(path):
            temporary.touch(_OF_ALL if shared else _OWNER_ONLY, exist_ok=False)
            yield temporary
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def require_file_or_nothing(path: Path) -> None:
    """Raise ``UsageError`` when something stands at ``path`` that a file cannot replace."""
    with report_write_errors(path):
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return
    if stat.S_ISLNK(mode):
        raise _cannot_write(path, _IS_LINK, _WHERE_IT_LEADS)
    if not stat.S_ISREG(mode):
        raise _cannot_write(
            path,
            Text(pt="não é um arquivo comum", en="it is not a regular file"),
            _ANOTHER_FILE,
        )


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner only.

    Folders that are there keep their permissions. Raises ``OSError`` when one cannot be made.
    """
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=_FOLDER_OF_OWNER, exist_ok=True)


def write_private(path: Path, content: str) -> None:
    """Write a text file, whole, for its owner only.

    Raises ``UsageError`` when it cannot be written there.
    """
    with report_write_errors(path):
        make_private_folder(path.parent)
    with replace_atomically(path) as temporary:
        temporary.write_text(content, encoding="utf-8")


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` while ``path`` is being written into an error that names it.

    Raises ``LocalFailure`` where this computer failed, ``UsageError`` where the path is wrong.
    """
    try:
        yield
    except OSError as error:
        kind = LocalFailure if is_local_failure(error) else UsageError
        reason, remedy = os_error_reason(error), os_error_remedy(error)
        raise _cannot_write(path, reason, remedy, kind) from error


@contextmanager
def report_local_failures() -> Iterator[None]:
    """Turn an ``OSError`` by which this computer failed into a ``LocalFailure``."""
    try:
        yield
    except OSError as error:
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
    """Raise ``UsageError`` when an output would replace an input, another output, or no file.

    However the paths are spelt; an output of None is none.
    """
    taken = list(inputs)
    for path in outputs:
        if path is None:
            continue
        require_file_or_nothing(path)
        if any(_is_same(path, other) for other in taken):
            raise UsageError(
                Text(
                    pt="{path} já é outro arquivo deste comando.",
                    en="{path} is another file of this command already.",
                ).format(path=path),
                _ANOTHER_FILE,
            )
        taken.append(path)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        # Of files that are still to be written only the names can be compared.
        return os.path.normcase(one.resolve()) == os.path.normcase(other.resolve())


def require_new(path: Path) -> None:
    """Raise ``UsageError`` when ``path`` exists already."""
    if path.exists():
        raise UsageError(
            Text(pt="{path} já existe.", en="{path} exists already.").format(path=path),
            Text(
                pt="Grave com outro nome ou em outra pasta, ou substitua com --force.",
                en="Write under another name or elsewhere, or replace it with --force.",
            ),
        )


def short_path(path: Path) -> Path:
    """Return a path as short as it can be typed from the current folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def as_argument(value: Path | str) -> str:
    """Return an argument of a command line that is shown to be typed: in quotes if it has spaces.

    A path is as short as it can be typed from the current folder.
    """
    text = str(short_path(value) if isinstance(value, Path) else value)
    return f'"{text}"' if " " in text else text


@contextmanager
def lock_or_fail(home: Path, name: str, refusal: Text) -> Iterator[None]:
    """Hold what goes by a name for the block; the system frees it when the process dies.

    Raises ``UsageError`` with ``refusal`` when another process holds it.
    """
    # Late, as below: what only reads files begins sooner.
    from filelock import FileLock, Timeout

    folder = home / "locks"
    path = folder / f"{name}.lock"
    lock = FileLock(path, mode=_OWNER_ONLY)
    with report_write_errors(path):
        make_private_folder(folder)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(refusal) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold a lock for the length of the block; the system frees it when the process dies.

    Its folder is made for its owner only. Raises ``UsageError`` when it cannot be written there.
    """
    from filelock import FileLock

    lock = FileLock(path, mode=_OWNER_ONLY)
    with report_write_errors(path):
        make_private_folder(path.parent)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
