"""Tables of docs/scale.md: the duration of a month's work, computed from measured rates.

Usage: python benchmarks/scale.py [--rows N] [--validate S] [--client S] [--sandbox S] [--export S]
[--start S]

Rates are seconds of processor time: to validate 100,000 rows, to plan and send 20,000 rows through
the queue, to preview and import them, to export 20,000 orders, to start a command. The first table
names the script that measures each rate. The defaults are the rates of the page.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

_WORKERS = (2, 8, 32)
_SHARE_OF_WORKERS = 0.95
"""Efficiency of a worker: two validate 1.9 times as fast as one."""

_SLOW_SYSTEM, _SINGLE_RECORDS = 1_000, 50
"""Rows per second of a slow system: through its queue, and record by record."""

_LINES_OF_ORDER = 8
_MAGNITUDES = (20, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds of processor time for the sample of each operation."""

    validate: float = 1.2
    client: float = 1.4
    sandbox: float = 1.7
    export: float = 2.6
    start: float = 0.4

    def validation(self, rows: int) -> float:
        """Return the seconds needed to validate rows."""
        return rows / 100_000 * self.validate

    def sending(self, rows: int) -> float:
        """Return the seconds the client needs to plan and send rows."""
        return rows / 20_000 * self.client

    def importing(self, rows: int) -> float:
        """Return the seconds the sandbox needs to preview and import rows."""
        return rows / 20_000 * self.sandbox


def tables(rates: Rates, rows: int) -> list[str]:
    """Return the tables of the page."""
    return [
        "\n".join(_table(*lines)) for lines in (_rates(rates), _steps(rates, rows), _bounds(rates))
    ]


def _rates(rates: Rates) -> tuple[Sequence[str], list[Sequence[str]]]:
    orders = 20_000 / rates.export
    return ("Operation", "Measured", "Per second of processor time"), [
        (
            "validate sheets of 12 columns, 1 % of the cells bad",
            f"100,000 rows: {rates.validate:g} s (`timeline.py`)",
            f"{_round(100_000 / rates.validate)} rows",
        ),
        (
            "plan new titles and send them through the queue",
            f"20,000 rows: {rates.client:g} s in the client (`timeline.py`)",
            f"{_round(20_000 / rates.client)} rows",
        ),
        (
            "preview and import in the sandbox",
            f"20,000 rows: {rates.sandbox:g} s (`timeline.py`)",
            f"{_round(20_000 / rates.sandbox)} rows",
        ),
        (
            "export orders with two lists",
            f"20,000 orders: {rates.export:g} s (`export.py`)",
            f"{_round(orders)} orders, {_round(orders * _LINES_OF_ORDER)} lines",
        ),
        (
            "start a command that validates",
            f"{rates.start:g} s, mostly pandas and pandera (`startup.py`, `validate.py`)",
            "–",
        ),
    ]


def _steps(rates: Rates, rows: int) -> tuple[Sequence[str], list[Sequence[str]]]:
    headings = ("Step", "Processor time", "2 cores", *(f"{n} workers" for n in _WORKERS[1:]))
    validation, sending = rates.validation(rows), rates.sending(rows)
    importing = rates.importing(rows)
    shared = [_time(validation / (workers * _SHARE_OF_WORKERS)) for workers in _WORKERS]
    alone = {
        "plan and send, one workbook at a time": (sending, sending),
        "import in the system, at the sandbox's rate": (importing, importing),
        f"… at {_SLOW_SYSTEM:,} rows per second": (0, rows / _SLOW_SYSTEM),
        f"… at {_SINGLE_RECORDS} single records per second": (0, rows / _SINGLE_RECORDS),
    }
    return headings, [
        ("validate", _time(validation), *shared),
        *(
            (step, _time(processor) if processor else "–", *[_time(clock)] * len(_WORKERS))
            for step, (processor, clock) in alone.items()
        ),
    ]


def _bounds(rates: Rates) -> tuple[Sequence[str], list[Sequence[str]]]:
    headings = ("Rows", "Start", "Validate, 2 cores", "Bound by", "Plan, send, import", "Bound by")
    lines = []
    for rows in _MAGNITUDES:
        validation = rates.validation(rows) / (2 * _SHARE_OF_WORKERS)
        sent = rates.sending(rows) + rates.importing(rows)
        validated_by = "imports" if rates.start > validation else "parsing"
        sent_by = "imports" if rates.start > sent else "the system"
        lines.append(
            (f"{rows:,}", _time(rates.start), _time(validation), validated_by, _time(sent), sent_by)
        )
    return headings, lines


def _table(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield "|---" * len(headings) + "|"
    for line in lines:
        yield f"| {' | '.join(line)} |"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{max(seconds, 0.01):.2g} s"
    return f"{seconds / 60:.2g} min" if seconds < 6_000 else f"{seconds / 3_600:.2g} h"


def _round(rate: float) -> str:
    return f"{float(f'{rate:.2g}'):,.0f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    for rate in fields(Rates):
        parser.add_argument(f"--{rate.name}", type=float, default=rate.default, metavar="S")
    arguments = vars(parser.parse_args())
    print("\n\n".join(tables(rows=arguments.pop("rows"), rates=Rates(**arguments))))


if __name__ == "__main__":
    main()
