"""Capped listings are complete, with few calls; windows that may be incomplete are named."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from environment import Xlbridge, clean_environment, credentials
from exporting import export
from hypothesis import given, strategies as st
from sampling import examples
from sandboxes import sandbox_process
from update_times import (
    DAY,
    DISTRIBUTIONS,
    FIRST,
    SPAN,
    Moments,
    Shown,
    bursts,
    fewest_calls,
    large,
    split,
    spread,
)

from xlbridge.client import Client, Target
from xlbridge.client.time_windows import Window
from xlbridge.sandbox import RunningSandbox
from xlbridge.wire.registry import CLIENT_CAP

MAX_CALL_RATIO = 1.7
"""Ratio to the fewest possible calls, for spread records with some bursts."""

LEARNING_CALLS = 4
"""Extra calls until the first answers have shown how records are distributed and windows read."""


@contextmanager
def sandbox_with(folder: Path, moments: Sequence[datetime]) -> Iterator[RunningSandbox]:
    """Sandbox with one client for each time of last update."""
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


@pytest.mark.parametrize("count", [3_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_all_clients_are_exported_with_few_calls(tmp_path: Path, count: int) -> None:
    random = Random(7)
    in_bursts = bursts(random, [40] * (count // 200) + large(random, count // 3_000))
    others = spread(random, count - len(in_bursts))
    moments = in_bursts + [at + timedelta(seconds=random.randrange(60)) for at in others]
    output = tmp_path / "clientes.jsonl"
    with (
        sandbox_with(tmp_path / "home", moments) as running,
        Client(Target("t", running.base_url, running.email, running.password)) as client,
    ):
        exported = export(client, "clientes", output)
    codes = [json.loads(line)["codigoDoCliente"] for line in output.read_text().splitlines()]
    assert sorted(code for code in codes if code >= 5_000) == list(range(5_000, 5_000 + count))
    assert exported.complete
    assert len(set(codes)) == len(codes) == exported.records
    assert all(window.records < CLIENT_CAP for window in exported.windows)
    assert exported.calls <= MAX_CALL_RATIO * fewest_calls(moments, CLIENT_CAP) + LEARNING_CALLS


def assert_complete(moments: Sequence[datetime], settled: list[tuple[Window, int]]) -> None:
    """Assert that windows cover all time without overlapping and only full minutes are gaps."""
    windows = [window for window, _ in settled]
    ends = [window.end for window in windows]
    assert windows[0].start is None
    assert ends.pop() is None
    assert [end and end + timedelta(minutes=1) for end in ends] == [
        window.start for window in windows[1:]
    ]
    sizes = Counter(moments)
    full = [Window(minute, minute) for minute in sorted(sizes) if sizes[minute] >= CLIENT_CAP]
    assert [window for window, count in settled if count >= CLIENT_CAP] == full
    found = sum(count for _, count in settled if count < CLIENT_CAP)
    assert found == sum(size for size in sizes.values() if size < CLIENT_CAP)


CALL_RATIOS = {
    **{f"spread over {time}": 1.3 for time in ("600 days", "20 years")},
    "working hours of 600 days": 1.3,
    "working hours of 60 days": 1.7,
    "working hours of 20 days": 2.2,
    "all in three hours": 1.5,
    "15,000 in three hours, 5,000 after": 1.4,
    "growing": 1.6,
    "a long tail": 1.9,
    "10 spells with years between": 2.3,
    "60 spells with months between": 2.3,
    "200 each night": 1.3,
    "450 each night": 1.4,
    "bursts of 10 only": 1.5,
    "150 bursts of 40, 14,000 spread": 1.6,
    "5 bursts of 400 to 499, 18,000 spread": 1.6,
}
"""Maximum ratio to the fewest possible calls, by distribution: see ``docs/exports.md``."""

BURST_RATIO = 2.1
"""Maximum ratio if many records come in bursts."""


SLOW_DISTRIBUTIONS = {
    *(f"bursts of {size} only" for size in (20, 40, 150, 200, 240, 300, 400, 450)),
    *(f"half in bursts of {size}" for size in (100, 200, 400, 450)),
}
"""Burst sizes between those of the fast suite."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW_DISTRIBUTIONS))
        for name in DISTRIBUTIONS
    ],
)
def test_calls_are_bounded_for_each_distribution(name: str) -> None:
    moments = DISTRIBUTIONS[name](Random(1))
    settled, calls = split(moments, CLIENT_CAP)
    assert_complete(moments, settled)
    most = CALL_RATIOS.get(name, BURST_RATIO)
    assert calls <= most * fewest_calls(moments, CLIENT_CAP)


