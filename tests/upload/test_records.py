"""Rows that are sent one by one: by the command line, counted in the requests."""

from pathlib import Path

from lossy_proxy import LossyProxy
from record_parts import codes_of, described, make_types
from update_parts import Run, writes

from xlbridge.client import Client


def test_records_are_created_one_by_one_where_there_is_no_import(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path
) -> None:
    names = described(5)
    path = make_types(tmp_path / "tipos.xlsx", names)
    code, report = run("upload", path, "--yes")
    assert (code, report["state"], report["mode"]) == (0, "done", "records"), report
    assert (report["rows"]["read"], report["rows"]["created"]) == (5, 5)
    assert writes(proxy) == [("POST", "/v2/tipo-de-produto")] * 5
    assert len(codes_of(client, names)) == 5
    code, report = run("upload", path, "--yes")
    assert (code, report["plan"]["unchanged"], writes(proxy)) == (0, 5, [])
