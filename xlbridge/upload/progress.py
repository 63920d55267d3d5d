"""Progress of an upload: the rows of a queued file or the records done, and the time left."""

import time
from datetime import timedelta

from xlbridge.i18n import Text, count_text, localized_number, untranslated
from xlbridge.upload.job import Job
from xlbridge.upload.options import UploadOptions
from xlbridge.wire.imports import ImportLog, ImportState

_REPORT_SECONDS = 0.1
_STATE_WORDS = {
    ImportState.PENDING: Text(pt="na fila", en="queued"),
    ImportState.RUNNING: Text(pt="processando", en="running"),
}


class LogProgress:
    """Progress of a queued file from its log: state, rows done, and remaining time."""

    def __init__(self, options: UploadOptions, job: Job) -> None:
        self._options = options
        self._job = job
        self._started = time.monotonic()
        self._initial: int | None = None

    def report(self, log: ImportLog, state: ImportState | None) -> None:
        """Report the counts and the state of a log."""
        rows = len(self._job.spec.rows)
        done = (log.registrosImportados or 0) + (log.registrosRejeitados or 0)
        if self._initial is None:
            self._initial = done
        newly_done, seconds = done - self._initial, time.monotonic() - self._started
        status = untranslated(f"“{log.situacao or '–'}”")
        self._options.progress(
            Text(
                pt="Log {id}: {state}, {done} de {rows} {rows:linha|linhas}{pace}",
                en="Log {id}: {state}, {done} of {rows} {rows:row|rows}{pace}",
            ).format(
                id=self._job.log_id,
                state=status if state is None else _STATE_WORDS.get(state, status),
                done=count_text(done),
                rows=count_text(rows),
                pace=_pace_text(newly_done, rows - done, seconds) if newly_done > 0 else "",
            )
        )
        self._options.on_count(done, rows)


class RecordProgress:
    """Progress of a job's records: number done, rate of this run, time left.

    ``total`` counts all records of the job, ``waiting`` those to be written in this run.
    """

    def __init__(self, options: UploadOptions, total: int, waiting: int) -> None:
        self._report, self._on_count = options.progress, options.on_count
        self._total = total
        self._waiting = waiting
        self._started = self._reported = time.monotonic()
        self._done = 0

    def count(self) -> None:
        """Count a record as done, and report that at intervals."""
        self._done += 1
        now = time.monotonic()
        if now - self._reported < _REPORT_SECONDS and self._done < self._waiting:
            return
        self._reported = now
        left = self._waiting - self._done
        self._on_count(self._total - left, self._total)
        self._report(
            Text(
                pt="{done} de {total} {total:registro|registros}{pace}",
                en="{done} of {total} {total:record|records}{pace}",
            ).format(
                done=count_text(self._total - left),
                total=count_text(self._total),
                pace=_pace_text(self._done, left, now - self._started),
            )
        )


def _pace_text(done: int, left: int, seconds: float) -> Text:
    """Return the rate per second, and the time left at that rate unless all is done."""
    rate = done / max(seconds, 0.001)
    shown = localized_number(f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}")
    if not left:
        return Text(pt=" · {rate}/s", en=" · {rate}/s").format(rate=shown)
    return Text(pt=" · {rate}/s · faltam {time}", en=" · {rate}/s · {time} left").format(
        rate=shown, time=timedelta(seconds=round(left / rate))
    )
