"""Counting the rows of a proof."""

from collections import Counter
from collections.abc import Iterator, Sequence

from xlbridge.batch.closing.proof import Counts, Seen, UnreadRows
from xlbridge.batch.closing.read_back import SeenRow
from xlbridge.batch.closing.sent_rows import SentFile
from xlbridge.i18n import Text
from xlbridge.resources.resource import Resource
from xlbridge.upload.fates import Fate


def count_rows(file: SentFile, rows: Sequence[SeenRow]) -> Counts:
    """Count what became of a workbook's rows; all of one without uploads were not sent."""
    fates = Counter(row.fate for row in file.rows)
    if not file.jobs:
        fates[Fate.UNSENT] = file.file.rows_in_sheet
    seen = Counter(row.seen for row in rows if row.accepted)
    return Counts(
        read=file.file.rows_in_sheet,
        accepted=fates[Fate.ACCEPTED],
        rejected=fates[Fate.REJECTED] + fates[Fate.NOT_WRITTEN],
        not_written=fates[Fate.NOT_WRITTEN],
        unsent=fates[Fate.UNSENT],
        unknown=fates[Fate.UNKNOWN],
        **{kind.value: seen[kind] for kind in Seen},
    )


def count_unread(resource: Resource, rows: Sequence[SeenRow]) -> Iterator[UnreadRows]:
    """Count the accepted rows that cannot be read back, reason by reason."""
    reasons: Counter[Text] = Counter(row.why for row in rows if row.why is not None)
    for why, count in reasons.items():
        yield UnreadRows(resource.name, why, count)
