"""Run whole exports on an executor; their files are sent back and written here."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from xlbridge.client import Client, Target
from xlbridge.errors import (
    ConfigError,
    TransportError,
    XlbridgeError,
    os_error_reason,
)
from xlbridge.export import ExportRequest, ExportResult, OutputFile
from xlbridge.files import replace_atomically, report_write_errors
from xlbridge.i18n import Language, Text, active_language, override_language
from xlbridge.parallel.executors import CustomSchemas, Executor
from xlbridge.parallel.local import LostItem


@dataclass(frozen=True, slots=True)
class ExportTask:
    """Export to run on a worker; this process writes its files to ``output``.

    ``target`` carries the credentials to the worker; no ``repr`` shows them.
    """

    target: Target
    request: ExportRequest
    output: OutputFile


def export_all(
    tasks: Sequence[ExportTask],
    schemas: Path,
    executor: Executor,
) -> Iterator[ExportResult | XlbridgeError]:
    """Yield the result or error of each export, in order, once its files are written here.

    A failed export does not stop the others. ``schemas`` is the folder of the user's schema files.
    Workers must reach the remote system under the target's address, and hold the files of an export
    in memory.
    """
    run = partial(_run_export, executor.custom_schemas(schemas), active_language())
    outcomes = executor.run(run, ((task, _ca_bundle(task)) for task in tasks))
    for task, outcome in zip(tasks, outcomes, strict=True):
        if isinstance(outcome, LostItem):
            yield TransportError(_WORKER_LOST.format(listing=task.request.listing), _USE_MEMORY)
            continue
        if isinstance(outcome, XlbridgeError):
            yield outcome
            continue
        result: ExportResult | XlbridgeError = outcome.result
        try:
            for name, content in outcome.files.items():
                path = task.output.path.with_name(name)
                with report_write_errors(path), replace_atomically(path, shared=True) as temporary:
                    temporary.write_bytes(content)
        except XlbridgeError as error:
            result = error
        yield result


@dataclass(frozen=True, slots=True)
class _ExportedFiles:
    """Finished export, with the content of its files by name."""

    result: ExportResult
    files: dict[str, bytes] = field(repr=False)


def _ca_bundle(task: ExportTask) -> bytes | XlbridgeError | None:
    """Return the certificates to send with a task, or the reason why it cannot succeed."""
    try:
        task.output.require_writable()
    except XlbridgeError as error:
        return error
    bundle = task.target.ca_bundle
    try:
        return None if bundle is None else Path(bundle).read_bytes()
    except OSError as error:
        return ConfigError(
            Text(
                pt="As autoridades certificadoras em {p} não puderam ser lidas: {e}",
                en="The certificate authorities in {p} cannot be read: {e}",
            ).format(p=bundle, e=os_error_reason(error)),
            Text(
                pt="Confira ca_bundle no perfil, ou REQUESTS_CA_BUNDLE.",
                en="Check ca_bundle in the profile, or REQUESTS_CA_BUNDLE.",
            ),
        )


def _run_export(
    schemas: CustomSchemas,
    language: Language,
    sent: tuple[ExportTask, bytes | XlbridgeError | None],
) -> _ExportedFiles | XlbridgeError:
    """Run an export on a worker, in a temporary folder."""
    task, ca_bundle = sent
    if isinstance(ca_bundle, XlbridgeError):
        return ca_bundle
    with (
        override_language(language),
        tempfile.TemporaryDirectory(prefix="xlbridge-") as output_folder,
        tempfile.TemporaryDirectory(prefix="xlbridge-") as bundle_folder,
    ):
        target = task.target
        if ca_bundle is not None:
            bundle = Path(bundle_folder, "ca-bundle.pem")
            bundle.write_bytes(ca_bundle)
            target = replace(target, ca_bundle=bundle)
        output = replace(task.output, path=Path(output_folder, task.output.path.name))
        try:
            prepared = task.request.prepare(output, schemas.catalogue)
            with Client(target) as client:
                result = prepared.run(client)
        except XlbridgeError as error:
            return error
        paths = sorted(Path(output_folder).iterdir())
        return _ExportedFiles(result, {path.name: path.read_bytes() for path in paths})


_WORKER_LOST = Text(
    pt="O processo que exportava {listing} foi encerrado pelo sistema duas vezes.",
    en="The process that exported {listing} was killed by the system twice.",
)
_USE_MEMORY = Text(
    pt="Costuma ser falta de memória: dê mais a cada worker, ou exporte sem --scheduler.",
    en="The usual cause is lack of memory: give each worker more, or export without --scheduler.",
)
