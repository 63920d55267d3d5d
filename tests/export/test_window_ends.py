"""Systems that read windows of update times otherwise than documented, or ignore them."""

import csv
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from environment import Xlbridge
from fake_system import FakeSystem, Query, fake_system

pytestmark = pytest.mark.one_database

CAP = 500
MINUTE = timedelta(minutes=1)
RANDOM = Random(5)
TIMES = [
    datetime(2026, 10, 1, 8) + timedelta(seconds=RANDOM.randrange(60 * 60 * 4))
    for _ in range(1_855)
]
"""Eight records a minute: each minute that is left out is missed."""

Within = Callable[[datetime, datetime | None, datetime | None], bool]


def inclusive(time: datetime, low: datetime | None, high: datetime | None) -> bool:
    return (low is None or time >= low) and (high is None or time < high + MINUTE)


def literal(time: datetime, low: datetime | None, high: datetime | None) -> bool:
    return (low is None or time >= low) and (high is None or time <= high)


def exclusive(time: datetime, low: datetime | None, high: datetime | None) -> bool:
    return (low is None or time >= low) and (high is None or time < high)


def ignoring(_time: datetime, _low: datetime | None, _high: datetime | None) -> bool:
    return True


Order = Callable[[tuple[datetime, int]], Any]


def earliest_first(record: tuple[datetime, int]) -> datetime:
    return record[0]


def latest_first(record: tuple[datetime, int]) -> float:
    return -record[0].timestamp()


def by_number(record: tuple[datetime, int]) -> int:
    return record[1]


def listing(
    within: Within,
    make: Callable[[int, datetime], Any],
    cap: int | None = None,
    order: Order = earliest_first,
    times: Sequence[datetime] = (),
) -> Any:
    """Return the answers of a listing."""

    numbered = ((time, n) for n, time in enumerate(times or TIMES, start=1))
    ordered = sorted(numbered, key=order)

    def answer(query: Query) -> list[Any]:
        low, high = (
            datetime.strptime(query[name][0], "%d/%m/%Y %H:%M") if name in query else None
            for name in ("dataInferior", "dataSuperior")
        )
        return [make(n, time) for time, n in ordered if within(time, low, high)][:cap]

    return answer


def client(number: int, time: datetime) -> dict[str, Any]:
    return {"codigoDoCliente": number, "ultimaAtualizacao": time.isoformat()}


def order(number: int, time: datetime) -> dict[str, Any]:
    return {"numeroDoPedido": number, "ultimaAtualizacao": time.isoformat()}


def exported(
    xlbridge: Xlbridge, folder: Path, system: FakeSystem, *arguments: str
) -> tuple[Any, list[dict[str, str]], dict[str, Any]]:
    output, manifest = folder / "out.csv", folder / "out.json"
    options = ["-o", output, "--manifest", manifest]
    done = xlbridge("export", *arguments, *options, **system.environment())
    with output.open(encoding="utf-8-sig", newline="") as stream:
        return done, list(csv.DictReader(stream)), json.loads(manifest.read_text("utf-8"))


