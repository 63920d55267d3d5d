"""Progress of reading and validating a workbook, which the page shows and may stop."""

from xlbridge.validation import ColumnProgress


class ReadingStopped(BaseException):
    """The user stopped the reading between two steps, as Ctrl-C does."""


class ReadingProgress:
    """Progress of reading a workbook, updated from any thread."""

    def __init__(self) -> None:
        self.is_reading = False
        self._is_stopped = False
        self._step: dict[str, object] = {}

    def on_rows(self, rows: int) -> None:
        """Record the number of rows read. Raises ``ReadingStopped``."""
        self._step = {"rows": rows}
        self.raise_if_stopped()

    def on_column(self, column: ColumnProgress) -> None:
        """Record the column that is validated next. Raises ``ReadingStopped``."""
        self._step = {"column": column.name, "number": column.number, "count": column.count}
        self.raise_if_stopped()

    def raise_if_stopped(self) -> None:
        """Raise ``ReadingStopped`` if the user has stopped the reading."""
        if self._is_stopped:
            raise ReadingStopped

    def stop(self) -> None:
        """Stop the reading before its next step."""
        self._is_stopped = True

    def to_json(self) -> dict[str, object]:
        """Return the progress for the page."""
        return {"reading": self.is_reading, **self._step}
