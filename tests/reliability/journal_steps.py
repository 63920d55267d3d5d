"""Steps between the states of a journal, compared with those of the protocol's model."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from protocol_model import MODES, Mode, search_of

from xlbridge.local_database import LocalDatabase
from xlbridge.resources import Mode as SentMode
from xlbridge.upload import Job, Journal

JournalStep = tuple[Mode, str, str]
"""Mode, and the states before and after."""

SEEN: set[JournalStep] = set()
"""Steps of all journals that were checked in this process."""

_BY_OTHERS = {
    # The sheet has no row to send.
    ("prepared", "done"),
    # The record is already as wanted, or is another one by now.
    *(("planned", "applied"), ("not_applied", "applied"), ("sending", "applied")),
    *(("planned", "changed"), ("not_applied", "changed"), ("doubtful", "unproven")),
    ("not_written", "applied"),
    # A record without a number, or whose lists were refused.
    ("sending", "unproven"),
    # Some rows are proven, the others are not.
    ("comparing", "needs_person"),
    # Entries of another part of the sheet were lost.
    ("staged", "in_doubt"),
}
"""Steps of sheets in parts, and of those whose records others write; the model has one row, and
nobody else."""


@cache
def model_steps() -> frozenset[JournalStep]:
    """Return the steps of the model in every mode, for rows with and without a key."""
    return frozenset(
        (mode, before, after)
        for mode in MODES
        for keyed in (True, False)
        for before, after in search_of(mode, keyed).transitions
        if before != after
    )


def check_steps(journal: Journal) -> None:
    """Assert that a journal has no step that the model does not have."""
    found = set(_steps(journal))
    SEEN.update(found)
    allowed = {*model_steps(), *((mode, *step) for mode in MODES for step in _BY_OTHERS)}
    assert found <= allowed, sorted(found - allowed)


def _steps(journal: Journal) -> Iterator[JournalStep]:
    for job in journal.jobs():
        for one in journal.requests_of(job):
            mode = _mode(one)
            histories = [[event.state.value for event in one.events]]
            if mode == "records":
                histories = _write_histories(journal, one)
            for states in histories:
                # A sheet of several rows may be done in part.
                told = ["done" if state == "partial" else state for state in states]
                pairs = pairwise(told)
                yield from ((mode, *pair) for pair in pairs if pair[0] != pair[1])


def _mode(job: Job) -> Mode:
    if job.spec.mode.channel.by_record:
        return "records"
    if job.spec.mode is not SentMode.QUEUE:
        return "direct"
    return "queue" if job.spec.resource == "contasreceber" else "own queue"


def _write_histories(journal: Journal, job: Job) -> list[list[str]]:
    """Return the states of each record of a job, oldest first."""
    database: LocalDatabase = journal._db
    query = "SELECT position, state FROM record_writes WHERE request = ? ORDER BY position, number"
    found: dict[int, list[str]] = {}
    for position, state in database.execute(query, (job.id,)).fetchall():
        found.setdefault(position, []).append(state)
    return list(found.values())
