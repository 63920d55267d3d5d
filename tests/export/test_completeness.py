"""Capped listings come whole, with few calls; what cannot be proven whole is named."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from random import Random

import pytest
from environment import Xlbridge, clean_environment, credentials
from hypothesis import given, settings
from hypothesis import strategies as st

from xlbridge.api.client import Client
from xlbridge.api.target import Target
from xlbridge.export.export import export_listing
from xlbridge.export.filters import Filters
from xlbridge.export.formats import FORMATS
from xlbridge.export.listings import LISTINGS
from xlbridge.export.splitting import MINUTE, Splitter, Window
from xlbridge.sandbox.embedded import sandbox_process
from xlbridge.sandbox.running import RunningSandbox
from xlbridge.wire.registry import CLIENT_CAP

FIRST, NOW = datetime(2025, 1, 1), datetime(2026, 11, 21, 12)
MINUTES = 600 * 24 * 60
MOST_MORE_CALLS = 1.5


def fewest_calls(moments: Sequence[datetime]) -> int:
    """Return how many windows who knew all moments would need: each as full as it may be."""
    calls, room = 1, CLIENT_CAP - 1
    minutes = sorted(moment.replace(second=0) for moment in moments)
    for _, group in groupby(minutes):
        count = len(list(group))
        if count > room:
            calls, room = calls + 1, CLIENT_CAP - 1
        room -= count
    return calls


def bursts(random: Random, count: int, size: int) -> list[datetime]:
    return [
        FIRST + MINUTE * minute
        for minute in (random.randrange(MINUTES) for _ in range(count))
        for _ in range(size)
    ]


def spread(random: Random, count: int) -> list[datetime]:
    return [FIRST + timedelta(seconds=random.randrange(MINUTES * 60)) for _ in range(count)]


def at_work(random: Random, count: int) -> list[datetime]:
    days = (FIRST + timedelta(days=random.randrange(600), hours=8) for _ in range(count))
    return [day + timedelta(seconds=random.randrange(10 * 3600)) for day in days]


def an_import(random: Random, count: int) -> list[datetime]:
    return [FIRST + timedelta(seconds=random.randrange(36_000)) for _ in range(count)]


def mixed(random: Random) -> list[datetime]:
    return bursts(random, 150, 40) + spread(random, 14_000)


@contextmanager
def sandbox_with(folder: Path, moments: Sequence[datetime]) -> Iterator[RunningSandbox]:
    """A sandbox with one client for each moment, last updated then."""
    seed = ["--seed", "empty"]
    with sandbox_process(folder, seed, clean_environment(folder)) as running:
        pass
    (path,) = folder.glob("*.db")
    with closing(sqlite3.connect(path)) as base, base:
        base.executemany(
            "INSERT INTO clients (codigoDoCliente, nomeComercial, natureza, ativo, "
            "ultimaAtualizacao) VALUES (?, ?, 'J', 1, ?)",
            (
                (code, f"Cliente {code}", moment.isoformat(" ") + ".000000")
                for code, moment in enumerate(moments, start=5_000)
            ),
        )
    with sandbox_process(folder, seed, clean_environment(folder)) as running:
        yield running


@pytest.mark.parametrize("count", [2_500, pytest.param(20_000, marks=pytest.mark.slow)])
def test_all_clients_come_with_few_calls(tmp_path: Path, count: int) -> None:
    random = Random(7)
    in_bursts = 3 * count // 400
    moments = bursts(random, in_bursts, 40) + spread(random, count - 40 * in_bursts)
    output = tmp_path / "clientes.jsonl"
    with (
        sandbox_with(tmp_path / "home", moments) as running,
        Client(Target("t", running.base_url, running.email, running.password)) as client,
    ):
        exported = export_listing(client, LISTINGS["clientes"], Filters(), output, FORMATS["jsonl"])
    codes = [json.loads(line)["codigoDoCliente"] for line in output.read_text().splitlines()]
    assert sorted(code for code in codes if code >= 5_000) == list(range(5_000, 5_000 + count))
    assert exported.complete
    assert len(set(codes)) == len(codes) == exported.records
    assert all(window.records < CLIENT_CAP for window in exported.windows)
    learning = 2
    assert exported.calls <= MOST_MORE_CALLS * fewest_calls(moments) + learning


def answered_by(
    moments: list[datetime], window: Window, chosen: Callable[[list[datetime]], list[datetime]]
) -> tuple[list[datetime], int]:
    inside = [
        moment
        for moment in moments
        if (window.start is None or moment >= window.start)
        and (window.end is None or moment < window.end + MINUTE)
    ]
    count = min(len(inside), CLIENT_CAP)
    return (inside if len(inside) < CLIENT_CAP else chosen(inside)), count


def split(
    moments: Sequence[datetime],
    chosen: Callable[[list[datetime]], list[datetime]] = lambda inside: inside[:CLIENT_CAP],
) -> tuple[int, int, list[Window]]:
    """Split as an export does; return the calls, the records, and the windows left full."""
    ordered = sorted(moments)
    splitter = Splitter(Window(None, None), CLIENT_CAP, NOW)
    calls = records = 0
    holes = []
    while (window := splitter.next) is not None:
        shown, count = answered_by(ordered, window, chosen)
        calls += 1
        if splitter.answered(shown, count):
            if count >= CLIENT_CAP:
                holes.append(window)
            else:
                records += count
    return calls, records, holes


@pytest.mark.parametrize(
    "moments",
    [
        spread(Random(1), 20_000),
        at_work(Random(2), 20_000),
        an_import(Random(3), 20_000),
        mixed(Random(4)),
    ],
    ids=["spread", "at work", "one import", "mixed"],
)
def test_few_more_calls_than_who_knew_the_distribution(moments: list[datetime]) -> None:
    calls, records, holes = split(moments)
    assert (records, holes) == (len(moments), [])
    assert calls <= MOST_MORE_CALLS * fewest_calls(moments)


@pytest.mark.parametrize("size", [400, 499])
def test_large_bursts_cost_more_and_lose_nothing(size: int) -> None:
    moments = bursts(Random(5), 20, size) + spread(Random(6), 12_000)
    calls, records, holes = split(moments)
    assert (records, holes) == (len(moments), [])
    assert calls <= 2 * fewest_calls(moments)


@pytest.mark.parametrize(
    "chosen",
    [
        lambda inside: inside[-CLIENT_CAP:],
        lambda inside: Random(8).sample(inside, CLIENT_CAP),
        lambda _inside: [],
    ],
    ids=["latest first", "any", "without moments"],
)
def test_nothing_is_lost_whatever_a_full_answer_holds(
    chosen: Callable[[list[datetime]], list[datetime]],
) -> None:
    moments = bursts(Random(9), 5, 300) + spread(Random(10), 4_000)
    _, records, holes = split(moments, chosen)
    assert (records, holes) == (len(moments), [])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, MINUTES), st.integers(1, 700)), min_size=0, max_size=12))
def test_only_single_minutes_are_holes(groups: list[tuple[int, int]]) -> None:
    moments = [FIRST + MINUTE * minute for minute, size in groups for _ in range(size)]
    sizes: dict[datetime, int] = {}
    for moment in moments:
        sizes[moment] = sizes.get(moment, 0) + 1
    full = sorted(moment for moment, size in sizes.items() if size >= CLIENT_CAP)
    _, records, holes = split(moments)
    assert [(hole.start, hole.end) for hole in holes] == [(moment, moment) for moment in full]
    assert records == sum(size for size in sizes.values() if size < CLIENT_CAP)


def test_too_many_in_one_minute_are_a_named_hole(tmp_path: Path, xlbridge: Xlbridge) -> None:
    minute = datetime(2026, 3, 4, 5, 6)
    moments = [minute] * (CLIENT_CAP + 20) + spread(Random(11), 300)
    manifest = tmp_path / "m.json"
    with sandbox_with(tmp_path / "server", moments) as running:
        output = ["-o", tmp_path / "c.csv", "--manifest", manifest]
        done = xlbridge("export", "clientes", *output, **credentials(running))
    assert done.returncode == 1, done.stderr
    assert "04/03/2026 05:06" in done.stderr
    told = json.loads(manifest.read_text(encoding="utf-8"))
    (hole,) = told["holes"]
    assert (hole["from"], hole["to"]) == ("2026-03-04T05:06:00", "2026-03-04T05:06:00")
    assert (told["complete"], hole["saturated"], hole["records"]) == (False, True, CLIENT_CAP)
    assert told["records"] == 300 + CLIENT_CAP
