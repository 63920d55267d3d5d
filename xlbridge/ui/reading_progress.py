"""Progress of a workbook that is read and checked, which the page shows and may stop."""

from xlbridge.validation import ColumnProgress


class ReadingStopped(BaseException):
    """The person stopped the reading between two of its steps, as Ctrl-C does."""


class ReadingProgress:
    """How far the reading of a workbook is, told from any thread."""

    def __init__(self) -> None:
        self.is_reading = False
        self._is_stopped = False
        self._told: dict[str, object] = {}

    def on_rows(self, rows: int) -> None:
        """Take note of how many rows are read. Raises ``ReadingStopped`` where that is asked."""
        self._told = {"rows": rows}
        self.require_wanted()

    def on_column(self, column: ColumnProgress) -> None:
        """Take note of the column that is checked next. Raises as ``on_rows`` does."""
        self._told = {"column": column.name, "number": column.number, "count": column.count}
        self.require_wanted()

    def require_wanted(self) -> None:
        """Raise ``ReadingStopped`` where nobody waits for the workbook any more."""
        if self._is_stopped:
            raise ReadingStopped

    def stop(self) -> None:
        """Let the reading end before its next step."""
        self._is_stopped = True

    def to_json(self) -> dict[str, object]:
        """Return it as the page shows it."""
        return {"reading": self.is_reading, **self._told}
