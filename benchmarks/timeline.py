"""Draw what keeps the processes of a command busy, step by step.

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
from upload import running_site, write_titles

_EVERY = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")
_LABEL, _WIDTH, _LANE, _GAP, _TOP = 190, 640, 34, 12, 34
_COLOURS = ("#1f6f8b", "#c2571a", "#5b7f2b", "#7a4b94", "#8a6d1f")


@dataclass(frozen=True, slots=True)
class Timeline:
    """Names of processes, and the processor seconds of each at every sample."""

    names: dict[int, str]
    looks: list[dict[int, float]]

    def taken(self, pid: int) -> float:
        """Return the total processor time of a process."""
        of_it = [look[pid] for look in self.looks if pid in look]
        return of_it[-1] - of_it[0]


def watch(
    command: Sequence[str], environment: Mapping[str, str], beside: Mapping[str, int]
) -> Timeline:
    """Run a command; return the timeline of its processes and of those ``beside`` it."""
    timeline = Timeline({}, [])
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            roots = {process.pid: "xlbridge", **{pid: name for name, pid in beside.items()}}
            look = dict(timeline.looks[-1]) if timeline.looks else {}
            for pid, name in [one for root in roots.items() for one in _with_children(*root)]:
                seconds = _processor_seconds(pid)
                if seconds is not None:
                    # As it begins, and once it has ended, a child has no name of its own.
                    timeline.names[pid] = max(timeline.names.get(pid, ""), name, key=len)
                    look[pid] = seconds
            timeline.looks.append(look)
            time.sleep(_EVERY)
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
            f'<text x="8" y="{top + 29}" fill="#666666">{timeline.taken(pid):.2f} s</text>',
            f'<rect x="{_LABEL}" y="{top}" width="{_WIDTH}" height="{_LANE}" fill="#f2f2f2"/>',
            *_bars([step.get(pid, 0.0) for step in steps], steps, end, top, colour),
        ]
    return "\n".join([*lines, *_axis(end, height - 26), "</svg>", ""])


def _steps(timeline: Timeline) -> Iterator[dict[int, float]]:
    """Yield the processor time of each process between about a hundred moments."""
    least = sum(map(timeline.taken, timeline.names)) / 100
    last = dict(timeline.looks[0])
    for look in timeline.looks:
        taken = {pid: seconds - last.setdefault(pid, seconds) for pid, seconds in look.items()}
        if sum(taken.values()) >= least:
            yield taken
            last = dict(look)


def _bars(
    own: Sequence[float], steps: Sequence[dict[int, float]], end: float, top: int, colour: str
) -> Iterator[str]:
    x = float(_LABEL)
    for seconds, step in zip(own, steps, strict=True):
        together = sum(step.values())
        width, bar = together / end * _WIDTH, seconds / together * _LANE
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
    wanted = sys.argv[3:] or list(_PICTURES)
    for name in wanted:
        with tempfile.TemporaryDirectory() as folder:
            title, timeline = _PICTURES[name](Path(folder), rows)
        (pictures / f"timeline-{name}.svg").write_text(draw(title, timeline), encoding="utf-8")
        together = sum(map(timeline.taken, timeline.names))
        for pid, lane in timeline.names.items():
            taken = timeline.taken(pid)
            print(f"{name:10} {lane:40} {taken:6.2f} s of processors, {taken / together:.0%}")


_OURS = [sys.executable, "-m", "xlbridge"]


def _validated(folder: Path, rows: int) -> tuple[str, Timeline]:
    sheet = write_sheet(folder / "bad.xlsx", rows, 0.01).path
    timeline = watch([*_OURS, "validate", str(sheet), "--format", "json"], os.environ, {})
    return f"validate, {rows:,} x 12 cells, 1 % bad", timeline


def _uploaded(folder: Path, rows: int) -> tuple[str, Timeline]:
    with running_site(folder) as site:
        titles = write_titles(folder / "titles.xlsx", site, 0, rows // 5)
        command = [*_OURS, "upload", str(titles), "--yes", "--format", "json"]
        timeline = watch(command, site.environment, {"sandbox": site.sandbox})
    return f"upload of {rows // 5:,} new titles through the queue", timeline


def _exported(folder: Path, rows: int) -> tuple[str, Timeline]:
    with recorded_orders(folder / "export", rows // 5) as (command, more, _):
        timeline = watch(command, os.environ | more, {})
    return f"export of {rows // 5:,} orders, answers recorded", timeline


_PICTURES = {"validate": _validated, "upload": _uploaded, "export": _exported}


if __name__ == "__main__":
    main()
