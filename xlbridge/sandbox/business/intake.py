"""How new records are taken in: judged one by one, then written together."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from xlbridge.sandbox.answers import Problem, RequestError
from xlbridge.wire.model import WireModel

Input = TypeVar("Input", bound=WireModel, contravariant=True)
Record = TypeVar("Record", covariant=True)


class Intake(Protocol[Input, Record]):
    """Takes in the new records of one kind, within one transaction."""

    def problems(self, data: Input) -> list[Problem]:
        """Return the rules that a new record breaks, given those accepted before it."""

    def accept(self, data: Input) -> Record:
        """Take in a record without problems: number it and keep it for ``write``."""

    def write(self) -> None:
        """Write all accepted records."""


def refuse(problems: Sequence[Problem]) -> None:
    """Raise ``RequestError`` (400) where there are problems."""
    if problems:
        raise RequestError(400, problems)


def admit(intake: Intake[Input, Record], data: Input) -> Record:
    """Take in a single record.

    Raises ``RequestError`` (400) with every rule that it breaks.
    """
    refuse(intake.problems(data))
    record = intake.accept(data)
    intake.write()
    return record