groups = st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 700))


@examples(15)
@given(
    st.integers(0, 2_000),
    st.lists(groups, max_size=12),
    st.sampled_from([3, 60, DAY, SPAN, 10 * SPAN]),
    st.integers(0, 2**32),
)
def test_no_record_is_lost_and_calls_are_bounded(
    count: int, in_groups: list[tuple[float, int]], minutes: int, seed: int
) -> None:
    random = Random(seed)
    moments = spread(random, count, minutes)
    for part, size in in_groups:
        moments += [FIRST + timedelta(minutes=1) * int(part * minutes)] * size
    settled, calls = split(moments, CLIENT_CAP)
    assert_complete(moments, settled)
    assert calls <= 2.5 * fewest_calls(moments, CLIENT_CAP) + 2 * LEARNING_CALLS


@examples(6)
@given(
    st.integers(8_000, 16_000),
    st.lists(st.integers(1, 40), max_size=120),
    st.lists(st.integers(400, 499), max_size=4),
    st.integers(0, 2**32),
)
def test_spread_records_with_some_bursts_take_few_more_calls(
    count: int, small: list[int], nearly_full: list[int], seed: int
) -> None:
    random = Random(seed)
    moments = spread(random, count) + bursts(random, small + nearly_full)
    settled, calls = split(moments, CLIENT_CAP)
    assert_complete(moments, settled)
    assert calls <= MAX_CALL_RATIO * fewest_calls(moments, CLIENT_CAP) + LEARNING_CALLS


@pytest.mark.parametrize(
    "shown",
    [
        lambda inside: inside[-CLIENT_CAP:],
        lambda inside: Random(8).sample(inside, CLIENT_CAP),
        lambda inside: [moment.replace(year=1999) for moment in inside[:CLIENT_CAP]],
        lambda _inside: [],
    ],
    ids=["latest first", "any", "moments outside", "without moments"],
)
def test_no_record_is_lost_whatever_a_full_answer_holds(shown: Shown) -> None:
    random = Random(9)
    moments: Moments = bursts(random, [300] * 5 + [499, 500]) + spread(random, 4_000)
    settled, _ = split(moments, CLIENT_CAP, shown)
    assert_complete(moments, settled)


def test_a_minute_that_fills_an_answer_takes_few_calls() -> None:
    moments = [FIRST] * (CLIENT_CAP + 200) + [FIRST + timedelta(minutes=1)] * 300
    settled, calls = split(moments, CLIENT_CAP)
    assert_complete(moments, settled)
    assert calls <= fewest_calls(moments, CLIENT_CAP) + 2 * LEARNING_CALLS


def test_too_many_records_in_one_minute_are_reported_as_a_gap(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    minute = datetime(2026, 3, 4, 5, 6)
    moments = [minute] * (CLIENT_CAP + 20) + spread(Random(11), 300)
    manifest = tmp_path / "m.json"
    with sandbox_with(tmp_path / "server", moments) as running:
        output = ["-o", tmp_path / "c.csv", "--manifest", manifest]
        done = xlbridge("export", "clientes", *output, **credentials(running))
    assert done.returncode == 1, done.stderr
    assert "04/03/2026 05:06" in done.stderr
    verdict, advice = done.stderr.splitlines()[-2:]
    assert verdict.endswith("c.csv is, or may be, incomplete.")
    assert advice.startswith("Next: export in parts")
    document = json.loads(manifest.read_text(encoding="utf-8"))
    (gap,) = document["holes"]
    assert (gap["from"], gap["to"]) == ("2026-03-04T05:06:00", "2026-03-04T05:06:00")
    assert (document["complete"], gap["saturated"], gap["records"]) == (False, True, CLIENT_CAP)
    assert document["records"] == 300 + CLIENT_CAP
