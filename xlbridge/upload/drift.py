"""Validator drift: what the remote system refused and local validation had let pass, by rule."""

import re
from collections import Counter
from dataclasses import dataclass

from xlbridge.upload.verdict import Verdict

_VALUE = re.compile(r"[“\"'‘].*?[”\"'’]|\b[\w./-]*\d[\w./-]*")
_ANY = "…"


@dataclass(frozen=True, slots=True)
class DriftedRule:
    """A rule that the schema lacks: the column, the message without its values, and how often."""

    column: str | None
    rule: str
    rows: int


def drift(verdict: Verdict) -> list[DriftedRule]:
    """Count the refusals by rule, the most frequent first.

    Messages that differ only in the values that they name are one rule.
    """
    counted = Counter(
        (row.column, _VALUE.sub(_ANY, row.message)) for row in verdict.rejected_rows if row.itself
    )
    return [DriftedRule(column, rule, rows) for (column, rule), rows in counted.most_common()]
