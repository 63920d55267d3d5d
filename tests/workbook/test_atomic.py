"""Files are written atomically, follow links, and never replace what is not a file."""

import errno
import os
import signal
from pathlib import Path

import pytest

from xlbridge.errors import LocalFailure, UsageError
from xlbridge.files import replace_atomically, report_write_errors, require_distinct


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "r.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    with pytest.raises(UsageError, match="it is a link"), replace_atomically(link):
        pass
    assert (link.is_symlink(), real.read_text()) == (True, "old")


def test_a_link_created_meanwhile_is_replaced(tmp_path: Path) -> None:
    real, target = tmp_path / "real.csv", tmp_path / "target.csv"
    real.write_text("old")
    with replace_atomically(target) as temporary:
        temporary.write_text("new")
        target.symlink_to(real)
    assert (target.is_symlink(), target.read_text(), real.read_text()) == (False, "new", "old")


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with (
        pytest.raises(UsageError, match=r"pipe\.csv: it is not a regular file"),
        replace_atomically(pipe),
    ):
        pass
    assert pipe.is_fifo()


def test_a_device_is_refused() -> None:
    with pytest.raises(UsageError, match="it is not a regular file"):
        require_distinct([Path(os.devnull)])


def test_the_longest_file_name_can_be_written(tmp_path: Path) -> None:
    longest = tmp_path / ("n" * 250 + ".xlsx")
    with replace_atomically(longest) as temporary:
        temporary.write_text("whole")
    assert longest.read_text() == "whole"


def test_a_name_that_is_too_long_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot write"):
        require_distinct([tmp_path / ("n" * 260 + ".xlsx")])


@pytest.mark.skipif(os.name != "posix", reason="kills by a signal")
def test_the_next_write_removes_what_a_killed_one_has_left(tmp_path: Path) -> None:
    path = tmp_path / "clientes.csv"
    pid = os.fork()
    if not pid:
        with replace_atomically(path) as temporary:
            temporary.write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert len(list(tmp_path.iterdir())) == 1
    with replace_atomically(path) as running:
        running.write_text("other")
        with replace_atomically(path) as temporary:
            temporary.write_text("new")
        assert path.read_text() == "new"
        assert {one.name for one in tmp_path.iterdir()} == {path.name, running.name}
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "other"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "kept.csv"
    path.write_text("old")

    def fail() -> None:
        with replace_atomically(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "no space left on the disk. Free some space"),
        (errno.EDQUOT, "the disk quota is exceeded. Free some space in your quota"),
        (errno.EROFS, "the disk is read-only. Write to another folder"),
        (errno.EACCES, "permission denied. Close the file if it is open in Excel, or write"),
        (errno.EFBIG, "exceeds the maximum size. Write to another disk"),
        (errno.EIO, "the disk failed. Write to another disk"),
    ],
)
def test_the_hint_depends_on_the_cause_of_the_failure(
    tmp_path: Path, number: int, message: str
) -> None:
    with pytest.raises(LocalFailure) as caught, report_write_errors(tmp_path / "a.xlsx"):
        raise OSError(number, os.strerror(number))
    assert message in f"{caught.value.message.en} {caught.value.hint and caught.value.hint.en}"


def test_a_missing_folder_is_a_usage_error(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "a.xlsx"
    with (
        pytest.raises(UsageError, match="no such file or directory") as caught,
        report_write_errors(missing),
    ):
        missing.write_text("")
    assert "Create the folder" in str(caught.value.hint and caught.value.hint.en)


def test_a_permission_error_is_explained_by_folder_or_open_file(tmp_path: Path) -> None:
    in_folder, open_file = tmp_path / "home" / "lock", tmp_path / "a.xlsx"
    open_file.write_text("open elsewhere")
    for path, hint in ((in_folder, "permissions of the folder"), (open_file, "open in Excel")):
        with pytest.raises(LocalFailure) as caught, report_write_errors(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        assert hint in str(caught.value.hint and caught.value.hint.en)
