"""Files are written atomically, follow links, and never replace what is not a file."""

import errno
import os
from pathlib import Path

import pytest

from xlbridge.errors import LocalFailure, UsageError
from xlbridge.files import replace_atomically, report_write_errors, require_distinct


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "r.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    with pytest.raises(UsageError, match="it is a link"), replace_atomically(link):
        pass
    assert (link.is_symlink(), real.read_text()) == (True, "old")


def test_a_link_that_comes_meanwhile_is_replaced_itself(tmp_path: Path) -> None:
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


def test_a_device_is_refused_before_anything_is_done() -> None:
    with pytest.raises(UsageError, match="it is not a regular file"):
        require_distinct([Path(os.devnull)])


def test_names_as_long_as_the_system_allows_can_be_written(tmp_path: Path) -> None:
    longest = tmp_path / ("n" * 250 + ".xlsx")
    with replace_atomically(longest) as temporary:
        temporary.write_text("whole")
    assert longest.read_text() == "whole"


def test_a_name_that_is_too_long_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot write"):
        require_distinct([tmp_path / ("n" * 260 + ".xlsx")])


def test_what_fails_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
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
    ("number", "said"),
    [
        (errno.ENOSPC, "no space left on the disk. Free some space"),
        (errno.EDQUOT, "the disk quota is exceeded. Free some space in your quota"),
        (errno.EROFS, "the disk is read-only. Write to another folder"),
        (errno.EACCES, "permission denied. Close the file if it is open in Excel, or write"),
        (errno.EFBIG, "exceeds the maximum size. Write to another disk"),
        (errno.EIO, "the disk failed. Write to another disk"),
    ],
)
def test_what_to_do_depends_on_why_it_failed(tmp_path: Path, number: int, said: str) -> None:
    with pytest.raises(LocalFailure) as caught, report_write_errors(tmp_path / "a.xlsx"):
        raise OSError(number, os.strerror(number))
    assert said in f"{caught.value.message.en} {caught.value.hint and caught.value.hint.en}"


def test_a_path_that_is_wrong_is_no_failure_of_the_computer(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "a.xlsx"
    told = "no such file or directory"
    with pytest.raises(UsageError, match=told) as caught, report_write_errors(missing):
        missing.write_text("")
    assert "Create the folder" in str(caught.value.hint and caught.value.hint.en)


def test_of_a_folder_without_permission_no_file_is_said_to_be_open(tmp_path: Path) -> None:
    inside, taken = tmp_path / "home" / "lock", tmp_path / "a.xlsx"
    taken.write_text("open elsewhere")
    for path, said in ((inside, "permissions of the folder"), (taken, "open in Excel")):
        with pytest.raises(LocalFailure) as caught, report_write_errors(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        assert said in str(caught.value.hint and caught.value.hint.en)
