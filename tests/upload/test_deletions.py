"""A sheet deletes exactly the records that it shows, once; all others stay, with the reason."""

from datetime import datetime
from pathlib import Path

import pytest
from databases import connected
from environment import Xlbridge
from lossy_proxy import LossyProxy, ProxyFault
from sheets import edit, write_records
from test_undo import change_title, update_title
from update_parts import Run, titles, writes

import xlbridge as xb
from xlbridge.client import Client

DELETED = {
    "read": 3,
    "accepted": 3,
    "rejected": 0,
    "unknown": 0,
    "created": 0,
    "updated": 0,
    "deleted": 3,
    "unchanged": 0,
    "held": 0,
    "undone": 0,
}


@pytest.mark.exercises("financial.payables.delete")
@pytest.mark.parametrize("options", [(), ("--mode", "records", "--chunk-rows", "2")], ids=str)
def test_a_sheet_deletes_its_records_after_consent(
    client: Client,
    proxy: LossyProxy,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    payables: Path,
    options: tuple[str, ...],
) -> None:
    before = titles(client)
    keys = sorted(before)[-3:]
    proxy.seen.clear()
    refused = xlbridge(
        "upload", payables, "--delete", "--confirm", "3:00000000", **proxy_environment
    )
    assert (refused.returncode, writes(proxy)) == (2, [])
    for row, key in zip((2, 3, 4), keys, strict=True):
        assert f"row {row}: record {'/'.join(map(str, key))}" in refused.stderr
    assert "3 to delete" in refused.stderr
    code, report = run("upload", payables, "--delete", "--yes", *options)
    assert (code, report["state"], report["rows"]) == (0, "done", DELETED), report
    assert report["plan"]["delete"] == 3
    assert sorted(writes(proxy)) == [
        ("DELETE", "/v2/financeiro/contaspagar/" + "/".join(map(str, key))) for key in keys
    ]
    assert before.keys() - titles(client).keys() == set(keys)
    assert run("jobs", report["job"])[1]["rows"] == DELETED
    assert "Records deleted: 3 of 3" in xlbridge("jobs", report["job"], **proxy_environment).stdout
    code, again = run("upload", payables, "--delete", "--yes")
    assert (code, again["plan"]["held"], writes(proxy)) == (1, 3, [])
    assert {row["reason"] for row in again["not_created"]} == {"not-in-system"}
    # They were deleted on purpose: a late copy of the sheet does not bring them back.
    code, late = run("upload", payables, "--yes")
    assert (code, {row["reason"] for row in late["not_created"]}) == (1, {"gone"})


def test_a_deletion_cannot_be_undone_and_says_what_remains(
    client: Client, run: Run, payables: Path, proxy: LossyProxy
) -> None:
    job = run("upload", payables, "--delete", "--yes")[1]["job"]
    proxy.seen.clear()
    code, report = run("undo", job, "--yes")
    assert (code, report["rows"]) == (1, {"read": 3, "undone": 0, "left": 3, "unknown": 0})
    assert {one["reason"] for one in report["left"]} == {"no-operation"}
    assert f"xlbridge upload {payables.name}" in report["left"][0]["message"].replace(
        f"{payables.parent}/", ""
    )
    assert writes(proxy) == []


def test_records_that_differ_are_settled_or_are_elsewhere_stay(
    client: Client, sandbox_home: Path, run: Run, payables: Path, proxy: LossyProxy
) -> None:
    before = titles(client)
    first, second, third = sorted(before)[-3:]
    change_title(client, first, historico="De um colega")
    settle = update_title(second)
    with connected(sandbox_home, writing=True) as connection:
        connection.execute(settle.values(dataDeBaixa=datetime(2026, 10, 31), valorBaixado=95))
    proxy.seen.clear()
    code, report = run("upload", payables, "--delete", "--yes")
    assert (code, report["state"], report["rows"]["deleted"], report["rows"]["held"]) == (
        *(1, "done"),
        *(1, 2),
    ), report
    held = {row["row"]: (row["reason"], row["message"]) for row in report["not_created"]}
    assert held[2][0] == held[3][0] == "not-deleted"
    assert "other values" in held[2][1]
    assert "settled" in held[3][1]
    assert [path.rpartition("pagar/")[2] for _, path in writes(proxy)] == [
        "/".join(map(str, third))
    ]
    # A retry deletes too, and never creates.
    job = report["job"]
    code, report = run("retry", job, "--yes")
    assert (code, report["rows"]["held"], writes(proxy)) == (1, 2, [])
    edit(payables, "historico", 2, "De um colega")
    code, report = run("retry", job, "--file", payables, "--yes")
    assert (report["rows"]["deleted"], report["plan"]["create"]) == (1, 0), report
    assert [path.rpartition("pagar/")[2] for _, path in writes(proxy)] == [
        "/".join(map(str, first))
    ]
    assert before.keys() - titles(client).keys() == {first, second, third}


