"""Rules over all channels: what is written once, whatever becomes of requests and answers."""

from collections.abc import Callable
from datetime import date
from itertools import product
from pathlib import Path

import pytest
from channel_parts import CHANNELS, PROCESSING, Setting, import_receivable
from environment import Xlbridge
from lossy_proxy import LossyProxy, ProxyFault
from openpyxl import load_workbook
from sampling import across, sampled
from sheets import edit, rows_of, write_records
from update_parts import Run, titles, writes
from upload_parts import MakeClients, new_cnpj, registered, row_counts

from xlbridge.client import Client

_MAX_RUNS = 20

DISTURBANCES: list[tuple[ProxyFault, int]] = [
    ("lose answer", 1),
    ("500 after", 1),
    ("lose request", 2),
    ("html", 1),
    ("429 after", 1),
    ("unavailable", 2),
    ("401 after", 1),
    ("refuse after", 1),
    ("307 after", 1),
    ("400 as text after", 1),
    ("404 as text after", 1),
    ("413 after", 1),
]
"""What becomes of a request, and how often it is sent."""

WRITES_IN_DOUBT = [
    (channel, disturbance)
    for channel, disturbance in product(CHANNELS, DISTURBANCES)
    # An inventory whose count is refused is closed.
    if (channel, disturbance[0]) != ("register_count", "refuse after")
]


def is_in_sample(channel: str, disturbance: tuple[ProxyFault, int]) -> bool:
    """Return whether a case is in the sample: each channel and disturbance, and those refusals
    that the channel itself compares with the records."""
    if disturbance[0] == "refuse after" and channel in {"import_directly", "change_records"}:
        return True
    return ([*CHANNELS].index(channel) + DISTURBANCES.index(disturbance)) % 8 == 0


