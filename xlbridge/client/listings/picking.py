"""Choice of the records of a listing that are wanted, by single fields, before they are decoded.

Where few records of many are wanted, decoding the others takes most of the time. Here only the
fields that decide are decoded of each, and the others' text is dropped.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import compress
from typing import Any

import msgspec

from xlbridge.client.listings.stream import FieldTest


class RecordPicker:
    """Choice of the records that pass one of some tests, or lack a field that is tested.

    No record is dropped that may have a field which none before it had, so that the others tell
    all fields that there are. ``names`` has every accepted spelling of a record's fields.
    """

    def __init__(self, tests: Sequence[FieldTest], names: Mapping[str, str]) -> None:
        self.dropped = 0
        self._names = names
        self._unseen = {f'"{spelling}"': name for spelling, name in names.items()}
        fields = {f"field_{at}": name for at, name in enumerate({name for name, _ in tests})}
        self._tests = [
            (field, test) for field, name in fields.items() for of, test in tests if of == name
        ]
        of_tests = msgspec.defstruct(
            "TestedFields",
            [(field, Any, msgspec.UNSET) for field in fields],
            rename=fields,
            gc=False,
        )
        self._tested = msgspec.json.Decoder(list[of_tests], float_hook=Decimal)  # type: ignore[valid-type]
        self._texts = msgspec.json.Decoder(list[msgspec.Raw])

    def picked(self, text: str) -> str:
        """Return a JSON list of objects with those that are wanted only; or as it is."""
        if any(map(text.__contains__, self._unseen)):
            return text
        try:
            wanted = self._are_wanted(self._tested.decode(text))
            kept = compress(self._texts.decode(text), wanted) if any(wanted) else ()
        except (ValueError, RecursionError):
            return text
        self.dropped += len(wanted) - sum(wanted)
        return f"[{','.join(bytes(one).decode() for one in kept)}]"

    def note(self, records: Iterable[Any]) -> None:
        """Note the fields of records that were decoded."""
        if self._unseen:
            objects = (one for one in records if isinstance(one, dict))
            seen = {self._names.get(name) for one in objects for name in one}
            self._unseen = {text: n for text, n in self._unseen.items() if n not in seen}

    def _are_wanted(self, rows: Sequence[Any]) -> list[bool]:
        found = [False] * len(rows)
        for field, test in self._tests:
            values = [getattr(row, field) for row in rows]
            passed = test([None if value is msgspec.UNSET else value for value in values])
            found = [
                was or now or value is msgspec.UNSET
                for was, now, value in zip(found, passed, values, strict=True)
            ]
        return found
