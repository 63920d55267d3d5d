"""The rules of registries of a code and a description. Source: the spec, Product type."""

from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Select, Table, exists, insert, select

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.wire.model import WireModel

Entry = TypeVar("Entry", bound=WireModel)


class CodeListIntake(Generic[Entry]):
    """Takes in new entries; one without a code, or with 0, is given the next that is free.

    ``model`` has the entry's code as its first field, the description as its second.
    """

    def __init__(self, connection: Connection, table: Table, model: type[Entry]) -> None:
        self._connection = connection
        self._table = table
        self._code, self._name = model.model_fields
        self._numbers = Numbers(connection)
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: Entry) -> list[Problem]:
        """Return the rules that a new entry breaks."""
        code, _ = self._values(data)
        if isinstance(code, int) and code < 0:
            return [(self._code, "Valor inválido: deve ser maior ou igual a 0.")]
        if code and self._exists(code):
            return [(self._code, f"O código {code} já está cadastrado.")]
        return []

    def accept(self, data: Entry) -> Entry:
        """Take in an entry without problems."""
        code, name = self._values(data)
        code = code or self._next()
        self._rows.append({"code": code, "name": name})
        return data.model_copy(update={self._code: code})

    def write(self) -> None:
        """Write all accepted entries."""
        self._numbers.write()
        if self._rows:
            self._connection.execute(insert(self._table), self._rows)
            self._rows.clear()

    def _values(self, data: Entry) -> tuple[int | str | None, str]:
        return getattr(data, self._code), getattr(data, self._name)

    def _next(self) -> int:
        while self._exists(code := self._numbers.next(self._table.name)):
            continue
        return code

    def _exists(self, code: int | str) -> bool:
        found = select(exists().where(self._table.c.code == code))
        return bool(self._connection.scalar(found))


def entries(table: Table, model: type[WireModel]) -> Select[Any]:
    """Return the statement that lists a registry, its columns named as the model's fields."""
    code, name = model.model_fields
    return select(table.c.code.label(code), table.c.name.label(name)).order_by(table.c.code)