@pytest.mark.parametrize(
    ("channel", "disturbance"),
    sampled(WRITES_IN_DOUBT, lambda _, case: is_in_sample(*case)),
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_write_in_doubt_is_proven_and_made_once(
    proxy: LossyProxy,
    run: Run,
    setting: Setting,
    channel: str,
    disturbance: tuple[ProxyFault, int],
) -> None:
    fault, times = disturbance
    write = CHANNELS[channel](setting)
    proxy.seen.clear()
    sent = write.disturb(proxy, fault)
    code, report = run(*write.command)
    assert len(sent) == min(write.requests, 2)
    if channel == "import_directly" and fault == "lose request":
        # Nothing tells an import that was lost from one that has not arrived yet.
        assert (code, report["rows"]["unknown"], write.written()) == (5, 1, 0)
        return
    for _ in range(_MAX_RUNS):
        if code == 0:
            break
        code, report = run("resume", report["job"])
    assert (code, report["state"], write.written()) == (0, "done", write.wanted), report
    if not write.repeatable:
        made = sum(write.sends(*request) for request in writes(proxy))
        assert made == write.requests - 1 + times
    proxy.seen.clear()
    ended = run(*write.command)[0], writes(proxy), write.written()
    assert ended == (write.again, [], write.wanted)


@pytest.mark.parametrize("channel", ["import_directly", "create_records"])
def test_a_declined_request_that_arrives_later_is_not_sent_twice(
    proxy: LossyProxy,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    setting: Setting,
    channel: str,
) -> None:
    write = CHANNELS[channel](setting)
    write.disturb(proxy, "429 before")
    done = xlbridge(*write.command, **proxy_environment | {"XLBRIDGE_SETTLE": "2"})
    (late,) = proxy.late
    late.join()
    assert (done.returncode, write.written()) == (0, write.wanted), done.stderr


UNWRITTEN = [("direct", "importacao/contasreceber?preview=true$"), ("queue", "/fila$")]
"""Requests of an import that write nothing by themselves."""


@pytest.mark.parametrize(
    ("request_", "fault"), across(UNWRITTEN, ["lose answer", "lose request", "html", "500 after"])
)
def test_a_request_that_writes_nothing_is_repeated(
    proxy: LossyProxy, run: Run, setting: Setting, request_: tuple[str, str], fault: ProxyFault
) -> None:
    mode, path = request_
    write = import_receivable(setting, mode, path)
    proxy.seen.clear()
    proxy.fail_once(fault, path.removesuffix("$"))
    code, report = run(*write.command)
    assert (code, report["state"], write.written()) == (0, "done", write.wanted), report
    assert sum(f"{asked}$".endswith(path) for _, asked in proxy.seen) == 2


@pytest.mark.parametrize(
    ("request_", "fault"), across(UNWRITTEN, ["lose request", "html", "unavailable"])
)
def test_an_upload_goes_on_once_the_system_can_be_reached(
    proxy: LossyProxy,
    run: Run,
    xlbridge: Xlbridge,
    proxy_environment: dict[str, str],
    setting: Setting,
    request_: tuple[str, str],
    fault: ProxyFault,
) -> None:
    mode, path = request_
    write = import_receivable(setting, mode, path)
    proxy.decide = lambda _method, asked: fault if f"{asked}$".endswith(path) else "pass"
    failed = xlbridge(*write.command, **proxy_environment)
    (job,) = run("jobs")[1]["jobs"]
    assert (failed.returncode, f"xlbridge resume {job['job']}" in failed.stderr) == (4, True)
    assert (job["rows"]["unknown"], write.written()) == (1, 0)
    proxy.decide = lambda _method, _path: "pass"
    code, report = run("resume", job["job"], "--yes")
    assert (code, report["state"], write.written()) == (0, "done", write.wanted), report


KILLED = ["create_records", "change_records", "delete_records", "undo_upload", *PROCESSING]


@pytest.mark.parametrize(
    ("channel", "committed"),
    sampled(
        product(KILLED, [False, True]),
        lambda index, case: (index // 2 + index) % 2 == 0 or case[0] == "create_records",
    ),
)
def test_a_killed_command_is_resumed_and_writes_once(
    proxy: LossyProxy,
    run: Run,
    setting: Setting,
    kill_while_writing: Callable[..., None],
    channel: str,
    committed: bool,
) -> None:
    """It is killed after storing its requests; they arrive, or are lost."""
    write = CHANNELS[channel](setting)
    at_once = min(write.requests, 2)
    proxy.seen.clear()
    kill_while_writing(
        write.method,
        [str(word) for word in write.command],
        committed=committed,
        is_committed=lambda: write.written() == at_once,
        at_once=at_once,
        path_part=write.path.removesuffix("$"),
    )
    (job,) = [one for one in run("jobs")[1]["jobs"] if one["state"] == "in_doubt"]
    assert job["rows"]["unknown"] == write.requests
    code, report = run("resume", job["job"], "--yes")
    ended = code, report["state"], report["rows"]["unknown"], write.written()
    assert ended == (0, "done", 0, write.wanted), report
    made = sum(write.sends(*request) for request in writes(proxy))
    assert made == write.requests + (0 if committed else at_once)


@pytest.mark.parametrize(
    "channel", ["import_directly", "create_records", "change_records", "process nfe"]
)
def test_a_refusal_as_plain_text_keeps_its_reason_and_is_not_repeated(
    proxy: LossyProxy, run: Run, setting: Setting, channel: str
) -> None:
    write = CHANNELS[channel](setting)
    proxy.seen.clear()
    write.disturb(proxy, "refuse as text")
    code, report = run(*write.command)
    refused = report.get("rejected") or [one for one in report["records"] if one["message"]]
    assert (code, report["rows"]["rejected"]) == (1, 1), report
    assert [row["message"] for row in refused] == ["Recusado em texto"]
    assert sum(write.sends(*request) for request in writes(proxy)) == write.requests
    assert write.written() == write.requests - 1


@pytest.mark.parametrize(("mode", "returned"), [("direct", 3), ("queue", 1), ("records", 1)])
def test_a_refused_row_stays_open_until_it_is_corrected(
    client: Client, proxy: LossyProxy, run: Run, tmp_path: Path, mode: str, returned: int
) -> None:
    """A direct import is all or nothing: it returns the good row, too, but reports only the bad."""
    document = new_cnpj()
    due = {"dataDeVencimento": date(2026, 10, 30)}
    rows = [{"numeroDoDocumento": f"{document}-{number}", **due} for number in range(3)]
    rows[1] |= {"codigoDoFornecedor": 999_999}
    path = write_records(tmp_path / "contas.xlsx", "contaspagar", rows)

    def there() -> list[str]:
        found = [str(one["numeroDoDocumento"]) for one in titles(client).values()]
        return sorted(one for one in found if document in one)

    code, report = run("upload", path, "--mode", mode, "--yes")
    state = "rejected" if returned == 3 else "partial"
    assert (code, report["state"], report["mode"]) == (1, state, mode)
    assert report["rows"] == row_counts(read=3, accepted=3 - returned, rejected=returned)
    (refused,) = report["rejected"]
    assert (refused["row"], refused["column"], refused["cell"]) == (3, "codigoDoFornecedor", "B3")
    assert there() == ([] if returned == 3 else [f"{document}-0", f"{document}-2"])
    rejects = Path(report["rejects_file"])
    header, *found = rows_of(load_workbook(rejects)["contaspagar"])
    named = [dict(zip(header, one, strict=True)) for one in found]
    listed = {row["Original row"]: row for row in named}
    assert [*listed] == ([2, 3, 4] if returned == 3 else [3])
    assert listed[3]["numeroDoDocumento"] == f"{document}-1"
    assert refused["message"] in listed[3]["Reason"]
    edit(rejects, "codigoDoFornecedor", [*listed].index(3) + 2, 501)
    proxy.seen.clear()
    code, again = run("retry", report["job"], "--yes")
    assert (code, again["state"], again["rows"]["created"]) == (0, "done", returned), again
    assert there() == [f"{document}-{number}" for number in range(3)]
    assert run("jobs", report["job"])[1]["rows"] == row_counts(read=3, accepted=3)


@pytest.mark.parametrize(
    ("mode", "next_mode"),
    [
        pytest.param("direct", "queue", id="direct", marks=pytest.mark.exercises("imports.direct")),
        pytest.param("queue", "records", id="queue", marks=pytest.mark.exercises("imports.queue")),
        ("records", "direct"),
        ("auto", "preview"),
    ],
)
def test_an_accepted_row_is_not_sent_again(
    client: Client,
    proxy: LossyProxy,
    run: Run,
    colleague: Run,
    make_clients: MakeClients,
    mode: str,
    next_mode: str,
) -> None:
    """Whether by another mode, from another file, in another order or by another computer."""
    documents = [new_cnpj() for _ in range(3)]
    path = make_clients(*documents)
    code, report = run("upload", path, "--mode", mode, "--yes")
    assert (code, report["state"]) == (0, "done")
    assert report["mode"] == ("queue" if mode == "auto" else mode)
    assert (report["log_id"] is not None) == (report["mode"] == "queue")
    assert report["rows"] == row_counts(read=3, accepted=3)
    assert all(registered(client, document) for document in documents)
    moved = make_clients(*reversed(documents), name="trocadas.xlsx")
    proxy.seen.clear()
    for other, book, as_mode in (
        (run, path, next_mode),
        (run, moved, mode),
        (colleague, path, mode),
    ):
        code, again = other("upload", book, "--mode", as_mode, "--yes")
        assert (code, again["state"]) == (0, "previewed" if as_mode == "preview" else "done")
        assert again["rows"] == row_counts(read=3, unchanged=3)
        assert (again["plan"]["create"], again["plan"]["unchanged"]) == (0, 3)
    assert writes(proxy) == []
    grown = make_clients(new_cnpj(), *documents, name="novas.xlsx")
    code, again = run("upload", grown, "--mode", mode, "--yes")
    assert again["rows"] == row_counts(read=4, accepted=1, unchanged=3)
