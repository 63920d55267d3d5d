"""One rule over all channels: a write in doubt, or refused wrongly, is proven and made once."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from lossy_proxy import LossyProxy, ProxyFault
from process_parts import ORDERS
from record_parts import PAYABLES, TYPES, codes_of, make_types, new_descriptions
from sampling import sampled
from update_parts import Run, edit, titles, writes
from upload_parts import new_cnpj

from xlbridge.client import Client
from xlbridge.wire.financial import RECEIVABLE_LIST_OPEN, ReceivableQuery

_MAX_RUNS = 20


@dataclass(frozen=True)
class Write:
    """Command that writes, the request that is disturbed, and the rows that are written by now.

    ``rows`` are wanted, by as many requests if each is a request of its own. Once they are written,
    the command ends with the exit code ``again``.
    """

    command: tuple[object, ...]
    method: str
    path: str
    written: Callable[[], int]
    rows: int = 1
    again: int = 0


@dataclass(frozen=True)
class Setting:
    """What the channels write with."""

    client: Client
    run: Run
    customer: int
    home: Path
    folder: Path
    make_receivables: Callable[..., Path]
    payables: Callable[[], Path]


def import_receivable(setting: Setting, mode: str, path: str) -> Write:
    book = setting.make_receivables(setting.customer, new_cnpj(), "um")
    query = ReceivableQuery(codigoDoCliente=setting.customer)
    return Write(
        ("upload", book, "--mode", mode, "--yes"),
        "POST",
        path,
        lambda: len(list(setting.client.records(RECEIVABLE_LIST_OPEN, query=query))),
    )


def import_directly(setting: Setting) -> Write:
    return import_receivable(setting, "direct", "importacao/contasreceber?preview=false")


def start_queued_file(setting: Setting) -> Write:
    return import_receivable(setting, "queue", "processar-arquivo")


def create_record(setting: Setting) -> Write:
    names = new_descriptions(3)
    book = make_types(setting.folder / "tipos.xlsx", names)
    return Write(
        ("upload", book, "--yes"), "POST", TYPES, lambda: len(codes_of(setting.client, names)), 3
    )


def change_record(setting: Setting) -> Write:
    book, text = setting.payables(), f"Corrigida {new_cnpj()}"
    edit(edit(book, "historico", 2, text), "historico", 3, text)
    return Write(
        ("upload", book, "--update", "--yes"),
        "PUT",
        PAYABLES,
        lambda: sum(one["historico"] == text for one in titles(setting.client).values()),
        2,
    )


def delete_records(setting: Setting) -> Write:
    book = setting.payables()
    before = len(titles(setting.client))
    return Write(
        ("upload", book, "--delete", "--yes"),
        "DELETE",
        PAYABLES,
        lambda: before - len(titles(setting.client)),
        3,
        again=1,
    )


def undo_upload(setting: Setting) -> Write:
    setting.payables()
    job = setting.run("jobs")[1]["jobs"][0]["job"]
    before = len(titles(setting.client))
    return Write(
        ("undo", job, "--yes"),
        "DELETE",
        PAYABLES,
        lambda: before - len(titles(setting.client)),
        3,
    )


def process_record(setting: Setting) -> Write:
    number = ORDERS.create(setting.client, setting.customer, setting.folder)
    return Write(
        ("process", ORDERS.listing, "--id", number, "--yes"),
        "POST",
        ORDERS.path,
        lambda: ORDERS.times_processed(setting.home, number),
    )


CHANNELS = [
    import_directly,
    start_queued_file,
    create_record,
    change_record,
    undo_upload,
    process_record,
    delete_records,
]
DISTURBANCES: list[tuple[ProxyFault, int]] = [
    ("lose answer", 1),
    ("500 after", 1),
    ("html", 1),
    ("429 after", 1),
    ("401 after", 1),
    ("refuse after", 1),
    ("lose request", 2),
    ("unavailable", 2),
]
"""What becomes of a request, and how often it is sent."""


@pytest.mark.parametrize(
    ("channel", "disturbance"),
    sampled(
        product(CHANNELS, DISTURBANCES),
        lambda _, case: (CHANNELS.index(case[0]) + DISTURBANCES.index(case[1])) % 3 == 0,
    ),
    ids=lambda value: getattr(value, "__name__", None) or value[0],
)
def test_a_write_in_doubt_is_proven_and_made_once(
    request: pytest.FixtureRequest,
    client: Client,
    proxy: LossyProxy,
    run: Run,
    customer: int,
    sandbox_home: Path,
    tmp_path: Path,
    make_receivables: Callable[..., Path],
    channel: Callable[[Setting], Write],
    disturbance: tuple[ProxyFault, int],
) -> None:
    fault, sent = disturbance
    setting = Setting(
        client,
        run,
        customer,
        sandbox_home,
        tmp_path,
        make_receivables,
        lambda: request.getfixturevalue("payables"),
    )
    write = channel(setting)
    disturbed: list[str] = []

    def decide(method: str, path: str) -> ProxyFault:
        if method == write.method and write.path in path and not disturbed:
            disturbed.append(path)
            return fault
        return "pass"

    proxy.seen.clear()
    proxy.decide = decide
    code, report = run(*write.command)
    assert disturbed
    if channel is import_directly and fault == "lose request":
        # Nothing tells an import that was lost from one that has not arrived yet.
        assert (code, report["rows"]["unknown"], write.written()) == (5, 1, 0)
        return
    for _ in range(_MAX_RUNS):
        if code == 0:
            break
        code, report = run("resume", report["job"])
    assert (code, report["state"], write.written()) == (0, "done", write.rows), report
    if channel is not start_queued_file:  # Whose log may show it as pending for a while.
        made = [path for method, path in writes(proxy) if method == write.method]
        assert sum(write.path in path for path in made) == write.rows - 1 + sent
    proxy.seen.clear()
    ended = run(*write.command)[0], writes(proxy), write.written()
    assert ended == (write.again, [], write.rows)