def test_a_record_that_changes_after_the_plan_is_left_alone(
    client: Client, run: Run, payables: Path, proxy: LossyProxy
) -> None:
    first, *_ = sorted(titles(client))[-3:]
    changed: list[str] = []

    def decide(method: str, path: str) -> ProxyFault:
        if method == "GET" and path.endswith("/".join(map(str, first))) and not changed:
            changed.append(path)
            change_title(client, first, historico="De um colega")
        return "pass"

    proxy.decide = decide
    code, report = run("upload", payables, "--delete", "--yes")
    assert (code, report["state"], report["rows"]["deleted"]) == (1, "partial", 2), report
    assert first in titles(client)


@pytest.mark.parametrize(
    ("resource", "options", "message"),
    [
        ("cliente", [], "It deletes those of: contaspagar"),
        ("contaspagar", ["--update"], "--delete does not go with --update."),
        ("contaspagar", ["--again", "x"], "--delete does not go with --again."),
    ],
)
def test_what_cannot_be_deleted_is_refused_before_anything_is_sent(
    run: Run,
    tmp_path: Path,
    proxy: LossyProxy,
    resource: str,
    options: list[str],
    message: str,
) -> None:
    path = write_records(tmp_path / "x.xlsx", resource, [{}])
    code, report = run("upload", path, "--delete", "--yes", *options)
    error = report["error"]
    assert code == 2
    assert message in f"{error['message']} {error['hint']}"
    assert writes(proxy) == []


def test_python_deletes_too(
    client: Client,
    proxy_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    payables: Path,
    home: Path,
) -> None:
    for name, value in {**proxy_environment, "XLBRIDGE_HOME": str(home)}.items():
        monkeypatch.setenv(name, value)
    before = titles(client)
    report = xb.validate(payables)
    with xb.connect() as erp:
        plan = erp.plan(report, delete=True)
        assert plan.counts["delete"] == 3
        outcome = erp.upload(report, delete=True, confirm=plan.token)
    assert (outcome.state, outcome.rows["deleted"]) == ("done", 3)
    assert len(before.keys() - titles(client).keys()) == 3


@pytest.mark.parametrize("answer", ["not found", "success"])
def test_a_deletion_that_was_not_carried_out_is_not_believed(
    client: Client,
    run: Run,
    payables: Path,
    proxy: LossyProxy,
    sandbox_home: Path,
    answer: str,
) -> None:
    """The path of the deletion is not shown: a system may have none there, or ignore it."""
    before = titles(client)
    if answer == "success":
        settled = datetime(2026, 10, 31)

        def decide(method: str, path: str) -> ProxyFault:
            if method == "DELETE":
                key = tuple(map(int, path.split("/")[-4:]))
                with connected(sandbox_home, writing=True) as connection:
                    connection.execute(update_title(key).values(dataDeBaixa=settled))
            return "pass"

        proxy.decide = decide
        proxy.rewrite = lambda method, _path, status, _document: (
            (200, {"success": True, "data": None}) if (method, status) == ("DELETE", 400) else None
        )
    else:
        proxy.decide = lambda method, _path: "absent" if method == "DELETE" else "pass"
    code, report = run("upload", payables, "--delete", "--yes")
    assert (code, report["rows"]["deleted"]) == (1, 0), report
    assert report["rows"]["rejected"] == 3
    if answer == "not found":
        assert titles(client) == before
