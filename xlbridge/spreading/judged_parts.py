"""A judged sheet on its way from the worker that judged it."""

import io
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from xlbridge.findings import CATALOGUE, FindingKind
from xlbridge.resources.catalogue import Catalogue
from xlbridge.validation.reports.judged import Judged
from xlbridge.validation.validate import ValidatedSheet


@dataclass(frozen=True, slots=True)
class JudgedParts:
    """What a worker tells of a file, as bytes.

    Resources and kinds of findings cross by their names: on arrival they are this process's own.
    """

    resources: tuple[str | None, ...]
    content: bytes = field(repr=False)

    @classmethod
    def of(cls, judged: Sequence[Judged], with_frames: bool) -> "JudgedParts":
        """Pack what was judged; without the frames where nobody needs them."""
        stream = io.BytesIO()
        _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(
            [_lean(item, with_frames) for item in judged]
        )
        return cls(tuple(_resource_name(item) for item in judged), stream.getvalue())

    def unpack(self, file: Path, catalogue: Catalogue) -> list[Judged]:
        """Return what was judged, as if it had been judged here."""
        items: list[Judged] = pickle.loads(self.content)  # noqa: S301 - from our own worker
        return [
            _whole(item, file, catalogue, name)
            for item, name in zip(items, self.resources, strict=True)
        ]


def _resource_name(item: Judged) -> str | None:
    if not isinstance(item, ValidatedSheet) or item.resource is None:
        return None
    return item.resource.name


def _lean(item: Judged, with_frames: bool) -> Judged:
    if not isinstance(item, ValidatedSheet):
        return item
    frame = item.frame if with_frames else pd.DataFrame()
    return replace(item, resource=None, frame=frame)


def _whole(item: Judged, file: Path, catalogue: Catalogue, resource: str | None) -> Judged:
    if not isinstance(item, ValidatedSheet):
        return replace(item, file=file)
    return replace(item, file=file, resource=None if resource is None else catalogue[resource])


def _kind(code: str) -> FindingKind:
    return CATALOGUE[code]


def _read_only(values: dict[str, object]) -> MappingProxyType[str, object]:
    return MappingProxyType(values)


class _Pickler(pickle.Pickler):
    def reducer_override(self, what: object) -> Any:
        match what:
            case FindingKind():
                return _kind, (what.code,)
            case MappingProxyType():
                return _read_only, (dict(what),)
        return NotImplemented
