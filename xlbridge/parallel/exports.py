"""Run whole exports with an executor: the files come back and are written here."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from xlbridge.client import Client, Target
from xlbridge.errors import ConfigError, TransportError, XlbridgeError, os_error_reason
from xlbridge.export import (
    ExportResult,
    Filters,
    Layout,
    export_listing,
    find_listing,
    output_format,
    output_opener,
    require_writable,
)
from xlbridge.files import replace_atomically, report_write_errors
from xlbridge.i18n import Language, Text, active_language, override_language
from xlbridge.parallel.executor import Executor, LostItem, OnDone
from xlbridge.parallel.own_schemas import OwnSchemas

_NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """A listing that is to be written into ``output``; the rest as ``xlbridge export`` has it.

    ``target`` carries the credentials to the worker; no ``repr`` shows them.
    """

    target: Target
    listing: str
    output: Path
    filters: Filters = _NO_FILTERS
    form: str | None = None
    csv_dialect: str | None = None
    flat: str | None = None
    as_template: str | None = None
    in_detail: bool = False
    keep_unknown: bool = False
    at_once: int = 2


def export_all(
    exports: Sequence[ExportRequest],
    schemas: Path,
    carrier: Executor,
    *,
    on_done: OnDone = lambda _place: None,
) -> Iterator[ExportResult | XlbridgeError]:
    """Yield what each export came to, in their order, once its files are written here, each whole.

    An export that fails leaves the others alone: its error is yielded. ``schemas`` is the folder
    of the user's own schema files. A worker must reach the remote system under the address that
    the target has, and holds the files of an export in memory.
    """
    own = OwnSchemas(schemas)
    task = _RunExport(own if carrier.shares_files else own.packed(), active_language())
    outcomes = carrier.run(task, map(_sent_export, exports), on_done)
    for export, outcome in zip(exports, outcomes, strict=True):
        if isinstance(outcome, LostItem):
            yield _worker_lost_error(export)
        elif isinstance(outcome, XlbridgeError):
            yield outcome
        else:
            yield _write_files(export, outcome)


@dataclass(frozen=True, slots=True)
class _SentExport:
    """An export on its way, with the certificate authorities that its target names.

    ``refusal`` is why it need not be tried.
    """

    export: ExportRequest
    authorities: bytes | None = field(default=None, repr=False)
    refusal: XlbridgeError | None = None


@dataclass(frozen=True, slots=True)
class _ExportedFiles:
    """A finished export: its files by their names."""

    result: ExportResult
    files: dict[str, bytes] = field(repr=False)


def _sent_export(export: ExportRequest) -> _SentExport:
    bundle = export.target.ca_bundle
    try:
        require_writable(export.output)
        return _SentExport(export, None if bundle is None else _read_bundle(bundle))
    except XlbridgeError as error:
        return _SentExport(export, refusal=error)


def _read_bundle(bundle: str | Path) -> bytes:
    try:
        return Path(bundle).read_bytes()
    except OSError as error:
        raise ConfigError(
            Text(
                pt="As autoridades certificadoras em {p} não puderam ser lidas: {e}",
                en="The certificate authorities in {p} cannot be read: {e}",
            ).format(p=bundle, e=os_error_reason(error))
        ) from error


def _write_files(export: ExportRequest, came: _ExportedFiles) -> ExportResult | XlbridgeError:
    try:
        for name, content in came.files.items():
            path = export.output.with_name(name)
            with report_write_errors(path), replace_atomically(path) as temporary:
                temporary.write_bytes(content)
    except XlbridgeError as error:
        return error
    return came.result


@dataclass(frozen=True, slots=True)
class _RunExport:
    """What a worker does: the export, in a folder of its own."""

    schemas: OwnSchemas
    language: Language

    def __call__(self, sent: _SentExport) -> _ExportedFiles | XlbridgeError:
        if sent.refusal is not None:
            return sent.refusal
        with (
            override_language(self.language),
            tempfile.TemporaryDirectory(prefix="xlbridge-") as files,
            tempfile.TemporaryDirectory(prefix="xlbridge-") as beside,
        ):
            target = sent.export.target
            if sent.authorities is not None:
                bundle = Path(beside, "authorities.pem")
                bundle.write_bytes(sent.authorities)
                target = replace(target, ca_bundle=bundle)
            output = Path(files, sent.export.output.name)
            try:
                result = self._exported(replace(sent.export, target=target, output=output))
            except XlbridgeError as error:
                return error
            found = sorted(Path(files).iterdir())
            return _ExportedFiles(result, {path.name: path.read_bytes() for path in found})

    def _exported(self, export: ExportRequest) -> ExportResult:
        template = export.as_template
        layout = Layout(
            flat=export.flat,
            in_detail=export.in_detail,
            keep_unknown=export.keep_unknown,
            template=None if template is None else self.schemas.catalogue().named(template),
        )
        form = output_format(export.output, export.form)
        with Client(export.target) as client:
            return export_listing(
                client,
                find_listing(export.listing),
                export.filters,
                export.output,
                output_opener(form, export.csv_dialect, layout.template),
                layout=layout,
                at_once=export.at_once,
            )


def _worker_lost_error(export: ExportRequest) -> TransportError:
    return TransportError(
        Text(
            pt="O processo que exportava {listing} foi encerrado pelo sistema, duas vezes.",
            en="The process that exported {listing} was ended by the system, twice.",
        ).format(listing=export.listing)
    )
