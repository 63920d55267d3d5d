"""Draw the processor time of a command's processes over time.

Usage: python benchmarks/timeline.py [FOLDER [ROWS [NAME ...]]]

Runs ``validate`` on a sheet of ROWS (default 100,000) with 1 % bad cells, ``upload`` of a fifth as
many new titles through the queue of a sandbox, and ``export`` of as many orders from recorded
answers, or only those named. Writes ``timeline-validate.svg`` and so on into FOLDER (docs/images)
and prints the processor time and share of each process. Each lane of a picture is a process. The
horizontal axis is the processor time of all processes together, so other load does not matter. A
bar as high as its lane means that only this process worked. Linux only.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from bad_sheet import write_sheet
from export import recorded_orders
from upload import running_system, write_titles

_INTERVAL = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")
_LABEL, _WIDTH, _LANE, _GAP, _TOP = 190, 640, 34, 12, 34
_COLOURS = ("#1f6f8b", "#c2571a", "#5b7f2b", "#7a4b94", "#8a6d1f")


@dataclass(frozen=True, slots=True)
class Timeline:
    """Names of processes, and the processor seconds of each at every sample."""

    names: dict[int, str]
    samples: list[dict[int, float]]

    def total(self, pid: int) -> float:
        """Return the total processor time of a process."""
        seconds = [sample[pid] for sample in self.samples if pid in sample]
        return seconds[-1] - seconds[0]


def watch(
    command: Sequence[str], environment: Mapping[str, str], others: Mapping[str, int]
) -> Timeline:
    """Run a command; return the timeline of its processes and of ``others``."""
    timeline = Timeline({}, [])
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            roots = {process.pid: "xlbridge", **{pid: name for name, pid in others.items()}}
            sample = dict(timeline.samples[-1]) if timeline.samples else {}
            for pid, name in [one for root in roots.items() for one in _with_children(*root)]:
                seconds = _processor_seconds(pid)
                if seconds is not None:
                    # As it begins, and once it has ended, a child has no name of its own.
                    timeline.names[pid] = max(timeline.names.get(pid, ""), name, key=len)
                    sample[pid] = seconds
            timeline.samples.append(sample)
            time.sleep(_INTERVAL)
    if process.returncode not in (0, 1):
        sys.exit(f"{command} ended with {process.returncode}")
    return timeline


def _with_children(pid: int, name: str) -> list[tuple[int, str]]:
    found = [(pid, name)]
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(c) for t in threads for c in (t / "children").read_text().split()]
        for child in children:
            words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
            module = next((word for word in words if word.startswith("xlbridge.")), name)
            found += _with_children(child, f"{name}: {module.rpartition('.')[2]}")
    except OSError:
        pass  # It has ended meanwhile.
    return found


def _processor_seconds(pid: int) -> float | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / _TICKS


def draw(title: str, timeline: Timeline) -> str:
    """Return the picture as SVG."""
    steps = list(_steps(timeline))
    end = sum(sum(step.values()) for step in steps)
    height = _TOP + len(timeline.names) * (_LANE + _GAP) + 30
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABEL + _WIDTH + 20}" '
        f'height="{height}" font-family="sans-serif" font-size="12">'
    )
    lines = [
        begin,
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="8" y="20" font-size="14">{escape(title)}</text>',
    ]
    for number, (pid, name) in enumerate(timeline.names.items()):
        top, colour = _TOP + number * (_LANE + _GAP), _COLOURS[number % len(_COLOURS)]
        lines += [
            f'<text x="8" y="{top + 14}">{escape(name)}</text>',
            f'<text x="8" y="{top + 29}" fill="#666666">{timeline.total(pid):.2f} s</text>',
            f'<rect x="{_LABEL}" y="{top}" width="{_WIDTH}" height="{_LANE}" fill="#f2f2f2"/>',
            *_bars([step.get(pid, 0.0) for step in steps], steps, end, top, colour),
        ]
    return "\n".join([*lines, *_axis(end, height - 26), "</svg>", ""])


def _steps(timeline: Timeline) -> Iterator[dict[int, float]]:
    """Yield the processor time of each process between about a hundred moments."""
    minimum = sum(map(timeline.total, timeline.names)) / 100
    last = dict(timeline.samples[0])
    for sample in timeline.samples:
        elapsed = {pid: seconds - last.setdefault(pid, seconds) for pid, seconds in sample.items()}
        if sum(elapsed.values()) >= minimum:
            yield elapsed
            last = dict(sample)


def _bars(
    lane: Sequence[float], steps: Sequence[dict[int, float]], end: float, top: int, colour: str
) -> Iterator[str]:
    x = float(_LABEL)
    for seconds, step in zip(lane, steps, strict=True):
        total = sum(step.values())
        width, bar = total / end * _WIDTH, seconds / total * _LANE
        if bar:
            yield (
                f'<rect x="{x:.1f}" y="{top + _LANE - bar:.1f}" width="{width:.1f}" '
                f'height="{bar:.1f}" fill="{colour}"/>'
            )
        x += width


def _axis(end: float, top: int) -> list[str]:
    step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if end / s <= 10)
    return [
        f'<text x="{_LABEL + n * step / end * _WIDTH:.1f}" y="{top + 14}" fill="#666666">'
        f"{n * step:g} s</text>"
        for n in range(int(end / step) + 1)
    ]


def main() -> None:
    """Run the commands and write their pictures."""
    pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/images")
    pictures.mkdir(parents=True, exist_ok=True)
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    names = sys.argv[3:] or list(_PICTURES)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            title, timeline = _PICTURES[name](Path(folder), rows)
        (pictures / f"timeline-{name}.svg").write_text(draw(title, timeline), encoding="utf-8")
        total = sum(map(timeline.total, timeline.names))
        for pid, lane in timeline.names.items():
            seconds = timeline.total(pid)
            print(f"{name:10} {lane:40} {seconds:6.2f} s of processors, {seconds / total:.0%}")


_XLBRIDGE = [sys.executable, "-m", "xlbridge"]


def _run_validate(folder: Path, rows: int) -> tuple[str, Timeline]:
    sheet = write_sheet(folder / "bad.xlsx", rows, 0.01).path
    timeline = watch([*_XLBRIDGE, "validate", str(sheet), "--format", "json"], os.environ, {})
    return f"validate, {rows:,} x 12 cells, 1 % bad", timeline


def _run_upload(folder: Path, rows: int) -> tuple[str, Timeline]:
    with running_system(folder) as system:
        titles = write_titles(folder / "titles.xlsx", system, 0, rows // 5)
        command = [*_XLBRIDGE, "upload", str(titles), "--yes", "--format", "json"]
        timeline = watch(command, system.environment, {"sandbox": system.sandbox})
    return f"upload of {rows // 5:,} new titles through the queue", timeline


def _run_export(folder: Path, rows: int) -> tuple[str, Timeline]:
    with recorded_orders(folder / "export", rows // 5) as (command, settings, _):
        timeline = watch(command, os.environ | settings, {})
    return f"export of {rows // 5:,} orders, answers recorded", timeline


_PICTURES = {"validate": _run_validate, "upload": _run_upload, "export": _run_export}


if __name__ == "__main__":
    main()