@pytest.mark.parametrize(
    ("within", "ends"),
    [(inclusive, "inclusive"), (literal, "exclusive"), (exclusive, "exclusive")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_all_clients_are_exported_however_the_end_of_a_window_is_read(
    tmp_path: Path, xlbridge: Xlbridge, within: Within, ends: str
) -> None:
    with fake_system({"/v2/cliente": listing(within, client, CAP)}) as system:
        done, rows, manifest = exported(xlbridge, tmp_path, system, "clientes")
    assert done.returncode == 0, done.stderr
    codes = [int(row["codigoDoCliente"]) for row in rows]
    assert sorted(codes) == list(range(1, len(TIMES) + 1))
    assert (manifest["complete"], manifest["window_ends"]) == (True, ends)
    assert ("leaves out the last minute" in done.stderr) is (ends == "exclusive")
    assert len(system.calls) < 15


@pytest.mark.parametrize("order", [earliest_first, latest_first, by_number])
@pytest.mark.parametrize("cap", [50, 100, 250])
def test_a_cap_below_the_documented_one_is_noticed(
    tmp_path: Path, xlbridge: Xlbridge, cap: int, order: Order
) -> None:
    with fake_system({"/v2/cliente": listing(inclusive, client, cap, order)}) as system:
        done, rows, manifest = exported(xlbridge, tmp_path, system, "clientes")
    assert (done.returncode, manifest["complete"]) == (0, True), done.stderr
    codes = [int(row["codigoDoCliente"]) for row in rows]
    assert sorted(codes) == list(range(1, len(TIMES) + 1))


@pytest.mark.parametrize("times", [TIMES[:100], TIMES[:1] * 100], ids=["spread", "one minute"])
def test_a_whole_answer_with_a_round_number_of_records_takes_few_calls(
    tmp_path: Path, xlbridge: Xlbridge, times: Sequence[datetime]
) -> None:
    answers = listing(inclusive, client, CAP, times=times)
    with fake_system({"/v2/cliente": answers}) as system:
        done, rows, manifest = exported(xlbridge, tmp_path, system, "clientes")
    assert (done.returncode, manifest["complete"], len(rows)) == (0, True, 100), done.stderr
    assert len([call for call in system.calls if "cliente" in str(call)]) == 4


@pytest.mark.parametrize("shows_times", [True, False], ids=["with times", "without times"])
def test_a_capped_listing_that_ignores_windows_is_a_gap_after_a_few_calls(
    tmp_path: Path, xlbridge: Xlbridge, shows_times: bool
) -> None:
    def make(number: int, time: datetime) -> dict[str, Any]:
        return client(number, time) if shows_times else {"codigoDoCliente": number}

    with fake_system({"/v2/cliente": listing(ignoring, make, CAP)}) as system:
        done, rows, manifest = exported(xlbridge, tmp_path, system, "clientes")
    assert done.returncode == 1
    assert (len(rows), manifest["complete"], manifest["window_ends"]) == (CAP, False, "ignored")
    assert "does not filter by the last update" in done.stderr
    assert len(system.calls) <= 4


@pytest.mark.parametrize("shows_times", [True, False], ids=["with times", "without times"])
def test_a_listing_that_ignores_windows_is_fetched_in_one_answer(
    tmp_path: Path, xlbridge: Xlbridge, shows_times: bool
) -> None:
    def make(number: int, time: datetime) -> dict[str, Any]:
        return order(number, time) if shows_times else {"numeroDoPedido": number}

    few = TIMES[: CAP + 100]
    with fake_system({"/v2/faturamento/pedido": listing(ignoring, make, times=few)}) as system:
        done, rows, manifest = exported(xlbridge, tmp_path, system, "pedidos")
    assert done.returncode == 0, done.stderr
    assert (len(rows), manifest["window_ends"]) == (len(few), "ignored")
    assert "does not filter by the last update" in done.stderr
    assert len(system.calls) <= 6


@pytest.mark.parametrize(
    ("path", "name", "make"),
    [("/v2/faturamento/pedido", "pedidos", order), ("/v2/cliente", "clientes", client)],
)
def test_a_period_that_the_system_ignores_is_filtered_here(
    tmp_path: Path, xlbridge: Xlbridge, path: str, name: str, make: Callable[..., Any]
) -> None:
    few = sorted(TIMES)[:CAP:2]

    def answer(_query: Query) -> list[Any]:
        moved = [time - timedelta(days=n) for n, time in enumerate(few)]
        return [make(n, time) for n, time in enumerate(moved)]

    with fake_system({path: answer}) as system:
        done, rows, manifest = exported(xlbridge, tmp_path, system, name, "--from", "28/09/2026")
    assert done.returncode == 0, done.stderr
    assert len(rows) == 4
    assert manifest["excess"] == {"from": len(few) - 4}


def beginning(time: datetime, low: datetime | None, _high: datetime | None) -> bool:
    return low is None or time >= low


def ending(time: datetime, _low: datetime | None, high: datetime | None) -> bool:
    return high is None or time < high + MINUTE


@pytest.mark.parametrize("cap", [CAP, None])
@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize("within", [beginning, ending])
def test_a_bound_that_is_ignored_is_recognised_after_a_few_calls(
    tmp_path: Path, xlbridge: Xlbridge, within: Within, newest_first: bool, cap: int | None
) -> None:
    path, name = ("/v2/cliente", "clientes") if cap else ("/v2/faturamento/pedido", "pedidos")
    spread = [datetime(2026, 1, 5) + timedelta(hours=6 * n) for n in range(1_200)]

    def answer(query: Query) -> list[Any]:
        low, high = (
            datetime.strptime(query[name][0], "%d/%m/%Y %H:%M") if name in query else None
            for name in ("dataInferior", "dataSuperior")
        )
        kept = [(n, time) for n, time in enumerate(spread) if within(time, low, high)]
        records = [client(n, time) | order(n, time) for n, time in kept]
        return (records[::-1] if newest_first else records)[:cap]

    period = ["--from", "01/03/2026", "--to", "10/05/2026"]
    with fake_system({path: answer}) as system:
        done, rows, manifest = exported(xlbridge, tmp_path, system, name, *period)
    assert manifest["window_ends"] == "ignored", done.stderr
    assert "does not filter by the last update" in done.stderr
    assert (done.returncode, manifest["complete"]) == ((1, False) if cap else (0, True))
    assert cap or len(rows) == sum("2026-03" <= f"{t}" < "2026-05-11" for t in spread)
    assert len(system.calls) <= 6


def test_records_from_outside_a_period_are_told(tmp_path: Path, xlbridge: Xlbridge) -> None:
    """The system compares another date than it shows."""

    def shifted(time: datetime, low: datetime | None, high: datetime | None) -> bool:
        return inclusive(time + timedelta(days=30), low, high)

    for path, name, cap in [
        ("/v2/cliente", "clientes", CAP),
        ("/v2/faturamento/pedido", "pedidos", None),
    ]:
        make = client if cap else order
        with fake_system({path: listing(shifted, make, cap)}) as system:
            period = ["--from", "31/10/2026", "--to", "31/10/2026 09:00", "--force"]
            done, _, manifest = exported(xlbridge, tmp_path, system, name, *period)
        assert manifest["window_ends"] == "other", done.stderr
        assert "last update is outside the period" in done.stderr


@pytest.mark.parametrize("within", [literal, exclusive])
def test_the_last_minute_of_a_month_is_exported(
    tmp_path: Path, xlbridge: Xlbridge, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = [datetime(2026, month, 1) - timedelta(seconds=30) for month in range(2, 11)]
    monkeypatch.setattr(f"{__name__}.TIMES", last)
    with fake_system({"/v2/faturamento/pedido": listing(within, order)}) as system:
        done, rows, _ = exported(xlbridge, tmp_path, system, "pedidos")
    assert done.returncode == 0, done.stderr
    assert len(rows) == len(last)


def test_records_of_a_full_answer_that_its_parts_lack_are_a_gap(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    whole = listing(inclusive, client, CAP)

    def answer(query: Query) -> list[Any]:
        # Only an answer without windows has these records.
        return [one for one in whole(query) if not query or one["codigoDoCliente"] % 50]

    with fake_system({"/v2/cliente": answer}) as system:
        done, _, manifest = exported(xlbridge, tmp_path, system, "clientes")
    assert (done.returncode, manifest["complete"]) == (1, False)
    assert "came in a full answer" in done.stderr
    assert all(key[0] % 50 == 0 for key in manifest["lost"])
    assert manifest["lost"]


@pytest.mark.parametrize("within", [inclusive, literal, exclusive])
def test_the_lists_of_a_template_have_all_clients(
    tmp_path: Path, xlbridge: Xlbridge, within: Within
) -> None:
    answers = {"/v2/cliente": listing(within, client, CAP), "/v2/centrodecusto": []}
    with fake_system(answers) as system:
        arguments = ["template", "contasreceber", "--with-lists", "-o", tmp_path / "t.xlsx"]
        done = xlbridge(*arguments, **system.environment())
    assert done.returncode == 0, done.stderr
    assert f"clients ({len(TIMES)})" in done.stderr
