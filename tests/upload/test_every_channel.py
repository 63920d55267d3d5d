"""One rule over all channels: a write whose answer is lost or declined is proven, and made once."""

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

    ``rows`` are wanted, by as many requests if each is a request of its own.
    """

    command: tuple[object, ...]
    method: str
    path: str
    written: Callable[[], int]
    rows: int = 1


@dataclass(frozen=True)
class Bench:
    """What the channels write with."""

    client: Client
    run: Run
    customer: int
    home: Path
    folder: Path
    make_receivables: Callable[..., Path]
    payables: Callable[[], Path]


def import_receivable(bench: Bench, mode: str, path: str) -> Write:
    book = bench.make_receivables(bench.customer, new_cnpj(), "um")
    query = ReceivableQuery(codigoDoCliente=bench.customer)
    return Write(
        ("upload", book, "--mode", mode, "--yes"),
        "POST",
        path,
        lambda: len(list(bench.client.records(RECEIVABLE_LIST_OPEN, query=query))),
    )


def import_directly(bench: Bench) -> Write:
    return import_receivable(bench, "direct", "importacao/contasreceber?preview=false")


def start_queued_file(bench: Bench) -> Write:
    return import_receivable(bench, "queue", "processar-arquivo")


def create_record(bench: Bench) -> Write:
    names = new_descriptions(3)
    book = make_types(bench.folder / "tipos.xlsx", names)
    return Write(
        ("upload", book, "--yes"), "POST", TYPES, lambda: len(codes_of(bench.client, names)), 3
    )


def change_record(bench: Bench) -> Write:
    book, text = bench.payables(), f"Corrigida {new_cnpj()}"
    edit(edit(book, "historico", 2, text), "historico", 3, text)
    return Write(
        ("upload", book, "--update", "--yes"),
        "PUT",
        PAYABLES,
        lambda: sum(one["historico"] == text for one in titles(bench.client).values()),
        2,
    )


def undo_upload(bench: Bench) -> Write:
    bench.payables()
    job = bench.run("jobs")[1]["jobs"][0]["job"]
    before = len(titles(bench.client))
    return Write(
        ("undo", job, "--yes"),
        "DELETE",
        PAYABLES,
        lambda: before - len(titles(bench.client)),
        3,
    )


def process_record(bench: Bench) -> Write:
    number = ORDERS.create(bench.client, bench.customer, bench.folder)
    return Write(
        ("process", ORDERS.listing, "--id", number, "--yes"),
        "POST",
        ORDERS.path,
        lambda: ORDERS.times_processed(bench.home, number),
    )


CHANNELS = [
    import_directly,
    start_queued_file,
    create_record,
    change_record,
    undo_upload,
    process_record,
]
FATES: list[tuple[ProxyFault, int]] = [
    ("lose answer", 1),
    ("500 after", 1),
    ("html", 1),
    ("429 after", 1),
    ("401 after", 1),
    ("lose request", 2),
    ("unavailable", 2),
]
"""What becomes of a request, and how often it is sent."""


@pytest.mark.parametrize(
    ("channel", "fate"),
    sampled(
        product(CHANNELS, FATES),
        lambda _, case: (CHANNELS.index(case[0]) + FATES.index(case[1])) % 3 == 0,
    ),
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
    channel: Callable[[Bench], Write],
    fate: tuple[ProxyFault, int],
) -> None:
    fault, sent = fate
    bench = Bench(
        client,
        run,
        customer,
        sandbox_home,
        tmp_path,
        make_receivables,
        lambda: request.getfixturevalue("payables"),
    )
    write = channel(bench)
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
    assert (run(*write.command)[0], writes(proxy), write.written()) == (0, [], write.rows)
