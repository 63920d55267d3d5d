"""Records that change during the export, truncated answers, resumed runs, attachments.

Inside: export.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from exporting import export
from fake_system import Query, Reply, replying_server
from forked import USUAL_PAUSE
from reading import read_calamine
from sampling import across

from xlbridge.client import Client, RetryPolicy, Target
from xlbridge.errors import TransportError, TruncatedAnswer
from xlbridge.export import LISTINGS, Filters
from xlbridge.export.attachments import AttachmentDownloads, safe_name
from xlbridge.export.fetcher import Fetcher
from xlbridge.export.layout import UNKNOWN_FIELDS
from xlbridge.export.listing_model import ListingCall
from xlbridge.export.part_reader import LineSpec, PartReader, Stopped
from xlbridge.export.part_store import Part, PartStore
from xlbridge.wire.registry import CLIENT_LIST

pytestmark = pytest.mark.one_database

MINUTE = timedelta(minutes=1)


class ChangingSystem:
    """Small remote system whose clients a test updates between two calls."""

    def __init__(self) -> None:
        self.updated: dict[int, datetime] = {}
        self.calls = 0
        self.before_call: dict[int, Any] = {}
        self.cut_at: set[int] = set()
        self.status = 200
        self.body: bytes | None = None
        self.files: dict[str, bytes] = {}
        self.format_time = datetime.isoformat

    def update(self, code: int) -> None:
        self.updated[code] = max(self.updated.values()) + MINUTE

    def answer(self, query: dict[str, list[str]]) -> bytes:
        self.calls += 1
        self.before_call.pop(self.calls, lambda: None)()
        low, high = (
            datetime.strptime(query[name][0], "%d/%m/%Y %H:%M") if name in query else None
            for name in ("dataInferior", "dataSuperior")
        )
        found = sorted(
            (moment, code)
            for code, moment in self.updated.items()
            if (low is None or moment >= low) and (high is None or moment < high + MINUTE)
        )[:500]
        data = [
            {"CodigoDoCliente": code, "nomeComercial": str(moment), "corFavorita": "azul",
             "ultimaAtualizacao": self.format_time(moment)}
            for moment, code in found
        ]  # fmt: skip
        body = json.dumps({"success": True, "data": data}).encode()
        if self.body is not None:
            return self.body
        return body[: len(body) // 2] if self.calls in self.cut_at else body


@pytest.fixture
def system() -> ChangingSystem:
    created = ChangingSystem()
    begin = datetime(2026, 1, 1)
    created.updated = {code: begin + code * MINUTE for code in range(1, 1_301)}
    return created


@pytest.fixture
def address(system: ChangingSystem) -> Iterator[str]:
    def reply(path: str, query: Query, headers: Message) -> Reply:
        if path in system.files:
            assert "Authorization" not in headers
            return Reply(system.files[path])
        return Reply(system.answer(query), system.status)

    with replying_server(reply) as served:
        yield served


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def client(address: str, pauses: list[float]) -> Iterator[Client]:
    policy = RetryPolicy(first=USUAL_PAUSE, sleep=pauses.append, random=lambda: 1.0)
    target = Target("t", address, "a@example.com", "unused")
    with Client(target, retry_policy=policy) as opened:
        yield opened


def exported_lines(client: Client, output: Path, **options: Any) -> tuple[Any, list[Any]]:
    done = export(client, "clientes", output, **options)
    return done, [json.loads(line) for line in output.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("call", "code"), across([2, 3, 4], [10, 1_290]))
def test_a_record_that_changes_is_exported_once(
    tmp_path: Path, client: Client, system: ChangingSystem, code: int, call: int
) -> None:
    system.before_call[call] = lambda: system.update(code)
    done, lines = exported_lines(client, tmp_path / "c.jsonl")
    assert sorted(line["codigoDoCliente"] for line in lines) == list(range(1, 1_301))
    (changed,) = [line for line in lines if line["codigoDoCliente"] == code]
    seen = datetime.fromisoformat(changed["ultimaAtualizacao"])
    assert seen == system.updated[code]
    assert done.complete
    assert done.records == len(lines)


def test_a_workbook_has_no_compressed_rows_that_were_replaced_later(
    tmp_path: Path, client: Client, system: ChangingSystem
) -> None:
    system.before_call[4] = lambda: system.update(10)
    done = export(client, "clientes", tmp_path / "c.xlsx")
    header, *rows = read_calamine(tmp_path / "c.xlsx")["clientes"]
    codes = [row[header.index("codigoDoCliente")] for row in rows]
    assert done.replaced == 1
    assert sorted(codes) == list(range(1, 1_301))


def test_a_truncated_answer_is_requested_again_after_a_pause(
    tmp_path: Path, client: Client, system: ChangingSystem, pauses: list[float]
) -> None:
    system.cut_at = {2, 3, 5}
    done, lines = exported_lines(client, tmp_path / "c.jsonl")
    assert sorted(line["codigoDoCliente"] for line in lines) == list(range(1, 1_301))
    assert (done.complete, done.records) == (True, 1_300)
    assert pauses == [0.5, 1.0, 0.5]


def test_an_always_truncated_answer_fails_after_six_tries(
    tmp_path: Path, client: Client, system: ChangingSystem, pauses: list[float]
) -> None:
    system.cut_at = set(range(100))
    with pytest.raises(TruncatedAnswer):
        exported_lines(client, tmp_path / "c.jsonl")
    assert system.calls == 6
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize(("status", "calls"), [(200, 1), (404, 1), (503, 6)])
def test_a_call_without_a_listing_is_repeated_by_the_client_only(
    tmp_path: Path, client: Client, system: ChangingSystem, status: int, calls: int
) -> None:
    system.status, system.body = status, b"<html>down</html>"
    with pytest.raises(TransportError):
        exported_lines(client, tmp_path / "c.jsonl")
    assert system.calls == calls


def test_a_stopped_reader_makes_no_call(
    tmp_path: Path, client: Client, system: ChangingSystem
) -> None:
    listing = LISTINGS["contatos"]
    spec = LineSpec.keys_only(listing, Filters())
    reader = PartReader(client, listing, spec, on_record=None, on_count=lambda _more: None)
    reader.stop()
    calls = [ListingCall(listing.operation, {"codcontato": code}) for code in range(1, 9)]
    with pytest.raises(Stopped):
        reader.read(Part(tmp_path / "part", spec.line_files), calls)
    assert (reader.calls, system.calls) == (0, 0)


def brazilian_time(moment: datetime) -> str:
    return f"{moment:%d/%m/%Y %H:%M:%S}"


def test_all_records_are_exported_if_their_update_times_are_unreadable(
    tmp_path: Path, client: Client, system: ChangingSystem
) -> None:
    system.format_time = brazilian_time
    answers = [(list(records), whole) for records, whole in client.all_records(CLIENT_LIST, 500)]
    codes = {record["codigoDoCliente"] for records, _ in answers for record in records}
    assert (len(codes), all(whole for _, whole in answers)) == (1_300, True)
    listing = LISTINGS["clientes"]
    spec = LineSpec.keys_only(listing, Filters())
    with closing(PartStore(tmp_path, spec.line_files)) as store:
        fetcher = Fetcher(client, listing, Filters(), store, spec)
        fetcher.run()
        count, _ = store.distinct_keys()
    assert (count, fetcher.holes, fetcher.last_update) == (1_300, [], "")


def test_unknown_fields_are_kept_on_request(tmp_path: Path, client: Client) -> None:
    _, without = exported_lines(client, tmp_path / "c.jsonl")
    assert "corFavorita" not in without[0]
    _, kept = exported_lines(client, tmp_path / "k.jsonl", keep_unknown=True)
    assert json.loads(kept[0][UNKNOWN_FIELDS]) == {"corFavorita": "azul"}
    assert kept[0]["codigoDoCliente"] == without[0]["codigoDoCliente"]


def attachment(url: str, name: str = "a.pdf", number: int = 1) -> dict[str, Any]:
    return {"Id": number, "NomeDoArquivo": name, "Url": url}


def payable(*files: dict[str, Any]) -> dict[str, Any]:
    key = dict.fromkeys(LISTINGS["contaspagar"].key, 1)
    return {**key, "Arquivos": list(files)}


def test_attachments_are_downloaded_only_from_the_system_into_their_folder(
    tmp_path: Path, address: str, system: ChangingSystem
) -> None:
    system.files["/f/1"] = b"one"
    folder = tmp_path / "files"
    downloads = AttachmentDownloads(folder, LISTINGS["contaspagar"], address)
    downloads.download(
        payable(
            attachment(f"{address}/f/1?token=SECRET", "../../etc/passwd"),
            attachment("http://other.example.com/f?token=SECRET", number=2),
            attachment("https://127.0.0.1:1/f?token=SECRET", number=3),
            attachment("file:///etc/passwd", number=4),
        )
    )
    (written,) = folder.iterdir()
    assert written.read_bytes() == b"one"
    assert (downloads.files, len(downloads.problems)) == (1, 3)
    assert "SECRET" not in "".join(map(str, downloads.problems))


def test_attachments_are_not_overwritten_and_not_larger_than_the_limit(
    tmp_path: Path, address: str, system: ChangingSystem
) -> None:
    system.files |= {"/f/1": b"new", "/f/2": b"x" * 1_000}
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "1-1-1-1-1-a.pdf").write_bytes(b"old")
    downloads = AttachmentDownloads(folder, LISTINGS["contaspagar"], address, max_size=100)
    downloads.download(
        payable(attachment(f"{address}/f/1"), attachment(f"{address}/f/2", number=2))
    )
    assert [path.read_bytes() for path in folder.iterdir()] == [b"old"]
    assert (downloads.files, len(downloads.problems)) == (0, 2)


def test_existing_attachments_count_unless_their_content_differs(
    tmp_path: Path, address: str, system: ChangingSystem
) -> None:
    system.files |= {"/f/1": b"x" * 200_000, "/f/2": b"two"}
    one, two = attachment(f"{address}/f/1"), attachment(f"{address}/f/2", number=2)
    for files in ([one], [one, two], [one, two]):
        downloads = AttachmentDownloads(tmp_path / "files", LISTINGS["contaspagar"], address)
        downloads.download(payable(*files))
        assert (downloads.files, downloads.problems) == (len(files), [])
    for changed in (b"x" * 199_999, b"x" * 200_001, b"y" + b"x" * 199_999, b""):
        system.files["/f/1"] = changed
        downloads = AttachmentDownloads(tmp_path / "files", LISTINGS["contaspagar"], address)
        downloads.download(payable(one))
        assert (downloads.files, len(downloads.problems)) == (0, 1)
    assert sorted(p.stat().st_size for p in (tmp_path / "files").iterdir()) == [3, 200_000]


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("nota.pdf", "nota.pdf"),
        ("../a\\b:c?.pdf", "_a_b_c_.pdf"),
        ("con.txt", "_con.txt"),
        ("a\x00b\n.xml", "a_b_.xml"),
        (" . ", "_"),
        ("nota\u202efdp.exe", "notafdp.exe"),
        ("a\u200b\u2066b\u2028.pdf", "ab.pdf"),
        ("é" * 300 + ".pdf", "é" * 116 + ".pdf"),
    ],
)
def test_attachment_names_are_safe_on_every_system(name: str, safe: str) -> None:
    assert safe_name(name) == safe
