"""Answers in every shape that the spec allows or leaves open: no verdict contradicts the system.

Each case is a channel with a shape of its refusals, successes, logs and ids. Two rows of three are
sound. Whatever the shape, rows that are said to be there are, rejected ones are not, and the
system's reason is told; what cannot be known is in doubt.
"""

import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from answer_shapes import IDS, LINES, REFUSALS, STATUSES, SUCCESSES, WORDLESS
from lossy_proxy import LossyProxy
from sampling import sampled
from sheets import write_records
from upload_parts import AT_ONCE, new_cnpj, write_job

from xlbridge.client import Client
from xlbridge.errors import XlbridgeError
from xlbridge.upload import UploadContext, Uploads
from xlbridge.upload.results import job_json
from xlbridge.wire.financial import PAYABLE_LIST_OPEN

DUE = {"dataDeVencimento": date(2026, 12, 10)}
UNKNOWN_SUPPLIER = 999_999
ROWS = 3
COUNTS = ("all", "none", "rejected", "imported", "texts")
STATUS_NAMES = ("situacao", "Situacao", "status", "upper")
FIRST_LINES = (2, 1, 0)

QUEUES = [
    ("queue", shape)
    for shape in product(IDS, LINES, COUNTS, STATUS_NAMES, FIRST_LINES, (True, False))
]
REFUSED = [*REFUSALS, *WORDLESS]
ACCEPTED = [*SUCCESSES, *WORDLESS]
"""Answers after the system has written; a gateway gives those without words, too."""

RECORDS = [
    *(("records", (*shape, 200, False)) for shape in product(REFUSED, SUCCESSES)),
    *(("records", ("as the spec", *shape, True)) for shape in product(ACCEPTED, STATUSES)),
]
DIRECT = [
    *(("direct", (shape, "no data", 200, False)) for shape in REFUSED),
    *(("direct", ("as the spec", *shape, True)) for shape in product(ACCEPTED, STATUSES)),
]

_CHUNK = 6


def chunks() -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """Yield all cases in chunks, mixed so that each has every channel and shape."""
    cases = [*QUEUES, *RECORDS, *DIRECT]
    random.Random(38).shuffle(cases)
    for start in range(0, len(cases), _CHUNK):
        yield cases[start : start + _CHUNK]


def shaped_log(log: dict[str, Any], shape: tuple[Any, ...]) -> dict[str, Any]:
    """Return a log in another shape."""
    _, lines, counts, status, first_line, _ = shape
    shift = first_line - 2
    rejected = [{**line, "linha": line["linha"] + shift} for line in log["linhasRejeitadas"]]
    other = {**log, "linhasRejeitadas": [LINES[lines](line) for line in rejected]}
    names = {"all": (), "none": ("total", "imported", "rejected"), "texts": ()}
    fields = {
        "total": "totalDeRegistros",
        "imported": "registrosImportados",
        "rejected": "registrosRejeitados",
    }
    for name in names.get(counts, [one for one in fields if one != counts]):
        del other[fields[name]]
    if counts == "texts":
        other |= {name: str(other[name]) for name in fields.values() if other[name] is not None}
    word = other.pop("situacao")
    other["situacao" if status == "upper" else status] = word.upper() if status == "upper" else word
    return other


def rewriter(channel: str, shape: tuple[Any, ...], reasons: list[str]) -> Any:
    """Return the change of answers of a case; ``reasons`` collects what the system said."""

    def rewrite(method: str, path: str, status: int, document: Any) -> tuple[int, Any] | None:
        if channel == "queue":
            if path.endswith("/fila") and document["success"]:
                return status, {**document, "data": IDS[shape[0]](document["data"])}
            if "log-importacao" in path:
                reasons.extend(line["mensagem"] for line in document["data"]["linhasRejeitadas"])
                return status, {**document, "data": shaped_log(document["data"], shape)}
            return None
        if method == "GET" or "autenticar" in path or "preview=true" in path:
            return None
        refusal, success, status, _ = shape
        if document["success"]:
            return WORDLESS.get(success) or (status, SUCCESSES[success](document))
        if refusal in WORDLESS:
            return WORDLESS[refusal]
        reasons.extend(item["value"].partition(": ")[2] for item in document["errors"])
        return REFUSALS[refusal](document["errors"])

    return rewrite


def written_titles(client: Client, document: str) -> list[Mapping[str, Any]]:
    """Return the titles that the system has of a document."""
    titles = client.records(PAYABLE_LIST_OPEN)
    return [title for title in titles if str(title["numeroDoDocumento"]).startswith(document)]


def remove(http: httpx.Client, titles: Iterable[Mapping[str, Any]]) -> None:
    """Remove titles, which would make the look-ups of all later cases longer."""
    names = ("codigoDoExercicio", "codigoDaFilial", "numeroDaTransacao", "sequenciaDaTransacao")
    for title in titles:
        key = "/".join(str(title[name]) for name in names)
        http.delete(f"/v2/financeiro/contaspagar/{key}").raise_for_status()


def contradiction(
    titles: Iterable[Mapping[str, Any]], report: Mapping[str, Any], reasons: list[str]
) -> str | None:
    """Return what a report says that is not so in the system, None if all is."""
    present = {int(title["numeroDoDocumento"].rpartition("-")[2]) for title in titles}
    rows, state = report["rows"], report["state"]
    if state in {"in_doubt", "queued", "processing"}:
        return None
    rejected = {row["row"] - 2 for row in report["rejected"] if row["row"]}
    if rows["accepted"] > len(present) or rows["rejected"] > ROWS - len(present):
        return f"{state}: {rows}, {len(present)} are there"
    if not rows["unknown"] and rows["accepted"] != len(present):
        return f"{state}: {rows['accepted']} accepted, {len(present)} are there"
    if rejected & present:
        return f"row {rejected} is said to be rejected, and is there"
    told = " ".join(row["message"] for row in report["rejected"])
    if rows["rejected"] and not told:
        return "rejected without a word"
    if rows["rejected"] and not all(reason.rstrip(".") in told for reason in reasons):
        return f"reasons {reasons} became {told!r}"
    return None


@pytest.mark.parametrize("cases", sampled(chunks(), lambda index, _: index == 0))
def test_no_verdict_contradicts_the_system(
    context: UploadContext,
    client: Client,
    http: httpx.Client,
    proxy: LossyProxy,
    tmp_path: Path,
    cases: list[tuple[str, tuple[Any, ...]]],
) -> None:
    wrong = {}
    for number, (channel, shape) in enumerate(cases):
        reasons: list[str] = []
        proxy.rewrite = None
        document = new_cnpj()
        is_sound = not shape[-1]
        rows = [
            {
                "numeroDoDocumento": f"{document}-{row}",
                "codigoDoFornecedor": 501 if is_sound or row != 1 else UNKNOWN_SUPPLIER,
            }
            for row in range(ROWS)
        ]
        resource = "contaspagar"
        path = write_records(
            tmp_path / f"{number}.xlsx", resource, [{**row, **DUE} for row in rows]
        )
        job = write_job(context, client, path, channel)  # type: ignore[arg-type]
        proxy.rewrite = rewriter(channel, shape, reasons)
        try:
            job = Uploads(context, client).run(job, AT_ONCE)
        except XlbridgeError:
            job = context.journal.job(job.id)
        proxy.rewrite = None
        titles = written_titles(client, document)
        problem = contradiction(titles, job_json(context.journal, job), reasons)
        if problem:
            wrong[(channel, *shape)] = problem
        remove(http, titles)
    assert not wrong
